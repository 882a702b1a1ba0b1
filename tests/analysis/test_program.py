"""seatrial-analysis as a user runs it: files of the program, made files of many nodes, the page in a browser."""
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE))
from program import ROOT, ProgramTest  # noqa: E402
import make_file  # noqa: E402

ANALYSIS = str(ROOT / "analysis" / "seatrial-analysis")
CONFIG = """campaign: a "quoted" & <odd> name
defaults: {repeat: {min: 8, max: 12, budget: 1s}, layout: {oversubscribe: yes}}
steps:
  - {benchmark: noop, layout: {ranks: [1, 2]}}
  - {benchmark: stream, parameters: {size: 1MiB, kernels: copy triad}, layout: {nodes: each, ranks_per_node: 1},
     accept: {triad: {at_least: 1B/s}}}
  - {benchmark: cache_bandwidth, parameters: {max_size: 64KiB}, layout: {nodes: each, ranks_per_node: 1}}
  - {benchmark: link_map, layout: {ranks_per_node: 1}}
  - {benchmark: spmv, parameters: {nx: 8, ny: 8, nz: 16}, layout: {ranks: [1, 2]}}
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

    def measured(self, name="r.h5", config=CONFIG):
        self.launch(3, "run", self.write("c.yaml", config), "-o", name, env={"SEATRIAL_FAKE_NODES": "block:1,1,1"})
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
                     'id="scaling"', 'id="method"', "treated as several nodes", "class=\"heat\""):
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
        make_file.SLOW_FACTOR, kept = 1.0, make_file.SLOW_FACTOR
        try:
            make_file.write(self.folder / "clean.h5", 200)
        finally:
            make_file.SLOW_FACTOR = kept
        self.assertIn("0 bad, 0 suspect", self.analyse("fleet", "clean.h5").out)

    def test_compare(self):
        config = CONFIG.split("  - {benchmark: cache")[0]
        self.measured("a.h5", config)
        shutil.copy(self.folder / "a.h5", self.folder / "b.h5")  # the same samples but for one metric
        same = self.analyse("compare", "a.h5", "b.h5")
        self.assertIn(" 0 worse, 0 better", same.out)
        self.slow_down("b.h5")
        worse = self.analyse("compare", "a.h5", "b.h5", status=1)
        self.assertRegex(worse.out, r"worse +stream +triad")
        better = self.analyse("compare", "b.h5", "a.h5", "--delta", "50")
        self.assertRegex(better.out, r"better +stream +triad")

    def slow_down(self, name):
        import h5py
        with h5py.File(self.folder / name, "r+") as f:
            for step in f["steps"].values():
                if "triad" in step["samples"]:
                    step["samples/triad"][...] /= 3

    def test_scaling_of_one_launch_and_of_a_study(self):
        self.measured()
        out = self.analyse("scaling", "r.h5").out
        self.assertIn("strong scaling; base: 1 ranks", out)
        self.assertIn("a fit takes at least 6", out)
        self.alone("merge", "study.h5", "r.h5", status=0)
        self.assertEqual(self.analyse("scaling", "study.h5").out, out)

    def test_what_cannot_be_read(self):
        self.measured("r.h5", CONFIG.split("  - {benchmark: stream")[0])
        whole = (self.folder / "r.h5").read_bytes()
        (self.folder / "bad.h5").write_bytes(whole[:9000] + bytes([whole[9000] ^ 1]) + whole[9001:])
        self.write("text.h5", "no HDF5 at all")
        for name, words in (("bad.h5", "checksum"), ("text.h5", "text.h5"), ("none.h5", "No such file")):
            self.assertIn(words, self.analyse("report", name, status=4).err)
        self.analyse("report", status=3)
        self.analyse("--help")


if __name__ == "__main__":
    unittest.main()
