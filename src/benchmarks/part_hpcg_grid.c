/*
 * Numbers of HPCG's problem.
 *
 * Counts that may pass 64 bits on great machines (nonzeros, flops) are doubles; what one rank
 * indexes is 64 bits wide here and checked against the kernels' 32 bits by the caller.
 */
#include "src/benchmarks/part_hpcg_grid.h"

#include "src/benchmarks/part_matrix.h"

enum {
    MOST_PRIMES = 16 /* the product of the first 16 primes exceeds 64 bits */
};

/* n as a product of primes, smallest first. */
struct factors {
    size_t n;
    uint64_t prime[MOST_PRIMES];
    unsigned count[MOST_PRIMES];
};

static struct factors factors_of(uint64_t n)
{
    struct factors f = {0};

    for (uint64_t d = 2; n > 1 && d * d <= n; d++) {
        if (n % d == 0) {
            f.prime[f.n] = d;
            for (; n % d == 0; n /= d) {
                f.count[f.n]++;
            }
            f.n++;
        }
    }
    if (n > 1 || f.n == 0) {
        f.prime[f.n] = n;
        f.count[f.n++] = 1;
    }
    return f;
}

static uint64_t power(uint64_t base, unsigned exponent)
{
    uint64_t result = 1;

    for (unsigned i = 0; i < exponent; i++) {
        result *= base;
    }
    return result;
}

/* The next choice of prime counts up to @p most, the first prime fastest. @return its product,
 * 0 when the choices start again with none */
static uint64_t next_choice(const struct factors *f, const unsigned *most,
                            unsigned *chosen)
{
    uint64_t product = 1;
    bool is_none = true;

    for (size_t i = 0; i < f->n; i++) {
        if (++chosen[i] <= most[i]) {
            break;
        }
        chosen[i] = 0;
    }
    for (size_t i = 0; i < f->n; i++) {
        product *= power(f->prime[i], chosen[i]);
        is_none = is_none && chosen[i] == 0;
    }
    return is_none ? 0 : product;
}

/* All divisions in the reference's order; the first of the smallest surface wins. */
static void smallest_surface(const struct factors *f, uint64_t n_ranks, uint64_t ranks[3])
{
    unsigned first[MOST_PRIMES] = {0};
    double least = 2.0 * (double)n_ranks + 1.0;

    for (uint64_t x = next_choice(f, f->count, first); x != 0;
         x = next_choice(f, f->count, first)) {
        unsigned second[MOST_PRIMES] = {0};
        unsigned left[MOST_PRIMES];
        for (size_t i = 0; i < f->n; i++) {
            left[i] = f->count[i] - first[i];
        }
        for (uint64_t y = next_choice(f, left, second); y != 0;
             y = next_choice(f, left, second)) {
            const uint64_t z = n_ranks / x / y;
            const double area =
                (double)x * (double)y + (double)y * (double)z + (double)x * (double)z;
            if (area < least) {
                least = area;
                ranks[0] = x;
                ranks[1] = y;
                ranks[2] = z;
            }
        }
    }
}

void st_hpcg_rank_grid(uint64_t n_ranks, uint64_t ranks[3])
{
    const struct factors f = factors_of(n_ranks);
    const uint64_t p = f.prime[0];
    const unsigned k = f.count[0];

    ranks[0] = n_ranks;
    ranks[1] = 1;
    ranks[2] = 1;
    if (f.n == 1) {
        ranks[0] = power(p, k / 3 + (k % 3 >= 1 ? 1U : 0U));
        ranks[1] = power(p, k / 3 + (k % 3 >= 2 ? 1U : 0U));
        ranks[2] = power(p, k / 3);
    } else if (f.n == 2 && k + f.count[1] <= 3) {
        ranks[0] = p;
        ranks[1] = f.prime[1];
        ranks[2] = n_ranks / p / f.prime[1];
    } else if (f.n == 3 && k == 1 && f.count[1] == 1 && f.count[2] == 1) {
        ranks[0] = p;
        ranks[1] = f.prime[1];
        ranks[2] = f.prime[2];
    } else {
        smallest_surface(&f, n_ranks, ranks);
    }
}

uint64_t st_hpcg_rows(const struct st_hpcg_grid *grid, int level)
{
    return (grid->n[0] >> level) * (grid->n[1] >> level) * (grid->n[2] >> level);
}

double st_hpcg_nonzeros(const struct st_hpcg_grid *grid, int level)
{
    double product = 1.0;

    for (int axis = 0; axis < 3; axis++) {
        product *=
            3.0 * (double)grid->ranks[axis] * (double)(grid->n[axis] >> level) - 2.0;
    }
    return product;
}

uint64_t st_hpcg_ghosts(const struct st_hpcg_grid *grid, int level)
{
    uint64_t around = 1;

    for (int axis = 0; axis < 3; axis++) {
        const uint64_t sides = grid->ranks[axis] > 2 ? 2 : grid->ranks[axis] - 1;
        around *= (grid->n[axis] >> level) + sides;
    }
    return around - st_hpcg_rows(grid, level);
}

double st_hpcg_aspect(const uint64_t n[3])
{
    uint64_t least = n[0];
    uint64_t most = n[0];

    for (int axis = 1; axis < 3; axis++) {
        least = n[axis] < least ? n[axis] : least;
        most = n[axis] > most ? n[axis] : most;
    }
    return (double)least / (double)most;
}

struct st_hpcg_flops st_hpcg_flops_of(const struct st_hpcg_grid *grid,
                                      uint64_t n_iterations)
{
    const double it = (double)n_iterations;
    const double n = (double)st_hpcg_rows(grid, 0) * (double)grid->ranks[0] *
                     (double)grid->ranks[1] * (double)grid->ranks[2];
    struct st_hpcg_flops flops = {.dot = (3.0 * it + 1.0) * 2.0 * n,
                                  .waxpby = (3.0 * it + 1.0) * 2.0 * n,
                                  .spmv = (it + 1.0) * 2.0 * st_hpcg_nonzeros(grid, 0)};

    /* Both sweeps of two smoothings and a residual: 10 a nonzero; the coarsest: one smoothing. */
    for (int level = 0; level < ST_HPCG_LEVELS; level++) {
        flops.mg += it * (level < ST_HPCG_LEVELS - 1 ? 10.0 : 4.0) *
                    st_hpcg_nonzeros(grid, level);
    }
    flops.total = flops.dot + flops.waxpby + flops.spmv + flops.mg;
    return flops;
}

double st_hpcg_rating(const struct st_hpcg_grid *grid, uint64_t n_reference,
                      uint64_t n_iterations, double n_sets, double time_s, double setup_s)
{
    const double flops = n_sets * st_hpcg_flops_of(grid, n_iterations).total;

    return flops * ((double)n_reference / (double)n_iterations) /
           (time_s + n_sets * setup_s / 10.0);
}

/* Most nonzeros of one rank: a point on a face of the whole grid lacks a neighbour there. */
static uint64_t share_nonzeros(const struct st_hpcg_grid *grid, int level)
{
    uint64_t product = 1;

    for (int axis = 0; axis < 3; axis++) {
        const uint64_t sides = grid->ranks[axis] > 2 ? 2 : grid->ranks[axis] - 1;
        product *= 3 * (grid->n[axis] >> level) - 2 + sides;
    }
    return product;
}

/* Halves in chunks of 8 rows (14 cache lines), the columns of U at the points of the
 * next level, the entries in ghosts and what is kept of their rows. */
static double halves_bytes(const struct st_hpcg_grid *grid, int level)
{
    const uint64_t n = st_hpcg_rows(grid, level);
    const uint64_t n_chunks = (n + 7) / 8;
    uint64_t inner_rows = 1;
    uint64_t own = 1;

    for (int axis = 0; axis < 3; axis++) {
        const uint64_t sides = grid->ranks[axis] > 2 ? 2 : grid->ranks[axis] - 1;
        inner_rows *= (grid->n[axis] >> level) - sides;
        own *= 3 * (grid->n[axis] >> level) - 2;
    }
    const uint64_t ghost_rows = n - inner_rows;
    const uint64_t ghost_entries = share_nonzeros(grid, level) - own;
    double bytes = 2.0 * st_array_bytes(14 * n_chunks, 64);

    if (level + 1 < ST_HPCG_LEVELS) {
        bytes += st_array_bytes(13 * (n / 8), 4) + st_array_bytes(13 * (n / 8), 8);
    }
    return bytes + st_array_bytes(ghost_entries, 8) + st_array_bytes(ghost_entries, 4) +
           2.0 * st_array_bytes(ghost_rows, 4) + st_array_bytes(ghost_rows, 8);
}

double st_hpcg_bytes(const struct st_hpcg_grid *grid, enum st_hpcg_storage storage)
{
    double bytes = 0.0;

    for (int level = 0; level < ST_HPCG_LEVELS; level++) {
        const uint64_t n = st_hpcg_rows(grid, level);
        const uint64_t ghosts = st_hpcg_ghosts(grid, level);
        const double vector = st_array_bytes(n + ghosts, sizeof(double));
        const uint64_t nonzeros = share_nonzeros(grid, level);
        const double csr = st_array_bytes(nonzeros, 8) + st_array_bytes(nonzeros, 4) +
                           st_array_bytes(n + 1, 4);

        /* Diagonal and scratch; x, b, r, z, p, A p on the finest level, x and r below; the
         * numbers of the coarse points; ghosts with their numbers, and as many to send. */
        bytes += storage == ST_HPCG_CSR      ? csr
                 : storage == ST_HPCG_HALVES ? halves_bytes(grid, level)
                                             : 3.0 * 8.0 * (double)grid->n[0];
        bytes += 2.0 * vector + (level == 0 ? 6.0 : 2.0) * vector;
        bytes += level + 1 < ST_HPCG_LEVELS ? st_array_bytes(n / 8, 4) : 0.0;
        bytes += (8.0 + 12.0) * (double)ghosts;
    }
    return bytes;
}
