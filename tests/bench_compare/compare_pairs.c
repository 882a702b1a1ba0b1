/*
 * Our message patterns beside bare loops, in one run on 2 ranks: bare and ours take turns,
 * and who goes first changes, so that what the machine does meanwhile hits both alike.
 * Prints the medians of 8-byte latency and message rate, their ratio, and its interval from
 * the ratios of neighbouring rounds. Never ends with an error because of speed.
 *
 * Usage: mpirun -n 2 bench_compare_pairs [rounds = 400] [round trips per round = 2000]
 */
#include "mpi/pingpong.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/measure/run.h"
#include "src/stats/stats.h"
#include "tests/bench_compare/pingpong_plain.h"

#include <stdio.h>

enum {
    MOST_ROUNDS = 10000,
    WINDOW = 64,
    BYTES = 8
};

/* One pattern measured both ways, [round]. */
struct series {
    double bare[MOST_ROUNDS], ours[MOST_ROUNDS], ratio[MOST_ROUNDS];
};

static struct series latency;
static struct series rate;

static double ours_latency(const struct stm_link *link, size_t n, struct st_error *err)
{
    const double start = st_now();

    if (stm_pingpong(link, n, err) != ST_OK) {
        return 0.0;
    }
    return (st_now() - start) / (2.0 * (double)n);
}

static double ours_rate(const struct stm_link *link, size_t n, struct st_error *err)
{
    const double start = st_now();

    if (stm_windows(link, n, err) != ST_OK) {
        return 0.0;
    }
    return (double)n * WINDOW / (st_now() - start);
}

static void one_round(const struct stm_link *link, char *buffer, size_t round, size_t n,
                      struct st_error *err)
{
    const int n_windows = (int)(n / 10) + 1;

    for (int turn = 0; turn < 2; turn++) {
        const int is_ours = (int)((round + (size_t)turn) % 2);
        (void)MPI_Barrier(link->comm);
        if (is_ours) {
            latency.ours[round] = ours_latency(link, n, err);
            rate.ours[round] = ours_rate(link, (size_t)n_windows, err);
        } else {
            latency.bare[round] = plain_pingpong(link->comm, (int)n, buffer, BYTES);
            rate.bare[round] =
                plain_windows(link->comm, n_windows, WINDOW, buffer, BYTES);
        }
    }
    latency.ratio[round] = latency.ours[round] / latency.bare[round];
    rate.ratio[round] = rate.ours[round] / rate.bare[round];
}

static void print_series(const char *name, const char *unit, double scale,
                         struct series *s, size_t n)
{
    size_t lower = 1;
    size_t upper = n;

    st_sort(n, s->bare);
    st_sort(n, s->ours);
    st_sort(n, s->ratio);
    (void)st_median_ci_ranks(n, 0.95, &lower, &upper);
    const double bare = st_median_sorted(n, s->bare);
    const double ours = st_median_sorted(n, s->ours);
    (void)printf(
        "%-22s bare %9.4f  ours %9.4f %s  ratio of medians %.4f, median ratio %.4f "
        "(95 %%: %.4f to %.4f)\n",
        name, bare * scale, ours * scale, unit, ours / bare,
        st_median_sorted(n, s->ratio), s->ratio[lower - 1], s->ratio[upper - 1]);
}

static int compare(const struct stm_comm *world, size_t n_rounds, size_t n)
{
    static char ours_send[64];
    static char ours_recv[64];
    static char bare[64];
    static MPI_Request requests[2 * WINDOW];
    struct st_error err = {0};
    const struct stm_link link = {.comm = world->handle,
                                  .peer = 1 - world->rank,
                                  .is_first = world->rank == 0,
                                  .message_bytes = BYTES,
                                  .window = WINDOW,
                                  .send = ours_send,
                                  .recv = ours_recv,
                                  .requests = requests};

    for (size_t round = 0; round < n_rounds / 10 + 1;
         round++) { /* warm up; overwritten */
        one_round(&link, bare, round, n, &err);
    }
    for (size_t round = 0; round < n_rounds; round++) {
        one_round(&link, bare, round, n, &err);
    }
    if (world->rank == 0 && err.code == ST_OK) {
        (void)printf("2 ranks, %d bytes, %zu rounds of %zu round trips\n", BYTES,
                     n_rounds, n);
        print_series("latency", "us", 1e6, &latency, n_rounds);
        print_series("message rate (64)", "M/s", 1e-6, &rate, n_rounds);
    }
    return err.code == ST_OK ? 0 : 4;
}

int main(int argc, char **argv)
{
    uint64_t n_rounds = 400;
    uint64_t n = 2000;
    struct st_error err = {0};
    struct stm_comm world;
    int status = 3;

    if (MPI_Init(&argc, &argv) != MPI_SUCCESS ||
        stm_comm_dup(MPI_COMM_WORLD, &world, &err) != ST_OK) {
        return 4;
    }
    if ((argc > 1 && !st_parse_u64(argv[1], &n_rounds)) ||
        (argc > 2 && !st_parse_u64(argv[2], &n)) || n_rounds < 6 ||
        n_rounds > MOST_ROUNDS || n < 1 || n > 1000000 || world.n_ranks != 2) {
        (void)fprintf(stderr, "usage: mpirun -n 2 %s [rounds, 6 to %d] [round trips]\n",
                      argv[0], MOST_ROUNDS);
    } else {
        status = compare(&world, (size_t)n_rounds, (size_t)n);
    }
    stm_comm_free(&world);
    (void)MPI_Finalize();
    return status;
}
