/* Cartesian products of lists: which combination, which element. */
#include "src/plan/parts.h"

#include "src/base/mem.h"

enum st_status st_sweep_add(struct st_sweep *sweep, const char *key,
                            const struct st_value *value, struct st_error *err)
{
    if (value->kind != ST_VALUE_LIST) {
        return ST_OK;
    }
    if (sweep->n == ST_MAX_AXES) {
        return st_value_fail(err, value, "%s: more than %d lists to sweep in one step",
                             key, ST_MAX_AXES);
    }
    sweep->axes[sweep->n++] = (struct st_axis){.key = key, .list = value};
    return ST_OK;
}

bool st_sweep_count(const struct st_sweep *sweep, size_t *out)
{
    size_t n = 1;

    for (size_t i = 0; i < sweep->n; i++) {
        if (!st_mul_size(n, sweep->axes[i].list->n, &n)) {
            return false;
        }
    }
    *out = n;
    return true;
}

void st_sweep_seek(struct st_sweep *sweep, size_t number)
{
    for (size_t i = sweep->n; i > 0; i--) {
        struct st_axis *axis = &sweep->axes[i - 1];

        axis->index = number % axis->list->n; /* no list is empty: checked before */
        number /= axis->list->n;
    }
}

const struct st_value *st_sweep_pick(const struct st_sweep *sweep,
                                     const struct st_value *value)
{
    for (size_t i = 0; i < sweep->n; i++) {
        if (sweep->axes[i].list == value) {
            return value->entries[sweep->axes[i].index].value;
        }
    }
    return value;
}
