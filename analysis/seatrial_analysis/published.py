"""A file's own figures beside published ones (data/published_systems.csv).

A published figure stands beside an own one only if both were measured alike; the rules are those of
the program's text report (src/show/published.c), for the figures that the page shows.
"""
import csv
import pathlib

import numpy

from .units import quantity

DEFAULT = pathlib.Path(__file__).parents[2] / "data" / "published_systems.csv"
SCALES = {"GB/s": (1e9, "byte s-1"), "ns": (1e-9, "s")}
# title, published (metric, scope, words in its conditions), own (benchmark, metric, within a socket, parameters)
RULES = (
    ("triad of the whole node, ordinary stores", ("stream_triad", "system", ""),
     ("stream", "triad", False, {"memory": ("local",), "stores": ("ordinary", "both")})),
    ("copy of the whole node, ordinary stores", ("stream_copy", "system", ""),
     ("stream", "copy", False, {"memory": ("local",), "stores": ("ordinary", "both")})),
    ("triad of one socket on its own memory, ordinary stores", ("stream_triad", "local socket", ""),
     ("stream", "triad", True, {"memory": ("local",), "stores": ("ordinary", "both")})),
    ("latency at 1 GiB, near memory, 4 KiB pages", ("memory_latency", "local socket", "4 KiB pages"),
     ("latency", "latency", False, {"size": ("1073741824 byte",), "pages": ("small", "both"), "order": ("random",)})),
    ("latency at 1 GiB, near memory, 2 MiB pages", ("memory_latency", "local socket", "2 MiB pages"),
     ("latency", "latency_huge", False, {"size": ("1073741824 byte",), "pages": ("both",), "order": ("random",)})),
)


def read(path=None):
    with open(path or DEFAULT, encoding="utf-8") as f:
        return list(csv.DictReader(line for line in f if not line.startswith("#")))


def beside(launch, systems):
    """[(title, rows of value, system, conditions)], own figures first."""
    blocks = []
    steps = launch.steps()
    for title, (metric, scope, words), own in RULES:
        mine = _own(steps, *own)
        theirs = [r for r in systems if r["metric"] == metric and r["scope"] == scope and words in r["conditions"]
                  and r["stores"] in ("ordinary", "") and r["unit"] in SCALES]
        if mine and theirs:
            rows = [(float(r["value"]) * SCALES[r["unit"]][0], r) for r in theirs if _is_number(r["value"])]
            rows.sort(key=lambda x: -x[0])
            unit = SCALES[theirs[0]["unit"]][1]
            blocks.append((title, mine + [[quantity(v, unit), r["system"],
                                           f"{r['sockets']} sockets, {r['cores']} cores; {r['conditions']} [{r['source']}]"]
                                          for v, r in rows]))
    return blocks


def _is_number(word):
    try:
        return numpy.isfinite(float(word))
    except ValueError:
        return False


def _own(steps, benchmark, name, one_socket, conditions):
    rows = []
    for step in steps:
        if step.benchmark != benchmark or not step.complete or not step.placement_proved or step.oversubscribed:
            continue
        if (", within socket " in step.layout) != one_socket or (benchmark == "stream" and "all-cores" not in step.layout) \
                or ", within numa " in step.layout or ", within l3 " in step.layout:
            continue
        parameters = step.parameters()
        metric = step.metric(name)
        if metric is None or any(parameters.get(k) not in v for k, v in conditions.items()):
            continue
        medians = metric.summary("median")
        medians = medians[numpy.isfinite(medians)]
        if len(medians):
            rows.append([quantity(float(medians.min()), metric.unit), "this file",
                         f"step {step.name}" + (f", lowest of {len(medians)} places" if len(medians) > 1 else "")])
            if len(medians) > 1:
                rows.append([quantity(float(medians.max()), metric.unit), "this file",
                             f"step {step.name}, highest of {len(medians)} places"])
    return rows
