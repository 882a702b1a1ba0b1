"""How tests start the program: alone or under mpirun, in a fresh folder, with a time limit."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
BINARY = os.environ.get("SEATRIAL", str(ROOT / "build" / "seatrial"))
SHARED = pathlib.Path(os.environ.get("ST_SHARED_DIR", str(ROOT.parent / "shared")))

MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}

# A campaign of short steps that measures nothing of the machine: what the driver tests need.
NOOP_STEPS = """campaign: short
defaults:
  layout: {oversubscribe: yes}
  repeat: {min: 6, max: 6, budget: 2s}
steps:
"""


def noop_config(n_steps, extra=""):
    """A config of n_steps steps named s0, s1 … of the benchmark that does nothing."""
    return NOOP_STEPS + "".join(
        f"  - {{benchmark: noop, name: s{i}{extra}}}\n" for i in range(n_steps))


def environment(extra=None):
    """The tests' environment without what a launcher around the tests may have set."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("SLURM_", "PMI_", "PMIX_", "OMPI_", "SEATRIAL_", "OMP_"))}
    env.update(MPI_ENVIRONMENT)
    env.update(extra or {})
    return env


def mpirun(ranks, *arguments, options=()):
    """Command line of a launch."""
    return ["mpirun", *options, "--bind-to", "none", "-n", str(ranks), BINARY, *map(str, arguments)]


class ProgramTest(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="seatrial-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def run_command(self, command, env=None, timeout=120, status=None):
        """Run to the end; with `status` the exit status is asserted, showing the output."""
        done = subprocess.run(command, cwd=self.folder, env=environment(env), timeout=timeout,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        done.out = done.stdout.decode("utf-8", "replace")
        done.err = done.stderr.decode("utf-8", "replace")
        if status is not None:
            self.assertEqual(done.returncode, status,
                             f"{' '.join(map(str, command))}\n{done.out[-4000:]}\n{done.err[-4000:]}")
        return done

    def alone(self, *arguments, **how):
        return self.run_command([BINARY, *map(str, arguments)], **how)

    def launch(self, ranks, *arguments, **how):
        return self.run_command(mpirun(ranks, *arguments), **how)
