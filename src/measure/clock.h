#ifndef ST_MEASURE_CLOCK_H
#define ST_MEASURE_CLOCK_H

#include "src/measure/run.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The harness's clock and its witnesses (METHODS 0, CASES 27 and 28). All functions are local
 * unless they say otherwise.
 */

/** The clocks read, in ns; tests put their own in. */
struct st_clock_source {
    int64_t (*monotonic_ns)(void); /**< the one that measures */
    int64_t (*second_ns)(void);    /**< CLOCK_MONOTONIC_RAW */
    int64_t (*third_ns)(void);     /**< CLOCK_REALTIME, to tell which of two is wrong */
};

/**
 * Test hook: use @p source (borrowed) from now on; NULL: the system's clocks. The origin is
 * found anew: call it on all ranks of a node alike, each with its own source.
 */
void st_clock_inject(const struct st_clock_source *source);

/**
 * Give all ranks of a node one origin, so that their st_now() can be compared. Collective
 * over @p node_comm at the first call in a process, nothing after that.
 */
enum st_status st_clock_share_origin(const struct stm_comm *node_comm,
                                     struct st_error *err);

/** Three clocks read together. */
struct st_clock_reading {
    int64_t monotonic_ns, second_ns, third_ns;
};
struct st_clock_reading st_clock_read(void);

/** Two intervals of one span of time, by three clocks. */
struct st_clock_verdict {
    bool good;           /**< monotonic and second clock agree */
    double disagreement; /**< |monotonic / second - 1|; infinite if one stood still */
    bool
        third_is_with_second; /**< the third clock says that the monotonic one is wrong */
};

/**
 * Compare the clocks over [from, to]. They disagree if the intervals differ by more than
 * 1e-3 of the span (CASES 27) and by more than 1 ms, which is what a preempted reader makes.
 */
struct st_clock_verdict st_clock_compare(const struct st_clock_reading *from,
                                         const struct st_clock_reading *to);

/** One step's watch over this rank's clocks. */
struct st_clock_watch {
    struct st_clock_reading first, last;
    bool bad;
    bool third_is_with_second;
    double disagreement; /**< worst seen over a span of at least 10 ms */
};
void st_clock_watch_begin(struct st_clock_watch *watch);
/** Look once more: at the whole step and at the time since the last look. @return still good */
bool st_clock_watch_look(struct st_clock_watch *watch);

#endif
