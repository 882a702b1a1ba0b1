"""Two runs side by side (METHODS 8.2): before and after maintenance, machine A and machine B.

Per metric and place: the Hodges-Lehmann shift with its interval, Mann-Whitney's p corrected over all
rows (Benjamini-Hochberg). A difference is reported only if it is significant and larger than delta.
"""
import dataclasses

import numpy

from . import statistics


@dataclasses.dataclass
class Row:
    step: str
    metric: str
    place: str
    unit: str
    better: str
    before: float
    after: float
    found: statistics.Shift | None
    outcome: str            # better, worse, same, changed, too few

    @property
    def relative(self):
        return self.after / self.before - 1 if self.before else numpy.nan


def _series(launch):
    """{(step, metric, place label): (metric, samples)}"""
    found = {}
    for step in launch.steps():
        if not step.complete:
            continue
        for metric in step.metrics():
            for label, values in zip(metric.labels(), metric.samples()):
                found[(step.name, metric.name, _place(launch, metric, label))] = (metric, values)
    return found


def _place(launch, metric, label):
    """Hosts may have other names on another machine: a job's place has none."""
    return "job" if metric.place_kind == "job" else label


def rows(before, after, alpha=0.05, delta=0.01):
    """All that both runs have; then (only in before, only in after)."""
    a, b = _series(before), _series(after)
    table = []
    for key in a:
        if key in b:
            metric, old = a[key]
            new = b[key][1]
            usable = len(old) and len(new) and statistics.can_differ(len(old), len(new), alpha)
            found = statistics.shift(new, old) if usable and (numpy.ptp(old) or numpy.ptp(new) or old[0] != new[0]) else None
            table.append(Row(key[0], key[1], key[2], metric.unit, metric.better,
                             float(numpy.median(old)) if len(old) else numpy.nan,
                             float(numpy.median(new)) if len(new) else numpy.nan, found,
                             "same" if usable else "too few"))
    tested = [r for r in table if r.found is not None]
    significant = statistics.benjamini_hochberg([r.found.p for r in tested], alpha) if tested else []
    for row, is_significant in zip(tested, significant):
        if is_significant and abs(row.found.shift) > delta * abs(row.before):
            up = row.found.shift > 0
            row.outcome = "changed" if row.better == "neither" else "better" if up == (row.better == "higher") else "worse"
    return table, sorted(a.keys() - b.keys()), sorted(b.keys() - a.keys())
