"""The command line as a user meets it: exit status, messages, formats, files."""
import json
import pathlib
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import BINARY, ROOT, ProgramTest, environment, noop_config  # noqa: E402

COMMANDS = ["run", "check", "list", "describe", "topology", "report", "merge"]
BENCHMARKS = ["noop", "stream", "pairs", "spmv"]


class Help(ProgramTest):
    def test_every_command_has_help(self):
        for command in COMMANDS:
            done = self.alone(command, "--help", status=0)
            self.assertIn(f"usage: seatrial {command}", done.out)
            self.assertEqual(done.err, "")

    def test_near_misses_get_a_suggestion(self):
        for arguments, hint in [(["rnu"], "did you mean 'run'"),
                                (["run", "x.yaml", "--outptu", "a"], "did you mean '--output'"),
                                (["describe", "sream"], "did you mean 'stream'"),
                                (["run", "x.yaml", "--resum=y"], "did you mean '--resume'")]:
            done = self.alone(*arguments, status=3)
            self.assertIn(hint, done.err)

    def test_wrong_usage(self):
        for arguments in [[], ["run"], ["report"], ["report", "a", "b"], ["list", "--format"],
                          ["list", "--format", "xml"], ["check", "x", "--nodes", "0"],
                          ["run", "a", "--dry-run=yes"], ["run", "a", "-o", "b", "-o", "c"]]:
            done = self.alone(*arguments, status=3)
            self.assertNotEqual(done.err, "")

    def test_missing_files(self):
        self.assertIn("nowhere.yaml", self.alone("check", "nowhere.yaml", status=3).err)
        self.assertIn("nowhere.yaml", self.alone("run", "nowhere.yaml", status=3).err)
        self.assertIn("nowhere.h5", self.alone("report", "nowhere.h5", status=4).err)


class WithoutLauncher(ProgramTest):
    def test_single_process_commands_start_no_mpi(self):
        config = self.write("c.yaml", noop_config(1))
        for arguments in [["list"], ["describe", "stream"], ["check", config], ["--help"]]:
            done = self.run_command(["strace", "-f", "-e", "trace=openat", BINARY, *map(str, arguments)],
                                    timeout=30)
            self.assertEqual(done.returncode, 0, done.err[-2000:])
            self.assertNotIn("mca_pml", done.err, "an MPI plugin was loaded: MPI was started")

    def test_list_and_describe(self):
        text = self.alone("list", status=0).out
        listed = json.loads(self.alone("list", "--format", "json", status=0).out)
        for name in BENCHMARKS:
            self.assertIn(name, text)
            self.assertIn(name, json.dumps(listed))
            page = self.alone("describe", name, status=0).out
            self.assertIn(name, page)


class Configs(ProgramTest):
    def test_every_shipped_config_is_valid(self):
        configs = sorted((ROOT / "configs").glob("*.yaml"))
        self.assertGreater(len(configs), 0)
        for config in configs:
            self.alone("check", config, status=0)
            head = config.read_text(encoding="utf-8").split("campaign:")[0]
            for question in ["What it answers", "How long", "What it needs"]:
                self.assertIn(question, head, config.name)

    def test_errors_name_file_line_and_column(self):
        config = self.write("bad.yaml", "campaign: x\nsteps:\n  - benchmark: strem\n")
        for command in [["check", config], ["run", config]]:
            done = self.alone(*command, status=3)
            self.assertRegex(done.err, r"bad\.yaml:3:16: .*strem.*stream")
        self.assertFalse((self.folder / "bad.h5").exists())

    def test_wrong_set_and_only(self):
        config = self.write("c.yaml", noop_config(2))
        self.assertIn("--set", self.alone("check", config, "--set", "nonsense", status=3).err)
        self.assertIn("s1", self.alone("check", config, "--only", "nothing", status=3).err)

    def test_too_large_is_refused_without_running(self):
        config = self.write("c.yaml", "campaign: x\nsteps:\n  - benchmark: stream\n"
                                      "    parameters: {size: 900TiB}\n")
        done = self.alone("check", config, status=3)
        self.assertRegex(done.err, r"c\.yaml:3:")

    def test_a_crowd_is_refused_as_a_run_would(self):
        node = {"HWLOC_SYNTHETIC": "pack:1 core:4 pu:2"}
        for layout, ranks, status in (("ranks_per_node: all-cores", 9, 3), ("ranks_per_node: all-cores", 8, 0),
                                      ("ranks_per_node: 2", 9, 0), ("oversubscribe: yes", 9, 0)):
            config = self.write("c.yaml", f"campaign: c\nsteps:\n  - {{benchmark: noop, layout: {{{layout}}}}}\n")
            done = self.alone("check", config, "--ranks-per-node", ranks, env=node, status=status)
            if status == 3:
                self.assertRegex(done.err, r"c\.yaml:3:.* 9 ranks on a node with 8 usable hardware threads")

    def test_another_machine_has_its_own_memory(self):
        config = self.write("c.yaml", "campaign: c\nsteps:\n  - {benchmark: stream, layout: {ranks_per_node: 1}, "
                                      "parameters: {size: 60GiB}}\n")
        for gib, status in ((200, 0), (100, 3)):
            node = {"HWLOC_SYNTHETIC": f"numa:1(memory={gib << 30}) core:4 pu:1"}
            self.alone("check", config, env=node, status=status)

    def test_dry_run_writes_nothing(self):
        config = self.write("c.yaml", noop_config(2))
        done = self.launch(2, "run", config, "--dry-run", status=0)
        self.assertIn("s1", done.out)
        self.assertEqual([p.name for p in self.folder.iterdir()], ["c.yaml"])


class Campaign(ProgramTest):
    def setUp(self):
        super().setUp()
        self.config = self.write("c.yaml", noop_config(3))

    def test_one_process(self):
        done = self.alone("run", self.config, status=0)
        self.assertNotIn("nan", done.out.lower())
        self.assertTrue((self.folder / "c.h5").exists())

    def test_report_gives_what_run_gave(self):
        done = self.launch(2, "run", self.config, "-o", "a.h5", status=0)
        report = self.alone("report", "a.h5", status=0)
        for line in report.out.splitlines():
            if line.strip():
                self.assertIn(line, done.out)

    def test_formats_parse(self):
        self.launch(2, "run", self.config, "-o", "a.h5", status=0)
        report = json.loads(self.alone("report", "a.h5", "--format", "json", status=0).out)
        self.assertIn("steps", json.dumps(report))
        ElementTree.fromstring(self.alone("report", "a.h5", "--format", "junit", status=0).out)
        lines = self.alone("report", "a.h5", "--format", "lines", status=0).out.splitlines()
        for line in lines:
            self.assertRegex(line, r"^seatrial: \S+ \S+ \S+ \S+ place=\S+ ci=\S+,\S+ n=\d+ "
                                   r"(pass|fail|inconclusive|not-judged|-)$")
        self.assertGreater(len(lines), 0)

    def test_existing_file_is_never_touched(self):
        self.write("a.h5", "precious")
        done = self.launch(2, "run", self.config, "-o", "a.h5", status=4)
        self.assertIn("a.h5", done.err)
        self.assertEqual((self.folder / "a.h5").read_text(), "precious")

    def test_unwritable_folder_is_found_before_measuring(self):
        done = self.launch(2, "run", self.config, "-o", "no/such/folder/a.h5", status=4)
        self.assertIn("no/such/folder", done.err)
        self.assertNotIn("s0", done.out)

    def test_resume_of_a_complete_file_measures_nothing(self):
        self.launch(2, "run", self.config, "-o", "a.h5", status=0)
        self.launch(2, "run", self.config, "--resume", "a.h5", status=0)
        other = self.write("other.yaml", noop_config(4))
        done = self.launch(2, "run", other, "--resume", "a.h5", status=3)
        self.assertIn("a.h5", done.err)

    def test_only_and_set(self):
        done = self.launch(2, "run", self.config, "--only", "s1", "--set",
                           "defaults.repeat.max=8", "-o", "a.h5", status=0)
        lines = [x for x in done.out.splitlines() if x.startswith("seatrial: ")]
        self.assertTrue(all(x.split()[1] == "s1" for x in lines))

    def test_decimal_point_in_every_locale(self):
        done = self.launch(2, "run", self.config, "-o", "a.h5", status=0,
                           env={"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"})
        self.assertIsNone(re.search(r"\d,\d{3}\b.*(s-1|GB)", done.out))

    def test_colour_only_on_terminals(self):
        done = self.launch(2, "run", self.config, "-o", "a.h5", status=0)
        self.assertNotIn("\x1b", done.out + done.err)

    def test_no_secret_is_stored(self):
        secret = "hunter2-do-not-store"
        self.launch(2, "run", self.config, "-o", "a.h5", status=0,
                    env={"GITHUB_TOKEN": secret, "SLURM_JWT": secret, "OMPI_MCA_x_secret": secret,
                         "OMP_API_KEY": secret})
        self.assertNotIn(secret.encode(), (self.folder / "a.h5").read_bytes())
        for fmt in ["text", "json", "junit"]:
            self.assertNotIn(secret, self.alone("report", "a.h5", "--format", fmt).out)


class ExitStatus(ProgramTest):
    def with_criterion(self, accept):
        # Iterations are a count: the verdict depends on no clock and no noise.
        return self.write("c.yaml", "campaign: c\nsteps:\n  - benchmark: spmv\n"
                                    "    parameters: {matrix: box7, nx: 8, ny: 8, nz: 8, solver: cg}\n"
                                    "    repeat: {min: 9, max: 9}\n"
                                    f"    accept: {{cg_iterations: {{at_most: {accept}}}}}\n")

    def test_pass_and_fail(self):
        self.alone("run", self.with_criterion(500), "-o", "p.h5", status=0)
        self.alone("report", "p.h5", status=0)
        self.alone("run", self.with_criterion(2), "-o", "f.h5", status=1)
        self.alone("report", "f.h5", status=1)

    def test_skipped_counts_only_if_required(self):
        skipped = "campaign: c\nsteps:\n  - {benchmark: noop}\n  - {benchmark: noop, layout: {nodes: 2}%s}\n"
        self.alone("run", self.write("a.yaml", skipped % ""), status=0)
        done = self.alone("run", self.write("b.yaml", skipped % ", required: yes"), status=2)
        self.assertIn("skipped", done.out)

    def test_threads_that_call_mpi_are_asked_for(self):
        config = self.write("t.yaml", "campaign: t\nsteps:\n  - benchmark: thread_rate\n"
                                      "    layout: {threads: 2, oversubscribe: yes}\n"
                                      "    parameters: {window: 2}\n    repeat: {min: 2, max: 2}\n")
        done = self.launch(2, "run", config, "-o", "f.h5", status=0)
        self.assertIn("--mpi-threads multiple", done.out)
        done = self.launch(2, "run", config, "-o", "m.h5", "--mpi-threads", "multiple", status=0)
        self.assertIn("shared_rate", done.out)
        done = self.alone("run", config, "--mpi-threads", "many", status=3)
        self.assertIn("funneled or multiple", done.err)

    def test_fake_nodes_are_not_judged(self):
        done = self.launch(2, "run", self.with_criterion(500), "-o", "n.h5", env={"SEATRIAL_FAKE_NODES": "block:1,1"})
        self.assertIn("not judged", done.out)
        self.assertEqual(done.returncode, 2, done.out + done.err)

    def test_spoiled_result_fails_the_step(self):
        done = self.launch(2, "run", self.write("c.yaml", noop_config(1)), status=2,
                           env={"SEATRIAL_SPOIL": "1"})
        self.assertIn("verification", done.out)


class Launch(ProgramTest):
    """CASES 1: separate programs instead of one launch."""

    def test_singletons_under_srun_are_refused(self):
        config = self.write("c.yaml", noop_config(1))
        started = [subprocess.Popen([BINARY, "run", str(config), "-o", "a.h5"], cwd=self.folder,
                                    env=environment({"SLURM_JOB_ID": "1", "SLURM_NTASKS": "4",
                                                     "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4",
                                                     "SLURM_PROCID": str(i)}),
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE) for i in range(4)]
        for process in started:
            _, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 3, err)
            self.assertIn(b"--mpi", err)
        self.assertFalse((self.folder / "a.h5").exists())

    def test_a_single_task_passes(self):
        config = self.write("c.yaml", noop_config(1))
        self.alone("run", config, status=0,
                   env={"SLURM_JOB_ID": "1", "SLURM_NTASKS": "1", "SLURM_PROCID": "0"})

    def test_stacked_launch_is_refused(self):
        config = self.write("c.yaml", "campaign: c\nsteps:\n  - {benchmark: noop, layout: {policy: launcher}}\n")
        command = ["taskset", "-c", "0", "mpirun", "--bind-to", "none", "-n", "2", BINARY, "run", str(config)]
        done = self.run_command(command)
        self.assertIn(done.returncode, (2, 3), done.out + done.err)
        self.assertRegex(done.out + done.err, r"(?i)rank")


if __name__ == "__main__":
    unittest.main(verbosity=2)
