"""Figures of the report. Each is drawn once: as SVG for the page, in whose text colours are named by
CSS so that light and dark both work, and as PNG and SVG files on request.
"""
import io
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
import matplotlib.ticker  # noqa: E402
import numpy  # noqa: E402

from .units import quantity, tick  # noqa: E402

# Colours that stand for names; Okabe and Ito's series colours are told apart by all readers.
INK, FAINT = "#010203", "#7f8081"
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5c00", "#6b6bd6")
MARKERS = "os^Dvp*X"
plt.rcParams.update({"svg.fonttype": "none", "font.family": "sans-serif", "font.size": 10, "svg.hashsalt": "seatrial",
                     "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": FAINT, "xtick.color": INK,
                     "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False, "grid.color": FAINT,
                     "grid.alpha": 0.25, "legend.frameon": False, "figure.max_open_warning": 0})


class Figures:
    """Makes figures, and keeps files of them if a folder is given."""

    def __init__(self, folder=None):
        self.folder = folder
        self.names = set()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def finish(self, figure, name, alt):
        """Inline SVG of a figure."""
        name = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]
        while name in self.names:
            name += "x"
        self.names.add(name)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
        if self.folder is not None:
            figure.savefig(self.folder / f"{name}.svg", metadata={"Date": None})
            figure.savefig(self.folder / f"{name}.png", dpi=150)
        plt.close(figure)
        svg = out.getvalue()[out.getvalue().index("<svg"):]
        svg = svg.replace(INK, "var(--ink)").replace(FAINT, "var(--faint)")
        ids = set(re.findall(r'id="([^"]+)"', svg))  # unique over the page
        svg = re.sub(r'(id="|url\(#|href="#)([^")]+)', lambda m: f"{m[1]}{name}-{m[2]}" if m[2] in ids else m[0], svg)
        return svg.replace("<svg ", f'<svg role="img" aria-label="{_attribute(alt)}" ', 1)


def _attribute(words):
    return words.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")


def _axis(axis, unit):
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda v, _: tick(v, unit)))


def _log(axis, unit, low, high):
    """Marks at 1, 2 and 5 where powers of ten would be one or two."""
    if 0 < low and high < 100 * low:
        axis.set_major_locator(matplotlib.ticker.LogLocator(10, subs=(1, 2, 5)))
        axis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    _axis(axis, unit)


def _sizes(axes, lines):
    """Marks of the horizontal axis where it counts something: at the measured sizes if they are few and grow by factors."""
    sizes = sorted({float(v) for _, x, *_ in lines for v in x})
    if not all(v.is_integer() for v in sizes):
        return
    if 3 <= len(sizes) <= 12 and sizes[0] > 0 and min(b / a for a, b in zip(sizes, sizes[1:])) >= 1.5:
        axes.set_xscale("log", base=2)
        axes.set_xticks(sizes, [f"{v:g}" for v in sizes])
        axes.minorticks_off()
    elif sizes[-1] <= 50 * max(1, sizes[0]):
        axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True, min_n_ticks=1))
    else:
        axes.set_xscale("symlog", linthresh=1)


def style(i):
    """Colour and marker of the i-th of many: no two of the first 64 alike."""
    n = len(SERIES)
    return SERIES[i % n], MARKERS[(i + i // n) % len(MARKERS)]


def _from_zero(axes):
    """Bars and curves begin at 0 and keep clear of the upper edge."""
    axes.set_ylim(0, 1.07 * max(axes.dataLim.y1, 1e-300))


def curves(lines, x_name, x_unit, y_unit, log_y, joined=True):
    """lines: [(label, x, median, low, high)]; joined: a value between two points means something"""
    figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
    for i, (label, x, y, low, high) in enumerate(lines):
        colour, marker = style(i)
        axes.plot(x, y, marker=marker, ms=4, lw=1.3, ls="-" if joined else "", color=colour, label=label)
        if joined:
            axes.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
        else:
            axes.vlines(x, low, high, color=colour, lw=1)
    if x_unit == "byte":
        axes.set_xscale("log", base=2)
        _axis(axes.xaxis, "byte")
    elif x_unit == "1" and joined:
        _sizes(axes, lines)
    elif x_unit != "1":
        _axis(axes.xaxis, x_unit)
        if max(max(x) for _, x, *_ in lines) > 50 * min(min(x) for _, x, *_ in lines) > 0:
            axes.set_xscale("log")
    else:
        axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(integer=True, min_n_ticks=1))
    if log_y:
        axes.set_yscale("log")
        _log(axes.yaxis, y_unit, axes.dataLim.y0, axes.dataLim.y1)
    else:
        _from_zero(axes)
        _axis(axes.yaxis, y_unit)
    axes.set_ylabel("ratio" if y_unit == "1" else "")
    axes.set_xlabel(x_name)
    axes.grid(True)
    axes.legend(fontsize=9)
    return figure


def curve_xy(points, x_unit_name, y_unit):
    """One measured quantity against another: loaded latency as Intel's MLC prints it."""
    figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
    x, y = points
    axes.plot(x, y, marker="o", ms=4, lw=1.3, color=SERIES[0])
    _axis(axes.xaxis, x_unit_name)
    _axis(axes.yaxis, y_unit)
    axes.set_xlim(left=0)
    _from_zero(axes)
    axes.set_xlabel("bandwidth of all other cores together")
    axes.set_ylabel("latency of one core")
    axes.grid(True)
    return figure


def roofline(bandwidths, points):
    """bandwidths: [(name, byte/s)]; points: [(name, flop per byte, flop/s)]"""
    figure, axes = plt.subplots(figsize=(7.2, 3.2 + 0.2 * len(points)), layout="constrained")
    intensity = numpy.array([min(x for _, x, _ in points) / 3, max(x for _, x, _ in points) * 3])
    lines = [axes.plot(intensity, rate * intensity, ls=("-", "--", ":")[i % 3], color=FAINT, lw=1.4,
                       label=f"{name}: {quantity(rate, 'byte s-1')}")[0] for i, (name, rate) in enumerate(bandwidths)]
    marks = []
    for i, (name, x, y) in enumerate(points):
        colour, marker = style(i)
        marks += axes.plot([x], [y], marker, color=colour, ms=8, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    _log(axes.yaxis, "flop s-1", axes.dataLim.y0, axes.dataLim.y1)
    _log(axes.xaxis, "1", *intensity)
    axes.set_xlabel("flop per byte moved")
    axes.grid(True)
    axes.legend(handles=lines + marks, fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.16), ncols=2)
    return figure


def phases(rows):
    """rows: [(step, [(phase, seconds)])]; each step's time by part, in per cent."""
    names = list(dict.fromkeys(name for _, parts in rows for name, _ in parts))
    figure, axes = plt.subplots(figsize=(7.2, 1.1 + 0.34 * len(rows)), layout="constrained")
    left = numpy.zeros(len(rows))
    for i, name in enumerate(names):
        share = numpy.array([100 * dict(parts).get(name, 0) / sum(t for _, t in parts) for _, parts in rows])
        axes.barh(range(len(rows)), share, left=left, color=SERIES[i % len(SERIES)], label=name, height=0.62,
                  hatch="" if i < len(SERIES) else "///")
        left += share
    axes.set_yticks(range(len(rows)), [step for step, _ in rows], fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of the phases' time, %")
    axes.legend(fontsize=8, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def scaling(series):
    """Efficiency with intervals over the number of ranks."""
    figure, axes = plt.subplots(figsize=(7.2, 3.2), layout="constrained")
    for i, one in enumerate(series):
        x = [p.size for p in one.points]
        y = numpy.array([100 * p.efficiency for p in one.points])
        low = numpy.array([100 * p.low for p in one.points])
        high = numpy.array([100 * p.high for p in one.points])
        error = numpy.nan_to_num(numpy.abs(numpy.stack([y - low, high - y])))
        colour, marker = style(i)
        axes.errorbar(x, y, yerr=error, marker=marker, ms=5, lw=1.3, capsize=3, color=colour,
                      label=f"{one.name}: {one.metric} ({one.kind})")
        other = [k for k, p in enumerate(one.points) if p.marks]
        axes.plot([x[k] for k in other], y[other], marker, ms=5, color=colour, mfc="white", zorder=3)
    axes.plot([min(p.size for s in series for p in s.points), max(p.size for s in series for p in s.points)], [100, 100],
              color=FAINT, lw=1)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda v, _: f"{v:g}"))
    _from_zero(axes)
    axes.set_xlabel("ranks")
    axes.set_ylabel("efficiency, %")
    axes.grid(True)
    axes.legend(fontsize=8)
    return figure


def fleet(values, unit, name, places="nodes"):
    """Distribution of one value per place: sorted, so that what stands out is at an end."""
    figure, axes = plt.subplots(figsize=(7.2, 2.4), layout="constrained")
    axes.plot(numpy.arange(1, len(values) + 1), numpy.sort(values), ".", ms=4 if len(values) < 500 else 2,
              color=SERIES[0])
    _axis(axes.yaxis, unit)
    axes.set_xlabel(f"{places}, sorted by {name}")
    axes.grid(True)
    return figure
