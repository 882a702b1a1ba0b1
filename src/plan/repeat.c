/* The section `repeat:`. Its defaults: at least 5 and at most 50 repetitions, the 95 %
 * interval of the median within 2 % of it (METHODS 8.1), 10 s of measuring, sections of at
 * least 1 ms. `min` may lie below 6, where the median has no 95 % interval yet: the stopping
 * rule then simply cannot stop there. */
#include "src/plan/parts.h"

#include "src/base/mem.h"

#define WEEK_S 604800.0

enum {
    R_MIN,
    R_MAX,
    R_CONFIDENCE,
    R_WIDTH,
    R_BUDGET,
    R_TIME,
    R_DEADLINE,
    N_KEYS
};

static const char *const repeat_keys[N_KEYS] = {"min",    "max",  "confidence", "width",
                                                "budget", "time", "deadline"};
static const struct st_range ranges[N_KEYS] = {
    [R_MIN] = {"min", "1", 1.0, 1e6, "1 to 1000000"},
    [R_MAX] = {"max", "1", 1.0, 1e6, "1 to 1000000"},
    [R_CONFIDENCE] = {"confidence", "1", 0.5, 0.9999, "50% to 99.99%"},
    [R_WIDTH] = {"width", "1", 1e-6, 1.0, "0.0001% to 100%"},
    [R_BUDGET] = {"budget", "s", 1e-3, WEEK_S, "1ms to 168h"},
    [R_TIME] = {"time", "s", 0.0, 3600.0, "0s to 1h"},
    [R_DEADLINE] = {"deadline", "s", 1e-3, WEEK_S, "1ms to 168h"},
};

static enum st_status read_value(size_t row, const struct st_value *value,
                                 struct st_repeat *out, struct st_error *err)
{
    switch (row) {
    case R_MIN:
        return st_read_count(value, &ranges[row], &out->min, err);
    case R_MAX:
        return st_read_count(value, &ranges[row], &out->max, err);
    case R_CONFIDENCE:
        return st_read_real(value, &ranges[row], &out->confidence, err);
    case R_WIDTH:
        return st_read_real(value, &ranges[row], &out->width, err);
    case R_BUDGET:
        return st_read_real(value, &ranges[row], &out->budget_s, err);
    case R_TIME:
        return st_read_real(value, &ranges[row], &out->time_s, err);
    default:
        return st_read_real(value, &ranges[row], &out->deadline_s, err);
    }
}

enum st_status st_repeat_check(const struct st_value *map, struct st_error *err)
{
    struct st_repeat ignored = {0};
    enum st_status rc = st_read_map(map, "repeat", N_KEYS, repeat_keys, err);

    for (size_t row = 0; rc == ST_OK && row < N_KEYS; row++) {
        const struct st_value *value = st_map_get(map, repeat_keys[row]);

        if (value != NULL) {
            rc = read_value(row, value, &ignored, err);
        }
    }
    return rc;
}

/* A value of the step or else of the defaults; NULL if it was written nowhere. */
static const struct st_value *written(const struct st_value *map,
                                      const struct st_value *defaults, size_t row)
{
    const struct st_value *own = st_map_get(map, repeat_keys[row]);

    return own != NULL ? own : st_map_get(defaults, repeat_keys[row]);
}

/* Two values that do not go together: the message stands at one of the step's own if it has
 * any. At least one of them was written somewhere, because the built-in ones agree. */
static enum st_status contradiction(const struct st_value *map,
                                    const struct st_value *defaults, size_t low,
                                    size_t high, const double numbers[2],
                                    struct st_error *err)
{
    const struct st_value *at = st_map_get(map, repeat_keys[low]);
    const struct st_value *value = NULL;
    const char *by_default[2] = {"", ""};
    const size_t rows[2] = {low, high};

    at = at != NULL ? at : st_map_get(map, repeat_keys[high]);
    for (size_t i = 0; i < 2; i++) {
        value = written(map, defaults, rows[i]);
        by_default[i] = value == NULL ? " by default" : "";
        at = at != NULL ? at : value;
    }
    const char *unit = low == R_MIN ? "" : " s";
    return st_value_fail(
        err, at, "%s is %g%s%s and %s is %g%s%s; %s must not be above %s",
        repeat_keys[low], numbers[0], unit, by_default[0], repeat_keys[high], numbers[1],
        unit, by_default[1], repeat_keys[low], repeat_keys[high]);
}

static enum st_status check_against_each_other(const struct st_value *map,
                                               const struct st_value *defaults,
                                               const struct st_repeat *repeat,
                                               struct st_error *err)
{
    const double counts[2] = {(double)repeat->min, (double)repeat->max};
    const double times[2] = {repeat->time_s, repeat->budget_s};
    const double limits[2] = {repeat->budget_s, repeat->deadline_s};

    if (repeat->min > repeat->max) {
        return contradiction(map, defaults, R_MIN, R_MAX, counts, err);
    }
    if (repeat->time_s > repeat->budget_s) {
        return contradiction(map, defaults, R_TIME, R_BUDGET, times, err);
    }
    if (repeat->budget_s > repeat->deadline_s) {
        return contradiction(map, defaults, R_BUDGET, R_DEADLINE, limits, err);
    }
    return ST_OK;
}

enum st_status st_repeat_read(const struct st_value *map, const struct st_value *defaults,
                              struct st_repeat *out, struct st_error *err)
{
    struct st_repeat repeat = {.min = 5,
                               .max = 50,
                               .confidence = 0.95,
                               .width = 0.02,
                               .budget_s = 10.0,
                               .time_s = 1e-3};
    enum st_status rc = ST_OK;

    for (size_t row = 0; rc == ST_OK && row < N_KEYS; row++) {
        const struct st_value *value = written(map, defaults, row);

        if (value != NULL) {
            rc = read_value(row, value, &repeat, err);
        }
    }
    if (written(map, defaults, R_DEADLINE) == NULL) {
        repeat.deadline_s = 60.0 + 4.0 * repeat.budget_s;
    }
    if (rc == ST_OK) {
        rc = check_against_each_other(map, defaults, &repeat, err);
    }
    if (rc == ST_OK) {
        *out = repeat;
    }
    return rc;
}
