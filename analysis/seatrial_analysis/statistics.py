"""Statistics of one series and of two (METHODS 8.1 to 8.4). Pure functions over arrays.

Tests of their known answers: tests/analysis/test_statistics.py.
"""
import dataclasses
import itertools
import math

import numpy
import scipy.stats

# 99 % quantile of max|M| over a healthy normal fleet, by simulation; linear in log n between.
# The same table as st_fleet_limit() of the program (src/stats/stats.c); a test compares them.
FLEET_LIMITS = ((5, 19.1), (8, 8.0), (10, 6.7), (16, 5.5), (20, 5.2), (40, 4.5), (100, 4.3), (1000, 4.5))
FEW_ORDERS = 1000  # permutations of two groups that are tried one by one
DELTA = {"time": 0.10, "rate": 0.03}  # what is worth a retest: 10 % in latency, 3 % in bandwidth


def median_ranks(n, confidence=0.95):
    """1-based ranks (l, u) of the order statistics around the median, or None if n is too small.

    Le Boudec; Hoefler and Belli, SC'15: exact to n = 70, then by the normal approximation.
    """
    if n > 70 and confidence == 0.95:
        return math.floor((n - 1.96 * math.sqrt(n)) / 2), math.ceil(1 + (n + 1.96 * math.sqrt(n)) / 2)
    lower = 0
    while 1 - 2 * scipy.stats.binom.cdf(lower, n, 0.5) >= confidence:
        lower += 1
    return (lower, n + 1 - lower) if lower else None


@dataclasses.dataclass
class Estimate:
    """A median with its interval; NaN ends: too few samples for one."""
    median: float
    low: float
    high: float
    n: int


def estimate(values, confidence=0.95):
    values = numpy.sort(numpy.asarray(values, float))
    values = values[numpy.isfinite(values)]
    if not len(values):
        return Estimate(math.nan, math.nan, math.nan, 0)
    ranks = median_ranks(len(values), confidence)
    low, high = (values[ranks[0] - 1], values[ranks[1] - 1]) if ranks else (math.nan, math.nan)
    return Estimate(float(numpy.median(values)), float(low), float(high), len(values))


@dataclasses.dataclass
class Shift:
    """B against A: Hodges-Lehmann shift A - B with its interval, p of Mann-Whitney, P(B < A)."""
    shift: float
    low: float
    high: float
    p: float
    probability: float
    n_a: int
    n_b: int


def can_differ(n_a, n_b, alpha=0.05):
    """Can a two-sided exact test reach alpha with so few samples at all?"""
    return n_a > 0 and n_b > 0 and 2 / math.comb(n_a + n_b, n_a) <= alpha


def shift(a, b, confidence=0.95):
    a, b = numpy.asarray(a, float), numpy.asarray(b, float)
    differences = numpy.sort((a[:, None] - b[None, :]).ravel())
    ties = len(numpy.unique(numpy.concatenate([a, b]))) < len(a) + len(b)
    exact = len(a) * len(b) <= 400 and not ties
    test = scipy.stats.mannwhitneyu(a, b, alternative="two-sided", method="exact" if exact else "asymptotic")
    few = math.comb(len(a) + len(b), len(a)) <= FEW_ORDERS  # the normal approximation is poor there
    p = permutation_p(a, b) if ties and few else float(test.pvalue)
    z = scipy.stats.norm.ppf(0.5 + confidence / 2)
    if exact:
        k = _exact_rank(len(a), len(b), confidence)
    else:
        k = math.floor(len(differences) / 2 - z * math.sqrt(len(a) * len(b) * (len(a) + len(b) + 1) / 12))
    low, high = (differences[k - 1], differences[-k]) if k >= 1 else (math.nan, math.nan)
    return Shift(float(numpy.median(differences)), float(low), float(high), p,
                 float(test.statistic) / len(differences), len(a), len(b))


def _exact_rank(n, m, confidence):
    """Rank of the difference at which the interval begins: largest k with P(U < k) <= alpha/2."""
    counts = numpy.zeros(n * m + 1)
    counts[0] = 1.0
    for i in range(1, n + 1):  # distribution of U by its generating function (Mann, Whitney 1947)
        for u in range(n * m, -1, -1):
            if u >= m + i:
                counts[u] -= counts[u - m - i]
        for u in range(n * m + 1):
            if u >= i:
                counts[u] += counts[u - i]
    cumulative = numpy.cumsum(counts) / counts.sum()
    return int(numpy.searchsorted(cumulative, (1 - confidence) / 2, side="right"))


def permutation_p(a, b):
    """Exact two-sided permutation test of the difference of means, for small groups."""
    a, b = numpy.asarray(a, float), numpy.asarray(b, float)
    pooled = numpy.concatenate([a, b])
    seen = abs(a.mean() - b.mean())
    total, extreme = 0, 0
    for chosen in itertools.combinations(range(len(pooled)), len(a)):
        mask = numpy.zeros(len(pooled), bool)
        mask[list(chosen)] = True
        total += 1
        extreme += abs(pooled[mask].mean() - pooled[~mask].mean()) >= seen * (1 - 1e-12)
    return extreme / total


def benjamini_hochberg(p, q=0.05):
    """Boolean mask of the p-values declared significant at false discovery rate q (1995)."""
    p = numpy.asarray(p, float)
    order = numpy.argsort(p)
    passed = numpy.nonzero(p[order] <= q * numpy.arange(1, len(p) + 1) / max(len(p), 1))[0]
    mask = numpy.zeros(len(p), bool)
    if len(passed):
        mask[order[: passed[-1] + 1]] = True
    return mask


def modified_z(values):
    """Iglewicz and Hoaglin's M; where over half are equal the mean absolute deviation stands in."""
    values = numpy.asarray(values, float)
    centre = numpy.nanmedian(values)
    spread = numpy.nanmedian(abs(values - centre)) / 0.6745
    if spread == 0:
        spread = numpy.nanmean(abs(values - centre)) * 1.2533
    return (values - centre) / spread if spread > 0 else numpy.zeros_like(values)


def trend(values):
    """Over values in order of time: (p of Mann and Kendall's test, Theil-Sen's change from first to last)."""
    order = numpy.arange(len(values))
    slope = scipy.stats.theilslopes(values, order)[0]
    return float(scipy.stats.kendalltau(order, values).pvalue), float(slope * (len(values) - 1))


def fleet_limit(n):
    """How far M may be from 0 in a fleet of n before it is called an outlier; inf below 5."""
    if n < 5:
        return math.inf
    if n > 1000:
        return float(scipy.stats.norm.isf(0.01 / n))
    sizes, limits = zip(*FLEET_LIMITS)
    return float(numpy.interp(math.log(n), numpy.log(sizes), limits))
