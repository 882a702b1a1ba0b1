"""Scaling series out of files: steps of one entry of the config at several sizes.

A point is one size of a series in one launch or in several launches of the same size; its value
is the median over all valid samples, its interval from the launches where there are five or more,
else from the repetitions. Cores per rank and ranks per node must stay the same, or the point is
marked and no law is fitted across it.
"""
import dataclasses
import math

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
            if step.complete and step.n_active_ranks and step.series:
                groups.setdefault((step.series, step.benchmark, _fixed(step)), []).append(step)
    found = []
    for (name, benchmark, _), steps in groups.items():
        sizes = {s.n_active_ranks for s in steps}
        if len(sizes) < 2:
            continue
        found.extend(_series(name, benchmark, metric, steps) for metric in _headlines(steps))
    return found


def _headlines(steps):
    """What a scaling study is about: the time of the work or its rate, not that of every part."""
    metrics = [m for m in steps[0].metrics() if m.place_kind == "job" and m.better != "neither"]
    names = {m.name for m in metrics}
    chosen = [m for m in metrics if m.name in ("step_time", "rate", "rating") or m.name.endswith("_iteration_time")
              or (m.name == "time" and "step_time" not in names)]
    return [m for m in chosen if all(statistics.estimate(_samples(s, m.name)).median > 0 for s in steps)]


def _fixed(step):
    """What is the same for all points: the parameters and all of the layout but nodes and ranks."""
    return tuple(sorted(step.parameters().items()))


def _series(name, benchmark, metric, steps):
    kind = steps[0].scaling if steps[0].scaling in ("strong", "weak") else "strong"
    by_size = {}
    for step in steps:
        by_size.setdefault(step.n_active_ranks, []).append(step)
    points = [_point(metric.name, size, of) for size, of in sorted(by_size.items())]
    series = Series(name, benchmark, metric.name, metric.unit, metric.better, kind, points)
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
    """Ranks per node and cores per rank; hardware threads shared; nodes or not."""
    seats = step.seats()
    cores = {(int(n), int(c)) for n, c in zip(seats.get("node", []), seats.get("core", []))}
    per_rank = (step.n_threads or 0) / step.n_active_ranks
    shared = len(seats.get("rank", [])) > len(cores) if cores else False
    where = "one node" if step.n_active_nodes == 1 else "several nodes"
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


def _ratio(series, base, value):
    return base / value if series.better == "lower" else value / base


def _fit(series):
    points = series.points
    growth = [p.size / points[0].size for p in points]
    resources = [p.resource for p in points]
    series.usl = scaling.fit_usl([p.size for p in points], [p.speedup for p in points], resources)
    law = scaling.fit_amdahl if series.kind == "strong" else scaling.fit_gustafson
    series.law = law(growth, [p.speedup for p in points], resources)
