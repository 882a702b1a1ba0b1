"""Numbers for people: three or four digits with a prefix; base units stay in the file."""
import math

PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"),
            (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"))
BINARY = ((2.0**50, "Pi"), (2.0**40, "Ti"), (2.0**30, "Gi"), (2.0**20, "Mi"), (2.0**10, "Ki"), (1, ""))
WORDS = {"byte s-1": "B/s", "flop s-1": "flop/s", "s-1": "/s", "byte": "B", "s": "s"}


def quantity(value, unit):
    """'12.3 GB/s'; missing and infinite values say so."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    word = WORDS.get(unit)
    if unit == "1" or word is None:
        return number(value) + ("" if unit in ("1", "") else f" {unit}")
    if value == 0 or not math.isfinite(value):
        return f"{value:g} {word}"
    if unit == "s" and abs(value) >= 1:
        return f"{digits(value)} s"
    if unit == "byte":
        scale, prefix = next((p for p in BINARY if abs(value) >= p[0]), BINARY[-1])
        return f"{digits(value / scale)} {prefix}B"
    scale, prefix = next((p for p in PREFIXES if abs(value) >= p[0] * 0.9995), PREFIXES[-1])
    return f"{digits(value / scale)} {prefix}{word}"


def digits(value):
    """Four significant digits without an exponent where that is short."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.4g}")  # 0.99999 has the places of 1
    places = max(0, 3 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:.{min(places, 6)}f}"


def tick(value, unit):
    """A quantity on an axis: as short as it is exact."""
    words = quantity(value, unit).split(" ")
    if "." in words[0]:
        words[0] = words[0].rstrip("0").rstrip(".")
    return " ".join(words)


def number(value):
    if value is None or not math.isfinite(value):
        return "–" if value is None or math.isnan(value) else str(value)
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{int(value)}"
    return digits(value) if 1e-3 <= abs(value) < 1e6 else f"{value:.3g}"


def percent(value, sign=False):
    return "–" if value is None or math.isnan(value) else f"{100 * value:{'+' if sign else ''}.1f} %"
