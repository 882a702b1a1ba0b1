"""Nodes that stand out (METHODS 8.3, 8.4), over one file or several in order of time.

One-sided: only slow is bad. suspect: beyond the fleet's limit, beyond delta, and its interval does
not reach back. bad: suspect in three files or more of those that measured it. With fewer than five
like nodes nothing is called an outlier.
"""
import dataclasses

import numpy

from . import statistics

BAD_AFTER = 3


@dataclasses.dataclass
class Finding:
    host: str
    step: str
    metric: str
    unit: str
    value: float
    centre: float
    score: float
    outcome: str            # suspect, bad, fast
    seen: int               # files in which it stood out
    of: int                 # files that measured it

    @property
    def relative(self):
        return self.value / self.centre - 1


def _node_values(metric):
    """(host labels, medians, low, high) of a metric with one value per node."""
    return metric.labels(), metric.summary("median"), metric.summary("ci_low"), metric.summary("ci_high")


def _one(step, metric):
    labels, medians, low, high = _node_values(metric)
    if len(medians) != len(labels) or len(labels) < 5:
        return
    score = statistics.modified_z(medians)
    centre = float(numpy.nanmedian(medians))
    limit = statistics.fleet_limit(len(labels))
    delta = statistics.DELTA["time" if metric.unit == "s" else "rate"]
    sign = 1 if metric.better == "higher" else -1
    edge = centre * (1 - sign * delta)
    for i in numpy.nonzero(abs(score) > limit)[0]:
        slow = sign * score[i] < 0
        if slow:
            own = high[i] if sign > 0 else low[i]
            if abs(medians[i] / centre - 1) <= delta or (numpy.isfinite(own) and sign * (own - edge) > 0):
                continue
        yield Finding(labels[i], step.name, metric.name, metric.unit, float(medians[i]), centre, float(score[i]),
                      "suspect" if slow else "fast", 1, 1)


def findings(launches):
    """Over all launches, worst first; the latest value of each."""
    table, measured = {}, {}
    for launch in launches:
        for step in launch.steps():
            if not step.complete or not step.placement_proved:
                continue
            for metric in step.metrics():
                if metric.place_kind != "node" or metric.better == "neither":
                    continue
                for label in metric.labels():
                    key = (label, step.name, metric.name)
                    measured[key] = measured.get(key, 0) + 1
                for found in _one(step, metric):
                    key = (found.host, found.step, found.metric)
                    found.seen += table[key].seen if key in table else 0
                    table[key] = found
    for key, found in table.items():
        found.of = measured[key]
        if found.outcome == "suspect" and found.seen >= BAD_AFTER:
            found.outcome = "bad"
    order = {"bad": 0, "suspect": 1, "fast": 2}
    return sorted(table.values(), key=lambda f: (order[f.outcome], -abs(f.score)))


def sizes(launches):
    """Steps with node metrics, and whether the fleet is large enough to be judged."""
    return max((len(m.labels()) for launch in launches for s in launch.steps() if s.complete
                for m in s.metrics() if m.place_kind == "node"), default=0)
