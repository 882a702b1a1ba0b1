"""link_map on several hosts with addresses of their own: a planted slow host, a planted slow link, nothing.

The hosts are network namespaces made by the scripts of ST_SHARED_DIR/cluster. All links are slow
(400 Mbit/s) and one is slower, so that the shared processors do not decide. A name may be missed on a
busy machine and is looked for again, at most three times; a wrong name is a failure at once.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import BINARY, SHARED, ProgramTest  # noqa: E402

CLUSTER = SHARED / "cluster"
N_HOSTS = 4
RATE, SLOW = "400mbit", "100mbit"
CONFIG = """campaign: hosts
steps:
  - benchmark: link_map
    layout: {ranks_per_node: 1}
    parameters: {message: 256KiB, window: 4, trips: 10}
    repeat: {min: 6, max: 6, budget: 20s}
"""


def why_not():
    if os.geteuid() != 0:
        return "needs root to make hosts"
    if not (CLUSTER / "hosts-up").exists():
        return f"no {CLUSTER}/hosts-up"
    for tool in ("ip", "tc", "nsenter"):
        if shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None:
            return f"{tool} is not installed"
    if "seatrial-" in subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False).stdout:
        return "the hosts of this machine are in use by someone else"
    return None


class Hosts(ProgramTest):
    @classmethod
    def setUpClass(cls):
        reason = why_not()
        if reason:
            raise unittest.SkipTest(reason)
        up = subprocess.run([CLUSTER / "hosts-up", str(N_HOSTS)], capture_output=True, text=True, check=False, timeout=60)
        if up.returncode != 0:
            subprocess.run([CLUSTER / "hosts-down"], capture_output=True, check=False)
            raise unittest.SkipTest(f"hosts-up failed: {up.stderr.strip()[-300:]}")
        path = pathlib.Path(os.environ.get("XDG_RUNTIME_DIR", "/tmp")) / "seatrial-cluster/hosts/env"
        printed = subprocess.run(["bash", "-c", f"set -a; . {path}; env -0"], capture_output=True, check=True, env={
            "PATH": os.environ["PATH"]}).stdout.decode()
        cls.cluster = dict(item.split("=", 1) for item in printed.split("\0") if item.startswith(("OMPI_", "PRTE_", "PMIX_")))

    @classmethod
    def tearDownClass(cls):
        subprocess.run([CLUSTER / "hosts-down"], capture_output=True, check=False, timeout=60)

    def setUp(self):
        super().setUp()
        self.write("c.yaml", CONFIG)
        for host in range(1, N_HOSTS + 1):
            self.run_command(["bash", "-c", f"{CLUSTER}/slow-link node{host} off; "
                              f"{CLUSTER}/host-run node{host} tc qdisc del dev eth0 root; true"])
            self.run_command([CLUSTER / "slow-link", f"node{host}", RATE, "0"], status=0)

    def names(self, number):
        """What one campaign accuses: a set of 'node3' and ('node1', 'node4')."""
        done = self.run_command([CLUSTER / "host-run", "login", "mpirun", "-np", str(N_HOSTS), "--map-by", "node", BINARY,
                                 "run", "c.yaml", "-o", f"r{number}.h5"], env=self.cluster, timeout=120, status=0)
        note = re.search(r"note: (.*?)\n\nVerdict", done.out, re.S)[1]
        note = " ".join(note.split())
        nodes = set(re.findall(r"node \d+ \((node\d)\) slow", note))
        links = {tuple(sorted(x)) for x in re.findall(r"link \d+-\d+ \((node\d) - (node\d)\) slow", note)}
        return nodes | links, note

    def find(self, planted):
        for number in range(3):
            found, note = self.names(number)
            self.assertLessEqual(found, {planted}, note)
            if planted in found:
                return
        self.fail(f"{planted} was not named in three campaigns; the last said: {note}")

    def test_nothing_planted(self):
        found, note = self.names(0)
        self.assertEqual(found, set(), note)

    def test_slow_host(self):
        self.run_command([CLUSTER / "slow-link", "node3", SLOW, "0"], status=0)
        self.find("node3")

    def test_slow_link(self):
        for host, other in (("node1", "node4"), ("node4", "node1")):
            self.slow_down(host, other)
        self.find(("node1", "node4"))

    def slow_down(self, host, other):
        """What @host sends to @other alone is slow: a class of its own for that address."""
        self.run_command([CLUSTER / "slow-link", host, "off"], status=0)
        run = f"{CLUSTER}/host-run"
        address = self.run_command(["bash", "-c", f"{run} {host} getent hosts {other}"], status=0).out.split()[0]
        for words in ("qdisc replace dev eth0 root handle 1: htb default 10",
                      f"class replace dev eth0 parent 1: classid 1:10 htb rate {RATE} burst 32k",
                      f"class replace dev eth0 parent 1: classid 1:20 htb rate {SLOW} burst 32k",
                      f"filter replace dev eth0 parent 1: protocol ip prio 1 u32 match ip dst {address}/32 flowid 1:20"):
            self.run_command(["bash", "-c", f"{run} {host} tc {words}"], status=0)


if __name__ == "__main__":
    unittest.main()
