"""y = A x of the shared real matrices against scipy, and CG iteration counts over rank counts.

Usage: compare_scipy.py TEST_MPI_SPMV MATRIX_FOLDER MPIEXEC [RANKS ...]
Exit status 77: skipped, because scipy or the matrices are not here.
"""

import os
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
TOLERANCE = 1e-12  # of each y_i against the largest |y|, as issue and METHODS ask
NAMES = ["airfoil", "recirc_flow", "unit_cube", "knot", "bar"]
DEFINITE = ["airfoil", "unit_cube", "knot", "bar"]
SEED_X = 42

try:
    import numpy
    from scipy.io import mmread
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)


def random_unit(seed, n):
    """SplitMix64 by index (METHODS 0), elements 0 to n-1 in [0, 1)."""
    with numpy.errstate(over="ignore"):
        z = numpy.uint64(seed) + numpy.arange(1, n + 1, dtype=numpy.uint64) * numpy.uint64(
            0x9E3779B97F4A7C15
        )
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
        z = z ^ (z >> numpy.uint64(31))
    return (z >> numpy.uint64(11)).astype(numpy.float64) * 2.0**-53


def run(program, mpiexec, n_ranks, folder):
    """Let the test program write its products; its output with the iteration counts."""
    command = [mpiexec, "--oversubscribe", "--bind-to", "none", "-n", str(n_ranks)]
    done = subprocess.run(
        command + [program, "--write", folder], capture_output=True, text=True, timeout=120
    )
    if done.returncode != 0:
        sys.exit(f"{n_ranks} ranks: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def compare_products(matrices, n_ranks, folder):
    """Number of products that differ from scipy's."""
    n_bad = 0
    for name, matrix in matrices.items():
        want = matrix @ random_unit(SEED_X, matrix.shape[1])
        for storage in ("overlap0", "overlap1", "sell0", "sell1"):
            got = numpy.loadtxt(os.path.join(folder, f"{name}.{storage}.y"))
            worst = numpy.inf
            if got.shape == want.shape:
                worst = numpy.max(numpy.abs(got - want)) / numpy.max(numpy.abs(want))
            good = bool(worst <= TOLERANCE)
            n_bad += 0 if good else 1
            print(f"y {name} ranks={n_ranks} {storage} deviation={worst:.2e}"
                  f"{'' if good else '  WRONG'}")
    return n_bad


def compare_iterations(counts):
    """Number of solves whose iteration counts spread by more than one from the first's."""
    n_bad = 0
    for key, by_ranks in sorted(counts.items()):
        first = next(iter(by_ranks.values()))
        good = all(abs(n - first) <= 1 for n in by_ranks.values())
        n_bad += 0 if good else 1
        print(f"cg {key} " + " ".join(f"{r}:{n}" for r, n in by_ranks.items())
              + ("" if good else "  WRONG"))
    return n_bad


def main():
    program, shared, mpiexec = sys.argv[1:4]
    rank_counts = [int(text) for text in sys.argv[4:]] or [1, 2, 3, 7]
    if not os.path.isdir(shared):
        print(f"skipped: no folder {shared}")
        sys.exit(SKIPPED)
    matrices = {name: mmread(os.path.join(shared, f"{name}.mtx")).tocsr() for name in NAMES}
    counts = {}
    n_bad = 0
    for n_ranks in rank_counts:
        with tempfile.TemporaryDirectory() as folder:
            output = run(program, mpiexec, n_ranks, folder)
            n_bad += compare_products(matrices, n_ranks, folder)
        solves = re.findall(r"^cg (\w+ jacobi=\d overlap=\d) iterations=(\d+)", output, re.M)
        if len(solves) != 4 * len(DEFINITE):
            sys.exit(f"{n_ranks} ranks: {len(solves)} solves instead of {4 * len(DEFINITE)}")
        for key, n in solves:
            counts.setdefault(key, {})[n_ranks] = int(n)
    n_bad += compare_iterations(counts)
    print(f"{n_bad} wrong")
    sys.exit(1 if n_bad else 0)


main()
