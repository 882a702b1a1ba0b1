#ifndef ST_TESTS_FUZZ_FAKE_REGISTRY_H
#define ST_TESTS_FUZZ_FAKE_REGISTRY_H

#include "src/base/bench.h"

/* Three declared benchmarks that never run: every type of parameter, kind of place and
 * direction that a config can name. For the tests of src/plan and its fuzz target. */

struct fake_stream {
    uint64_t size;
    uint32_t stores;
    uint32_t kernels;
};

struct fake_pairs {
    uint32_t pattern;
    uint64_t message;
};

struct fake_solve {
    uint32_t scope;
    uint64_t n;
    double tolerance;
    double wait;
    bool warm;
    char matrix[ST_TEXT_PARAM_SIZE];
};

extern const struct st_registry fake_registry;

#endif
