#!/usr/bin/env python3
"""The same file through h5dump, h5py, xarray and netCDF4.

Usage: readers.py DRIVER. A reader that is not installed is told and left out.
"""
import os
import subprocess
import sys
import tempfile

import h5py
import numpy

driver = sys.argv[1]
KINDS = {"time": "job", "rate": "node", "rank_time": "rank", "latency": "pair",
         "numa_rate": "numa", "curve": "point"}
ROW = {"time": 0, "rate": 1, "rank_time": 2, "latency": 4, "numa_rate": 5, "curve": 6}


def value(step, row, place, repetition):
    """fixture_value() of tests/record/fixture.c"""
    return 1000.0 * (step + 1) + 100.0 * row + place + ((repetition * 7) % 5) / 64.0


def check_object(name, item):
    if not isinstance(item, h5py.Dataset):
        return
    kind = item.dtype.kind
    assert kind in "ifSO", (name, item.dtype)
    text = h5py.check_string_dtype(item.dtype)
    if text is not None:
        assert text.length is not None and text.encoding == "utf-8", name
        for entry in numpy.atleast_1d(item[()]):
            entry.decode("utf-8")
    else:
        assert kind != "O", name
        if "units" not in item.attrs:
            column = item.parent[item.attrs["units_column"].decode()]
            assert column.shape == item.shape, name
    assert item.attrs["long_name"], name
    is_scale = h5py.h5ds.is_scale(item.id)
    for axis in range(item.ndim):
        if not is_scale:
            assert len(item.dims[axis].keys()) == 1, (name, axis)
            scale = item.dims[axis][0]
            assert scale.shape[0] == item.shape[axis], (name, axis)
    if is_scale:
        assert "REFERENCE_LIST" in item.attrs, name
        assert (item[...] == numpy.arange(item.shape[0])).all(), name


def check_h5py(path):
    with h5py.File(path, "r") as f:
        assert f.attrs["format"] == b"seatrial" and f.attrs["format_version"] == 1
        f.visititems(check_object)
        steps = list(f["steps"])
        assert steps == ["0000", "0001", "0002", "0003"]
        assert f["steps/0001"].attrs["status"] == b"skipped"
        assert list(f["steps/0001/samples"]) == []
        samples = f["steps/0000/samples"]
        for name, kind in KINDS.items():
            data = samples[name]
            assert [list(d.keys()) for d in data.dims] == [[f"place_{kind}"], ["repetition"]]
            want = [[value(0, ROW[name], p, r) for r in range(data.shape[1])]
                    for p in range(data.shape[0])]
            assert (data[...] == numpy.array(want)).all(), name
            codes = samples[name + "_validity"]
            assert codes.dtype == numpy.int8 and (codes[:, 0] == 1).all()
            meanings = codes.attrs["flag_meanings"].decode().split()
            assert len(meanings) == len(codes.attrs["flag_values"])
        assert samples["place_pair_rank_b"][...].tolist() == [1, 2, 3]
        assert samples["place_job_node"][...].tolist() == [-1]
        assert samples["place_point_value"][...].tolist() == [4096.0, 65536.0]
        assert samples["place_point_value_unit"][...].tolist() == [b"byte", b"byte"]
        assert f["steps/0000/parameters/size"][()] == 67108864
        assert f["steps/0000/parameters/size"].attrs["units"] == b"byte"
        assert f["steps/0000/parameters/automatic"][()] == -1
        assert f["steps/0000/parameters/choice"][()] == b"nontemporal"
        assert f["system/facts/node"][...].tolist() == [1]
        assert f["system/topology/1"][()] == b"<topology>1</topology>"
        assert f["verdicts"].attrs["outcome"] == b"fail"
        assert f["verdicts"].attrs["exit_status"] == 1
        assert f["verdicts/outcome"][...].tolist() == [b"pass", b"not judged"]
        assert f["verdicts/unit"][...].tolist() == [b"s", b""]
        assert f["verdicts/bound"][...].tolist() == [2e-6, 1e9]
        names = [n for n in f["steps/0000/summary"] if f["steps/0000/summary"][n].ndim]
        assert len({f["steps/0000/summary"][n].shape for n in names}) == 1


def check_h5dump(path):
    done = subprocess.run(["h5dump", path], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr


def check_xarray(path):
    import xarray
    with xarray.open_dataset(path, engine="h5netcdf", group="/steps/0000/samples") as data:
        assert data["rate"].dims == ("place_node", "repetition")
        assert data["rate"].attrs["units"] == "byte s-1"
        assert [s.decode() for s in data["rate"].coords["place_node_label"].values] == [
            "node1", "node2"]
        valid = data["rate"].where(data["rate_validity"] == 0)
        assert valid.sel(place_node=1).count() == 11
        assert numpy.isnan(data["place_job_node"].values).all()
    with xarray.open_dataset(path, engine="h5netcdf", group="/steps/0000/summary") as data:
        assert data["median"].dims == ("row",)
    with xarray.open_dataset(path, engine="h5netcdf", group="/system/nodes") as data:
        assert data["memory"].attrs["units"] == "byte"


def check_netcdf(path):
    """Numbers only: netCDF-C before 4.9.1 cannot read arrays of fixed-length strings."""
    import netCDF4
    with netCDF4.Dataset(path) as data:
        samples = data["/steps/0000/samples"]
        assert samples["rate"].dimensions == ("place_node", "repetition")
        assert samples["rate"].units == "byte s-1"
        assert samples["rate"][1, 2] == value(0, 1, 1, 2)


def main():
    if len(sys.argv) > 2:  # in a process of its own: netCDF4 and h5py bring one HDF5 each
        check_netcdf(sys.argv[2])
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.h5")
        subprocess.run([driver, "write", path, "4"], check=True, stdout=subprocess.DEVNULL,
                       timeout=60)
        check_h5py(path)
        for check in (check_h5dump, check_xarray):
            try:
                check(path)
            except (ImportError, FileNotFoundError) as missing:
                print(f"left out: {check.__name__}: {missing}")
        probe = subprocess.run([sys.executable, "-c", "import netCDF4"], capture_output=True)
        if probe.returncode == 0:
            subprocess.run([sys.executable, __file__, driver, path], check=True, timeout=60)
        else:
            print("left out: check_netcdf: no netCDF4")
        subprocess.run([driver, "read", path], check=True, timeout=60)


main()
