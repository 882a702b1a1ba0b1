"""Nodes that stand out (METHODS 8.3, 8.4), over one file or several in order of time.

One-sided: only slow is bad. suspect: beyond the fleet's limit, off by more than delta, and so is the
near end of its own interval, as the program judges (src/judge/outliers.c). bad: slow in the latest
three files that measured it. past: was slow, is not in the latest. Only like nodes are compared, and
fewer than five are not judged.
"""
import dataclasses

import numpy

from . import statistics

BAD_AFTER = 3
TREND_FROM = 6          # launches; exact test over fewer reaches no useful level
FEWEST = 5


@dataclasses.dataclass
class Finding:
    host: str
    step: str
    metric: str
    unit: str
    value: float
    centre: float
    score: float
    outcome: str            # suspect, bad, past, fast
    seen: int = 1           # files in which it stood out in this way
    of: int = 1             # files that measured it

    @property
    def relative(self):
        return self.value / self.centre - 1


@dataclasses.dataclass
class Trend:
    """A node that becomes slower or faster than the fleet, from launch to launch."""
    host: str
    step: str
    metric: str
    change: float           # of value / fleet's median, first to last
    p: float
    n: int
    worse: bool


def _delta(metric):
    return statistics.DELTA["time" if metric.unit == "s" else "rate"]


def _classes(launch, metric):
    """Indices of the places on like nodes."""
    nodes, kinds = numpy.asarray(metric.places("node")), numpy.asarray(launch.nodes("topology_class"))
    if not len(nodes):
        return
    own = kinds[nodes]
    for kind in numpy.unique(own):
        yield numpy.nonzero(own == kind)[0]


def _one(step, metric):
    """Each place's value over the median of its like, and what stands out: ({label: ratio}, [Finding])."""
    labels, medians = metric.labels(), metric.summary("median")
    low, high = metric.summary("ci_low"), metric.summary("ci_high")
    ratios, found = {}, []
    if len(medians) != len(labels):
        return ratios, found
    for members in _classes(step.launch, metric):
        members = members[numpy.isfinite(medians[members])]
        centre = float(numpy.median(medians[members])) if len(members) else 0.0
        if centre == 0:
            continue
        ratios.update((labels[i], float(medians[i] / centre)) for i in members)
        if len(members) < FEWEST:
            continue
        limit = statistics.fleet_limit(len(members))
        score = statistics.modified_z(medians[members])
        scale = score / numpy.where(medians[members] == centre, numpy.inf, medians[members] - centre)
        for i, z, per_unit in zip(members, score, scale):
            if abs(z) <= limit:
                continue
            is_low = medians[i] < centre
            outcome = "fast"
            if is_low == (metric.better == "higher"):
                near = (high[i] if is_low else low[i]) - centre  # NaN: no interval, so no accusation
                is_beyond = (near < 0) == is_low and abs(near * per_unit) > limit and abs(near) > _delta(metric) * abs(centre)
                if not is_beyond or not numpy.isfinite(near):
                    continue
                outcome = "suspect"
            found.append(Finding(labels[i], step.name, metric.name, metric.unit, float(medians[i]), centre, float(z), outcome))
    return ratios, found


def _judged(launches):
    """(launch number, step, metric) of all that may be judged, in order of time."""
    for number, launch in enumerate(sorted(launches, key=lambda one: one.created)):
        for step in launch.steps():
            if step.complete and step.placement_proved and not step.oversubscribed:
                for metric in step.metrics():
                    if metric.place_kind == "node" and metric.better != "neither":
                        yield number, step, metric


def findings(launches):
    """Over all launches, worst first; the value is that of the latest launch in which it stood out."""
    slow, fast, measured = {}, {}, {}
    for number, step, metric in _judged(launches):
        ratios, found = _one(step, metric)
        for label in ratios:
            measured.setdefault((label, step.name, metric.name), []).append(number)
        for one in found:
            table = slow if one.outcome == "suspect" else fast
            table.setdefault((one.host, one.step, one.metric), []).append((number, one))
    result = []
    for key, seen in slow.items():
        numbers, when = measured[key], {number for number, _ in seen}
        latest = [number in when for number in numbers[-BAD_AFTER:]]
        one = seen[-1][1]
        one.outcome = "bad" if len(latest) == BAD_AFTER and all(latest) else "suspect" if latest[-1] else "past"
        one.seen, one.of = len(seen), len(numbers)
        result.append(one)
    for key, seen in fast.items():
        if key not in slow:
            seen[-1][1].seen, seen[-1][1].of = len(seen), len(measured[key])
            result.append(seen[-1][1])
    order = {"bad": 0, "suspect": 1, "past": 2, "fast": 3}
    return sorted(result, key=lambda f: (order[f.outcome], -abs(f.score)))


def trends(launches, alpha=0.05):
    """Nodes that drift against their like: significant over all nodes, and by more than delta."""
    series = {}
    for _, step, metric in _judged(launches):
        for label, ratio in _one(step, metric)[0].items():
            series.setdefault((label, step.name, metric.name), (metric, []))[1].append(ratio)
    series = {key: value for key, value in series.items() if len(value[1]) >= TREND_FROM}
    tests = [statistics.trend(values) for _, values in series.values()]
    significant = statistics.benjamini_hochberg([p for p, _ in tests], alpha) if tests else []
    found = [Trend(*key, change, p, len(values), (change < 0) == (metric.better == "higher"))
             for (key, (metric, values)), (p, change), is_one in zip(series.items(), tests, significant)
             if is_one and abs(change) > _delta(metric)]
    return sorted(found, key=lambda t: (not t.worse, -abs(t.change)))


def sizes(launches):
    """The largest number of nodes that one metric was measured on."""
    return max((len(m.labels()) for launch in launches for s in launch.steps() if s.complete
                for m in s.metrics() if m.place_kind == "node"), default=0)
