"""Two runs side by side (METHODS 8.2): before and after maintenance, machine A and machine B.

Per metric and place: the Hodges-Lehmann shift with its interval, Mann-Whitney's p corrected over all
rows (Benjamini-Hochberg). A difference is reported only if it is significant and larger than delta.
Where a side has several launches (a study), the launches' medians are the samples, because
repetitions inside one launch are not independent. Steps with other parameters are not compared.
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


@dataclasses.dataclass
class Comparison:
    rows: list[Row]
    gone: list[str]         # steps, metrics or places only before
    new: list[str]          # only after
    notes: list[str]        # what a reader must know about the steps
    by_launch: bool         # a sample is the median of a launch


def _steps(launches):
    """{name: complete steps of that name, one per launch}"""
    found = {}
    for launch in launches:
        for step in launch.steps():
            if step.complete:
                found.setdefault(step.name, []).append(step)
    return found


def _series(steps, by_launch):
    """{(metric, place): (metric, samples)} of one step in all its launches"""
    found = {}
    for step in steps:
        for metric in step.metrics():
            labels = metric.labels()
            if metric.place_kind == "job":  # hosts may have other names on another machine: a job's place has none
                labels = ["job"] if len(labels) == 1 else [f"group {int(g)}" for g in metric.places("group")]
            for place, values in zip(labels, metric.samples()):
                values = values[numpy.isfinite(values)]
                kept = found.setdefault((metric.name, place), (metric, []))[1]
                kept.extend([numpy.median(values)] if by_launch and len(values) else values)
    return {key: (metric, numpy.array(values, float)) for key, (metric, values) in found.items()}


def _notes(name, before, after):
    """(are they the same measurement, notes)"""
    a, b = before[0].parameters(), after[0].parameters()
    other = [f"{k} {a.get(k, 'not there')} / {b.get(k, 'not there')}" for k in sorted(a.keys() | b.keys()) if a.get(k) != b.get(k)]
    if before[0].benchmark != after[0].benchmark or other:
        other = other or [f"benchmark {before[0].benchmark} / {after[0].benchmark}"]
        return False, [f"{name} is not compared, it was measured differently: {'; '.join(other)}"]
    notes = []
    for what in ("layout", "n_active_nodes", "n_active_ranks", "n_threads"):
        old, new = getattr(before[0], what), getattr(after[0], what)
        if old != new:
            notes.append(f"{name}: {what.replace('n_active_', '').replace('n_', '')} {old} before, {new} after")
    for steps, when in ((before, "before"), (after, "after")):
        notes += [f"{name}: placement not proved {when}"] if not all(s.placement_proved for s in steps) else []
        notes += [f"{name}: oversubscribed {when}"] if any(s.oversubscribed for s in steps) else []
    return True, notes


def _row(name, key, metric, old, new, alpha):
    usable = len(old) and len(new) and statistics.can_differ(len(old), len(new), alpha)
    varies = usable and (numpy.ptp(old) or numpy.ptp(new) or old[0] != new[0])
    return Row(name, *key, metric.unit, metric.better,
               float(numpy.median(old)) if len(old) else numpy.nan, float(numpy.median(new)) if len(new) else numpy.nan,
               statistics.shift(new, old) if varies else None, "same" if usable else "too few")


def compare(before, after, alpha=0.05, delta=0.01):
    """before, after: launches of either side."""
    by_launch = len(before) > 1 or len(after) > 1
    a, b = _steps(before), _steps(after)
    result = Comparison([], sorted(a.keys() - b.keys()), sorted(b.keys() - a.keys()), [], by_launch)
    for name in (n for n in a if n in b):
        alike, notes = _notes(name, a[name], b[name])
        result.notes += notes
        if alike:
            old, new = _series(a[name], by_launch), _series(b[name], by_launch)
            result.rows += [_row(name, key, old[key][0], old[key][1], new[key][1], alpha) for key in old if key in new]
            result.gone += [f"{name} {' '.join(key)}" for key in old if key not in new]
            result.new += [f"{name} {' '.join(key)}" for key in new if key not in old]
    tested = [r for r in result.rows if r.found is not None]
    significant = statistics.benjamini_hochberg([r.found.p for r in tested], alpha) if tested else []
    for row, is_significant in zip(tested, significant):
        if abs(row.found.shift) <= delta * abs(row.before):
            continue
        if not is_significant:  # all of one side beyond all of the other, and still not enough for so many series
            row.outcome = "too few" if row.found.p <= alpha and row.found.probability in (0, 1) else "same"
        else:
            up = row.found.shift > 0
            row.outcome = "changed" if row.better == "neither" else "better" if up == (row.better == "higher") else "worse"
    return result
