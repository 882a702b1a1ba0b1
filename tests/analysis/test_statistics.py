"""Known answers of METHODS 8.1 to 8.4."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "analysis"))
from seatrial_analysis import statistics  # noqa: E402

A = [10.1, 10.3, 10.2, 10.6, 10.4]


class OneSeries(unittest.TestCase):
    def test_ranks_of_the_median(self):
        for n, ranks in {5: None, 6: (1, 6), 7: (1, 7), 8: (1, 8), 9: (2, 8), 10: (2, 9), 15: (4, 12), 20: (6, 15),
                         25: (8, 18), 30: (10, 21), 40: (14, 27), 50: (18, 33), 70: (27, 44), 100: (40, 61),
                         1000: (469, 532)}.items():
            self.assertEqual(statistics.median_ranks(n), ranks, n)
        for n, ranks in {8: (1, 8), 10: (1, 10), 20: (4, 17), 100: (37, 64)}.items():
            self.assertEqual(statistics.median_ranks(n, 0.99), ranks, n)

    def test_estimate(self):
        values = [9.12, 9.30, 9.05, 9.21, 9.18, 9.40, 9.11, 9.25, 9.08, 9.33]
        found = statistics.estimate(values + [float("nan")])
        self.assertAlmostEqual(found.median, 9.195, 12)
        self.assertEqual((found.low, found.high, found.n), (9.08, 9.33, 10))


class TwoSeries(unittest.TestCase):
    def test_shift(self):
        found = statistics.shift(A, [9.1, 9.4, 9.2, 9.9, 9.5])
        self.assertAlmostEqual(found.p, 2 / 252, 12)
        self.assertEqual(found.probability, 1.0)
        for got, want in ((found.shift, 0.9), (found.low, 0.4), (found.high, 1.3)):
            self.assertAlmostEqual(got, want, 12)
        found = statistics.shift([101, 103, 105, 107, 109], [100, 102, 104, 106, 108])
        self.assertEqual(found.probability * 25, 15)
        self.assertAlmostEqual(found.p, 0.690476, 6)

    def test_small_groups_with_ties_are_permuted(self):
        self.assertAlmostEqual(statistics.shift(A, [9.1, 9.4, 9.2, 10.3, 9.5]).p, 8 / 252, 12)

    def test_permutation(self):
        self.assertAlmostEqual(statistics.permutation_p(A, [9.1, 9.4, 9.2, 10.3, 9.5]), 8 / 252, 12)

    def test_too_few(self):
        self.assertFalse(statistics.can_differ(3, 3))
        self.assertTrue(statistics.can_differ(4, 4))

    def test_benjamini_hochberg(self):
        p = [.0001, .0004, .0019, .0095, .0201, .0278, .0298, .0344, .0459, .324, .4262, .5719, .6528, .759, 1]
        self.assertEqual(list(statistics.benjamini_hochberg(p)), [True] * 4 + [False] * 11)
        self.assertEqual(sum(x <= 0.05 / len(p) for x in p), 3)  # Bonferroni


class Fleet(unittest.TestCase):
    def test_modified_z(self):
        m = statistics.modified_z([2.1, 2.0, 2.2, 2.1, 1.9, 2.0, 2.1, 2.2, 2.0, 3.5])
        self.assertAlmostEqual(m[-1], 9.443, 3)
        fleet = [400 + 0.4 * ((37 * i % 11) - 5) for i in range(39)]
        self.assertAlmostEqual(statistics.modified_z(fleet + [388])[-1], -6.745, 3)
        self.assertAlmostEqual(statistics.modified_z(fleet + [384])[-1], -8.993, 3)
        self.assertEqual(list(statistics.modified_z([5.0] * 8)), [0.0] * 8)

    def test_trend(self):
        p, change = statistics.trend([1.0, 0.99, 0.98, 0.97, 0.96, 0.95])
        self.assertAlmostEqual(p, 2 / 720, 12)  # 2 of the 6! orders are as extreme
        self.assertAlmostEqual(change, -0.05, 12)

    def test_limits_are_the_programs(self):
        source = (ROOT / "src/stats/stats.c").read_text(encoding="utf-8")
        table = re.search(r"st_fleet_limit\(size_t n\)\n\{.*?rows\[\] = (\{.*?\});", source, re.S)[1]
        rows = [(float(a), float(b)) for a, b in re.findall(r"\{([\d.]+), *([\d.]+)\}", table)]
        self.assertEqual(rows, [(float(a), b) for a, b in statistics.FLEET_LIMITS])
        self.assertEqual(statistics.fleet_limit(4), float("inf"))
        self.assertEqual(statistics.fleet_limit(16), 5.5)
        self.assertAlmostEqual(statistics.fleet_limit(10000), 4.75, 2)


if __name__ == "__main__":
    unittest.main()
