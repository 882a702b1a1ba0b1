#ifndef ST_MACHINE_KEEP_H
#define ST_MACHINE_KEEP_H

#include "src/base/status.h"
#include "src/machine/machine.h"
#include "src/machine/place.h"

#include <stddef.h>
#include <stdint.h>

/* Policy `launcher`: ranks keep the masks they inherited. Private to src/machine; local. */

struct st_keep {
    const struct st_machine *machine;
    const struct st_layout_request *request;
    size_t node;     /**< this rank's node */
    size_t n_wanted; /**< as for st_place_plan() */
};

/**
 * Count ranks and threads, and check the masks of the active ranks against each other: their
 * sum against their union (CASES 12). placement->cpu means nothing here, no CPU is planned.
 * @param[out] llc_bytes as st_cpus_llc(), under all kept masks
 * @return as st_place_plan(), and ST_ERR_LAUNCH for masks in common, or more threads than a mask
 *         holds, without `oversubscribe: yes`
 */
enum st_status st_keep_plan(const struct st_keep *keep, struct st_placement *placement,
                            uint64_t *llc_bytes, struct st_error *err);

#endif
