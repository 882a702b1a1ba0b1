#ifndef ST_MEASURE_BUSY_H
#define ST_MEASURE_BUSY_H

#include "mpi/agree.h"

/*
 * `others: busy`: what the ranks of the launch do that take no part in a step. They copy
 * memory, so that the step is measured on a machine whose shared caches, memory channels and
 * power budget are in use.
 */

/**
 * Copy memory until all ranks of @p world have come to the end of the step. Collective over
 * @p world, as the counterpart of stm_agree_quiet(); never fails to take part in it.
 * @return as stm_agree(); ST_ERR_MEMORY of the rank that could not get its buffer
 */
enum st_status st_busy_until_agreed(const struct stm_comm *world, struct st_error *err);

#endif
