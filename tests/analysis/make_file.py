"""Writes a results file of many nodes, as the program would (docs/FORMAT.md), with planted faults: node 7
has @factor times the others' bandwidth; the last @n_other nodes are of another kind at half of it.

    make_file.py FILE NODES     one stream step per node, one link map of random rounds, one pair curve

Unsealed: the seal is the program's own. Values come from a fixed seed.
"""
import sys

import h5py
import numpy

SLOW_NODE = 7
HOSTILE = '<b onclick="x()">node&3</b>'


def text(value):
    return numpy.bytes_(str(value).encode() + b"\0")


def attributes(group, **values):
    for name, value in values.items():
        if isinstance(value, bool):
            group.attrs[name] = numpy.int8(value)
        elif isinstance(value, (str, bytes)):
            group.attrs[name] = text(value)
        else:
            group.attrs[name] = value


def columns(group, dimension, **data):
    n = len(next(iter(data.values())))
    group[dimension] = numpy.arange(n)
    for name, values in data.items():
        array = numpy.asarray(values)
        if array.dtype.kind == "U":
            array = numpy.char.encode(array, "utf-8")
        group[name] = array


def write(path, n_nodes, seed=1, factor=0.8, n_other=0):
    kinds = numpy.repeat([0, 1], [n_nodes - n_other, n_other])
    random = numpy.random.default_rng(seed)
    hosts = [f"node{i:05}" for i in range(n_nodes)]
    if n_nodes > 3:
        hosts[3] = HOSTILE
    with h5py.File(path, "w") as f:
        attributes(f, format="seatrial", format_version=1, status="complete", reason="", campaign="fleet",
                   created="2026-01-01T00:00:00Z", updated="2026-01-01T00:10:00Z", fake_nodes=False,
                   judge_fake_nodes=False, n_steps_planned=2, n_ranks=n_nodes, n_nodes=n_nodes, n_launches=1, wall_s=600.0)
        run = f.create_group("run")
        for name, value in (("binary", "seatrial, made for a test"), ("mpi_library", "Open MPI v4.1.4, made"),
                            ("command", "seatrial run fleet.yaml"), ("launcher", "srun"), ("transport", "ob1"),
                            ("config", "campaign: fleet\n"), ("overrides", "")):
            run[name] = text(value)
        system = f.create_group("system")
        attributes(system, warnings="", fake_spec="", n_classes=1)
        ones = numpy.ones(n_nodes, int)
        columns(system.create_group("nodes"), "node", host=hosts, topology_class=kinds, n_packages=2 * ones,
                n_numa=8 * ones, n_l3=24 * ones, n_usable_cores=192 * ones, n_usable_pus=384 * ones, n_ranks=ones,
                memory=768 * 2**30 * ones, l3_size=32 * 2**20 * ones)
        columns(system.create_group("facts"), "fact", node=numpy.repeat(numpy.arange(n_nodes), 2),
                name=["cpu_model", "governor"] * n_nodes,
                value=sum([["Model 1", "powersave" if i == 5 else "performance"] for i in range(n_nodes)], []))
        rates = random.normal(400e9, 2e9, n_nodes)
        if n_nodes > SLOW_NODE:
            rates[SLOW_NODE] *= factor
        rates[kinds == 1] /= 2
        step(f, 0, "stream", "stream", hosts, n_nodes,
             [("triad", "byte s-1", "higher", "node", rates), ("triad_moved", "byte s-1", "higher", "node", rates * 4 / 3)],
             {}, random, memory="local")
        rounds = min(5, n_nodes - 1)
        a = numpy.repeat(numpy.arange(n_nodes), rounds)
        b = (a + 1 + numpy.tile(numpy.arange(rounds) * 17, n_nodes)) % n_nodes
        keep = a != b
        a, b = a[keep], b[keep]
        pairs = {"node": a, "node_b": b, "rank": a, "rank_b": b,
                 "label": [f"rank {i} -> rank {j} ({hosts[i]} -> {hosts[j]})" for i, j in zip(a, b)]}
        step(f, 1, "links", "link_map", hosts, n_nodes,
             [("bandwidth", "byte s-1", "higher", "pair", random.normal(24e9, 0.2e9, len(a)))], pairs, random)
        verdicts = f.create_group("verdicts")
        attributes(verdicts, outcome="fail", exit_status=1)
        columns(verdicts, "verdict", step=[0] * 2, metric=["triad"] * 2, place=[hosts[min(SLOW_NODE, n_nodes - 1)], "all"],
                statistic=["median"] * 2, outcome=["fail", "pass"], value=[320e9, 400e9], low=[319e9, 399e9],
                high=[321e9, 401e9], bound=[380e9, 380e9], unit=["byte s-1"] * 2, n=[20, 20], text=["below the bound", "fine"])


def step(f, number, name, benchmark, hosts, n_nodes, metrics, pairs, random, **parameters):
    group = f.create_group(f"steps/{number:04}")
    attributes(group, number=number, name=name, series=name, scaling="none", benchmark=benchmark, summary="made for a test",
               source="no source", status="complete", reason="", notes="", layout="nodes each, 1 rank per node, all-cores threads, compact",
               layout_note="", required=False, converged=True, placement_proved=True, oversubscribed=False, n_groups=n_nodes,
               n_active_nodes=1, n_active_ranks=n_nodes, n_threads=1, n_repetitions=8, n_dropped=0, check_n=1, check_bad=0,
               wall_s=10.0)
    chosen = group.create_group("parameters")
    for key, value in parameters.items():
        chosen[key] = text(value)
        attributes(chosen[key], text=value)
    samples = group.create_group("samples")
    samples["repetition"] = numpy.arange(8)
    kind = metrics[0][3]
    places = pairs or {"node": numpy.arange(n_nodes), "label": hosts}
    n = len(places["label"])
    samples[f"place_{kind}"] = numpy.arange(n)
    for column, values in places.items():
        array = numpy.asarray(values)
        samples[f"place_{kind}_{column}"] = numpy.char.encode(array, "utf-8") if array.dtype.kind == "U" else array
    columns(group.create_group("metrics"), "metric", name=[m[0] for m in metrics], unit=[m[1] for m in metrics],
            better=[m[2] for m in metrics], place_kind=[m[3] for m in metrics], help=["made"] * len(metrics))
    rows = {k: [] for k in ("metric", "place_kind", "place", "label", "unit", "n", "median", "ci_low", "ci_high", "min", "max",
                            "mean", "stddev")}
    for name_, unit, _, kind_, medians in metrics:
        values = medians[:, None] * random.normal(1, 0.002, (n, 8))
        samples[name_] = values
        samples[f"{name_}_validity"] = numpy.tile(numpy.array([1] + [0] * 7, numpy.int8), (n, 1))
        valid = values[:, 1:]
        for key, column in (("metric", [name_] * n), ("place_kind", [kind_] * n), ("place", numpy.arange(n)),
                            ("label", places["label"]), ("unit", [unit] * n), ("n", [7] * n), ("median", numpy.median(valid, 1)),
                            ("ci_low", valid.min(1)), ("ci_high", valid.max(1)), ("min", valid.min(1)),
                            ("max", valid.max(1)), ("mean", valid.mean(1)), ("stddev", valid.std(1))):
            rows[key].extend(column)
    columns(group.create_group("summary"), "row", **rows)


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))
