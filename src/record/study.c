/*
 * Studies: several results files in one, so that a scaling study of many launches is one
 * thing to keep, to send and to read. Each launch keeps its own /run, /system, /steps and
 * /verdicts, so nothing of where it came from is lost and every reader of a results file can
 * read a launch. HDF5 copies the objects but not references between files in lists of
 * variable length (DIMENSION_LIST), so the dimension scales are laid anew.
 */
#include "src/record/reader.h"
#include "src/record/results.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PATH_SIZE = 512,
    SHOWN = 100
};

/* ---- dimension scales of a copied launch ---- */

struct scale {
    char path[PATH_SIZE]; /* in the launch, "steps/0000/samples/place" */
    struct st_axis axis;
};

struct relay {
    hid_t from, to; /* root of the file, group of the launch */
    size_t n, capacity;
    struct scale *scales;
    struct st_error *err;
};

/* Datasets of one group share their scales: look at the latest first. */
static struct scale *find_scale(struct relay *r, const char *path)
{
    for (size_t i = r->n; i > 0; i--) {
        if (strcmp(r->scales[i - 1].path, path) == 0) {
            return &r->scales[i - 1];
        }
    }
    return NULL;
}

static enum st_status add_scale(struct relay *r, const char *path)
{
    if (r->n == r->capacity) {
        const size_t capacity = r->capacity == 0 ? 64 : 2 * r->capacity;
        struct scale *grown = st_resize(r->err, r->scales, capacity, sizeof *grown);
        if (grown == NULL) {
            return ST_ERR_MEMORY;
        }
        r->scales = grown;
        r->capacity = capacity;
    }
    struct scale *s = &r->scales[r->n];
    memset(s, 0, sizeof *s);
    if (!st_copy(s->path, sizeof s->path, path)) {
        return st_fail(r->err, ST_ERR_IO, "a path of more than %d bytes", PATH_SIZE - 1);
    }
    s->axis.scale = H5Dopen2(r->to, path, H5P_DEFAULT);
    if (s->axis.scale < 0 || H5Rcreate(&s->axis.self, r->to, path, H5R_OBJECT, -1) < 0) {
        st_h5_drop(&s->axis.scale);
        return st_h5_fail(r->err, r->to, path, "refer to");
    }
    r->n++;
    return ST_OK;
}

/* Path of the scale of one dimension, without the leading '/'. */
static enum st_status scale_path(struct relay *r, hid_t dataset, const hvl_t *list,
                                 char path[PATH_SIZE])
{
    char full[PATH_SIZE + 1];
    hid_t scale =
        list->len == 1 ? H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, list->p) : -1;
    const ssize_t n = scale >= 0 ? H5Iget_name(scale, full, sizeof full) : -1;

    st_h5_drop(&scale);
    if (n <= 1 || (size_t)n >= sizeof full) {
        return st_h5_fail(r->err, dataset, NULL, "read the dimension scales of");
    }
    memcpy(path, full + 1, (size_t)n);
    return ST_OK;
}

static enum st_status attach_again(struct relay *r, const char *name, const hvl_t *lists,
                                   size_t n_dims, hid_t dataset)
{
    struct scale *found[2] = {NULL, NULL};
    struct st_axis *axes[2];
    enum st_status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < n_dims; i++) {
        char path[PATH_SIZE];
        rc = scale_path(r, dataset, &lists[i], path);
        if (rc == ST_OK && find_scale(r, path) == NULL) {
            rc = add_scale(r, path);
        }
    }
    for (size_t i = 0; rc == ST_OK && i < n_dims; i++) { /* the array stays put now */
        char path[PATH_SIZE];
        rc = scale_path(r, dataset, &lists[i], path);
        found[i] = rc == ST_OK ? find_scale(r, path) : NULL;
        axes[i] = found[i] != NULL ? &found[i]->axis : NULL;
    }
    hid_t copy = rc == ST_OK ? H5Dopen2(r->to, name, H5P_DEFAULT) : -1;
    if (rc == ST_OK && copy < 0) {
        rc = st_h5_fail(r->err, r->to, name, "open");
    }
    if (rc == ST_OK) {
        rc = st_axis_attach(copy, n_dims, axes, r->err);
    }
    st_h5_drop(&copy);
    return rc;
}

static enum st_status relay_dataset(struct relay *r, const char *name)
{
    hvl_t lists[2];
    hid_t dataset = H5Dopen2(r->from, name, H5P_DEFAULT);
    hid_t attribute = -1;
    hid_t space = -1;
    hid_t type = H5Tvlen_create(H5T_STD_REF_OBJ);
    enum st_status rc = ST_OK;

    if (dataset < 0 || type < 0) {
        rc = st_h5_fail(r->err, r->from, name, "open");
    } else if (H5Aexists(dataset, "DIMENSION_LIST") > 0) {
        attribute = H5Aopen(dataset, "DIMENSION_LIST", H5P_DEFAULT);
        space = H5Aget_space(attribute);
        const hssize_t n = H5Sget_simple_extent_npoints(space);
        if (n < 1 || n > 2 || H5Aread(attribute, type, lists) < 0) {
            rc = st_h5_fail(r->err, r->from, name, "read the dimensions of");
        } else {
            rc = attach_again(r, name, lists, (size_t)n, dataset);
            (void)H5Dvlen_reclaim(type, space, H5P_DEFAULT, lists);
        }
    }
    st_h5_drop(&space);
    st_h5_drop(&attribute);
    st_h5_drop(&type);
    st_h5_drop(&dataset);
    return rc;
}

static herr_t visit(hid_t root, const char *name, const H5O_info_t *info, void *context)
{
    struct relay *r = context;

    (void)root;
    return info->type == H5O_TYPE_DATASET && relay_dataset(r, name) != ST_OK ? -1 : 0;
}

static enum st_status relay_scales(hid_t from, hid_t to, struct st_error *err)
{
    struct relay r = {.from = from, .to = to, .err = err};
    enum st_status rc = ST_OK;

    if (H5Ovisit2(from, H5_INDEX_NAME, H5_ITER_INC, visit, &r, H5O_INFO_BASIC) < 0) {
        rc = err->code != ST_OK ? err->code : st_h5_fail(err, from, NULL, "walk through");
    }
    for (size_t i = 0; i < r.n; i++) {
        if (rc == ST_OK) {
            rc = st_axis_close(&r.scales[i].axis, err);
        }
        st_axis_clear(&r.scales[i].axis);
    }
    st_free(r.scales);
    return rc;
}

/* ---- one launch ---- */

static herr_t copy_attribute(hid_t from, const char *name, const H5A_info_t *info,
                             void *context)
{
    const hid_t to = *(const hid_t *)context;
    hid_t source = H5Aopen(from, name, H5P_DEFAULT);
    hid_t type = H5Aget_type(source);
    hid_t space = H5Aget_space(source);
    struct st_error err = {0};
    void *data = st_calloc(&err, (size_t)info->data_size + 1, 1);
    herr_t rc = -1;

    if (data != NULL && H5Aread(source, type, data) >= 0) {
        hid_t copy = H5Acreate2(to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        rc = copy >= 0 ? H5Awrite(copy, type, data) : -1;
        st_h5_drop(&copy);
    }
    st_free(data);
    st_h5_drop(&space);
    st_h5_drop(&type);
    st_h5_drop(&source);
    return rc;
}

static enum st_status copy_launch(const struct st_file *file, hid_t launches,
                                  size_t number, struct st_error *err)
{
    static const char *const parts[] = {"run", "system", "steps", "verdicts"};
    const struct st_file_reader *reader = file->handle;
    char name[24];

    st_step_group_name(number, name);
    hid_t to = st_h5_group(launches, name, err);
    enum st_status rc = to >= 0 ? ST_OK : err->code;
    if (rc == ST_OK && H5Aiterate2(reader->root, H5_INDEX_NAME, H5_ITER_INC, NULL,
                                   copy_attribute, &to) < 0) {
        rc = st_h5_fail(err, reader->root, NULL, "copy the attributes of");
    }
    for (size_t i = 0; rc == ST_OK && i < ST_COUNT(parts); i++) {
        if (st_h5_has(reader->root, parts[i]) &&
            H5Ocopy(reader->root, parts[i], to, parts[i], H5P_DEFAULT, H5P_DEFAULT) < 0) {
            rc = st_h5_fail(err, reader->root, parts[i], "copy");
        }
    }
    rc = rc == ST_OK ? relay_scales(reader->root, to, err) : rc;
    st_h5_drop(&to);
    return rc;
}

/* ---- may they stand in one study? ---- */

struct study {
    size_t n;
    struct st_file **files;   /* [n] */
    const char *const *names; /* [n] as given */
};

/* First line in which two texts differ, for the message. */
static void first_difference(const char *a, const char *b, size_t *line, int n[2],
                             const char *at[2])
{
    *line = 1;
    for (;;) {
        const size_t n_a = strcspn(a, "\n");
        const size_t n_b = strcspn(b, "\n");
        if (n_a != n_b || memcmp(a, b, n_a) != 0 || a[n_a] == '\0' || b[n_b] == '\0') {
            at[0] = a;
            at[1] = b;
            n[0] = (int)(n_a < SHOWN ? n_a : SHOWN);
            n[1] = (int)(n_b < SHOWN ? n_b : SHOWN);
            return;
        }
        a += n_a + 1;
        b += n_b + 1;
        (*line)++;
    }
}

static enum st_status same(const struct study *s, size_t k, const char *what,
                           const char *const text[2], struct st_error *err)
{
    const char *at[2];
    int n[2];
    size_t line = 1;

    if (strcmp(text[0], text[1]) == 0) {
        return ST_OK;
    }
    first_difference(text[0], text[1], &line, n, at);
    return st_fail(err, ST_ERR_CONFIG,
                   "'%s' and '%s' do not belong to one study: %s differs in line %zu: "
                   "'%.*s' and '%.*s'",
                   s->names[0], s->names[k], what, line, n[0], at[0], n[1], at[1]);
}

static enum st_status same_run(const struct study *s, size_t k, struct st_error *err)
{
    struct st_run_row first = {0};
    struct st_run_row other = {0};
    struct st_pool pool = {0};
    enum st_status rc = st_file_reader_run(s->files[0], &first, &pool, err);

    if (rc == ST_OK) {
        rc = st_file_reader_run(s->files[k], &other, &pool, err);
    }
    const struct {
        const char *what;
        const char *text[2];
    } rows[] = {{"the config", {first.config, other.config}},
                {"the list of --set changes", {first.overrides, other.overrides}},
                {"the program", {first.binary, other.binary}},
                {"the MPI library", {first.mpi_library, other.mpi_library}}};
    for (size_t i = 0; rc == ST_OK && i < ST_COUNT(rows); i++) {
        rc = same(s, k, rows[i].what, rows[i].text, err);
    }
    st_pool_clear(&pool);
    return rc;
}

/* Ranks per node and kind of node: what all nodes of both launches have in common. */
static enum st_status same_layout(const struct study *s, size_t k, struct st_error *err)
{
    const struct st_file_node *first = &s->files[0]->nodes[0];

    for (size_t i = 0; i < s->files[k]->n_nodes; i++) {
        const struct st_file_node *node = &s->files[k]->nodes[i];
        if (node->n_usable_cores != first->n_usable_cores ||
            node->n_usable_pus != first->n_usable_pus) {
            return st_fail(err, ST_ERR_CONFIG,
                           "'%s' and '%s' do not belong to one study: node %s has %zu "
                           "usable cores and %zu hardware threads, node %s %zu and %zu",
                           s->names[0], s->names[k], first->host, first->n_usable_cores,
                           first->n_usable_pus, node->host, node->n_usable_cores,
                           node->n_usable_pus);
        }
        if (node->n_ranks != first->n_ranks) {
            return st_fail(err, ST_ERR_CONFIG,
                           "'%s' and '%s' do not belong to one study: %zu ranks were "
                           "started on node %s and %zu on node %s; cores per rank must "
                           "stay the same",
                           s->names[0], s->names[k], first->n_ranks, first->host,
                           node->n_ranks, node->host);
        }
    }
    return ST_OK;
}

/* The begin is known to the second only; the length of a run tells two launches apart. */
static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static enum st_status once(const struct study *s, size_t k, struct st_error *err)
{
    for (size_t i = 0; i < k; i++) {
        const struct st_file *a = s->files[i];
        const struct st_file *b = s->files[k];
        if (strcmp(a->created, b->created) == 0 && a->n_ranks == b->n_ranks &&
            same_bits(a->wall_s, b->wall_s) && a->n_nodes == b->n_nodes &&
            a->n_nodes > 0 && strcmp(a->nodes[0].host, b->nodes[0].host) == 0) {
            return st_fail(err, ST_ERR_CONFIG,
                           "'%s' and '%s' are the same launch, begun %s on %s",
                           s->names[i], s->names[k], a->created, a->nodes[0].host);
        }
    }
    return ST_OK;
}

static enum st_status check(const struct study *s, struct st_error *err)
{
    enum st_status rc = ST_OK;

    for (size_t k = 0; rc == ST_OK && k < s->n; k++) {
        if (s->files[k]->n_nodes == 0) {
            rc = st_fail(err, ST_ERR_IO, "'%s' has no nodes", s->names[k]);
        }
        if (rc == ST_OK && k > 0) {
            rc = same_run(s, k, err);
        }
        if (rc == ST_OK) {
            rc = same_layout(s, k, err);
        }
        if (rc == ST_OK) {
            rc = once(s, k, err);
        }
    }
    return rc;
}

/* ---- the study ---- */

static void get_launch(const void *source, size_t i, void *row, char *room)
{
    const struct study *s = source;
    const struct st_file *f = s->files[i];

    (void)room;
    *(struct st_launch_row *)row = (struct st_launch_row){.file = s->names[i],
                                                          .created = f->created,
                                                          .campaign = f->campaign,
                                                          .status = f->status,
                                                          .n_nodes = f->n_nodes,
                                                          .n_ranks = f->n_ranks};
}

static enum st_status write_study(const struct study *s, hid_t file, struct st_error *err)
{
    char now[ST_TIME_TEXT];
    const struct st_file *f = s->files[0];
    struct st_root_row root = {.format = "seatrial",
                               .format_version = ST_FORMAT_VERSION,
                               .conventions =
                                   "UDUNITS units; CF flags, coordinates and _FillValue",
                               .status = "study",
                               .reason = "",
                               .campaign = f->campaign,
                               .created = st_time_text(now),
                               .updated = now,
                               .n_steps_planned = f->n_steps_planned,
                               .n_launches = s->n};
    for (size_t k = 0; k < s->n; k++) {
        root.fake_nodes = root.fake_nodes || s->files[k]->fake_nodes;
        root.n_ranks =
            s->files[k]->n_ranks > root.n_ranks ? s->files[k]->n_ranks : root.n_ranks;
        root.n_nodes =
            s->files[k]->n_nodes > root.n_nodes ? s->files[k]->n_nodes : root.n_nodes;
        root.wall_s += s->files[k]->wall_s;
    }
    enum st_status rc = st_record_write(file, &st_table_root, &root, err);
    if (rc == ST_OK) {
        rc = st_table_write(file, "launches", &st_table_launches, s->n, get_launch, s,
                            err);
    }
    hid_t launches = rc == ST_OK ? st_h5_open_group(file, "launches", err) : -1;
    for (size_t k = 0; rc == ST_OK && k < s->n; k++) {
        rc = launches >= 0 ? copy_launch(s->files[k], launches, k, err) : err->code;
    }
    st_h5_drop(&launches);
    return rc;
}

enum st_status st_study_merge(const char *path, size_t n, const char *const *files,
                              struct st_error *err)
{
    struct study s = {.names = files};
    struct st_store *store = NULL;
    enum st_status rc = ST_OK;

    s.files = st_calloc(err, n, sizeof *s.files);
    if (s.files == NULL) {
        return ST_ERR_MEMORY;
    }
    while (rc == ST_OK && s.n < n) {
        rc = st_file_open(files[s.n], &s.files[s.n], err);
        s.n += rc == ST_OK ? 1 : 0;
    }
    if (rc == ST_OK) {
        rc = check(&s, err);
    }
    if (rc == ST_OK && access(path, F_OK) == 0) {
        rc = st_fail(err, ST_ERR_IO,
                     "'%s' exists and is never overwritten: name another file", path);
    }
    if (rc == ST_OK) {
        rc = st_store_create(path, &store, err);
    }
    if (rc == ST_OK) {
        rc = write_study(&s, store->file, err);
        if (rc != ST_OK) {
            rc = st_store_blame(store, err);
            st_store_discard(&store);
        }
    }
    if (rc == ST_OK) {
        rc = st_store_commit(&store, false, err);
    }
    for (size_t k = 0; k < s.n; k++) {
        st_file_close(&s.files[k]);
    }
    st_free(s.files);
    return rc;
}

enum st_status st_study_launches(const char *path, size_t *n, struct st_error *err)
{
    struct st_store *store = NULL;
    hid_t group = -1;
    enum st_status rc = st_store_open(path, &store, err);

    *n = 0;
    if (rc == ST_OK && st_h5_has(store->file, "launches")) {
        group = st_h5_open_group(store->file, "launches", err);
        rc = group >= 0 ? st_table_length(group, &st_table_launches, "", n, err)
                        : err->code;
    }
    st_h5_drop(&group);
    st_store_discard(&store);
    return rc;
}
