"""The batch scripts under a real Slurm: jobs of several sizes, cancelled, out of time, requeued,
started wrongly.

The cluster is made by the scripts of ST_SHARED_DIR/cluster (Slurm daemons on hosts made of
network namespaces). Where they, root or Slurm are missing, the tests are skipped with the reason.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import BINARY, ROOT, SHARED, ProgramTest  # noqa: E402

import h5py  # noqa: E402

CLUSTER = SHARED / "cluster"
LONG = """campaign: long
defaults: {repeat: {min: 6, max: 6, budget: 2s}}
steps:
  - {benchmark: noop, name: first, layout: {ranks_per_node: 1}}
  - benchmark: noop
    name: second
    layout: {ranks_per_node: 1}
    parameters: {spin: 1s}
    repeat: {min: 600, max: 600, budget: 900s}
  - {benchmark: noop, name: third, layout: {ranks_per_node: 1}}
"""
SHORT = """campaign: short
defaults: {repeat: {min: 6, max: 6, budget: 2s}, layout: {ranks_per_node: 1}}
steps:
  - {benchmark: noop, name: one}
  - {benchmark: noop, name: two}
"""


def why_not():
    """The reason why there can be no cluster here, or None."""
    if os.geteuid() != 0:
        return "needs root to make hosts and start Slurm's daemons"
    if not (CLUSTER / "slurm-up").exists():
        return f"no {CLUSTER}/slurm-up"
    for tool in ("slurmctld", "munged", "ip", "nsenter"):
        if shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None:
            return f"{tool} is not installed"
    if "seatrial-" in subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout:
        return "the hosts of this machine are in use by someone else"
    return None


class Slurm(ProgramTest):
    @classmethod
    def setUpClass(cls):
        reason = why_not()
        if reason:
            raise unittest.SkipTest(reason)
        up = subprocess.run([CLUSTER / "slurm-up", "--hosts", "4"], capture_output=True, text=True, check=False,
                            timeout=60)
        if up.returncode != 0:
            subprocess.run([CLUSTER / "slurm-down"], capture_output=True, check=False)
            raise unittest.SkipTest(f"slurm-up failed: {up.stderr.strip()[-300:]}")
        text = (pathlib.Path(os.environ.get("XDG_RUNTIME_DIR", "/tmp")) / "seatrial-cluster/slurm/env").read_text()
        cls.cluster = dict(re.findall(r"(\w+)=(\S+)", text))
        cls.cluster["OMPI_MCA_btl"] = "self,vader,tcp"

    @classmethod
    def tearDownClass(cls):
        subprocess.run([CLUSTER / "slurm-down"], capture_output=True, check=False, timeout=60)

    def login(self, *command, status=0, timeout=120, **extra):
        """A command on the login host, in this test's folder."""
        env = {**self.cluster, "SEATRIAL": BINARY, "SEATRIAL_SLURM": str(ROOT / "slurm"),
               "SEATRIAL_RANKS_PER_NODE": "1", "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", **extra}
        return self.run_command([CLUSTER / "host-run", "login", *map(str, command)], env=env, status=status,
                                timeout=timeout)

    def submit(self, *options, script="run.sbatch", **extra):
        done = self.login("sbatch", "--parsable", *options[:-1], ROOT / "slurm" / script, *options[-1], **extra)
        return done.out.strip()

    def state(self, job):
        out = self.login("scontrol", "show", "job", job).out
        return re.search(r"JobState=(\w+)", out)[1]

    def wait(self, job, *states, limit=90):
        end = time.monotonic() + limit
        while (state := self.state(job)) not in states:
            self.assertLess(time.monotonic(), end, f"job {job} is {state}, not {states}\n{self.output(job)}")
            time.sleep(0.3)
        return state

    def wait_for_text(self, job, text, limit=60, times=1):
        end = time.monotonic() + limit
        while self.output(job).count(text) < times:
            self.assertLess(time.monotonic(), end, f"'{text}' did not come:\n{self.output(job)}")
            time.sleep(0.3)

    def output(self, job):
        path = self.folder / f"seatrial-{job}.out"
        return path.read_text(errors="replace") if path.exists() else ""

    def steps(self, name):
        with h5py.File(self.folder / name) as f:
            return (f.attrs["status"].decode(), [f[f"steps/{k}"].attrs["status"].decode() for k in sorted(f["steps"])],
                    int(f.attrs["n_nodes"]), int(f.attrs["n_launches"]))

    def test_jobs_of_two_and_four_nodes(self):
        self.write("c.yaml", SHORT)
        for nodes in (2, 4):
            job = self.submit(f"--nodes={nodes}", "--wait", ["c.yaml", f"n{nodes}.h5"])
            self.assertEqual(self.steps(f"n{nodes}.h5"), ("complete", ["complete"] * 2, nodes, 1), self.output(job))
            with h5py.File(self.folder / f"n{nodes}.h5") as f:
                self.assertEqual(sorted(h.decode() for h in f["system/nodes/host"]),
                                 [f"node{i}" for i in range(1, nodes + 1)])
                self.assertEqual(f["run/launcher"][()].decode(), "srun")

    def test_mpirun_inside_the_allocation(self):
        self.write("c.yaml", SHORT)
        job = self.submit("--nodes=2", "--wait", ["c.yaml", "m.h5"], SEATRIAL_LAUNCH="mpirun")
        self.assertEqual(self.steps("m.h5")[:3], ("complete", ["complete"] * 2, 2), self.output(job))

    def test_a_study_of_many_jobs(self):
        self.write("c.yaml", SHORT)
        done = self.login(ROOT / "slurm/scaling.sh", "-n", "1 2", "-o", "study.h5", "c.yaml")
        jobs = re.findall(r"job (\d+):", done.out)
        self.assertEqual(len(jobs), 3)
        self.assertEqual(self.wait(jobs[-1], "COMPLETED", "FAILED", "TIMEOUT"), "COMPLETED")
        with h5py.File(self.folder / "study.h5") as f:
            self.assertEqual(list(f["launches/n_nodes"]), [1, 2])
        again = self.login(ROOT / "slurm/scaling.sh", "-o", "study.h5", "c.yaml", status=3)
        self.assertIn("never overwritten", again.err)

    def test_scripts_are_accepted(self):
        self.write("c.yaml", SHORT)
        for script in ("run.sbatch", "fleet.sbatch", "merge.sbatch"):
            done = self.login("sbatch", "--test-only", ROOT / "slurm" / script, "c.yaml")
            self.assertIn("to start at", done.err)
        self.login(ROOT / "slurm/scaling.sh", "-t", "-n", "1 4", "c.yaml")

    def test_cancelled_requeued_and_resumed(self):
        self.write("c.yaml", LONG)
        job = self.interrupt("node1,node2", "r.h5")
        status, steps, _, _ = self.steps("r.h5")
        self.assertEqual((status, steps[0]), ("interrupted", "complete"), self.output(job))
        self.assertNotIn("complete", steps[1:])
        self.alone("report", "r.h5", status=2)

        # on other nodes the file does not go on: a second one, of which the study knows
        before = (self.folder / "r.h5").read_bytes()
        job = self.interrupt("node3,node4", "r.h5")
        self.assertIn("r.h5 was measured on other nodes (node1 node2; now node3 node4)", self.output(job))
        self.assertEqual((self.folder / "r.h5").read_bytes(), before)
        with h5py.File(self.folder / "r-nodes2.h5") as f:
            self.assertEqual(sorted(h.decode() for h in f["system/nodes/host"]), ["node3", "node4"])
        self.login("bash", ROOT / "slurm/merge.sbatch", "study.h5", "r.h5")
        with h5py.File(self.folder / "study.h5") as f:
            self.assertEqual([n.decode() for n in f["launches/file"]], ["r.h5", "r-nodes2.h5"])

        job = self.submit("--nodes=2", ["c.yaml", "q.h5"])
        self.wait_for_text(job, "step 2/3 second begins")
        self.login("scontrol", "requeue", job)
        # Slurm holds a requeued job back for two minutes; begin at once
        self.wait(job, "PENDING")
        self.login("scontrol", "update", f"jobid={job}", "starttime=now")
        self.wait_for_text(job, "--resume q.h5", limit=180)
        self.wait_for_text(job, "step 2/3 second begins", times=2)
        self.login("scancel", job)
        self.wait(job, "CANCELLED", "COMPLETED", "FAILED")
        status, steps, _, launches = self.steps("q.h5")
        self.assertEqual((status, steps[0], launches), ("interrupted", "complete", 2), self.output(job))

    def interrupt(self, nodes, file):
        """A job on these nodes, cancelled in its second step."""
        job = self.submit("--nodes=2", f"--nodelist={nodes}", ["c.yaml", file])
        self.wait_for_text(job, "step 2/3 second begins")
        self.login("scancel", job)
        self.wait(job, "CANCELLED", "COMPLETED", "FAILED")
        return job

    def test_out_of_time(self):
        """Slurm's SIGTERM before the limit closes the running step; the job ends by itself."""
        self.write("c.yaml", LONG)
        job = self.submit("--nodes=2", "--time=1", "--signal=TERM@50", ["c.yaml", "t.h5"])
        self.wait(job, "COMPLETED", "FAILED", "TIMEOUT", limit=120)
        status, steps, _, _ = self.steps("t.h5")
        self.assertEqual((status, steps[0]), ("interrupted", "complete"), self.output(job))
        self.assertIn("a signal asked", self.output(job))

    def test_started_without_pmi(self):
        self.write("c.yaml", SHORT)
        done = self.login("srun", "-N2", "-n2", "--mpi=none", BINARY, "run", "c.yaml", "-o", "w.h5", status=None)
        self.assertEqual(done.returncode, 3, done.err)
        self.assertIn("--mpi=pmix", done.err)
        self.assertFalse((self.folder / "w.h5").exists())


if __name__ == "__main__":
    unittest.main()
