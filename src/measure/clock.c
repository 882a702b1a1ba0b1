/*
 * Reads CLOCK_MONOTONIC relative to an origin that all ranks of a node share, as a double in
 * seconds: a small number keeps its digits (METHODS 3.6). Two further clocks watch it; only a
 * disagreement is acted upon, since none of the three is right by itself.
 */
#include "src/measure/clock.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* CASES 27: a disagreement above 1e-3 voids the results of that rank. */
static const double DISAGREEMENT_MAX = 1e-3;
enum {
    PREEMPTED_NS = 1000000,  /* a reader may lose its core between two readings */
    RATIO_SPAN_NS = 10000000 /* below that the ratio says more about the reader */
};

static int64_t read_ns(clockid_t id)
{
    struct timespec now;

    if (clock_gettime(id, &now) != 0) {
        return 0;
    }
    return (int64_t)now.tv_sec * 1000000000 + (int64_t)now.tv_nsec;
}

static int64_t system_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

static int64_t system_second_ns(void)
{
    return read_ns(CLOCK_MONOTONIC_RAW);
}

static int64_t system_third_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

static const struct st_clock_source system_source = {
    .monotonic_ns = system_monotonic_ns,
    .second_ns = system_second_ns,
    .third_ns = system_third_ns,
};

/* The process has one clock: source and origin are its only state here. */
static const struct st_clock_source *source = &system_source;
static int64_t origin_ns;
static bool origin_known;
static bool origin_shared;

void st_clock_inject(const struct st_clock_source *other)
{
    source = other == NULL ? &system_source : other;
    origin_known = false;
    origin_shared = false;
}

static void find_origin(void)
{
    if (!origin_known) {
        origin_ns = source->monotonic_ns();
        origin_known = true;
    }
}

double st_now(void)
{
    find_origin();
    return (double)(source->monotonic_ns() - origin_ns) * 1e-9;
}

enum st_status st_clock_share_origin(const struct stm_comm *node_comm,
                                     struct st_error *err)
{
    int64_t first = 0;

    if (origin_shared) {
        return ST_OK;
    }
    find_origin();
    STM_TRY(err, MPI_Allreduce(&origin_ns, &first, 1, MPI_INT64_T, MPI_MIN,
                               node_comm->handle));
    origin_ns = first;
    origin_shared = true;
    return ST_OK;
}

struct st_clock_reading st_clock_read(void)
{
    const struct st_clock_reading reading = {.monotonic_ns = source->monotonic_ns(),
                                             .second_ns = source->second_ns(),
                                             .third_ns = source->third_ns()};
    return reading;
}

struct st_clock_verdict st_clock_compare(const struct st_clock_reading *from,
                                         const struct st_clock_reading *to)
{
    const double monotonic = (double)(to->monotonic_ns - from->monotonic_ns);
    const double second = (double)(to->second_ns - from->second_ns);
    const double third = (double)(to->third_ns - from->third_ns);
    const double gap = fabs(monotonic - second);
    struct st_clock_verdict verdict = {.good = true};

    /* a clock that goes backwards is wrong by any amount */
    if (monotonic < 0.0 || second < 0.0 ||
        !(gap <= DISAGREEMENT_MAX * fabs(second) || gap <= (double)PREEMPTED_NS)) {
        verdict.good = false;
    }
    verdict.disagreement = second > 0.0 ? fabs(monotonic / second - 1.0)
                           : gap > 0.0  ? (double)INFINITY
                                        : 0.0;
    verdict.third_is_with_second = fabs(third - second) < fabs(third - monotonic);
    return verdict;
}

void st_clock_watch_begin(struct st_clock_watch *watch)
{
    const struct st_clock_watch fresh = {0};

    *watch = fresh;
    watch->first = st_clock_read();
    watch->last = watch->first;
}

static void note_verdict(struct st_clock_watch *watch,
                         const struct st_clock_reading *from,
                         const struct st_clock_reading *to)
{
    const struct st_clock_verdict verdict = st_clock_compare(from, to);
    const int64_t span = llabs(to->second_ns - from->second_ns);

    if (!verdict.good) {
        watch->bad = true;
        watch->third_is_with_second = verdict.third_is_with_second;
    }
    if ((!verdict.good || span >= RATIO_SPAN_NS) &&
        verdict.disagreement > watch->disagreement) {
        watch->disagreement = verdict.disagreement;
    }
}

bool st_clock_watch_look(struct st_clock_watch *watch)
{
    const struct st_clock_reading now = st_clock_read();

    note_verdict(watch, &watch->last, &now);
    note_verdict(watch, &watch->first, &now);
    watch->last = now;
    return !watch->bad;
}
