"""Scaling of a series (METHODS 8.6): speed-up, efficiency, laws and their fits, knee, POP.

A law is fitted only where it means something: at least six points, all on the same resource
(cores per node, SMT and nodes do not change kind), and never extrapolated beyond twice the
largest size. A refused fit says why. Tests: tests/analysis/test_scaling.py.
"""
import dataclasses
import math

import numpy
import scipy.optimize

MIN_POINTS = 6
SATURATED = 0.95  # of the largest value


@dataclasses.dataclass
class Refused:
    """No fit, and the reason."""
    why: str


def speedup(time_0, time_p):
    return time_0 / time_p


def strong_efficiency(time_0, p_0, time_p, p):
    return time_0 / time_p * p_0 / p


def weak_efficiency(time_0, time_p):
    return time_0 / time_p


def amdahl(serial, p):
    return 1 / (serial + (1 - serial) / p)


def gustafson(serial, p):
    return serial + (1 - serial) * p


def karp_flatt(s, p):
    """Experimentally determined serial fraction; undefined (NaN) at one processor."""
    return (1 / s - 1 / p) / (1 - 1 / p) if p > 1 else math.nan


def usl(n, rate, sigma, kappa):
    """Gunther's Universal Scalability Law: throughput at n."""
    n = numpy.asarray(n, float)
    return rate * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))


@dataclasses.dataclass
class Usl:
    rate: float
    sigma: float
    kappa: float
    largest: float

    @property
    def peak(self):
        """Size of largest throughput; NaN if it lies beyond 1.5 times what was measured."""
        n = math.sqrt((1 - self.sigma) / self.kappa) if self.kappa > 0 and self.sigma < 1 else math.inf
        return n if n <= 1.5 * self.largest else math.nan

    def at(self, n):
        if numpy.max(n) > 2 * self.largest:
            raise ValueError(f"no extrapolation beyond twice the largest size {self.largest:g}")
        return usl(n, self.rate, self.sigma, self.kappa)


def usl_linear(n, x):
    """Linear least squares of n/x on (1, n-1, n(n-1)): free signs; start of the fit below."""
    n, x = numpy.asarray(n, float), numpy.asarray(x, float)
    basis = numpy.stack([numpy.ones_like(n), n - 1, n * (n - 1)], axis=1)
    a, b, c = numpy.linalg.lstsq(basis, n / x, rcond=None)[0]
    return Usl(1 / a, b / a, c / a, float(n.max()))


def fit_usl(n, x, resources=None, min_points=MIN_POINTS, free_signs=False):
    """Nonlinear least squares on the relative error with sigma, kappa >= 0 (unless free_signs)."""
    n, x = numpy.asarray(n, float), numpy.asarray(x, float)
    why = no_fit(n, resources, min_points)
    if why:
        return Refused(why)
    start = usl_linear(n, x)
    first = [start.rate if start.rate > 0 else x[0] / n[0], start.sigma, start.kappa]
    if not free_signs:
        first[1:] = [max(first[1], 0), max(first[2], 0)]
    found = scipy.optimize.least_squares(lambda p: usl(n, *p) / x - 1, first, x_scale=[abs(first[0]), 0.01, 1e-4],
                                         bounds=(-numpy.inf if free_signs else 0, numpy.inf), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    return Usl(*map(float, found.x), float(n.max()))


def fit_amdahl(p, s, resources=None, min_points=MIN_POINTS):
    """Serial fraction by least squares on the relative error of the speed-up."""
    why = no_fit(p, resources, min_points)
    if why:
        return Refused(why)
    p, s = numpy.asarray(p, float), numpy.asarray(s, float)
    found = scipy.optimize.minimize_scalar(lambda f: numpy.sum((amdahl(f, p) / s - 1) ** 2), bounds=(0, 1),
                                           method="bounded", options={"xatol": 1e-12})
    return float(found.x)


def fit_gustafson(p, s, resources=None, min_points=MIN_POINTS):
    """Serial fraction of a weak series: least squares of s on p + f (1 - p), in closed form."""
    why = no_fit(p, resources, min_points)
    if why:
        return Refused(why)
    p, s = numpy.asarray(p, float), numpy.asarray(s, float)
    return float(numpy.sum((s - p) * (1 - p)) / numpy.sum((1 - p) ** 2))


def no_fit(sizes, resources, min_points=MIN_POINTS):
    """The reason why no law is fitted, or None."""
    sizes = numpy.asarray(sizes, float)
    if len(numpy.unique(sizes)) < min_points:
        return f"{len(numpy.unique(sizes))} sizes, a fit takes at least {min_points}"
    kinds = sorted(set(resources or []))
    if len(kinds) > 1:
        return "the resource changes within the series (" + "; ".join(kinds) + ")"
    return None


@dataclasses.dataclass
class Knee:
    """B(n) = slope min(n, knee); n95: smallest size with 95 % of the largest value."""
    slope: float
    knee: float
    n95: float


def fit_knee(n, b):
    """Least squares on the relative error; the knee on a grid of 0.01, the slope in closed form."""
    n, b = numpy.asarray(n, float), numpy.asarray(b, float)
    grid = numpy.arange(round(n.min() * 100), round(n.max() * 100) + 1) / 100
    shape = numpy.minimum(n[None, :], grid[:, None]) / b[None, :]
    slope = shape.sum(axis=1) / (shape ** 2).sum(axis=1)
    error = ((slope[:, None] * shape - 1) ** 2).sum(axis=1)
    best = int(numpy.argmin(error))
    return Knee(float(slope[best]), float(grid[best]), float(n[b >= SATURATED * b.max()].min()))


@dataclasses.dataclass
class Pop:
    """Efficiencies of the POP centre of excellence; NaN where a part is not known."""
    load_balance: float
    communication: float
    parallel: float
    serialisation: float = math.nan
    transfer: float = math.nan
    computation: float = math.nan

    @property
    def overall(self):
        return self.parallel * self.computation


def pop(useful, runtime, ideal=math.nan, base_useful=math.nan):
    """useful: seconds outside MPI of each rank; ideal: runtime on a perfect network, if known."""
    useful = numpy.asarray(useful, float)
    largest = useful.max()
    balance, communication = useful.mean() / largest, largest / runtime
    return Pop(float(balance), float(communication), float(balance * communication), float(largest / ideal),
               float(ideal / runtime), float(base_useful / useful.sum()))
