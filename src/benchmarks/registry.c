/* The registry: bench_list.h read twice, as declarations and as rows. */
#include "src/benchmarks/registry.h"

#include "src/base/mem.h"

#define ST_BENCH(name) extern const struct st_bench st_bench_##name;
#include "src/benchmarks/bench_list.h"
#undef ST_BENCH

#define ST_BENCH(name) &st_bench_##name,
static const struct st_bench *const benches[] = {
#include "src/benchmarks/bench_list.h"
};
#undef ST_BENCH

const struct st_registry st_registry = {.n = ST_COUNT(benches), .benches = benches};
