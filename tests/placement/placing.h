#ifndef ST_TESTS_PLACEMENT_PLACING_H
#define ST_TESTS_PLACEMENT_PLACING_H

#include "src/machine/cpus.h"
#include "src/machine/place.h"
#include "src/machine/topo.h"

#include <stddef.h>

/* What the placement tests share: a pretended machine, a plan as text, its properties. */

struct placing {
    struct st_topo *topo;
    struct st_cpus cpus;
};

/** @param usable CPU list, or NULL for all that the topology allows; fails the test */
void placing_open(struct placing *p, enum st_topo_source source, const char *text,
                  const char *usable);
void placing_close(struct placing *p);

/**
 * OS numbers of a plan's seats: ranks separated by '|', threads by ','; three or more in even
 * steps as "first-last" or "first-last:step".
 */
void placing_text(const struct st_cpus *cpus, const struct st_placement *plan, char *out,
                  size_t size);

/**
 * Fails the test unless every seat is inside the table, no CPU is used twice, no two ranks are
 * on one core (except with ranks all-pus), and a second plan is the same. Not for wrapped plans.
 */
void placing_check(const struct st_cpus *cpus, const struct st_layout_request *request,
                   size_t n_started, const struct st_placement *plan);

#endif
