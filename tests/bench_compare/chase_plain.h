#ifndef ST_TESTS_BENCH_COMPARE_CHASE_PLAIN_H
#define ST_TESTS_BENCH_COMPARE_CHASE_PLAIN_H

#include <stddef.h>
#include <stdint.h>

/*
 * A pointer chase that shares no code with kernels/chase: another generator, another shuffle
 * (a random order of visits, linked one after the other), the simplest loop.
 */

/** Link @p n lines, @p stride bytes apart, into one cycle. @param order [n] scratch */
void plain_chase_link(char *base, size_t n, size_t stride, uint32_t *order);
/** Follow it for @p n_steps. @return where it ends */
void *plain_chase(void *at, size_t n_steps);

#endif
