"""A results file (docs/FORMAT.md) or a study of several launches, read block by block.

Nothing is held but what was asked for: a file of 10 000 nodes is read metric by metric.
Missing numbers stay missing: -1 of counts becomes None, NaN stays NaN.
"""
import dataclasses
import struct

import h5py
import numpy

FORMAT_VERSION = 1
SEAL = b"seatrial-seal-1\0"
SUM_LIMIT = 32 << 20  # bytes
FNV_PRIME, FNV_BASIS = 0x100000001B3, 0xCBF29CE484222325


class Unreadable(Exception):
    """The file cannot be used; the text is for people."""


def text(value):
    """A stored text as str."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def column(group, name):
    """A column of a table as list of str or as array; empty if there are no rows."""
    if name not in group:
        return []
    values = group[name][()]
    return [text(v) for v in values] if values.dtype.kind == "S" else values


def check_seal(path):
    """"whole", "length" (only that was compared), or "none": no seal, changed by another program.

    Raises Unreadable if damaged. The sum is src/record/seal.c's: FNV-1a over 64-bit words in four
    lanes. Each word needs the one before it, which Python does at about 50 MiB a second, so only
    the length is compared for larger files; the program itself (`seatrial report`) checks all.
    """
    with open(path, "rb") as f:
        size = f.seek(0, 2)
        if size < 32:
            return "none"
        f.seek(size - 32)
        end = f.read(32)
        if end[:16] != SEAL:
            return "none"
        length, stored = struct.unpack("<QQ", end[16:])
        if length != size - 32:
            raise Unreadable(f"{path}: damaged: its seal is for {length} bytes, it has {size - 32}")
        if size > SUM_LIMIT:
            return "length"
        f.seek(0)
        content = f.read(length)
    content += b"\0" * (-length % 32)
    lanes = [FNV_BASIS + k for k in range(4)]
    for k in range(4):
        lane = lanes[k]
        for word in numpy.frombuffer(content, "<u8")[k::4].tolist():
            lane = ((lane ^ word) * FNV_PRIME) & 0xFFFFFFFFFFFFFFFF
        lanes[k] = lane
    total = FNV_BASIS
    for lane in lanes:
        total = ((total ^ lane) * FNV_PRIME) & 0xFFFFFFFFFFFFFFFF
    if total != stored:
        raise Unreadable(f"{path}: damaged: its checksum does not fit its content")
    return "whole"


@dataclasses.dataclass
class Metric:
    """One metric of a step; its numbers are read when asked for."""
    step: "Step"
    name: str
    unit: str
    better: str
    place_kind: str
    help: str

    def labels(self):
        return column(self.step.group["samples"], f"place_{self.place_kind}_label")

    def places(self, name):
        """A column of the places: node, node_b, rank, rank_b, numa, numa_b, value …"""
        return column(self.step.group["samples"], f"place_{self.place_kind}_{name}")

    def samples(self):
        """[place][valid samples in order of time]"""
        group = self.step.group["samples"]
        if self.name not in group:
            return []
        values, codes = group[self.name][()], group[f"{self.name}_validity"][()]
        return [row[code == 0] for row, code in zip(values, codes)]

    def summary(self, name):
        """Column of the stored statistics, by place."""
        table = self.step.statistics()
        return table[name][table["metric"] == self.name] if table else numpy.array([])

    def value(self):
        """Median over the step's single place, or NaN."""
        medians = self.summary("median")
        return float(medians[0]) if len(medians) == 1 else numpy.nan


class Step:
    """One step of a launch."""

    def __init__(self, launch, group):
        self.launch, self.group = launch, group
        a = group.attrs
        self.number = int(a["number"])
        for name in ("name", "series", "scaling", "benchmark", "summary", "source", "status", "reason", "notes",
                     "layout", "layout_note"):
            setattr(self, name, text(a[name]) if name in a else "")
        for name in ("n_active_nodes", "n_active_ranks", "n_threads", "n_groups", "n_repetitions", "n_dropped",
                     "check_n", "check_bad"):
            value = int(a[name]) if name in a else -1
            setattr(self, name, None if value < 0 else value)
        for name in ("placement_proved", "oversubscribed", "converged"):
            setattr(self, name, bool(a[name]) if name in a else False)
        self.wall_s = float(a.get("wall_s", numpy.nan))
        self._statistics = None

    @property
    def complete(self):
        return self.status == "complete" and not self.check_bad

    def metrics(self):
        group = self.group.get("metrics")
        if group is None or "name" not in group:
            return []
        columns = [column(group, c) for c in ("name", "unit", "better", "place_kind", "help")]
        return [Metric(self, *row) for row in zip(*columns)]

    def metric(self, name):
        return next((m for m in self.metrics() if m.name == name), None)

    def numbers(self):
        """{name: (value, unit)} of the parameters that are numbers"""
        group = self.group.get("parameters", {})
        return {name: (float(group[name][()]), text(group[name].attrs.get("units", "1"))) for name in group
                if group[name].dtype.kind in "if" and group[name].dtype.itemsize > 1}

    def parameters(self):
        group = self.group.get("parameters", {})
        return {name: text(group[name].attrs.get("text", "")) for name in group}

    def statistics(self):
        if self._statistics is None:
            group = self.group.get("summary")
            if group is None or "metric" not in group:
                return None
            self._statistics = {c: numpy.array(column(group, c)) for c in
                             ("metric", "median", "ci_low", "ci_high", "min", "max", "n", "stddev", "mean")}
        return self._statistics

    def seats(self):
        group = self.group.get("layout")
        if group is None or "rank" not in group:
            return {}
        return {c: column(group, c) for c in
                ("rank", "thread", "node", "pu", "core", "l3", "numa", "package", "planned", "verified", "proved")}


class Launch:
    """One launch: the root of a results file, or /launches/NNNN of a study."""

    def __init__(self, path, root):
        self.path, self.root = str(path), root
        a = root.attrs
        for name in ("status", "reason", "campaign", "created", "updated"):
            setattr(self, name, text(a.get(name, "")))
        self.n_nodes, self.n_ranks = int(a["n_nodes"]), int(a["n_ranks"])
        self.n_steps_planned = int(a["n_steps_planned"])
        self.fake_nodes = bool(a.get("fake_nodes", 0))
        self.wall_s = float(a.get("wall_s", numpy.nan))

    def hosts(self):
        return column(self.root["system/nodes"], "host")

    def nodes(self, name):
        return column(self.root["system/nodes"], name)

    def run(self, name):
        return text(self.root[f"run/{name}"][()]) if f"run/{name}" in self.root else ""

    def warnings(self):
        return [line for line in text(self.root["system"].attrs.get("warnings", "")).splitlines() if line]

    def facts(self):
        """{name: {value: number of nodes}}"""
        group = self.root["system"].get("facts")
        found = {}
        if group is not None and "name" in group:
            for name, value in zip(column(group, "name"), column(group, "value")):
                found.setdefault(name, {}).setdefault(value, 0)
                found[name][value] += 1
        return found

    def steps(self):
        return [Step(self, self.root[f"steps/{name}"]) for name in sorted(self.root["steps"])]

    def verdict(self):
        """(outcome, exit status, rows); outcome "" if the campaign did not come to its end."""
        group = self.root.get("verdicts")
        if group is None:
            return "", None, []
        names = ("step", "metric", "place", "statistic", "outcome", "value", "low", "high", "bound", "unit", "n", "text")
        columns = [column(group, c) for c in names]
        rows = [dict(zip(names, row)) for row in zip(*columns)] if len(columns[0]) else []
        return text(group.attrs.get("outcome", "")), int(group.attrs.get("exit_status", -1)), rows


class Results:
    """An open file; use as a context."""

    def __init__(self, path):
        self.path = str(path)
        self.sealed = check_seal(path)
        try:
            self.file = h5py.File(path, "r")
        except OSError as error:
            raise Unreadable(f"{path}: {error}") from error
        a = self.file.attrs
        if text(a.get("format", b"")) != "seatrial":
            raise Unreadable(f"{path}: not a results file of seatrial")
        if int(a["format_version"]) > FORMAT_VERSION:
            raise Unreadable(f"{path}: format {int(a['format_version'])}; this analysis reads up to {FORMAT_VERSION}")
        self.is_study = "launches" in self.file
        if self.is_study:
            names = sorted(n for n in self.file["launches"] if n.isdigit())
            self.launches = [Launch(f"{path} launch {int(n)}", self.file[f"launches/{n}"]) for n in names]
        else:
            self.launches = [Launch(path, self.file)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
