/*
 * Rank 0 dictates: for each metric and each run of neighbouring places of one owner it sends
 * a request and gets one block back; a request for no row ends an owner's service. So rank 0
 * holds one block at a time, whatever the number of ranks, and a failed sink ends the
 * transfer early without leaving anyone behind.
 *
 * Places of kind JOB, NODE and RANK follow from the layout, which all ranks know. Lists of
 * pairs, NUMA places and points come from the group roots first.
 */
#include "src/measure/gather.h"

#include "mpi/agree.h"
#include "src/base/mem.h"

#include <stdint.h>
#include <string.h>

enum {
    GATHER_BLOCK_BYTES = 8 << 20
};

/* What rank 0 asks an owner for. */
enum {
    ASK_SAMPLES = 1,
    ASK_COUNTS,
    ASK_PLACES,
    ASK_END
};
struct request {
    uint64_t what;
    uint64_t row;   /* ASK_SAMPLES: metric; ASK_PLACES: kind */
    uint64_t first; /* place within the group */
    uint64_t n;
};
enum {
    REQUEST_WORDS = 4
};

/* Kinds of places that benchmarks declare. */
static const enum st_place_kind declared_kinds[] = {ST_PAIR, ST_NUMA, ST_POINT};
enum {
    N_DECLARED = ST_COUNT(declared_kinds)
};

static void count_declared(const struct st_recorder *rec, uint64_t counts[N_DECLARED])
{
    for (size_t i = 0; i < N_DECLARED; i++) {
        counts[i] = rec->lists[declared_kinds[i]].n;
    }
}

/* Rank 0's knowledge of a step's places. */
struct catalogue {
    size_t n_groups;
    size_t *group_begin; /* [n_groups + 1] in the layout's active arrays */
    size_t n[ST_N_PLACE_KINDS];
    size_t *first[ST_N_PLACE_KINDS]; /* [n_groups + 1] first place of each group */
    size_t *owner[ST_N_PLACE_KINDS]; /* [n] world ranks */
    struct st_step_place *places[ST_N_PLACE_KINDS];
    double *values; /* one block */
    int8_t *validity;
    size_t capacity; /* samples in a block */
};

static enum st_status send_request(const struct stm_comm *world, size_t to, uint64_t what,
                                   uint64_t row, uint64_t first, uint64_t n,
                                   struct st_error *err)
{
    const uint64_t words[REQUEST_WORDS] = {what, row, first, n};

    STM_TRY(err, MPI_Send(words, REQUEST_WORDS, MPI_UINT64_T, (int)to, STM_TAG_GATHER,
                          world->handle));
    return ST_OK;
}

static enum st_status receive(const struct stm_comm *world, size_t from, void *data,
                              size_t n, MPI_Datatype type, struct st_error *err)
{
    int count = 0;

    const enum st_status rc = stm_count(n, &count, err);
    if (rc != ST_OK) {
        return rc;
    }
    STM_TRY(err, MPI_Recv(data, count, type, (int)from, STM_TAG_GATHER, world->handle,
                          MPI_STATUS_IGNORE));
    return ST_OK;
}

static enum st_status send_bytes(const struct stm_comm *world, const void *data, size_t n,
                                 struct st_error *err)
{
    int count = 0;

    const enum st_status rc = stm_count(n, &count, err);
    if (rc != ST_OK) {
        return rc;
    }
    STM_TRY(err, MPI_Send(data, count, MPI_BYTE, 0, STM_TAG_GATHER, world->handle));
    return ST_OK;
}

/* An owner's side: where a run of its places lies in its packed series. */
static size_t sample_offset(const struct st_recorder *rec, size_t row, size_t place)
{
    const struct st_place_list *list = &rec->lists[rec->bench->metrics[row].place];

    return st_list_slot(list, place) * rec->capacity;
}

static enum st_status answer(const struct stm_comm *world, const struct st_recorder *rec,
                             const struct request *request, struct st_error *err)
{
    const size_t row = (size_t)request->row;
    const size_t n = (size_t)request->n;

    if (request->what == ASK_COUNTS) {
        uint64_t counts[N_DECLARED];
        count_declared(rec, counts);
        return send_bytes(world, counts, sizeof counts, err);
    }
    if (request->what == ASK_PLACES) {
        const struct st_place *all = rec->lists[row].all;
        return send_bytes(world, all + request->first, n * sizeof *all, err);
    }
    const size_t at = sample_offset(rec, row, (size_t)request->first);
    const enum st_status rc =
        send_bytes(world, rec->series[row].values + at,
                   n * rec->capacity * sizeof *rec->series[row].values, err);
    return rc != ST_OK ? rc
                       : send_bytes(world, rec->series[row].validity + at,
                                    n * rec->capacity, err);
}

static enum st_status serve_owner(const struct stm_comm *world,
                                  const struct st_recorder *rec, struct st_error *err)
{
    for (;;) {
        uint64_t words[REQUEST_WORDS] = {0};
        STM_TRY(err, MPI_Recv(words, REQUEST_WORDS, MPI_UINT64_T, 0, STM_TAG_GATHER,
                              world->handle, MPI_STATUS_IGNORE));
        const struct request request = {
            .what = words[0], .row = words[1], .first = words[2], .n = words[3]};
        if (request.what == ASK_END) {
            return ST_OK;
        }
        const enum st_status rc = answer(world, rec, &request, err);
        if (rc != ST_OK) {
            return rc;
        }
    }
}

static void catalogue_clear(struct catalogue *c)
{
    st_free(c->group_begin);
    for (size_t kind = 0; kind < ST_N_PLACE_KINDS; kind++) {
        st_free(c->first[kind]);
        st_free(c->owner[kind]);
        st_free(c->places[kind]);
    }
    st_free(c->values);
    st_free(c->validity);
}

/* Nodes of a group come one after another in the step's order of ranks. */
static size_t count_nodes(const struct st_layout *layout, size_t begin, size_t end)
{
    size_t n = begin < end ? 1 : 0;

    for (size_t i = begin + 1; i < end; i++) {
        n += layout->active_node[i] != layout->active_node[i - 1] ? 1 : 0;
    }
    return n;
}

static enum st_status find_groups(struct catalogue *c, const struct st_layout *layout,
                                  struct st_error *err)
{
    c->n_groups = layout->n_groups;
    c->group_begin = st_calloc(err, c->n_groups + 1, sizeof *c->group_begin);
    for (size_t kind = 0; kind < ST_N_PLACE_KINDS; kind++) {
        c->first[kind] = st_calloc(err, c->n_groups + 1, sizeof *c->first[kind]);
        if (c->group_begin == NULL || c->first[kind] == NULL) {
            return ST_ERR_MEMORY;
        }
    }
    for (size_t i = 0; i < layout->n_active; i++) {
        c->group_begin[layout->active_group[i] + 1] = i + 1;
    }
    for (size_t g = 0; g < c->n_groups; g++) {
        const size_t begin = c->group_begin[g];
        const size_t end = c->group_begin[g + 1];
        c->first[ST_JOB][g + 1] = c->first[ST_JOB][g] + 1;
        c->first[ST_NODE][g + 1] = c->first[ST_NODE][g] + count_nodes(layout, begin, end);
        c->first[ST_RANK][g + 1] = c->first[ST_RANK][g] + (end - begin);
    }
    return ST_OK;
}

/* Numbers of declared places, asked from each group's root. */
static enum st_status ask_counts(struct catalogue *c, const struct st_gather *gather,
                                 struct st_error *err)
{
    const struct stm_comm *world = &gather->campaign->machine->world;

    for (size_t g = 0; g < c->n_groups; g++) {
        const size_t root = gather->layout->active_ranks[c->group_begin[g]];
        uint64_t counts[N_DECLARED] = {0};
        if (root == 0) {
            count_declared(gather->rec, counts);
        } else {
            enum st_status rc = send_request(world, root, ASK_COUNTS, 0, 0, 0, err);
            if (rc == ST_OK) {
                rc = receive(world, root, counts, sizeof counts, MPI_BYTE, err);
            }
            if (rc != ST_OK) {
                return rc;
            }
        }
        for (size_t i = 0; i < N_DECLARED; i++) {
            size_t *first = c->first[declared_kinds[i]];
            first[g + 1] = first[g] + (size_t)counts[i];
        }
    }
    return ST_OK;
}

static enum st_status reserve(struct catalogue *c, size_t n_repetitions,
                              struct st_error *err)
{
    const size_t n_block = GATHER_BLOCK_BYTES / sizeof(double);

    for (size_t kind = 0; kind < ST_N_PLACE_KINDS; kind++) {
        c->n[kind] = c->first[kind][c->n_groups];
        c->owner[kind] = st_calloc(err, c->n[kind], sizeof *c->owner[kind]);
        c->places[kind] = st_calloc(err, c->n[kind], sizeof *c->places[kind]);
        if (c->owner[kind] == NULL || c->places[kind] == NULL) {
            return ST_ERR_MEMORY;
        }
        for (size_t i = 0; i < c->n[kind]; i++) {
            c->places[kind][i] = (struct st_step_place){.node = SIZE_MAX,
                                                        .node_b = SIZE_MAX,
                                                        .rank = SIZE_MAX,
                                                        .rank_b = SIZE_MAX,
                                                        .numa = SIZE_MAX,
                                                        .numa_b = SIZE_MAX};
        }
    }
    /* a single place with more repetitions than a block makes a larger block */
    c->capacity = n_block > n_repetitions ? n_block : n_repetitions;
    c->values = st_calloc(err, c->capacity, sizeof *c->values);
    c->validity = st_calloc(err, c->capacity, sizeof *c->validity);
    return c->values == NULL || c->validity == NULL ? ST_ERR_MEMORY : ST_OK;
}

/* JOB, NODE and RANK places of one group, from the layout. */
static void name_plain_places(struct catalogue *c, const struct st_layout *layout,
                              size_t g)
{
    const size_t begin = c->group_begin[g];
    const size_t end = c->group_begin[g + 1];
    const size_t job = c->first[ST_JOB][g];
    size_t node = c->first[ST_NODE][g];

    c->owner[ST_JOB][job] = layout->active_ranks[begin];
    c->places[ST_JOB][job].group = g;
    if (c->first[ST_NODE][g + 1] - node == 1) {
        c->places[ST_JOB][job].node = layout->active_node[begin];
    }
    for (size_t i = begin; i < end; i++) {
        struct st_step_place *rank = &c->places[ST_RANK][i];
        c->owner[ST_RANK][i] = layout->active_ranks[i];
        rank->group = g;
        rank->node = layout->active_node[i];
        rank->rank = layout->active_ranks[i];
        if (i == begin || layout->active_node[i] != layout->active_node[i - 1]) {
            c->owner[ST_NODE][node] = layout->active_ranks[i];
            c->places[ST_NODE][node].group = g;
            c->places[ST_NODE][node].node = layout->active_node[i];
            node++;
        }
    }
}

static void name_declared_place(struct catalogue *c, const struct st_gather *gather,
                                enum st_place_kind kind, size_t g, size_t at,
                                const struct st_place *place)
{
    const struct st_layout *layout = gather->layout;
    const struct st_bench *bench = gather->step->bench;
    const size_t begin = c->group_begin[g];
    const size_t owner = begin + place->owner;
    struct st_step_place *named = &c->places[kind][at];

    c->owner[kind][at] = layout->active_ranks[owner];
    named->group = g;
    named->node = layout->active_node[owner];
    if (kind == ST_PAIR) {
        named->node = layout->active_node[begin + place->a];
        named->rank = layout->active_ranks[begin + place->a];
        named->rank_b = layout->active_ranks[begin + place->b];
        named->node_b = layout->active_node[begin + place->b];
    } else if (kind == ST_POINT) {
        named->rank = layout->active_ranks[owner];
        named->value = place->value;
        named->value_name = bench->point_name;
        named->value_unit = bench->point_unit;
    } else {
        named->numa = place->a;
        named->numa_b = place->b;
    }
}

/* The declared places of one kind and group, block by block. */
static enum st_status ask_places(struct catalogue *c, const struct st_gather *gather,
                                 enum st_place_kind kind, size_t g, struct st_error *err)
{
    const struct stm_comm *world = &gather->campaign->machine->world;
    const size_t root = gather->layout->active_ranks[c->group_begin[g]];
    const size_t begin = c->first[kind][g];
    const size_t n = c->first[kind][g + 1] - begin;
    struct st_place *buffer = NULL;
    const size_t n_buffer = GATHER_BLOCK_BYTES / sizeof *buffer;
    enum st_status rc = ST_OK;

    if (n == 0) {
        return ST_OK;
    }
    if (root != 0) {
        buffer = st_calloc(err, n < n_buffer ? n : n_buffer, sizeof *buffer);
        if (buffer == NULL) {
            return ST_ERR_MEMORY;
        }
    }
    for (size_t done = 0; done < n && rc == ST_OK;) {
        const size_t part = n - done < n_buffer ? n - done : n_buffer;
        const struct st_place *places =
            root == 0 ? gather->rec->lists[kind].all + done : buffer;
        if (root != 0) {
            rc = send_request(world, root, ASK_PLACES, (uint64_t)kind, done, part, err);
            if (rc == ST_OK) {
                rc = receive(world, root, buffer, part * sizeof *buffer, MPI_BYTE, err);
            }
        }
        for (size_t i = 0; rc == ST_OK && i < part; i++) {
            name_declared_place(c, gather, kind, g, begin + done + i, &places[i]);
        }
        done += part;
    }
    st_free(buffer);
    return rc;
}

static enum st_status make_catalogue(struct catalogue *c, const struct st_gather *gather,
                                     struct st_error *err)
{
    enum st_status rc = find_groups(c, gather->layout, err);

    if (rc == ST_OK) {
        rc = ask_counts(c, gather, err);
    }
    if (rc == ST_OK) {
        rc = reserve(c, gather->outcome->n_repetitions, err);
    }
    for (size_t g = 0; g < c->n_groups && rc == ST_OK; g++) {
        name_plain_places(c, gather->layout, g);
        rc = ST_OK;
        for (size_t i = 0; rc == ST_OK && i < N_DECLARED; i++) {
            rc = ask_places(c, gather, declared_kinds[i], g, err);
        }
    }
    return rc;
}

/* A run of places of one owner within one group, at most @p most long. */
static size_t run_length(const struct catalogue *c, enum st_place_kind kind, size_t at,
                         size_t end, size_t most)
{
    size_t n = 1;

    while (n < most && at + n < end && c->owner[kind][at + n] == c->owner[kind][at]) {
        n++;
    }
    return n;
}

/* Bring one run into the block's buffer behind what is there. */
static enum st_status fetch(struct catalogue *c, const struct st_gather *gather,
                            const struct request *request, size_t owner, size_t at,
                            struct st_error *err)
{
    const struct stm_comm *world = &gather->campaign->machine->world;
    const size_t n = (size_t)request->n * gather->outcome->n_repetitions;
    const size_t row = (size_t)request->row;

    if (owner == 0) {
        const size_t from = sample_offset(gather->rec, row, (size_t)request->first);
        memcpy(c->values + at, gather->rec->series[row].values + from,
               n * sizeof *c->values);
        memcpy(c->validity + at, gather->rec->series[row].validity + from, n);
        return ST_OK;
    }
    enum st_status rc = send_request(world, owner, ASK_SAMPLES, request->row,
                                     request->first, request->n, err);
    if (rc == ST_OK) {
        rc = receive(world, owner, c->values + at, n * sizeof *c->values, MPI_BYTE, err);
    }
    return rc == ST_OK ? receive(world, owner, c->validity + at, n, MPI_BYTE, err) : rc;
}

static enum st_status deliver(const struct st_gather *gather,
                              const struct st_block *block, struct st_error *err)
{
    const struct st_sink *sink = gather->campaign->sink;
    const double begin = st_now();

    st_deadline_lock_sink(gather->deadline);
    const enum st_status rc = sink->block(sink->context, block, err);
    st_deadline_unlock_sink(gather->deadline);
    gather->outcome->phase_s[ST_PHASE_WRITE] += st_now() - begin;
    return rc;
}

/* All places of one metric and group; neighbouring owners share a block. */
static enum st_status gather_group(struct catalogue *c, const struct st_gather *gather,
                                   size_t row, size_t g, struct st_error *err)
{
    const enum st_place_kind kind = gather->step->bench->metrics[row].place;
    const size_t n_repetitions = gather->outcome->n_repetitions;
    const size_t most = c->capacity / n_repetitions;
    const size_t begin = c->first[kind][g];
    const size_t end = c->first[kind][g + 1];

    for (size_t at = begin; at < end;) {
        struct st_block block = {.row = row,
                                 .group = g,
                                 .first_place = at,
                                 .n_repetitions = n_repetitions,
                                 .values = c->values,
                                 .validity = c->validity};
        while (at < end && block.n_places < most) {
            const size_t n = run_length(c, kind, at, end, most - block.n_places);
            const struct request request = {.row = row, .first = at - begin, .n = n};
            const enum st_status rc = fetch(c, gather, &request, c->owner[kind][at],
                                            block.n_places * n_repetitions, err);
            if (rc != ST_OK) {
                return rc;
            }
            block.n_places += n;
            at += n;
        }
        const enum st_status rc = deliver(gather, &block, err);
        if (rc != ST_OK) {
            return rc;
        }
    }
    return ST_OK;
}

static enum st_status gather_samples(struct catalogue *c, const struct st_gather *gather,
                                     struct st_error *err)
{
    const struct st_bench *bench = gather->step->bench;

    for (size_t row = 0; row < bench->n_metrics; row++) {
        if (!st_bench_applies(bench, gather->step->params, row)) {
            continue;
        }
        for (size_t g = 0; g < c->n_groups; g++) {
            const enum st_status rc = gather_group(c, gather, row, g, err);
            if (rc != ST_OK) {
                return rc;
            }
        }
    }
    return ST_OK;
}

/* Release every owner from its service; also after a failure. */
static enum st_status end_service(const struct st_gather *gather, struct st_error *err)
{
    const struct stm_comm *world = &gather->campaign->machine->world;

    for (size_t i = 0; i < gather->layout->n_active; i++) {
        const size_t rank = gather->layout->active_ranks[i];
        const enum st_status rc =
            rank == 0 ? ST_OK : send_request(world, rank, ASK_END, 0, 0, 0, err);
        if (rc != ST_OK) {
            return rc;
        }
    }
    return ST_OK;
}

static enum st_status begin_sink(const struct catalogue *c,
                                 const struct st_gather *gather, struct st_error *err)
{
    const struct st_sink *sink = gather->campaign->sink;
    struct st_step_report report = {.number = gather->number,
                                    .step = gather->step,
                                    .outcome = gather->outcome,
                                    .layout = gather->layout,
                                    .n_seats = gather->n_seats,
                                    .seats = gather->seats};

    for (size_t kind = 0; kind < ST_N_PLACE_KINDS; kind++) {
        report.n_places[kind] = c->n[kind];
        report.places[kind] = c->places[kind];
    }
    const double begin = st_now();
    st_deadline_lock_sink(gather->deadline);
    const enum st_status rc = sink->begin(sink->context, &report, err);
    st_deadline_unlock_sink(gather->deadline);
    gather->outcome->phase_s[ST_PHASE_WRITE] += st_now() - begin;
    return rc;
}

static enum st_status end_sink(const struct st_gather *gather, struct st_error *err)
{
    const struct st_sink *sink = gather->campaign->sink;
    const double begin = st_now();

    st_deadline_lock_sink(gather->deadline);
    const enum st_status rc = sink->end(sink->context, err);
    st_deadline_unlock_sink(gather->deadline);
    gather->outcome->phase_s[ST_PHASE_WRITE] += st_now() - begin;
    return rc;
}

static enum st_status root_side(const struct st_gather *gather, bool has_samples,
                                struct st_error *err)
{
    struct catalogue c = {0};
    enum st_status rc = ST_OK;

    if (has_samples) {
        rc = make_catalogue(&c, gather, err);
    }
    if (rc == ST_OK) {
        rc = begin_sink(&c, gather, err);
    }
    if (rc == ST_OK && has_samples) {
        rc = gather_samples(&c, gather, err);
    }
    if (has_samples && rc != ST_ERR_MPI) {
        struct st_error late = {0};
        if (end_service(gather, &late) != ST_OK) {
            *err = late;
            rc = late.code;
        }
    }
    if (rc == ST_OK) {
        rc = end_sink(gather, err);
    }
    catalogue_clear(&c);
    return rc;
}

enum st_status st_gather_step(const struct st_gather *gather, struct st_error *err)
{
    const struct stm_comm *world = &gather->campaign->machine->world;
    /* equal on all ranks: layout and outcome are */
    const bool has_samples = gather->layout != NULL && gather->outcome->n_repetitions > 0;
    enum st_status rc = ST_OK;

    if (world->rank == 0) {
        if (gather->campaign->sink != NULL) {
            rc = root_side(gather, has_samples, err);
        } else if (has_samples) {
            rc = end_service(gather, err);
        }
    } else if (has_samples && gather->layout->active) {
        rc = serve_owner(world, gather->rec, err);
    }
    return stm_agree_quiet(world, rc, err);
}
