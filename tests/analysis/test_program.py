"""seatrial-analysis as a user runs it: files of the program, made files of many nodes, the page in a browser."""
import contextlib
import html.parser
import pathlib
import shutil
import sys
import time
import unittest
import unittest.mock

import h5py
import numpy

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE))
from program import ROOT, ProgramTest  # noqa: E402
import make_file  # noqa: E402
sys.path.insert(0, str(ROOT / "analysis"))
from seatrial_analysis import compare, report, results  # noqa: E402

ANALYSIS = str(ROOT / "analysis" / "seatrial-analysis")
CONFIG = """campaign: a "quoted" & <odd> name
defaults: {repeat: {min: 8, max: 12, budget: 1s}, layout: {oversubscribe: yes}}
steps:
  - {benchmark: noop, layout: {ranks: [1, 2]}}
  - {benchmark: stream, parameters: {size: 1MiB, kernels: copy triad}, layout: {nodes: each, ranks_per_node: 1},
     accept: {triad: {at_least: 1B/s}}}
  - {benchmark: cache_bandwidth, parameters: {max_size: 64KiB}, layout: {nodes: each, ranks_per_node: 1}}
  - {benchmark: link_map, layout: {ranks_per_node: 1}}
  - {benchmark: spmv, parameters: {nx: 8, ny: 8, nz: 16}, layout: {ranks: [1, 2], threads: [1, 2]}}
  - {benchmark: hpcg, parameters: {nx: 16, ny: 16, nz: 16}, layout: {ranks: [1, 2]}}
  - {benchmark: pairs, name: rate, parameters: {pattern: message_rate, message: [8B, 64B, 4KiB]}, layout: {ranks: 2}}
"""


MEASURED = """import resource, sys
sys.path.insert(0, sys.argv[1])
from seatrial_analysis.main import main
status = main(["report", "big.h5", "-o", "big.html"])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
sys.exit(status)
"""


class Page(html.parser.HTMLParser):
    """Addresses and open tags of a page."""
    VOID = {"meta", "br", "link", "img", "input", "hr"}

    def __init__(self, text):
        super().__init__()
        self.addresses, self.open, self.ids, self.scripts = [], [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.addresses += [v for k, v in attrs.items() if k in ("src", "href", "xlink:href", "action") and v]
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.scripts += tag == "script"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()


class Analysis(ProgramTest):
    def analyse(self, *arguments, status=0):
        return self.run_command([ANALYSIS, *map(str, arguments)], status=status, env={"MPLCONFIGDIR": str(self.folder)})

    campaign = None  # bytes of the one results file that the program writes for these tests

    def measured(self, name="r.h5"):
        """A file of the program's own, measured once for all tests."""
        if Analysis.campaign is None:
            self.launch(3, "run", self.write("c.yaml", CONFIG), "-o", name, env={"SEATRIAL_FAKE_NODES": "block:1,1,1"})
            Analysis.campaign = (self.folder / name).read_bytes()
        (self.folder / name).write_bytes(Analysis.campaign)
        return name

    def check_page(self, name):
        text = (self.folder / name).read_text(encoding="utf-8")
        page = Page(text)
        self.assertEqual(page.open, [], "tags left open")
        self.assertEqual([a for a in page.addresses if not a.startswith("#")], [], "the page asks the network")
        self.assertEqual(len(page.ids), len(set(page.ids)), "ids twice")
        self.assertEqual(page.scripts, 1)
        return text

    def test_a_campaign_becomes_a_page(self):
        self.measured()
        self.analyse("report", "r.h5", "-o", "page.html", "--figures", "figures")
        text = self.check_page("page.html")
        for word in ("a &quot;quoted&quot; &amp; &lt;odd&gt; name", 'id="machine"', 'id="memory"', 'id="interconnect"',
                     'id="scaling"', 'id="method"', "treated as several nodes", "class=\"heat\"", "rate over message", "Phases"):
            self.assertTrue(word in text, f"{word} is not on the page")
        self.assertLess(text.index('class="verdict'), text.index('id="machine"'))
        pictures = sorted(p.suffix for p in (self.folder / "figures").iterdir())
        self.assertGreaterEqual(pictures.count(".png"), 2)
        self.assertEqual(pictures.count(".png"), pictures.count(".svg"))
        self.browse("page.html")

    def browse(self, name):
        """In a real browser: no error in the console, the verdict on the first screen, names under the pointer."""
        browser = shutil.which("chromium")
        if browser is None:
            self.skipTest("chromium is not installed")
        done = self.run_command([browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                                 f"--user-data-dir={self.folder}/profile", "--virtual-time-budget=2000", "--dump-dom",
                                 f"file://{self.folder}/{name}"], timeout=60, status=0)
        self.assertNotIn(":CONSOLE", done.err)
        self.assertIn("prefers-color-scheme: dark", done.out)
        self.run_command([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.folder}/profile",
                          f"--print-to-pdf={self.folder}/page.pdf", f"file://{self.folder}/{name}"], timeout=60, status=0)
        self.assertGreater((self.folder / "page.pdf").stat().st_size, 10000)

    def test_ten_thousand_nodes(self):
        make_file.write(self.folder / "big.h5", 10000)
        begin = time.monotonic()
        done = self.run_command([sys.executable, "-c", MEASURED, str(ROOT / "analysis")], status=0)
        print(f"\n10 000 nodes: {time.monotonic() - begin:.1f} s, {done.out.split()[-1]} MiB")
        self.assertLess(int(done.out.split()[-1]), 500)
        text = self.check_page("big.html")
        for word, there in (("<b onclick", False), ("&lt;b onclick", True), ("powersave", True), ("Failed", True)):
            self.assertEqual(word in text, there, word)
        self.assertLess(len(text), 4 << 20)

    def test_fleet_names_the_slow_node_only(self):
        for seed in range(3):
            make_file.write(self.folder / f"f{seed}.h5", 200, seed)
        done = self.analyse("fleet", "f0.h5", status=1)
        self.assertIn("0 bad, 1 suspect", done.out)
        self.assertIn("node00007", done.out)
        done = self.analyse("fleet", "f0.h5", "f1.h5", "f2.h5", status=1)
        self.assertIn("1 bad, 0 suspect", done.out)
        self.assertIn("3 of 3", done.out)
        make_file.write(self.folder / "clean.h5", 200, factor=1)
        self.assertIn("0 bad, 0 suspect, 200 ok", self.analyse("fleet", "clean.h5").out)
        done = self.analyse("fleet", "f0.h5", "f1.h5", "f2.h5", "clean.h5")  # repaired since
        self.assertRegex(done.out, r"past +node00007 .* 3 of 4")

    def test_fleet_accuses_nobody_wrongly(self):
        for name, how in (("fast0.h5", {"factor": 1.25}), ("fast1.h5", {"factor": 1.25}), ("slow.h5", {"factor": 0.8}),
                          ("two.h5", {"factor": 1, "n_other": 30})):
            make_file.write(self.folder / name, 100, **how)
        # fast twice and slow once is not slow three times
        self.assertIn("0 bad, 1 suspect", self.analyse("fleet", "fast0.h5", "fast1.h5", "slow.h5", status=1).out)
        # half as fast as the others, but as fast as its like
        self.assertIn("0 bad, 0 suspect, 100 ok", self.analyse("fleet", "two.h5").out)
        with h5py.File(self.folder / "slow.h5", "r+") as f:  # no interval: its noise is not known
            f["steps/0000/summary/ci_high"][...] = float("nan")
        self.assertIn("0 bad, 0 suspect", self.analyse("fleet", "slow.h5").out)

    def test_fleet_sees_a_node_become_slower(self):
        names = [f"day{i}.h5" for i in range(8)]
        for i, name in enumerate(names):
            make_file.write(self.folder / name, 40, seed=i, factor=1 - 0.01 * i)
        done = self.analyse("fleet", *names, status=1)
        self.assertRegex(done.out, r"worse +node00007 +stream +triad +-[67]\.\d %")
        self.assertEqual(done.out.count("worse"), 2)  # the triad and its moved bytes, no other node
        self.assertIn("they take 6 launches", self.analyse("fleet", *names[:5], status=None).out)

    def test_the_page_opens_with_the_worst_launch(self):
        make_file.write(self.folder / "bad.h5", 10)
        make_file.write(self.folder / "good.h5", 10, factor=1)
        with h5py.File(self.folder / "good.h5", "r+") as f:
            f["verdicts"].attrs["exit_status"] = 0
            f["verdicts/outcome"][0] = b"pass"
        for names, word in ((("good.h5",), "Passed"), (("good.h5", "bad.h5"), "Failed")):
            self.analyse("report", *names, "-o", "page.html")
            self.assertRegex(self.check_page("page.html"), rf'class="verdict \w+"><strong>{word}<')
        with h5py.File(self.folder / "bad.h5", "r+") as f:  # a step is missing as well: both are named
            f["verdicts"].attrs["exit_status"] = 2
        self.analyse("report", "bad.h5", "-o", "page.html")
        self.assertIn("<strong>Failed and incomplete<", self.check_page("page.html"))

    def test_ceilings_are_what_all_nodes_reach_together(self):
        make_file.write(self.folder / "f.h5", 50)
        with results.Results(self.folder / "f.h5") as one:
            launch = one.launches[0]
            medians = launch.steps()[0].metric("triad_moved").summary("median")
            self.assertEqual(report.Report(launch, None, []).ceilings(), {"triad, bytes moved": medians.sum()})
        with h5py.File(self.folder / "f.h5", "r+") as f:  # small arrays measure caches: no ceiling
            f["steps/0000/parameters/size"] = float(2**20)
            f["steps/0000/parameters/size"].attrs["text"] = numpy.bytes_(b"1MiB\0")
        with results.Results(self.folder / "f.h5") as one:
            self.assertEqual(report.Report(one.launches[0], None, []).ceilings(), {})

    def test_compare(self):
        self.measured("a.h5")
        shutil.copy(self.folder / "a.h5", self.folder / "b.h5")  # the same samples but for one metric
        same = self.analyse("compare", "a.h5", "b.h5")
        self.assertIn(" 0 worse, 0 better", same.out)
        self.slow_down("b.h5")
        worse = self.analyse("compare", "a.h5", "b.h5", status=1)
        self.assertRegex(worse.out, r"worse +stream +triad")
        better = self.analyse("compare", "b.h5", "a.h5", "--delta", "50")
        self.assertRegex(better.out, r"better +stream +triad")
        with h5py.File(self.folder / "b.h5", "r+") as f:  # the same name, another size: no comparison
            step = next(s for s in f["steps"].values() if "triad" in s["samples"])
            step["parameters/size"].attrs["text"] = numpy.bytes_(b"2MiB\0")
        other = self.analyse("compare", "a.h5", "b.h5")
        self.assertIn("stream is not compared, it was measured differently: size", other.out)
        self.assertIn(" 0 worse, 0 better", other.out)

    def test_compare_takes_launches_where_there_are_any(self):
        for side, factor in (("a", 1.0), ("b", 0.8)):
            for i in range(7):
                make_file.write(self.folder / f"{side}{i}.h5", 8, seed=i + (side == "b") * 7, factor=factor)
        with contextlib.ExitStack() as stack:
            sides = [[stack.enter_context(results.Results(self.folder / f"{side}{i}.h5")).launches[0] for i in range(7)]
                     for side in "ab"]
            done = compare.compare(*sides)
            self.assertTrue(done.by_launch)
            self.assertEqual({(r.found.n_a, r.found.n_b) for r in done.rows}, {(7, 7)})
            slow = [("triad", "node00007"), ("triad_moved", "node00007")]
            self.assertEqual([(r.metric, r.place) for r in done.rows if r.outcome == "worse"], slow)
            done = compare.compare(sides[0][:5], sides[1][:5])  # apart, but not enough for so many series
            self.assertEqual([r.outcome for r in done.rows if (r.metric, r.place) in slow], ["too few"] * 2)
            done = compare.compare(sides[0][:2], sides[1][:2])  # two launches cannot tell, whatever their repetitions say
            self.assertEqual({r.outcome for r in done.rows}, {"too few"})

    def slow_down(self, name):
        with h5py.File(self.folder / name, "r+") as f:
            for step in f["steps"].values():
                if "triad" in step["samples"]:
                    step["samples/triad"][...] /= 100  # more than ranks that share a core can do

    def test_scaling_of_one_launch_and_of_a_study(self):
        self.measured()
        out = self.analyse("scaling", "r.h5").out
        self.assertIn("spmv:threads=1 (spmv), time, strong scaling; base: 1 ranks", out)
        self.assertIn("spmv:threads=2 (spmv), time, strong scaling; base: 1 ranks", out)
        self.assertIn("hpcg (hpcg), rate, weak scaling; base: 1 ranks", out)
        self.assertNotIn("noop", out)  # no problem, no size: nothing to scale
        self.assertIn("a fit takes at least 6", out)
        self.alone("merge", "study.h5", "r.h5", status=0)
        self.assertEqual(self.analyse("scaling", "study.h5").out, out)

    def test_what_cannot_be_read(self):
        self.measured()
        whole = (self.folder / "r.h5").read_bytes()
        (self.folder / "bad.h5").write_bytes(whole[:9000] + bytes([whole[9000] ^ 1]) + whole[9001:])
        self.write("text.h5", "no HDF5 at all")
        for name, words in (("bad.h5", "checksum"), ("text.h5", "text.h5"), ("none.h5", "No such file")):
            self.assertIn(words, self.analyse("report", name, status=4).err)
        self.analyse("report", status=3)
        self.assertEqual(results.check_seal(self.folder / "r.h5"), "whole")
        with unittest.mock.patch.object(results, "SUM_LIMIT", 1000):
            self.assertEqual(results.check_seal(self.folder / "r.h5"), "length")
        self.analyse("--help")


if __name__ == "__main__":
    unittest.main()
