#ifndef ST_BENCHMARKS_PART_LINK_CHECK_H
#define ST_BENCHMARKS_PART_LINK_CHECK_H

#include "mpi/pingpong.h"
#include "src/base/bench.h"

/**
 * One message in both directions by the measured loop, with words that both ends can compute.
 * Both ranks of the pair call it. @param spoil alter a received byte first (a test of the check)
 */
enum st_status st_link_check(const struct stm_link *link, size_t self, size_t other,
                             bool spoil, struct st_check *check, struct st_error *err);

#endif
