"""The HTML report: one page that needs nothing else, from results files alone.

It opens with the verdict and goes from the machine to memory, interconnect and solvers; every
figure says how it was measured. Long lists of places become their distribution and their worst.
"""
import html
import math
import pathlib

import numpy

from . import figures, fleet, published, series
from .scaling import Refused
from .units import number, percent, quantity

FOLDER = pathlib.Path(__file__).parent
FEW = 24        # places listed one by one
CELLS = 48      # rows and columns of a heat map; more nodes share a cell
MEANING = {0: "All criteria passed, or none were asked for.", 1: "A criterion failed.",
           2: "Incomplete: a step is missing, failed or was interrupted, or a criterion could not be decided.",
           3: "The launch or its config was wrong.", 4: "An internal or input/output error."}


def esc(value):
    return html.escape(str(value), quote=True)


def table(head, rows, right=(), classes=None):
    """rows of texts (escaped here); classes: column whose text is an outcome."""
    def cell(i, value):
        names = (["n"] if i in right else []) + ([outcome_class(value)] if i == classes else [])
        return f'<td class="{" ".join(names)}">{esc(value)}</td>' if names else f"<td>{esc(value)}</td>"
    top = "".join(f'<th class="{"n" if i in right else ""}">{esc(h)}</th>' for i, h in enumerate(head))
    body = "".join("<tr>" + "".join(cell(i, v) for i, v in enumerate(row)) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def outcome_class(outcome):
    return {"pass": "pass", "complete": "pass", "fail": "fail", "failed": "fail", "bad": "fail"}.get(outcome, "open")


def picture(svg, caption):
    return f"<figure>{svg}<figcaption>{esc(caption)}</figcaption></figure>"


def phases_of(metrics):
    """Parts of a solve: what has a time and a bandwidth, but for the reading beside it that hpcg measures as its ceiling."""
    names = [n[:-len("_bandwidth")] for n in metrics if n.endswith("_bandwidth")]
    return [n for n in names if f"{n}_time" in metrics and n != "read"]


def many(n, word):
    return f"{n} {word}{'' if n == 1 else 's'}"


def interval(low, high, unit):
    return f"{quantity(low, unit)} … {quantity(high, unit)}" if math.isfinite(low) and math.isfinite(high) else "–"


def verdict_words(launch):
    """(verdict in a word or two, its colour); both a failed criterion and missing steps are named."""
    outcome, status, rows = launch.verdict()
    outcomes = {r["outcome"] for r in rows}
    if status is None:
        return "No verdict", "open"
    if status == 0:
        return ("Passed", "pass") if outcomes - {""} else ("Complete, nothing asked", "open")
    if status == 2 and "fail" in outcomes:
        return "Failed and incomplete", "fail"
    return {1: ("Failed", "fail"), 2: ("Incomplete", "open")}.get(status, (outcome or "Error", "fail"))


def severity(launch):
    """Worst wins; a campaign without an end counts as incomplete, a failed criterion in it first."""
    status = launch.verdict()[1]
    return (2 if status is None else status), verdict_words(launch)[1] == "fail"


class Report:
    """Collects the page of one launch."""

    def __init__(self, launch, drawings, systems):
        self.launch, self.draw, self.systems = launch, drawings, systems
        self.steps = launch.steps()
        self.parts = []

    def add(self, *parts):
        self.parts.extend(parts)

    # ---- verdict ----

    def verdict(self):
        outcome, status, rows = self.launch.verdict()
        done = sum(s.status == "complete" for s in self.steps)
        asked = [r for r in rows if r["outcome"]]
        if status is None:
            (word, kind), meaning = verdict_words(self.launch), f"The campaign is {self.launch.status}: it did not come to its end."
        else:
            word, kind = verdict_words(self.launch)
            meaning = MEANING.get(status, "")
        reason = f" {self.launch.reason}." if self.launch.reason else ""
        self.add(f'<div class="verdict {kind}"><strong>{esc(word)}</strong><br>{esc(meaning)}{esc(reason)} '
                 f"{done} of {self.launch.n_steps_planned} steps complete, exit status {'–' if status is None else status}.</div>")
        if asked:
            counts = {}
            for row in asked:
                counts[row["outcome"]] = counts.get(row["outcome"], 0) + 1
            self.add("<p>", esc(", ".join(f"{n} {word}" for word, n in sorted(counts.items()))), "</p>")
            order = {"fail": 0, "inconclusive": 1, "not judged": 2, "pass": 3}
            asked.sort(key=lambda r: order.get(r["outcome"], 1))
            asked = list({(r["step"], r["metric"], r["outcome"], r["text"]): r for r in asked}.values())  # one place is all places
            self.add(table(["outcome", "step", "metric", "place", "value", "interval", "asked", "why"],
                           [self.verdict_row(r) for r in asked[:60]], right=(4, 5, 6), classes=0))
            if len(asked) > 60:
                rest = sorted({r["outcome"] for r in asked[60:]}, key=lambda o: order.get(o, 1))
                self.add(f'<p class="faint">and {len(asked) - 60} more ({esc(", ".join(rest))}), not shown</p>')
        failed = [s for s in self.steps if s.status != "complete" or s.check_bad]
        if failed:
            self.add("<h3>Steps without a result</h3>",
                     table(["step", "status", "reason"], [[s.name, s.status, s.reason] for s in failed], classes=1))
        found = fleet.findings([self.launch])
        if found:
            self.add("<h3>Nodes that stand out</h3>",
                     table(["outcome", "node", "step", "metric", "value", "fleet's median", "difference"],
                           [[f.outcome, f.host, f.step, f.metric, quantity(f.value, f.unit), quantity(f.centre, f.unit),
                             percent(f.relative, sign=True)] for f in found[:FEW]], right=(4, 5, 6), classes=0),
                     '<p class="faint">One-sided outlier test with a known false-alarm rate; suspect means: measure again.</p>')
        for step in self.steps:
            if step.benchmark == "link_map" and step.notes:
                self.add(f"<h3>Links</h3><p>{esc(step.notes)}</p>")

    def verdict_row(self, row):
        step = next((s for s in self.steps if s.number == int(row["step"])), None)
        metric = step.metric(row["metric"]) if step else None
        value, low, high, bound = (float(row[k]) for k in ("value", "low", "high", "bound"))
        if row["unit"] == "1" and metric is not None and metric.unit != "1":  # a spread over places
            values = [percent(value), f"{percent(low)} … {percent(high)}" if math.isfinite(low + high) else "–", percent(bound)]
        else:
            values = [quantity(value, row["unit"]), interval(low, high, row["unit"]), quantity(bound, row["unit"])]
        return [row["outcome"], step.name if step else "?", row["metric"], row["place"], *values, row["text"]]

    def warnings(self):
        lines = list(self.launch.warnings())
        if self.launch.fake_nodes:
            lines.append("One machine was treated as several nodes: figures between nodes are not a network's.")
        for step in self.steps:
            if step.status == "complete":
                if not step.placement_proved:
                    lines.append(f"{step.name}: the placement of its threads is not proved; not judged.")
                if step.oversubscribed:
                    lines.append(f"{step.name}: threads shared hardware threads (oversubscribed).")
                if step.n_dropped:
                    lines.append(f"{step.name}: {step.n_dropped} samples were void and are left out.")
                if step.notes and step.benchmark != "link_map":
                    lines.append(f"{step.name}: {step.notes}")
        if lines:
            self.add('<h2 id="warnings">Warnings</h2><ul>', *(f"<li>{esc(x)}</li>" for x in lines[:80]), "</ul>")
            if len(lines) > 80:
                self.add(f'<p class="faint">and {len(lines) - 80} more</p>')

    # ---- machine ----

    def machine(self):
        launch = self.launch
        facts = launch.facts()
        kinds = {}
        columns = [launch.nodes(c) for c in ("topology_class", "n_packages", "n_numa", "n_l3", "n_usable_cores",
                                             "n_usable_pus", "memory", "l3_size")]
        for host, *row in zip(launch.hosts(), *columns):
            kinds.setdefault(tuple(int(v) for v in row), []).append(host)
        self.add('<h2 id="machine">Machine and placement</h2>')
        cpu = " / ".join(facts.get("cpu_model", {"unknown": 0}))
        tiles = [("nodes", launch.n_nodes), ("ranks started", launch.n_ranks), ("processor", cpu),
                 ("MPI", launch.run("mpi_library").split(",")[0][:60]), ("started by", launch.run("launcher"))]
        self.add('<div class="tiles">', *(f'<div class="tile"><span class="faint">{esc(a)}</span><b>{esc(b)}</b></div>'
                                          for a, b in tiles), "</div>")
        self.add(table(["nodes", "sockets", "NUMA nodes", "L3 caches", "cores", "hardware threads", "memory", "one L3"],
                       [[f"{len(hosts)}: {', '.join(hosts[:4])}{' …' if len(hosts) > 4 else ''}", *map(number, k[1:6]),
                         quantity(float(k[6]), "byte"), quantity(float(k[7]), "byte")] for k, hosts in kinds.items()],
                       right=range(1, 8)))
        odd = {name: values for name, values in facts.items()
               if len(values) > 1 and name not in ("frequency_khz", "cmdline", "hugepages_free")}
        if odd:
            self.add("<p>Settings in which the nodes differ:</p>",
                     table(["setting", "value", "nodes"], [[n, v, c] for n, vs in odd.items() for v, c in vs.items()], right=(2,)))
        self.placement()

    def placement(self):
        seated = [s for s in self.steps if s.seats()]
        if not seated:
            return
        step = max(seated, key=lambda s: len(s.seats()["rank"]))
        seats = step.seats()
        first = int(seats["node"][0])
        chosen = [i for i in range(len(seats["rank"])) if int(seats["node"][i]) == first]
        self.add(f"<h3>Where threads sat</h3><p>Step {esc(step.name)}: {many(len(seats['rank']), 'thread')} of "
                 f"{many(len(set(map(int, seats['rank']))), 'rank')} on {many(len(set(map(int, seats['node']))), 'node')}; "
                 f"{sum(map(bool, seats['proved']))} of them read back where they were planned. "
                 f"Shown: node {esc(self.launch.hosts()[first])}, a box per NUMA node; rank.thread on hardware thread.</p>")
        objects = {}
        for i in chosen:
            objects.setdefault((int(seats["package"][i]), int(seats["numa"][i])), []).append(i)
        self.add('<div class="seats">')
        for (package, numa), members in sorted(objects.items()):
            title = f"socket {package if package >= 0 else '?'}, NUMA {numa if numa >= 0 else '?'}"
            boxes = "".join(
                f'<span class="pu{"" if seats["proved"][i] else " bad"}" title="planned {esc(seats["planned"][i])}, '
                f'read back {esc(seats["verified"][i])}">{int(seats["rank"][i])}.{int(seats["thread"][i])} '
                f'<span class="faint">@{int(seats["pu"][i])}</span></span>' for i in members[:256])
            self.add(f'<div class="object">{title}<div class="pus">{boxes}</div></div>')
        self.add("</div>")

    # ---- figures by topic ----

    def topic(self, anchor, title, names, lead):
        steps = [s for s in self.steps if s.benchmark in names and s.status == "complete"]
        if not steps:
            return
        self.add(f'<h2 id="{anchor}">{title}</h2><p>{lead}</p>')
        swept = self.sweeps(steps)
        for step in (s for s in steps if s.name not in swept):
            self.step(step)
        if swept:
            self.add(f"<details><summary>The {len(swept)} steps of the sweeps above, in figures</summary>")
            for step in (s for s in steps if s.name in swept):
                self.step(step)
            self.add("</details>")

    def sweeps(self, steps):
        """Curves over a swept parameter, such as the message size; names of the steps that are on one."""
        groups = {}
        for step in steps:
            numbers = step.numbers()
            for name, (value, unit) in numbers.items():
                others = tuple(sorted((k, v) for k, v in step.parameters().items() if k != name))
                if value >= 0 and f"{name}=" in step.name:
                    groups.setdefault((step.series, step.benchmark, step.layout, name, unit, others), {})[value] = step
        shown = set()
        for (series_name, _, layout, name, unit, _), by_value in groups.items():
            if len(by_value) >= 3:
                chosen = [by_value[v] for v in sorted(by_value)]
                head = ",".join(w for w in chosen[0].name.partition(":")[2].split(",") if not w.startswith(f"{name}="))
                title = f"{series_name}{', ' if head else ''}{head} over {name}"
                self.add(f"<h3>{esc(title)}</h3>"
                         f'<p class="faint">{esc(chosen[0].summary.rstrip("."))}. Layout: {esc(layout)}.</p>')
                self.sweep(title, name, unit, sorted(by_value), chosen)
                shown |= {s.name for s in chosen}
        return shown

    def sweep(self, title, name, unit, x, steps):
        by_unit = {}
        for metric in steps[0].metrics():
            if metric.better != "neither" and metric.place_kind not in ("point", "numa") and metric.unit != "1" \
                    and not metric.name.endswith("_moved"):  # the same curve, scaled
                by_unit.setdefault(metric.unit, []).append(metric.name)
        for y_unit, names in by_unit.items():
            lines = []
            for metric_name in names[:len(figures.SERIES)]:
                points = [(v, *spread(s.metric(metric_name))) for v, s in zip(x, steps) if s.metric(metric_name)]
                points = numpy.array([p for p in points if math.isfinite(p[1])])
                if len(points):
                    lines.append((metric_name, *points.T))
            if lines:
                log = max(l[2].max() for l in lines) > 20 * max(1e-300, min(l[2].min() for l in lines))
                figure = figures.curves(lines, name, unit, y_unit, log)
                self.add(picture(self.draw.finish(figure, f"{title} {names[0]}", title),
                                 "Medians; bands: 95 % interval of one place, lowest to highest of several."))

    def step(self, step):
        metrics = [m for m in step.metrics() if len(m.summary("median"))]
        self.add(f"<h3>{esc(step.name)}</h3>")
        how = f"{step.summary.rstrip('.')}. Layout: {step.layout}."
        self.add(f'<p class="faint">{esc(how)}</p>')
        plain = [m for m in metrics if m.place_kind not in ("point", "pair", "numa") or len(m.labels()) <= 4]
        rows = []
        for metric in plain:
            rows.extend(self.rows(metric))
        if rows:
            self.add(table(["metric", "place", "median", "95 % interval", "range", "samples"], rows, right=(2, 3, 4, 5)))
        self.point_curves(step, [m for m in metrics if m.place_kind == "point"])
        for metric in metrics:
            if metric.place_kind in ("pair", "numa") and len(metric.labels()) > 4:
                self.heat(metric)
            elif metric.place_kind == "node" and len(metric.labels()) > FEW and metric.better != "neither":
                values = metric.summary("median")
                self.add(picture(self.draw.finish(figures.fleet(values[numpy.isfinite(values)], metric.unit, metric.name),
                                                  f"{step.name} {metric.name} nodes", f"{metric.name} of all nodes"),
                                 f"{metric.name}: medians of {len(values)} nodes"))

    def rows(self, metric):
        labels = metric.labels()
        columns = [metric.summary(c) for c in ("median", "ci_low", "ci_high", "min", "max", "n")]
        if len(labels) <= FEW:
            return [[metric.name, label, quantity(float(m), metric.unit), interval(float(a), float(b), metric.unit),
                     interval(float(c), float(d), metric.unit) if c != d else "all equal", int(n)]
                    for label, m, a, b, c, d, n in zip(labels, *columns)]
        median = columns[0]
        q = numpy.nanpercentile(median, [0, 25, 50, 75, 100])
        worst = numpy.argsort(median if metric.better == "higher" else -median)[:3]
        names = ", ".join(labels[i] for i in worst)
        return [[metric.name, f"{len(labels)} places; worst: {names}", quantity(float(q[2]), metric.unit),
                 f"quartiles {interval(float(q[1]), float(q[3]), metric.unit)}", interval(float(q[0]), float(q[4]), metric.unit),
                 int(numpy.sum(columns[5]))]]

    def point_curves(self, step, metrics):
        if not metrics:
            return
        if step.benchmark == "loaded_latency":
            both = {m.name: m for m in metrics}
            if {"latency", "bandwidth"} <= both.keys() and self.loaded_curve(step, both["bandwidth"], both["latency"]):
                return
        for unit in sorted({m.unit for m in metrics}):
            lines, known = [], False
            for metric in (m for m in metrics if m.unit == unit):
                ranks = numpy.asarray(metric.places("rank"), float)
                x = numpy.asarray(metric.places("value"), float)
                one = ranks == ranks[0] if len(ranks) else []
                if numpy.sum(one) == 1:  # one value for each core: all cores of the node belong together
                    nodes = numpy.asarray(metric.places("node"))
                    one = nodes == nodes[0]
                y, low, high = (metric.summary(c) for c in ("median", "ci_low", "ci_high"))
                known = known or bool(numpy.isfinite(low).any())
                if len(x) == len(y) and len(x):
                    order = numpy.argsort(x[one])
                    lines.append((metric.name, x[one][order], y[one][order],
                                  *(numpy.where(numpy.isfinite(v[one]), v[one], y[one])[order] for v in (low, high))))
            if lines:
                first = next(m for m in metrics if m.unit == unit)
                names, units = first.places("value_name"), first.places("value_unit")
                log = max(l[2].max() for l in lines) > 20 * max(1e-300, min(l[2].min() for l in lines))
                figure = figures.curves(lines, names[0], units[0], unit, log, joined=names[0] != "cpu")
                label = first.labels()[0].split(", ")[-1] if names[0] != "cpu" else f"node {self.launch.hosts()[0]}"
                n_curves = len(set(map(int, first.places("rank" if names[0] != "cpu" else "node"))))
                label += f"; {n_curves - 1} more like it in the file" if n_curves > 1 else ""
                self.add(picture(self.draw.finish(figure, f"{step.name} {lines[0][0]}", f"{step.name} over {names[0]}"),
                                 f"Medians {'with 95 % intervals' if known else '(too few samples for intervals)'} over "
                                 f"{names[0]}, {label}."))

    def loaded_curve(self, step, bandwidth, latency):
        """One rank's points in order of their load, as they were measured: the curve may bend back where memory saturates."""
        ranks = numpy.asarray(latency.places("rank"))
        x, y = bandwidth.summary("median"), latency.summary("median")
        if len(x) != len(y) or len(x) != len(ranks) or not len(x):
            return False
        mine = numpy.nonzero(ranks == ranks[0])[0]
        order = mine[numpy.argsort(-numpy.asarray(latency.places("value"), float)[mine])]
        more = len(set(map(int, ranks))) - 1
        label = latency.labels()[order[0]].split(", ")[-1]
        figure = figures.curve_xy((x[order], y[order]), "byte s-1", "s")
        self.add(picture(self.draw.finish(figure, f"{step.name} loaded", "latency under load"),
                         f"Latency of one core while the others stream through memory, {label}"
                         + (f"; {more} more like it in the file." if more else ".")))
        return True

    def matching(self, metric):
        """Pairs of which no two share a rank fill no matrix: their values, sorted."""
        median = metric.summary("median")
        values = median[numpy.isfinite(median)]
        if len(values):
            self.add(picture(self.draw.finish(figures.fleet(values, metric.unit, metric.name, "pairs"),
                                              f"{metric.step.name} {metric.name} pairs", f"{metric.name} of all pairs"),
                             f"{metric.name} ({metric.help}): medians of {len(values)} pairs"))
            self.slowest(metric, median)

    def slowest(self, metric, median):
        worst = numpy.argsort(-median if metric.better == "lower" else median)[:8]
        labels = metric.labels()
        self.add(table(["slowest", metric.name], [[labels[i], quantity(float(median[i]), metric.unit)] for i in worst], right=(1,)))

    def heat(self, metric):
        """Rows send or compute, columns receive or hold the memory; worst of a cell's places if several share it."""
        ends = [list(map(int, metric.places(k))) for k in ("rank", "rank_b")] if metric.place_kind == "pair" else [[], []]
        if ends[0] and len(set(ends[0]) | set(ends[1])) == len(ends[0]) + len(ends[1]):
            self.matching(metric)
            return
        kind = ("node", "node_b") if metric.place_kind == "pair" else ("numa", "numa_b")
        a, b = (numpy.asarray(metric.places(k), int) for k in kind)
        names = self.launch.hosts() if metric.place_kind == "pair" else [f"NUMA {i}" for i in range(int(max(a.max(), b.max())) + 1)]
        if metric.place_kind == "pair" and (a == b).all():
            a, b = (numpy.asarray(metric.places(k), int) for k in ("rank", "rank_b"))
            names = [f"rank {i}" for i in range(int(max(a.max(), b.max())) + 1)]
        median = metric.summary("median")
        n = int(max(a.max(), b.max())) + 1
        share = math.ceil(n / CELLS)
        size = math.ceil(n / share)
        lower = metric.better == "lower"
        cells = numpy.full((size, size), numpy.nan)
        where = {}
        for i in numpy.argsort(median if lower else -median):  # the worst comes last and stays
            if numpy.isfinite(median[i]):
                cells[a[i] // share, b[i] // share] = median[i]
                where[(a[i] // share, b[i] // share)] = i
        self.add(picture(self.heat_svg(metric, cells, where, a, b, names),
                         f"{metric.name} ({metric.help}); row: {'from' if metric.place_kind == 'pair' else 'cores of'}, "
                         f"column: {'to' if metric.place_kind == 'pair' else 'memory of'}. Darker is slower."
                         + (f" Each cell is the slowest of {share} x {share}." if share > 1 else "")))
        self.slowest(metric, median)

    def heat_svg(self, metric, cells, where, a, b, names):
        size = len(cells)
        side = max(9, min(44, 640 // size))
        low, high = numpy.nanmin(cells), numpy.nanmax(cells)
        span = high - low if high > low else 1.0
        parts = [f'<div><svg class="heat" width="{size * side + 1}" height="{size * side + 1}" role="img" '
                 f'aria-label="{esc(metric.name)} matrix">']
        for (row, col), i in where.items():
            share = (cells[row, col] - low) / span
            bad = share if metric.better == "lower" else 1 - share
            if span < 0.02 * abs(high):
                bad *= span / (0.02 * abs(high))  # 2 % are no picture
            title = f"{names[a[i]]} → {names[b[i]]}: {quantity(float(cells[row, col]), metric.unit)}"
            parts.append(f'<rect x="{col * side}" y="{row * side}" width="{side - 1}" height="{side - 1}" '
                         f'fill="hsl(22 {45 + 40 * bad:.0f}% {90 - 60 * bad:.0f}%)"><title>{esc(title)}</title></rect>')
        scale = f"{quantity(float(low), metric.unit)} to {quantity(float(high), metric.unit)}"
        return "".join(parts) + f'</svg><div class="tip faint">{esc(scale)}; point at a cell for its names</div></div>'

    # ---- solvers ----

    def solvers(self):
        names = ("spmv", "hpcg", "cg", "flow", "halo")
        self.topic("solvers", "Solvers", names, "What a sparse solver gets out of the memory and the interconnect measured above.")
        solved = [s for s in self.steps if s.benchmark in names and s.complete]
        ceilings = self.ceilings()
        self.phases(solved, ceilings)
        self.roofline(solved, ceilings)

    def ceilings(self):
        """{name: bandwidth of all nodes together}, from stream on whole nodes and arrays beyond the caches."""
        found = {}
        for step in self.steps:
            if step.benchmark != "stream" or not step.complete or step.oversubscribed or not step.placement_proved \
                    or ", within " in step.layout or "all-cores" not in step.layout or not self.beyond_caches(step):
                continue
            for name, title in (("triad_moved", "triad, bytes moved"), ("triad_nontemporal", "triad, stores past the caches"),
                                ("sum", "sum (reads only)")):
                metric = step.metric(name)
                if metric is not None and metric.place_kind == "node" and step.parameters().get("memory") == "local":
                    medians = metric.summary("median")
                    if len(medians) == self.launch.n_nodes and numpy.all(numpy.isfinite(medians)):
                        found[title] = max(found.get(title, 0.0), float(numpy.sum(medians)))
        return found

    def beyond_caches(self, step):
        size = step.numbers().get("size", (-1, ""))[0]
        caches = numpy.asarray(self.launch.nodes("n_l3"), float) * numpy.asarray(self.launch.nodes("l3_size"), float)
        return size < 0 or size >= 4 * max(caches, default=0)

    def phases(self, steps, ceilings):
        """What a solver's time went to: its parts that have both a time and a bandwidth."""
        bars, rows = [], []
        best = max(ceilings.values(), default=math.nan)
        for step in steps:
            metrics = {m.name: m for m in step.metrics() if m.place_kind == "job"}
            timed = [(p, metrics[f"{p}_time"].value()) for p in phases_of(metrics)]
            timed = [(p, t) for p, t in timed if t > 0]
            if timed:
                bars.append((step.name, timed))
                total = sum(t for _, t in timed)
                for part, seconds in timed:
                    rate = metrics[f"{part}_bandwidth"].value()
                    rows.append([step.name, part, quantity(seconds, "s"), percent(seconds / total), quantity(rate, "byte s-1"),
                                 percent(rate / best)])
        if bars:
            shown = bars[:FEW]
            rest = f" The first {len(shown)} of {len(bars)} steps; all stand below." if len(bars) > len(shown) else ""
            self.add("<h3>Phases</h3>", picture(self.draw.finish(figures.phases(shown), "phases", "time of solvers by phase"),
                                                "Where the solvers' time goes; rank 0's phases." + rest))
            self.add("<details><summary>Phases in figures</summary>",
                     table(["step", "phase", "time", "share", "bandwidth", "of all nodes' measured"], rows, right=(2, 3, 4, 5)),
                     '<p class="faint">Least traffic over time, against the largest bandwidth that stream measured here on all nodes '
                     "together; more than 100 % comes out of caches.</p></details>")

    def roofline(self, steps, ceilings):
        points = []
        for step in steps:
            rate = step.metric("rate")
            if rate is not None and rate.unit == "flop s-1":
                flops, moved = rate.value(), self.traffic(step)
                if flops > 0 and moved > 0:
                    points.append((step.name, flops / moved, flops))
        if ceilings and points:
            best = sorted(ceilings.items(), key=lambda kv: -kv[1])[:3]
            figure = figures.roofline(best, points)
            self.add("<h3>Roofline</h3>", picture(
                self.draw.finish(figure, "roofline", "roofline with measured ceilings"),
                "Ceilings are bandwidths that stream measured in this file on whole nodes, summed over all of them. Bytes are the least "
                "that the algorithm must move; a point above the ceilings works out of caches, or reads more than it writes. Solvers "
                "that count no operations (cg, flow) have no point here."))

    @staticmethod
    def traffic(step):
        """Bytes per second of the whole solve: as the step gives it, or of its phases together (hpcg), or NaN."""
        metrics = {m.name: m for m in step.metrics() if m.place_kind == "job"}
        if "bandwidth" in metrics:
            return metrics["bandwidth"].value()
        parts = phases_of(metrics)
        moved = sum(metrics[f"{p}_bandwidth"].value() * metrics[f"{p}_time"].value() for p in parts)
        return moved / metrics["time"].value() if parts and "time" in metrics else math.nan

    def published(self):
        blocks = published.beside(self.launch, self.systems)
        if blocks:
            self.add('<h2 id="published">Beside published systems</h2>'
                     '<p>Figures of the reviews named in brackets, not measured by seatrial.</p>')
        for title, rows in blocks:
            self.add(f"<h3>{esc(title)}</h3>", table(["value", "system", "conditions"], rows, right=(0,)))

    def method(self):
        launch = self.launch
        self.add('<h2 id="method">How each number was measured</h2>',
                 "<p>Every figure is the median of its valid samples with the interval of order statistics; all samples are in the file. "
                 "Ranks start together by a synchronised clock; the warm-up is left out; repetitions go on until the interval is "
                 "narrow enough or the budget is used.</p>")
        rows = [[s.name, s.benchmark, s.source, f"{s.n_repetitions or 0}", "yes" if s.converged else "no",
                 f"{s.check_n or 0} values, {s.check_bad or 0} wrong", "yes" if s.placement_proved else "no"] for s in self.steps]
        self.add("<details><summary>Steps, methods and checks</summary>",
                 table(["step", "benchmark", "source of the method", "repetitions", "converged", "verified", "placement proved"],
                       rows, right=(3,)), "</details>")
        self.add("<details><summary>Parameters</summary>",
                 table(["step", "layout", "parameters"], [[s.name, s.layout, " ".join(f"{k}={v}" for k, v in s.parameters().items())]
                                                          for s in self.steps]), "</details>")
        self.add("<details><summary>Program, libraries, config</summary>",
                 table(["", ""], [["program", launch.run("binary")], ["command", launch.run("command")],
                                  ["MPI", launch.run("mpi_library")], ["transport", launch.run("transport")],
                                  ["begun", launch.created], ["wall time", quantity(launch.wall_s, "s")]]),
                 f"<pre>{esc(launch.run('config'))}</pre></details>")

    def all(self):
        self.verdict()
        self.machine()
        self.topic("memory", "Memory", ("stream", "stream_threads", "numa_matrix", "cache_bandwidth", "latency", "loaded_latency"),
                   "Bandwidth and latency of each node, from first-level cache to the far socket.")
        self.topic("interconnect", "Interconnect", ("pairs", "pairs_sizes", "rma", "thread_rate", "link_map", "collectives",
                                                    "bisection", "congestion", "noise"),
                   "Messages between ranks and nodes. Ranks of one node are no network: the labels say which is which.")
        self.solvers()
        self.topic("other", "Other steps", ("noop",), "The harness itself.")
        self.published()
        self.warnings()
        self.method()


def scaling_section(launches, drawings):
    found = series.of_launches(launches)
    if not found:
        return ""
    parts = ['<h2 id="scaling">Scaling</h2>']
    chosen = {}
    for one in found:  # one picture per entry: its first metric
        chosen.setdefault(one.name, one)
    parts.append(picture(drawings.finish(figures.scaling(list(chosen.values())), "scaling", "efficiency over ranks"),
                         "Efficiency against the smallest size of the series, with intervals from those of the medians. Hollow points "
                         "are not the base's measurement again: the remarks below say what differs."))
    for one in found:
        parts.append(f"<h3>{esc(one.name)}: {esc(one.metric)} ({esc(one.kind)})</h3>")
        parts.append(table(["ranks", "nodes", "value", "speed-up", "efficiency", "interval", "Karp–Flatt", "load balance", "communication",
                            "remarks"],
                           [[p.size, p.nodes, quantity(p.value.median, one.unit), number(p.speedup), percent(p.efficiency),
                             f"{percent(p.low)} … {percent(p.high)}", number(p.serial), number(p.pop.load_balance) if p.pop else "–",
                             number(p.pop.communication) if p.pop else "–",
                             "; ".join((*p.marks, *(("super-linear",) if p.efficiency > 1.02 else ())))] for p in one.points],
                           right=range(9)))
        if isinstance(one.law, Refused):
            parts.append(f'<p class="faint">No law fitted: {esc(one.law.why)}.</p>')
        else:
            parts.append(f"<p>{'Amdahl' if one.kind == 'strong' else 'Gustafson'}: serial fraction {one.law:.4f}; USL contention "
                         f"{one.usl.sigma:.4f}, coherency {one.usl.kappa:.2e}.</p>")
    return "".join(parts)


def launches_table(launches, shown):
    """All launches of a study, the worst first: a page must not open with the verdict of a good one alone."""
    rows = [[verdict_words(x)[0], x.path, x.created, x.n_nodes, x.n_ranks] for x in sorted(launches, key=severity, reverse=True)]
    more = f'<p class="faint">and {len(rows) - FEW} more, none worse than the last one shown</p>' if len(rows) > FEW else ""
    return (f"<p>{len(launches)} launches, the worst first; shown in full below: {esc(shown.path)}.</p>"
            + table(["verdict", "launch", "begun", "nodes", "ranks"], rows[:FEW], right=(3, 4)) + more)


def spread(metric):
    """(median, low, high): a single place's interval, or lowest and highest of several places' medians."""
    median, low, high = (metric.summary(c) for c in ("median", "ci_low", "ci_high"))
    median = median[numpy.isfinite(median)]
    if not len(median):
        return math.nan, math.nan, math.nan
    if len(median) == 1 and len(low) == 1 and numpy.isfinite([low[0], high[0]]).all():
        return float(median[0]), float(low[0]), float(high[0])
    return float(numpy.median(median)), float(median.min()), float(median.max())


def write(files, output, figures_folder, published_csv):
    """The page of all launches in @files; the first launch is shown in full, all enter the scaling section."""
    drawings = figures.Figures(pathlib.Path(figures_folder) if figures_folder else None)
    systems = published.read(published_csv)
    launches = [x for f in files for x in f.launches]
    shown = max(launches, key=severity)  # the first of the worst
    report = Report(shown, drawings, systems)
    report.all()
    verdict, body = report.parts[0], "".join(report.parts[1:])
    scaling = scaling_section(launches, drawings)
    at = body.find('<h2 id="published">')
    at = at if at >= 0 else body.find('<h2 id="warnings">')
    at = at if at >= 0 else body.find('<h2 id="method">')
    body = body[:at] + scaling + body[at:]
    anchors = [("machine", "machine"), ("memory", "memory"), ("interconnect", "interconnect"), ("solvers", "solvers"),
               ("scaling", "scaling"), ("published", "published systems"), ("warnings", "warnings"), ("method", "method")]
    links = "".join(f'<a href="#{a}">{t}</a>' for a, t in anchors if f'id="{a}"' in body)
    several = launches_table(launches, shown) if len(launches) > 1 else ""
    for kind, words in (("none", "changed by another program after seatrial wrote it (no seal), so not checked for damage."),
                        ("length", "too large to be checked for damage here; `seatrial report FILE` does.")):
        names = [f.path for f in files if f.sealed == kind]
        several += f'<p class="faint">{esc(", ".join(names))}: {words}</p>' if names else ""
    page = (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>seatrial: {esc(shown.campaign)}</title><style>{(FOLDER / 'page.css').read_text(encoding='utf-8')}</style></head><body>"
            f'<header><h1>seatrial: {esc(shown.campaign)}</h1><span class="faint">{esc(pathlib.Path(shown.path).name)}, '
            f'{esc(shown.created)}</span><button id="theme" type="button">light / dark</button></header>'
            f"<nav>{links}</nav>{verdict}{several}{body}<script>{(FOLDER / 'page.js').read_text(encoding='utf-8')}</script></body></html>\n")
    pathlib.Path(output).write_text(page, encoding="utf-8")
