"""Scaling series out of files: steps of one entry of the config at several sizes.

A point is one size of a series in one launch or in several launches of the same size; its value
is the median over all valid samples, its interval from the launches where there are five or more,
else from the repetitions. Threads per rank must stay the same, or the point is marked and no law is
fitted across it. Whether a series is strong or weak comes from the file; a series that does not say
is left out, because an efficiency of the wrong kind looks right and is not.
"""
import dataclasses
import math
import re

import numpy

from . import scaling, statistics
from .results import Step


@dataclasses.dataclass
class Point:
    size: int               # ranks that took part
    nodes: int
    threads: int
    value: statistics.Estimate
    n_launches: int
    resource: str           # what must not change within a fit
    steps: list[Step] = dataclasses.field(repr=False, default_factory=list)
    speedup: float = math.nan
    efficiency: float = math.nan
    low: float = math.nan   # of the efficiency
    high: float = math.nan
    serial: float = math.nan  # Karp-Flatt
    pop: scaling.Pop | None = None
    marks: tuple = ()


@dataclasses.dataclass
class Series:
    name: str
    benchmark: str
    metric: str
    unit: str
    better: str
    kind: str               # strong or weak
    points: list[Point]
    usl: object = None
    law: object = None      # serial fraction by Amdahl (strong) or Gustafson (weak)


def of_launches(launches):
    """All series with at least two sizes, for each metric of the whole job that has a direction."""
    groups = {}
    for launch in launches:
        for step in launch.steps():
            if step.complete and step.n_active_ranks and step.series and _kind(step):
                groups.setdefault((step.series, step.benchmark, _fixed(step)), []).append(step)
    found = []
    for (_, benchmark, _), steps in groups.items():
        parts = _one_way_to_grow(steps)
        for part in parts:
            if len({s.n_active_ranks for s in part}) > 1:
                grown = ("ranks=", "nodes=") if len(parts) > 1 else ("ranks=", "nodes=", "ranks_per_node=")
                found.extend(_series(_name(part[0], grown), benchmark, metric, part) for metric in _headlines(part))
    return found


def _name(step, grown):
    """The step's name without what grows: other values of a sweep make other series."""
    entry, _, values = step.name.partition(":")
    kept = ",".join(v for v in values.split(",") if v and not v.startswith(grown))
    return f"{entry}:{kept}" if kept else entry


# Benchmarks whose files need not say it: nx, ny, nz are those of each rank, or of the whole box.
KINDS = {"hpcg": "weak", "spmv": "strong", "cg": "strong"}


def _kind(step):
    """strong, weak, or None: by `scaling:` of the config, the parameter it sets, or the benchmark."""
    if step.scaling in ("strong", "weak"):
        return step.scaling
    scope = {"per_rank": "weak", "total": "strong"}.get(step.parameters().get("scope"))
    return scope or KINDS.get(step.benchmark)


def _one_way_to_grow(steps):
    """Equal sizes on different numbers of nodes are no point: then each number of ranks per node is a series."""
    nodes = {}
    for step in steps:
        nodes.setdefault(step.n_active_ranks, set()).add(step.n_active_nodes)
    if all(len(n) == 1 for n in nodes.values()):
        return [steps]
    parts = {}
    for step in steps:
        parts.setdefault(step.n_active_ranks / max(step.n_active_nodes or 1, 1), []).append(step)
    return list(parts.values())


def _headlines(steps):
    """What a scaling study is about: the time of the work or its rate, not that of every part."""
    metrics = [m for m in steps[0].metrics() if m.place_kind == "job" and m.better != "neither"]
    names = {m.name for m in metrics}
    chosen = [m for m in metrics if m.name in ("step_time", "rate", "rating") or m.name.endswith("_iteration_time")
              or (m.name == "time" and not names & {"step_time", "rating"})]
    return [m for m in chosen if all(statistics.estimate(_samples(s, m.name)).median > 0 for s in steps)]


def _fixed(step):
    """What is the same for all points: the parameters and all of the layout but nodes and ranks."""
    layout = re.sub(r"^nodes [^,]*, |[^,]* ranks? (per node|in total), ", "", step.layout)
    return tuple(sorted(step.parameters().items())), layout


def _series(name, benchmark, metric, steps):
    by_size = {}
    for step in steps:
        by_size.setdefault(step.n_active_ranks, []).append(step)
    points = [_point(metric.name, size, of) for size, of in sorted(by_size.items())]
    series = Series(name, benchmark, metric.name, metric.unit, metric.better, _kind(steps[0]), points)
    _compare_with_base(series)
    _fit(series)
    return series


def _samples(step, name):
    metric = step.metric(name)
    return numpy.concatenate([numpy.asarray(v) for v in metric.samples()] or [[]]) if metric else numpy.array([])


def _point(name, size, steps):
    launches = [numpy.median(v) for v in (_samples(s, name) for s in steps) if len(v)]
    values = launches if len(launches) >= 5 else numpy.concatenate([_samples(s, name) for s in steps])
    first = steps[0]
    marks = tuple(sorted({"oversubscribed" for s in steps if s.oversubscribed} |
                         {"placement not proved" for s in steps if not s.placement_proved} |
                         {"fake nodes" for s in steps if s.launch.fake_nodes}))
    return Point(size, first.n_active_nodes, first.n_threads, statistics.estimate(values), len(steps),
                 _resource(first), steps, pop=_pop(first, name), marks=marks)


def _resource(step):
    """What a law cannot see: sockets, nodes, threads per rank, cores shared by hardware threads."""
    seats = step.seats()
    cores = {(int(n), int(c)) for n, c in zip(seats.get("node", []), seats.get("core", []))}
    per_rank = (step.n_threads or 0) / step.n_active_ranks
    shared = len(seats.get("rank", [])) > len(cores) if cores else False
    sockets = {(int(n), int(p)) for n, p in zip(seats.get("node", []), seats.get("package", []))}
    where = "several nodes" if step.n_active_nodes != 1 else "one socket" if len(sockets) <= 1 else "several sockets"
    return f"{where}, {per_rank:g} threads per rank{', SMT' if shared else ''}"


def _pop(step, name):
    """The POP efficiencies as the solver formed them, or from its shares of waiting by rank."""
    start = name[:-len("iteration_time")] if name.endswith("_iteration_time") else ""
    balance, communication = (step.metric(start + n) for n in ("load_balance", "communication_efficiency"))
    if balance is not None and communication is not None and balance.place_kind == "job":
        a, b = balance.value(), communication.value()
        return scaling.Pop(a, b, a * b) if math.isfinite(a) and math.isfinite(b) else None
    waiting = [m.summary("median") for m in (step.metric(n) for n in ("halo_fraction", "reduction_fraction",
                                                                      "allreduce_fraction"))
               if m is not None and m.place_kind == "rank"]
    if not waiting or not len(waiting[0]) or not numpy.all(numpy.isfinite(waiting)):
        return None
    return scaling.pop(1 - numpy.sum(waiting, axis=0), 1.0)


def _compare_with_base(series):
    """Base: the smallest size. A rate is turned into the time of the same work."""
    base = series.points[0]
    for point in series.points:
        ratio = _ratio(series, base.value.median, point.value.median)
        worse, better = ((_ratio(series, base.value.low, point.value.high), _ratio(series, base.value.high, point.value.low))
                         if series.better == "lower" else
                         (_ratio(series, base.value.high, point.value.low), _ratio(series, base.value.low, point.value.high)))
        growth = point.size / base.size
        if series.kind == "strong":
            point.speedup, share = ratio, 1 / growth
        elif series.better == "lower":   # time of a weak step: E = T(1)/T(p), S = E p
            point.speedup, share = ratio * growth, 1.0
        else:                            # a rate of weak steps: S = X(p)/X(1)
            point.speedup, share = ratio, 1 / growth
        point.efficiency = ratio * share
        point.low, point.high = (1.0, 1.0) if point is base else sorted((worse * share, better * share))
        point.serial = scaling.karp_flatt(point.speedup, growth) if growth > 1 else math.nan
        point.marks += _other_work(base, point, series.metric)


def _other_work(base, point, metric):
    """What makes a point another measurement than the base: its threads, its iterations."""
    marks = []
    if point.threads and base.threads and point.threads * base.size != base.threads * point.size:
        marks.append(f"{point.threads / point.size:g} threads per rank, base {base.threads / base.size:g}")
    start = metric[:-len("iteration_time")] if metric.endswith("_iteration_time") else ""
    for name in (start + "iterations", "p_iterations"):
        own, first = (numpy.median(v) if len(v) else math.nan
                      for v in (_samples(p.steps[0], name) for p in (point, base)))
        if math.isfinite(own) and math.isfinite(first) and own != first:
            marks.append(f"{own:g} iterations, base {first:g}")
    return tuple(marks)


def _ratio(series, base, value):
    return base / value if series.better == "lower" else value / base


def _fit(series):
    points = series.points
    growth = [p.size / points[0].size for p in points]
    resources = [p.resource for p in points]
    series.usl = scaling.fit_usl([p.size for p in points], [p.speedup for p in points], resources)
    law = scaling.fit_amdahl if series.kind == "strong" else scaling.fit_gustafson
    series.law = law(growth, [p.speedup for p in points], resources)


@dataclasses.dataclass
class Saturation:
    """Where the bandwidth of a node stops to grow with its threads."""
    step: str
    metric: str
    place: str
    knee: scaling.Knee
    between: tuple[float, float]  # measured sizes on both sides of the knee
    n_points: int


def saturations(launches):
    """The knee of every curve of bandwidth over threads with three points or more."""
    found = []
    for launch in launches:
        for step in launch.steps():
            if step.complete:
                for metric in step.metrics():
                    if metric.place_kind == "point" and metric.unit == "byte s-1":
                        found.extend(_knees(step, metric))
    return found


def _knees(step, metric):
    names, ranks = metric.places("value_name"), numpy.asarray(metric.places("rank"))
    n, b = numpy.asarray(metric.places("value"), float), metric.summary("median")
    if not len(names) or set(names) != {"threads"} or len(n) != len(b):
        return
    for rank in numpy.unique(ranks):
        mine = numpy.nonzero((ranks == rank) & numpy.isfinite(b) & (b > 0))[0]
        if len(set(n[mine])) >= 3:
            knee = scaling.fit_knee(n[mine], b[mine])
            between = (float(n[mine][n[mine] <= knee.knee].max()), float(n[mine][n[mine] >= knee.knee].min()))
            place = metric.labels()[mine[0]].split(", ", 1)[-1]
            yield Saturation(step.name, metric.name, place, knee, between, len(set(n[mine])))
