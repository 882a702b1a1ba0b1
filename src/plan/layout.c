/* The section `layout:`. Keys that may be swept are checked element by element, so that a
 * mistake is reported where it stands and before the sweep is expanded. */
#include "src/plan/parts.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <string.h>

/* Ranks and threads are counted by MPI and OpenMP in an int. */
#define MAX_COUNT 2147483647

static const struct st_range ranks_range = {"ranks", "1", 1.0, MAX_COUNT,
                                            "a number from 1 to 2147483647"};

/* A word of `list` [n], or a number: row 0 stands for numbers and names them for the hint. */
static enum st_status read_number_or_word(const struct st_value *value, const char *what,
                                          size_t n, const char *const *list, size_t *row,
                                          size_t *count, struct st_error *err)
{
    const char *text = NULL;
    uint64_t number = 0;
    const enum st_status rc = st_read_text(value, what, &text, err);

    if (rc != ST_OK) {
        return rc;
    }
    if (st_parse_u64(text, &number) && number >= 1 && number <= MAX_COUNT) {
        *row = 0;
        *count = (size_t)number;
        return ST_OK;
    }
    return st_read_word(value, what, n, list, row, err);
}

static enum st_status set_nodes(const struct st_value *value,
                                struct st_layout_request *out, struct st_error *err)
{
    static const char *const words[] = {"a number from 1", "all", "each"};
    static const enum st_nodes meaning[] = {ST_NODES_COUNT, ST_NODES_ALL, ST_NODES_EACH};
    size_t row = 0;
    const enum st_status rc = read_number_or_word(value, "nodes", ST_COUNT(words), words,
                                                  &row, &out->n_nodes, err);

    if (rc == ST_OK) {
        out->nodes = meaning[row];
    }
    return rc;
}

static const enum st_many many_meaning[] = {ST_MANY_COUNT,      ST_MANY_ALL_CORES,
                                            ST_MANY_ALL_PUS,    ST_MANY_PER_NUMA,
                                            ST_MANY_PER_SOCKET, ST_MANY_PER_L3};

static enum st_status set_ranks_per_node(const struct st_value *value,
                                         struct st_layout_request *out,
                                         struct st_error *err)
{
    static const char *const words[] = {"a number from 1", "all-cores",  "all-pus",
                                        "per-numa",        "per-socket", "per-l3"};
    size_t row = 0;
    const enum st_status rc =
        read_number_or_word(value, "ranks_per_node", ST_COUNT(words), words, &row,
                            &out->n_ranks_per_node, err);

    if (rc == ST_OK) {
        out->ranks = many_meaning[row];
    }
    return rc;
}

static enum st_status set_ranks(const struct st_value *value,
                                struct st_layout_request *out, struct st_error *err)
{
    return st_read_count(value, &ranks_range, &out->n_ranks, err);
}

/* "2 per-numa": threads per object. */
static bool read_threads_per(const char *text, struct st_layout_request *out)
{
    static const char *const ends[] = {" per-numa", " per-l3"};
    static const enum st_many meaning[] = {ST_MANY_PER_NUMA, ST_MANY_PER_L3};

    for (size_t i = 0; i < ST_COUNT(ends); i++) {
        const char *end = strstr(text, ends[i]);
        char digits[16];
        uint64_t number = 0;

        if (end == NULL || strcmp(end, ends[i]) != 0 ||
            (size_t)(end - text) >= sizeof digits) {
            continue;
        }
        (void)st_print(digits, sizeof digits, "%.*s", (int)(end - text), text);
        if (st_parse_u64(digits, &number) && number >= 1 && number <= MAX_COUNT) {
            out->threads = meaning[i];
            out->n_threads = (size_t)number;
            return true;
        }
    }
    return false;
}

static enum st_status set_threads(const struct st_value *value,
                                  struct st_layout_request *out, struct st_error *err)
{
    static const char *const words[] = {"a number from 1", "all-cores", "all-pus",
                                        "per-numa",        "per-l3",    "K per-numa",
                                        "K per-l3"};
    static const enum st_many meaning[] = {ST_MANY_COUNT, ST_MANY_ALL_CORES,
                                           ST_MANY_ALL_PUS, ST_MANY_PER_NUMA,
                                           ST_MANY_PER_L3};
    const char *text = NULL;
    size_t row = 0;
    size_t count = 1;
    enum st_status rc = st_read_text(value, "threads", &text, err);

    if (rc != ST_OK || read_threads_per(text, out)) {
        return rc;
    }
    rc = read_number_or_word(value, "threads", ST_COUNT(words), words, &row, &count, err);
    if (rc == ST_OK && row >= ST_COUNT(meaning)) {
        return st_value_fail(err, value, "threads: K of '%s' is a number from 1", text);
    }
    if (rc == ST_OK) {
        out->threads = meaning[row];
        out->n_threads = count;
    }
    return rc;
}

static enum st_status set_fill(const struct st_value *value,
                               struct st_layout_request *out, struct st_error *err)
{
    static const char *const words[] = {"compact", "scatter"};
    size_t row = 0;
    const enum st_status rc =
        st_read_word(value, "fill", ST_COUNT(words), words, &row, err);

    if (rc == ST_OK) {
        out->fill = row == 0 ? ST_FILL_COMPACT : ST_FILL_SCATTER;
    }
    return rc;
}

static enum st_status set_policy(const struct st_value *value,
                                 struct st_layout_request *out, struct st_error *err)
{
    static const char *const words[] = {"seatrial", "launcher"};
    size_t row = 0;
    const enum st_status rc =
        st_read_word(value, "policy", ST_COUNT(words), words, &row, err);

    if (rc == ST_OK) {
        out->policy = row == 0 ? ST_POLICY_SEATRIAL : ST_POLICY_LAUNCHER;
    }
    return rc;
}

/* "socket 0", "numa 3", "l3 1"; "node" is the default. */
static enum st_status set_within(const struct st_value *value,
                                 struct st_layout_request *out, struct st_error *err)
{
    static const char *const starts[] = {"socket ", "numa ", "l3 "};
    static const enum st_within meaning[] = {ST_WITHIN_SOCKET, ST_WITHIN_NUMA,
                                             ST_WITHIN_L3};
    const char *text = NULL;
    uint64_t number = 0;
    const enum st_status rc = st_read_text(value, "within", &text, err);

    if (rc != ST_OK || strcmp(text, "node") == 0) {
        out->within = ST_WITHIN_NODE;
        return rc;
    }
    for (size_t i = 0; i < ST_COUNT(starts); i++) {
        const size_t n = strlen(starts[i]);

        if (strncmp(text, starts[i], n) == 0 && st_parse_u64(text + n, &number) &&
            number <= MAX_COUNT) {
            out->within = meaning[i];
            out->n_within = (size_t)number;
            return ST_OK;
        }
    }
    return st_value_fail(err, value,
                         "within: '%s' is not a part of a node; allowed are node, "
                         "'socket N', 'numa N' and 'l3 N', N counted from 0",
                         text);
}

static enum st_status set_others(const struct st_value *value,
                                 struct st_layout_request *out, struct st_error *err)
{
    static const char *const words[] = {"idle", "busy"};
    size_t row = 0;
    const enum st_status rc =
        st_read_word(value, "others", ST_COUNT(words), words, &row, err);

    if (rc == ST_OK) {
        out->others = row == 0 ? ST_OTHERS_IDLE : ST_OTHERS_BUSY;
    }
    return rc;
}

static enum st_status set_oversubscribe(const struct st_value *value,
                                        struct st_layout_request *out,
                                        struct st_error *err)
{
    return st_read_bool(value, "oversubscribe", &out->oversubscribe, err);
}

typedef enum st_status layout_setter(const struct st_value *value,
                                     struct st_layout_request *out, struct st_error *err);

enum {
    N_KEYS = 9,
    N_SWEPT = 6
};
/* The first N_SWEPT may be lists. */
static const char *const layout_keys[N_KEYS] = {
    "nodes",  "ranks_per_node", "ranks",  "threads",      "within",
    "others", "fill",           "policy", "oversubscribe"};
static layout_setter *const setters[N_KEYS] = {
    set_nodes,  set_ranks_per_node, set_ranks,  set_threads,      set_within,
    set_others, set_fill,           set_policy, set_oversubscribe};

static size_t key_row(const char *key)
{
    size_t row = 0;

    while (row < N_KEYS && strcmp(layout_keys[row], key) != 0) {
        row++;
    }
    return row;
}

/* Every element of a list, or the value itself. */
static enum st_status check_value(size_t row, const struct st_value *value,
                                  struct st_error *err)
{
    struct st_layout_request ignored = {0};

    if (value->kind != ST_VALUE_LIST || row >= N_SWEPT) {
        return setters[row](value, &ignored, err);
    }
    if (value->n == 0) {
        return st_value_fail(err, value, "%s: the list is empty; give at least one value",
                             layout_keys[row]);
    }
    for (size_t i = 0; i < value->n; i++) {
        const enum st_status rc = setters[row](value->entries[i].value, &ignored, err);

        if (rc != ST_OK) {
            return rc;
        }
    }
    return ST_OK;
}

enum st_status st_layout_check(const struct st_value *map, struct st_error *err)
{
    enum st_status rc = st_read_map(map, "layout", N_KEYS, layout_keys, err);

    for (size_t i = 0; rc == ST_OK && i < map->n; i++) {
        rc = check_value(key_row(map->entries[i].key->text), map->entries[i].value, err);
    }
    if (rc == ST_OK && st_map_get(map, "ranks") != NULL &&
        st_map_get(map, "ranks_per_node") != NULL) {
        rc = st_value_fail(err, map->entries[st_value_index(map, "ranks")].key,
                           "'ranks' (total) and 'ranks_per_node' contradict each other; "
                           "give one of them");
    }
    return rc;
}

/* `ranks` and `ranks_per_node` answer the same question: one in the step replaces the other
 * in the defaults. */
static bool is_replaced(const struct st_value *map, const char *key)
{
    const bool is_ranks = strcmp(key, "ranks") == 0 || strcmp(key, "ranks_per_node") == 0;

    return st_map_get(map, key) != NULL ||
           (is_ranks && (st_map_get(map, "ranks") != NULL ||
                         st_map_get(map, "ranks_per_node") != NULL));
}

enum st_status st_layout_axes(const struct st_value *map, const struct st_value *defaults,
                              struct st_sweep *sweep, struct st_error *err)
{
    enum st_status rc = ST_OK;

    for (size_t i = 0; defaults != NULL && rc == ST_OK && i < defaults->n; i++) {
        const struct st_entry *entry = &defaults->entries[i];

        if (!is_replaced(map, entry->key->text)) {
            rc = st_sweep_add(sweep, entry->key->text, entry->value, err);
        }
    }
    for (size_t i = 0; map != NULL && rc == ST_OK && i < map->n; i++) {
        rc = st_sweep_add(sweep, map->entries[i].key->text, map->entries[i].value, err);
    }
    return rc;
}

enum st_status st_layout_read(const struct st_value *map, const struct st_value *defaults,
                              const struct st_sweep *sweep, struct st_layout_request *out,
                              struct st_error *err)
{
    struct st_layout_request request = {.nodes = ST_NODES_ALL,
                                        .ranks = ST_MANY_ALL_CORES,
                                        .threads = ST_MANY_COUNT,
                                        .n_threads = 1,
                                        .fill = ST_FILL_COMPACT,
                                        .policy = ST_POLICY_SEATRIAL};
    const struct st_value *ranks = NULL;
    const struct st_value *within = NULL;

    for (size_t row = 0; row < N_KEYS; row++) {
        const struct st_value *own = st_map_get(map, layout_keys[row]);
        const struct st_value *value = own != NULL || is_replaced(map, layout_keys[row])
                                           ? own
                                           : st_map_get(defaults, layout_keys[row]);

        if (value != NULL) {
            const enum st_status rc =
                setters[row](st_sweep_pick(sweep, value), &request, err);
            if (rc != ST_OK) {
                return rc;
            }
            ranks = setters[row] == set_ranks ? value : ranks;
            within = setters[row] == set_within ? value : within;
        }
    }
    if (ranks != NULL && request.nodes == ST_NODES_EACH) {
        return st_value_fail(
            err, ranks,
            "'ranks' is a total over the nodes and 'nodes: each' has one "
            "job per node; give 'ranks_per_node'");
    }
    if (request.within != ST_WITHIN_NODE &&
        (request.n_ranks > 0 || request.policy == ST_POLICY_LAUNCHER)) {
        return st_value_fail(err, within,
                             "'within' picks CPUs of each node; that goes with "
                             "'ranks_per_node' and the policy seatrial only");
    }
    *out = request;
    return ST_OK;
}

static void many_text(enum st_many many, size_t n, const char *one, char *out,
                      size_t size)
{
    switch (many) {
    case ST_MANY_COUNT:
        (void)st_print(out, size, "%zu %s%s", n, one, n == 1 ? "" : "s");
        break;
    case ST_MANY_ALL_CORES:
        (void)st_print(out, size, "all-cores %ss", one);
        break;
    case ST_MANY_PER_NUMA:
        (void)st_print(out, size, "per-numa %ss", one);
        break;
    case ST_MANY_PER_SOCKET:
        (void)st_print(out, size, "per-socket %ss", one);
        break;
    case ST_MANY_PER_L3:
        (void)st_print(out, size, "per-l3 %ss", one);
        break;
    case ST_MANY_ALL_PUS:
        (void)st_print(out, size, "all-pus %ss", one);
        break;
    }
}

const char *st_within_word(enum st_within within)
{
    static const char *const words[] = {[ST_WITHIN_NODE] = "node",
                                        [ST_WITHIN_SOCKET] = "socket",
                                        [ST_WITHIN_NUMA] = "numa",
                                        [ST_WITHIN_L3] = "l3"};

    return (size_t)within < ST_COUNT(words) ? words[within] : "unknown";
}

const char *st_layout_text(const struct st_layout_request *layout, char *out, size_t size)
{
    char nodes[32] = "all";
    char ranks[64];
    char threads[64];
    char within[48] = "";

    if (layout->within != ST_WITHIN_NODE) {
        (void)st_print(within, sizeof within, ", within %s %zu",
                       st_within_word(layout->within), layout->n_within);
    }
    if (layout->nodes == ST_NODES_EACH) {
        (void)st_print(nodes, sizeof nodes, "each");
    } else if (layout->nodes == ST_NODES_COUNT) {
        (void)st_print(nodes, sizeof nodes, "%zu", layout->n_nodes);
    }
    if (layout->n_ranks > 0) {
        (void)st_print(ranks, sizeof ranks, "%zu rank%s in total", layout->n_ranks,
                       layout->n_ranks == 1 ? "" : "s");
    } else {
        many_text(layout->ranks, layout->n_ranks_per_node, "rank", ranks,
                  sizeof ranks - 16);
        (void)strncat(ranks, " per node", sizeof ranks - strlen(ranks) - 1);
    }
    if (layout->threads == ST_MANY_PER_NUMA || layout->threads == ST_MANY_PER_L3) {
        (void)st_print(threads, sizeof threads, "%zu thread%s %s", layout->n_threads,
                       layout->n_threads == 1 ? "" : "s",
                       layout->threads == ST_MANY_PER_L3 ? "per-l3" : "per-numa");
    } else {
        many_text(layout->threads, layout->n_threads, "thread", threads, sizeof threads);
    }
    (void)st_print(out, size, "nodes %s, %s, %s, %s%s%s%s%s", nodes, ranks, threads,
                   layout->fill == ST_FILL_COMPACT ? "compact" : "scatter", within,
                   layout->others == ST_OTHERS_BUSY ? ", other ranks busy" : "",
                   layout->policy == ST_POLICY_LAUNCHER ? ", bound by the launcher" : "",
                   layout->oversubscribe ? ", oversubscribed" : "");
    return out;
}
