"""Stopped ranks, signals, full disks, hidden systems: the right status, the right name, no hang."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import BINARY, ProgramTest, environment, mpirun, noop_config  # noqa: E402


class Running(ProgramTest):
    """A campaign in the background whose ranks can be reached."""

    def start(self, ranks, config, output, env=None):
        log = (self.folder / "log").open("wb")
        self.addCleanup(log.close)
        process = subprocess.Popen(mpirun(ranks, "run", config, "-o", output), cwd=self.folder,
                                   env=environment(env), stdin=subprocess.DEVNULL, stdout=log,
                                   stderr=subprocess.STDOUT)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def ranks_of(self, process):
        out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True,
                             text=True, check=False)
        return [int(x) for x in out.stdout.split()]

    def wait_for(self, text, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if text in (self.folder / "log").read_text(errors="replace"):
                return
            time.sleep(0.05)
        self.fail(f"'{text}' did not appear:\n{(self.folder / 'log').read_text(errors='replace')[-3000:]}")

    def log(self):
        return (self.folder / "log").read_text(errors="replace")


LONG = """campaign: long
steps:
  - {benchmark: noop, name: first, layout: {oversubscribe: yes}, repeat: {min: 6, max: 6}}
  - benchmark: noop
    name: second
    layout: {oversubscribe: yes}
    parameters: {spin: 20ms}
    repeat: {min: 5000, max: 5000, budget: %s, deadline: %s}
"""


class Stopped(Running):
    """CASES 55: one rank no longer answers."""

    def test_each_rank_stopped_is_named(self):
        for victim in (0, 1, 2):
            with self.subTest(victim=victim):
                config = self.write("c.yaml", LONG % ("4s", "4s"))
                output = f"stop{victim}.h5"
                process = self.start(3, config, output)
                self.wait_for("second")
                time.sleep(0.5)
                pids = self.ranks_of(process)
                os.kill(pids[victim], signal.SIGSTOP)
                try:
                    process.wait(timeout=60)
                finally:
                    for pid in pids:
                        try:
                            os.kill(pid, signal.SIGKILL)
                        except ProcessLookupError:
                            pass
                self.assertEqual(process.returncode, 2, self.log())
                self.assertRegex(self.log(), rf"rank {victim}\b")
                self.assertIn(os.uname().nodename.split(".")[0], self.log())
                report = self.alone("report", output, status=2)
                self.assertRegex(report.out, r"first")


class Signals(Running):
    def test_sigterm_closes_the_step_and_the_file(self):
        for number, name in ((signal.SIGTERM, "term"), (signal.SIGUSR1, "usr1")):
            with self.subTest(signal=name):
                process = self.start(2, self.write("c.yaml", LONG % ("100s", "100s")), f"{name}.h5")
                self.wait_for("second")
                time.sleep(0.5)
                for pid in self.ranks_of(process):
                    os.kill(pid, number)
                process.wait(timeout=60)
                self.assertEqual(process.returncode, 2, self.log())
                report = self.alone("report", f"{name}.h5", status=2)
                self.assertIn("interrupted", report.out)


class FullDisk(ProgramTest):
    """CASES 46: a small file system. (A file-size limit is tested with src/record: MPI itself
    needs larger files than a limit that would hit the results file.)"""

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small file system needs root")
    def test_small_file_system(self):
        config = self.write("c.yaml", noop_config(60))
        mount = self.folder / "small"
        mount.mkdir()
        quoted = " ".join(map(str, mpirun(2, "run", config, "-o", mount / "a.h5")))
        report = f"{BINARY} report {mount / 'a.h5'}"
        script = (f"mount -t tmpfs -o size=512k none {mount} || exit 77; {quoted}; echo status=$?; "
                  f"{report} > /dev/null; echo report=$?; ls {mount}")
        done = self.run_command(["unshare", "-m", "bash", "-c", script])
        if done.returncode == 77:
            self.skipTest("no mount rights here: " + done.err.strip())
        self.assertIn("status=4", done.out, done.err)
        self.assertIn("report=2", done.out, done.out)
        self.assertRegex(done.err, r"(?i)no space")
        self.assertNotIn("tmp", done.out.split("report=2")[1])


class ManyRanks(ProgramTest):
    """CASES 25, 56: more ranks than cores."""

    def test_one_rank_per_node_opens_sysfs(self):
        config = self.write("c.yaml", noop_config(1))
        trace = self.folder / "trace"
        done = self.run_command(["mpirun", "--bind-to", "none", "-n", "4", "strace", "-f", "-qq", "-e",
                                 "trace=openat", "-o", f"{trace}", "--output-separately", BINARY, "run",
                                 str(config), "-o", "a.h5"])
        self.assertEqual(done.returncode, 0, done.out[-2000:] + done.err[-2000:])
        readers = [p for p in self.folder.glob("trace*")
                   if re.search(r'openat\([^"]*"[^"]*sys/devices/system/cpu/cpu0/topology', p.read_text(errors="replace"))]
        # Open MPI's own start-up reads no core topology; what does is the one hwloc load.
        self.assertEqual(len(readers), 1, [p.name for p in readers])

    def test_oversubscribed_campaign_is_not_judged(self):
        config = self.write("c.yaml", "campaign: c\nsteps:\n  - benchmark: noop\n    layout: {ranks_per_node: 8, "
                                      "oversubscribe: yes}\n    repeat: {min: 6, max: 6}\n")
        done = self.launch(8, "run", config, "-o", "a.h5", status=0)
        self.assertIn("oversubscribed", done.out)


class Hidden(ProgramTest):
    """CASES 24: no /sys, or a topology of another machine."""

    def test_topology_of_another_machine_is_planned_not_applied(self):
        config = self.write("c.yaml", noop_config(1))
        env = {"HWLOC_SYNTHETIC": "pack:2 numa:2 core:4 pu:2"}
        command = ["mpirun", "--bind-to", "none", "-x", "HWLOC_SYNTHETIC", "-n", "2", BINARY]
        done = self.run_command(command + ["run", str(config), "-o", "a.h5"], env=env)
        self.assertEqual(done.returncode, 0, done.out + done.err)
        self.assertIn("planned, not applied", done.out)
        done = self.run_command(command + ["topology"], env=env)
        self.assertIn("planned, not applied", done.out, done.err)

    def test_no_sysfs(self):
        config = self.write("c.yaml", noop_config(1))
        done = self.alone("run", config, "-o", "a.h5", env={"HWLOC_FSROOT": "/nonexistent"})
        self.assertEqual(done.returncode, 0, done.out + done.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
