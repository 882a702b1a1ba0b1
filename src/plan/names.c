/* Names of steps: different from each other, and found by --only. A small hash table keeps
 * the largest plans (10000 steps) from comparing every name with every other. */
#include "src/plan/parts.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <stdint.h>
#include <string.h>

/* A name in use and the number that its next twin will try. */
struct slot {
    const char *name; /* NULL: free; else in the plan */
    size_t next;
};

struct table {
    size_t n; /* power of two, at least twice the number of names */
    struct slot *slots;
};

/* FNV-1a (Fowler, Noll, Vo; draft-eastlake-fnv), 64 bit. */
static uint64_t hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325U;

    for (; *text != '\0'; text++) {
        h = (h ^ (unsigned char)*text) * 0x100000001b3U;
    }
    return h;
}

/* The slot of a name, or the free one where it belongs. */
static struct slot *find_slot(const struct table *table, const char *name)
{
    size_t i = (size_t)hash(name) & (table->n - 1);

    while (table->slots[i].name != NULL && strcmp(table->slots[i].name, name) != 0) {
        i = (i + 1) & (table->n - 1);
    }
    return &table->slots[i];
}

/* Put "#2" or a higher number behind a name that is taken; cuts the name if there is no room. */
static void number_name(const struct table *table, struct slot *taken,
                        struct st_step *step)
{
    char name[ST_NAME_SIZE];
    struct slot *slot = taken;

    while (slot->name != NULL) {
        char suffix[24];

        (void)st_print(suffix, sizeof suffix, "#%zu", taken->next++);
        (void)st_copy(name, sizeof name - strlen(suffix), step->name);
        (void)st_copy(name + strlen(name), sizeof name - strlen(name), suffix);
        slot = find_slot(table, name);
    }
    (void)st_copy(step->name, sizeof step->name, name);
    *slot = (struct slot){.name = step->name, .next = 2};
}

enum st_status st_names_settle(struct st_plan *plan, struct st_error *err)
{
    struct table table = {.n = 4};

    while (table.n < 2 * plan->n_steps) {
        table.n *= 2;
    }
    table.slots = st_calloc(err, table.n, sizeof *table.slots);
    if (table.slots == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < plan->n_steps; i++) {
        struct slot *slot = find_slot(&table, plan->steps[i].name);

        if (slot->name == NULL) {
            *slot = (struct slot){.name = plan->steps[i].name, .next = 2};
        } else {
            number_name(&table, slot, &plan->steps[i]);
        }
    }
    st_free(table.slots);
    return ST_OK;
}

static bool is_named(const struct st_step *step, const char *name)
{
    const char *colon = strchr(step->name, ':');
    const size_t length =
        colon == NULL ? strlen(step->name) : (size_t)(colon - step->name);

    return strcmp(step->name, name) == 0 || strcmp(step->bench->name, name) == 0 ||
           (strlen(name) == length && strncmp(step->name, name, length) == 0);
}

static enum st_status no_such_step(const struct st_plan *plan, const char *name,
                                   struct st_error *err)
{
    char hint[ST_HINT_SIZE];
    const char **names = st_calloc(err, plan->n_steps, sizeof *names);

    if (names == NULL) {
        return ST_ERR_MEMORY;
    }
    for (size_t i = 0; i < plan->n_steps; i++) {
        names[i] = plan->steps[i].name;
    }
    st_names_hint(hint, sizeof hint, name, plan->n_steps, names);
    st_free(names);
    return st_fail(err, ST_ERR_USAGE, "--only %s: no step or benchmark of this name%s",
                   name, hint);
}

enum st_status st_names_keep(struct st_plan *plan, size_t n, const char *const *only,
                             struct st_error *err)
{
    size_t n_kept = 0;

    for (size_t k = 0; k < n; k++) {
        size_t i = 0;

        while (i < plan->n_steps && !is_named(&plan->steps[i], only[k])) {
            i++;
        }
        if (i == plan->n_steps) {
            return no_such_step(plan, only[k], err);
        }
    }
    for (size_t i = 0; n > 0 && i < plan->n_steps; i++) {
        size_t k = 0;

        while (k < n && !is_named(&plan->steps[i], only[k])) {
            k++;
        }
        if (k == n) {
            st_step_clear(&plan->steps[i]);
        } else {
            plan->steps[n_kept++] = plan->steps[i];
        }
    }
    plan->n_steps = n > 0 ? n_kept : plan->n_steps;
    return ST_OK;
}
