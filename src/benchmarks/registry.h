#ifndef ST_BENCHMARKS_REGISTRY_H
#define ST_BENCHMARKS_REGISTRY_H

#include "src/base/bench.h"

/** All benchmarks, in the order of bench_list.h. The others get a pointer to it from the program. */
extern const struct st_registry st_registry;

#endif
