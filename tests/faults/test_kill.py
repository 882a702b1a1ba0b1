"""kill -9 at random instants: the file on disk opens and holds every finished step.

Prints how many instants were tried, how many files opened, and how many steps beyond the
running one were lost (must be 0). SEATRIAL_KILLS sets the number of instants: 12 by default,
three for each victim; 100 before a release.
"""
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
import unittest

import h5py

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import ProgramTest, environment, mpirun, noop_config  # noqa: E402

INSTANTS = int(os.environ.get("SEATRIAL_KILLS", "12"))
STEPS = 40


def children_of(pid):
    """Process ids below pid, deepest last."""
    out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    found = [int(x) for x in out.stdout.split()]
    return found + [g for c in found for g in children_of(c)]


def finished_in_log(text):
    """Steps that the progress lines call finished."""
    return set(re.findall(r"step +\d+/\d+ +(s\d+)[^\n]*complete", text))


class Kill(ProgramTest):
    def kill_once(self, number, config, victim, delay):
        """One campaign killed after delay; returns (opened, finished steps, of them lost) or None if it ended before."""
        output = self.folder / f"k{number}.h5"
        log = self.folder / f"k{number}.log"
        with log.open("wb") as stream:
            process = subprocess.Popen(mpirun(2, "run", config, "-o", output), cwd=self.folder,
                                       env=environment(), stdin=subprocess.DEVNULL, stdout=stream,
                                       stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + 60
            while not output.exists() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.002)
            time.sleep(delay)
            ranks = children_of(process.pid)
            target = {"mpirun": [process.pid], "rank 0": ranks[:1], "rank 1": ranks[1:2],
                      "all": [process.pid] + ranks}[victim]
            ended = process.poll() is not None
            for pid in target:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    ended = True
            process.wait(timeout=60)
            for pid in ranks:  # mpirun killed alone leaves its ranks to notice; do not wait for that
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        if ended:
            return None
        claimed = finished_in_log(log.read_text(errors="replace"))
        try:
            with h5py.File(output, "r") as file:
                if as_text(file.attrs["status"]) == "complete":
                    return None  # killed between the last write and the end of the processes
                stored = {as_text(g.attrs["name"]) for g in file["steps"].values()
                          if as_text(g.attrs["status"]) == "complete"}
        except OSError:
            return False, len(claimed), len(claimed)
        report = self.alone("report", output)
        self.assertEqual(report.returncode, 2, report.out + report.err)
        return True, len(claimed), len(claimed - stored)

    def test_random_instants(self):
        config = self.write("c.yaml", noop_config(STEPS))
        rng = random.Random(20240501)
        opened = lost = tried = missed = claimed = 0
        victims = ["rank 0", "rank 1", "mpirun", "all"]
        self.launch(2, "run", config, "-o", "whole.h5", status=0)
        with h5py.File(self.folder / "whole.h5", "r") as file:
            whole = float(file.attrs["wall_s"])  # from the file's creation on, as the delays
        while tried < INSTANTS and missed < 5 * INSTANTS:
            result = self.kill_once(tried + missed, config, victims[tried % len(victims)],
                                    rng.uniform(0, 0.9 * whole))
            if result is None:
                missed += 1
                continue
            tried += 1
            opened += result[0]
            claimed += result[1]
            lost += result[2]
        print(f"\nkill -9: {tried} instants tried, {opened} files opened, {lost} of "
              f"{claimed} finished steps lost "
              f"({missed} campaigns had ended before the kill)")
        self.assertEqual(tried, INSTANTS)
        self.assertEqual(opened, tried)
        self.assertGreater(claimed, tried)
        self.assertEqual(lost, 0)

    def test_resume_after_a_kill(self):
        config = self.write("c.yaml", noop_config(STEPS))
        result = None
        for attempt in range(20):
            result = self.kill_once(attempt, config, "all", 0.05)
            if result is not None:
                break
        self.assertIsNotNone(result, "every campaign ended before it could be killed")
        killed = sorted(self.folder.glob("k*.h5"))[-1]
        self.launch(2, "run", config, "--resume", killed, status=0)
        with h5py.File(killed, "r") as file:
            self.assertEqual(as_text(file.attrs["status"]), "complete")
            self.assertEqual(len(file["steps"]), STEPS)
            self.assertTrue(all(as_text(g.attrs["status"]) == "complete" for g in file["steps"].values()))
        leftovers = [p.name for p in self.folder.iterdir() if "tmp" in p.name]
        print("\ntemporary files left by the kill:", leftovers)


def as_text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


if __name__ == "__main__":
    unittest.main(verbosity=2)
