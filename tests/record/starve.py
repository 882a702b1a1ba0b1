#!/usr/bin/env python3
"""A writer whose disk fills after n bytes, for many n; failing fsync, close and locks.

Usage: starve.py DRIVER SHIM. Never a crash, the file keeps every step that was told finished.
"""
import os
import re
import subprocess
import sys
import tempfile

ERR_IO = 10  # enum st_status in src/base/status.h
STEPS = 4
driver, shim = sys.argv[1:3]


def run(folder, mode, env):
    path = os.path.join(folder, "out.h5")
    environment = dict(os.environ, LD_PRELOAD=shim, **env)
    done = subprocess.run([driver, mode, path, str(STEPS)], env=environment, text=True,
                          capture_output=True, timeout=60)
    told = len(re.findall(r"^step \d+$", done.stdout, re.M))
    return path, done, told


def steps_in(path):
    done = subprocess.run([driver, "read", path], text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return int(re.search(r", (\d+) steps,", done.stdout).group(1))


def check_failure(env, words):
    with tempfile.TemporaryDirectory() as folder:
        path, done, told = run(folder, "append", env)
        assert done.returncode == ERR_IO, (env, done.returncode, done.stderr)
        assert words in done.stderr, (env, done.stderr)
        if os.path.exists(path):
            assert steps_in(path) == told, (env, told)
            assert f"{told} finished step" in done.stderr, done.stderr
        else:
            assert told == 0, env
        assert [n for n in os.listdir(folder) if n != "out.h5"] == [], os.listdir(folder)
    return told


def main():
    with tempfile.TemporaryDirectory() as folder:
        path, done, told = run(folder, "append", {})
        assert done.returncode == 0 and told == STEPS, done.stderr
        size = os.path.getsize(path)
    # All versions together write about size * (1 + 2 + ... + STEPS + 1) / STEPS bytes.
    limits = list(range(0, 3 * size, 3 * size // 120)) + list(range(1, 200, 17))
    seen = {check_failure({"SHIM_BYTES": str(n)}, "no space left") for n in limits}
    assert seen >= {0, 1, 2}, seen
    check_failure({"SHIM_FSYNC": "1"}, "fsync")
    check_failure({"SHIM_CLOSE": "1"}, "close")
    for code in ("37", "524"):
        with tempfile.TemporaryDirectory() as folder:
            path, done, told = run(folder, "append", {"SHIM_LOCK": code})
            assert done.returncode == 0 and told == STEPS, (code, done.stderr)
            environment = dict(os.environ, LD_PRELOAD=shim, SHIM_LOCK=code)
            done = subprocess.run([driver, "read", path], env=environment, timeout=60)
            assert done.returncode == 0, code
    print(f"{len(limits)} limits, 2 late errors, 2 lock errors")


main()
