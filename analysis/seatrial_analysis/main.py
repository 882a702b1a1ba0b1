"""The command line: seatrial-analysis scaling | compare | fleet | report.

Exit status: 0 done, 1 something is worse or stands out (compare, fleet), 3 bad usage, 4 unreadable file.
"""
import argparse
import contextlib
import sys

from . import compare, fleet, series
from .results import Results, Unreadable
from .scaling import MIN_POINTS, Refused
from .units import number, percent, quantity


def table(head, rows, right=()):
    """Columns as wide as they need; numbers to the right."""
    rows = [[str(c) for c in row] for row in rows]
    width = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print("  " + "  ".join(c.rjust(w) if i in right else c.ljust(w)
                               for i, (c, w) in enumerate(zip(row, width))).rstrip())


def law_text(one):
    if isinstance(one.law, Refused):
        return f"no law fitted: {one.law.why}"
    name = "Amdahl" if one.kind == "strong" else "Gustafson"
    peak = one.usl.peak
    return (f"{name}: serial fraction {one.law:.4f}; USL: contention {one.usl.sigma:.4f}, coherency {one.usl.kappa:.2e}, "
            + (f"largest throughput at {peak:.0f} ranks" if peak == peak else "no maximum within 1.5 times the largest size"))


def run_scaling(arguments):
    with contextlib.ExitStack() as stack:
        launches = [x for f in arguments.files for x in stack.enter_context(Results(f)).launches]
        found = series.of_launches(launches)
        knees = series.saturations(launches)
        if not found:
            print("no scaling series: a series is one solver's entry of a config at two sizes or more, such as\n"
                  "`layout: {nodes: [1, 2, 4]}` or `layout: {ranks: [1, 2]}`, of which it is known whether the problem\n"
                  "stays the same (`scaling: strong`) or grows with the ranks (`scaling: weak`)")
        for one in found:
            print(f"{one.name} ({one.benchmark}), {one.metric}, {one.kind} scaling; base: "
                  f"{one.points[0].size} ranks, {quantity(one.points[0].value.median, one.unit)}")
            table(["RANKS", "NODES", one.metric.upper(), "INTERVAL", "SPEED-UP", "EFFICIENCY", "INTERVAL", "KARP-FLATT",
                   "LOAD BAL.", "COMM. EFF.", "REMARKS"],
                  [[p.size, p.nodes, quantity(p.value.median, one.unit),
                    f"{quantity(p.value.low, one.unit)} .. {quantity(p.value.high, one.unit)}", number(p.speedup),
                    percent(p.efficiency), f"{percent(p.low)} .. {percent(p.high)}", number(p.serial),
                    number(p.pop.load_balance) if p.pop else "–", number(p.pop.communication) if p.pop else "–",
                    "; ".join((*p.marks, *(("super-linear",) if p.efficiency > 1.02 else ())))] for p in one.points],
                  right=(0, 1, 2, 4, 5, 7, 8, 9))
            print(f"  {law_text(one)}\n")
        saturation_table(knees)
    return 0


def saturation_table(knees):
    """A knee between few points is known no better than its neighbours."""
    if knees:
        print("bandwidth over threads: it grows with each thread up to the knee (hinge fit, relative error)")
        table(["STEP", "METRIC", "PLACE", "POINTS", "PER THREAD", "KNEE", "PLATEAU", "95 % FROM"],
              [[k.step, k.metric, k.place, k.n_points, quantity(k.knee.slope, "byte s-1"),
                number(k.knee.knee) if k.n_points >= MIN_POINTS else f"{k.between[0]:g} .. {k.between[1]:g}",
                quantity(k.knee.slope * k.knee.knee, "byte s-1"), number(k.knee.n95)] for k in knees], right=(3, 4, 5, 6, 7))


def run_compare(arguments):
    with Results(arguments.before) as a, Results(arguments.after) as b:
        done = compare.compare(a.launches, b.launches, arguments.alpha, arguments.delta / 100)
        n_launches = f"{len(a.launches)} and {len(b.launches)} launches, " if done.by_launch else ""
    rows = done.rows
    order = ("worse", "changed", "better", "too few", "same")
    shown = sorted((r for r in rows if arguments.all or r.outcome not in ("same", "too few")),
                   key=lambda r: (order.index(r.outcome), -abs(r.relative)))
    print(f"{arguments.before} (before) and {arguments.after} (after): {n_launches}{len(rows)} series in common, "
          f"{sum(r.outcome == 'worse' for r in rows)} worse, {sum(r.outcome == 'better' for r in rows)} better, "
          f"{sum(r.outcome == 'too few' for r in rows)} with too few samples to tell")
    print(f"a difference counts if it is significant at {arguments.alpha:g} (Mann-Whitney, Benjamini-Hochberg over all "
          f"series)\nand larger than {arguments.delta:g} %; "
          + ("samples are the medians of the launches" if done.by_launch else
             "repetitions of one launch are not launches: compare studies (seatrial merge) of several"))
    if shown:
        table(["OUTCOME", "STEP", "METRIC", "PLACE", "BEFORE", "AFTER", "CHANGE", "SHIFT", "INTERVAL", "P"],
              [[r.outcome, r.step, r.metric, r.place, quantity(r.before, r.unit), quantity(r.after, r.unit),
                percent(r.relative, sign=True), quantity(r.found.shift, r.unit) if r.found else "–",
                f"{quantity(r.found.low, r.unit)} .. {quantity(r.found.high, r.unit)}" if r.found else "–",
                f"{r.found.p:.2g}" if r.found else "–"] for r in shown], right=(4, 5, 6, 7, 9))
    for line in done.notes:
        print(f"note: {line}")
    for names, where in ((done.gone, "before"), (done.new, "after")):
        if names:
            print(f"only {where}: {', '.join(names[:12])}" + (f" and {len(names) - 12} more" if len(names) > 12 else ""))
    return 1 if any(r.outcome == "worse" for r in rows) else 0


def run_fleet(arguments):
    with contextlib.ExitStack() as stack:
        launches = [x for f in arguments.files for x in stack.enter_context(Results(f)).launches]
        largest = fleet.sizes(launches)
        found = fleet.findings(launches)
        drifts = fleet.trends(launches)
    count = {word: len({f.host for f in found if f.outcome == word}) for word in ("bad", "suspect", "past", "fast")}
    named = {f.host for f in found if f.outcome in ("bad", "suspect")}
    print(f"{len(launches)} launch{'' if len(launches) == 1 else 'es'}, fleet of {largest} nodes: "
          f"{count['bad']} bad, {count['suspect']} suspect, {largest - len(named)} "
          + ("ok" if largest >= fleet.FEWEST else "not judged"))
    if largest < fleet.FEWEST:
        print("fewer than five like nodes: none is called an outlier")
    if found:
        table(["OUTCOME", "NODE", "STEP", "METRIC", "VALUE", "FLEET", "CHANGE", "SCORE", "SEEN"],
              [[f.outcome, f.host, f.step, f.metric, quantity(f.value, f.unit), quantity(f.centre, f.unit),
                percent(f.relative, sign=True), f"{f.score:+.1f}", f"{f.seen} of {f.of}"] for f in found],
              right=(4, 5, 6, 7, 8))
        print("suspect: measure it again; bad: slow in the latest three files; past: slow once, not in the latest file;\n"
              "fast: curious, not bad")
    if drifts:
        print("nodes that drift against the fleet's median (Mann-Kendall, Benjamini-Hochberg over all nodes):")
        table(["TREND", "NODE", "STEP", "METRIC", "CHANGE", "P", "LAUNCHES"],
              [["worse" if t.worse else "better", t.host, t.step, t.metric, percent(t.change, sign=True), f"{t.p:.2g}", t.n]
               for t in drifts], right=(4, 5, 6))
    elif len(launches) < fleet.TREND_FROM:
        print(f"no trends: they take {fleet.TREND_FROM} launches")
    return 1 if named or any(t.worse for t in drifts) else 0


def run_report(arguments):
    from . import report  # matplotlib takes a second to load
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(Results(f)) for f in arguments.files]
        report.write(files, arguments.output, arguments.figures, arguments.published)
    print(arguments.output)
    return 0


def parser():
    top = argparse.ArgumentParser(prog="seatrial-analysis", description="Analysis of seatrial's results files.")
    commands = top.add_subparsers(dest="command", required=True)
    one = commands.add_parser("scaling", help="speed-up, efficiency and its causes, laws fitted where they may be")
    one.add_argument("files", nargs="+", metavar="FILE", help="results files or studies (seatrial merge)")
    one.set_defaults(run=run_scaling)
    one = commands.add_parser("compare", help="two runs or machines, with intervals and corrected tests",
                              description="Exit status 1 if anything is worse.")
    one.add_argument("before")
    one.add_argument("after")
    one.add_argument("--alpha", type=float, default=0.05, help="significance over all series (default 0.05)")
    one.add_argument("--delta", type=float, default=1.0, metavar="PERCENT", help="smaller changes do not count (default 1)")
    one.add_argument("--all", action="store_true", help="show the unchanged ones, too")
    one.set_defaults(run=run_compare)
    one = commands.add_parser("fleet", help="nodes that stand out, over one file or several",
                              description="Exit status 1 if a node is suspect or bad.")
    one.add_argument("files", nargs="+", metavar="FILE")
    one.set_defaults(run=run_fleet)
    one = commands.add_parser("report", help="one HTML page that needs nothing else")
    one.add_argument("files", nargs="+", metavar="FILE")
    one.add_argument("-o", "--output", default="report.html")
    one.add_argument("--figures", metavar="FOLDER", help="the figures as PNG and SVG files, too")
    one.add_argument("--published", metavar="CSV", help="table of published systems (default: the project's own)")
    one.set_defaults(run=run_report)
    return top


def main(arguments=None):
    try:
        chosen = parser().parse_args(arguments)
    except SystemExit as end:
        return 3 if end.code else 0
    try:
        return chosen.run(chosen)
    except Unreadable as error:
        print(f"seatrial-analysis: {error}", file=sys.stderr)
        return 4
    except FileNotFoundError as error:
        print(f"seatrial-analysis: cannot read '{error.filename}': {error.strerror}", file=sys.stderr)
        return 4
    except BrokenPipeError:
        return 0
