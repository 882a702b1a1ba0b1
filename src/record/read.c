#include "src/record/reader.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A results file as judge and show see it. The file may be damaged, foreign or newer: each
 * object is checked as it is read (table_read.c), and the first thing that is wrong is named.
 */

static enum st_status read_version(struct st_file *f, hid_t root, struct st_error *err)
{
    static const struct st_column format = {"format", ST_COLUMN_TEXT, 0, NULL, ""};
    static const struct st_column version = {"format_version", ST_COLUMN_SIZE, 0, NULL,
                                             ""};
    const struct st_table format_table = {
        .form = ST_FORM_ATTRIBUTES, .n_columns = 1, .columns = &format};
    const struct st_table version_table = {
        .form = ST_FORM_ATTRIBUTES, .n_columns = 1, .columns = &version};
    const char *name = "";
    size_t number = 0;
    struct st_pool pool = {0};
    enum st_status rc = ST_OK;

    if (H5Aexists(root, "format") > 0) {
        rc = st_record_read(root, &format_table, &name, &pool, err);
    }
    if (rc == ST_ERR_IO || (rc == ST_OK && strcmp(name, "seatrial") != 0)) {
        H5Eclear2(H5E_DEFAULT);
        rc = st_fail(err, ST_ERR_IO,
                     "'%s' is an HDF5 file, but not a results file of seatrial", f->path);
    }
    if (rc == ST_OK) {
        rc = st_record_read(root, &version_table, &number, &pool, err);
    }
    if (rc == ST_OK && (number < 1 || number > ST_FORMAT_VERSION)) {
        rc = st_fail(
            err, ST_ERR_IO,
            "'%s' has format %zu; this seatrial reads formats up to %d: use a newer one",
            f->path, number, (int)ST_FORMAT_VERSION);
    }
    f->format = (int)number;
    st_pool_clear(&pool);
    return rc;
}

static enum st_status read_root(struct st_file *f, hid_t root, struct st_error *err)
{
    struct st_root_row row = {0};
    struct st_pool pool = {0};
    enum st_status rc = st_record_read(root, &st_table_root, &row, &pool, err);

    if (rc == ST_OK) {
        st_copy(f->campaign, sizeof f->campaign, row.campaign);
        st_copy(f->status, sizeof f->status, row.status);
        st_copy(f->reason, sizeof f->reason, row.reason);
        st_copy(f->created, sizeof f->created, row.created);
        f->fake_nodes = row.fake_nodes;
        f->judge_fake_nodes = row.judge_fake_nodes;
        f->n_ranks = row.n_ranks;
        f->n_steps_planned = row.n_steps_planned;
        f->wall_s = row.wall_s;
        f->start_up_s = row.start_up_s;
    }
    st_pool_clear(&pool);
    return rc;
}

enum st_status st_file_reader_run(const struct st_file *file, struct st_run_row *run,
                                  struct st_pool *pool, struct st_error *err)
{
    const struct st_file_reader *reader = file->handle;
    hid_t group = st_h5_open_group(reader->root, "run", err);
    enum st_status rc =
        group >= 0 ? st_record_read(group, &st_table_run, run, pool, err) : err->code;

    st_h5_drop(&group);
    return rc;
}

enum st_status st_file_reader_launches(const struct st_file *file, size_t *n,
                                       struct st_error *err)
{
    const struct st_file_reader *reader = file->handle;
    struct st_root_row row = {0};
    struct st_pool pool = {0};
    enum st_status rc = st_record_read(reader->root, &st_table_root, &row, &pool, err);

    *n = row.n_launches;
    st_pool_clear(&pool);
    return rc;
}

static enum st_status read_run(struct st_file *f, struct st_error *err)
{
    struct st_run_row row = {0};
    struct st_pool pool = {0};
    enum st_status rc = st_file_reader_run(f, &row, &pool, err);

    if (rc == ST_OK) {
        st_copy(f->version, sizeof f->version, row.binary);
        st_copy(f->command, sizeof f->command, row.command);
        st_copy(f->mpi_library, sizeof f->mpi_library, row.mpi_library);
    }
    st_pool_clear(&pool);
    return rc;
}

static enum st_status take_node(void *target, size_t i, const void *row,
                                struct st_error *err)
{
    const struct st_node_row *from = row;
    struct st_file_node *to = &((struct st_file *)target)->nodes[i];

    (void)err;
    st_copy(to->host, sizeof to->host, from->host);
    to->n_ranks = from->n_ranks;
    to->n_usable_cores = from->n_usable_cores;
    to->n_usable_pus = from->n_usable_pus;
    to->topology_class = from->topology_class;
    to->memory_bytes = from->memory == SIZE_MAX ? 0 : from->memory;
    return ST_OK;
}

static enum st_status read_nodes(struct st_file *f, hid_t system, struct st_error *err)
{
    hid_t group = st_h5_open_group(system, "nodes", err);
    enum st_status rc =
        group >= 0 ? st_table_length(group, &st_table_nodes, "", &f->n_nodes, err)
                   : err->code;

    if (rc == ST_OK) {
        f->nodes = st_calloc(err, f->n_nodes, sizeof *f->nodes);
        rc = f->nodes != NULL ? st_table_read(group, &st_table_nodes, "", f->n_nodes,
                                              take_node, f, err)
                              : err->code;
    }
    st_h5_drop(&group);
    return rc;
}

static enum st_status read_system(struct st_file *f, hid_t root, struct st_error *err)
{
    struct st_system_row row = {0};
    struct st_pool pool = {0};
    hid_t system = st_h5_open_group(root, "system", err);
    enum st_status rc = system >= 0
                            ? st_record_read(system, &st_table_system, &row, &pool, err)
                            : err->code;

    if (rc == ST_OK) {
        st_copy(f->warnings, sizeof f->warnings, row.warnings);
        rc = read_nodes(f, system, err);
    }
    st_h5_drop(&system);
    st_pool_clear(&pool);
    return rc;
}

static int by_number(const void *a, const void *b)
{
    const size_t x = ((const struct st_file_step *)a)->number;
    const size_t y = ((const struct st_file_step *)b)->number;

    return (x > y) - (x < y);
}

static enum st_status read_step(hid_t steps, hsize_t position, struct st_file_step *out,
                                struct st_error *err)
{
    char name[64] = "";
    hid_t group = -1;
    enum st_status rc = ST_OK;

    if (H5Lget_name_by_idx(steps, ".", H5_INDEX_NAME, H5_ITER_INC, position, name,
                           sizeof name, H5P_DEFAULT) < 0) {
        return st_h5_fail(err, steps, NULL, "list");
    }
    group = st_h5_open_group(steps, name, err);
    rc = group >= 0 ? st_file_reader_step(group, out, err) : err->code;
    st_h5_drop(&group);
    return rc;
}

static enum st_status read_steps(struct st_file *f, hid_t root, struct st_error *err)
{
    H5G_info_t info;
    hid_t steps = st_h5_open_group(root, "steps", err);
    enum st_status rc = steps >= 0 ? ST_OK : err->code;

    if (rc == ST_OK && H5Gget_info(steps, &info) < 0) {
        rc = st_h5_fail(err, steps, NULL, "list");
    }
    if (rc == ST_OK && info.nlinks > ST_MAX_STEPS) {
        rc = st_fail(err, ST_ERR_IO,
                     "'/steps' has %llu entries, more than a campaign can have",
                     (unsigned long long)info.nlinks);
    }
    if (rc == ST_OK) {
        f->steps = st_calloc(err, (size_t)info.nlinks, sizeof *f->steps);
        rc = f->steps != NULL ? ST_OK : err->code;
    }
    while (rc == ST_OK && f->n_steps < info.nlinks) {
        f->n_steps++; /* counted first: a half-read step is cleared too */
        rc = read_step(steps, f->n_steps - 1, &f->steps[f->n_steps - 1], err);
    }
    st_h5_drop(&steps);
    if (rc == ST_OK && f->n_steps > 0) {
        qsort(f->steps, f->n_steps, sizeof *f->steps, by_number);
    }
    return rc;
}

static enum st_status read_all(struct st_file *f, struct st_error *err)
{
    const struct st_file_reader *reader = f->handle;
    const hid_t root = reader->root;
    enum st_status rc = read_version(f, root, err);

    if (rc != ST_OK) {
        return rc; /* says which file */
    }
    rc = read_root(f, root, err);
    if (rc == ST_OK) {
        rc = read_run(f, err);
    }
    if (rc == ST_OK) {
        rc = read_system(f, root, err);
    }
    if (rc == ST_OK) {
        rc = read_steps(f, root, err);
    }
    if (rc == ST_ERR_IO) {
        st_note(err, " (in '%s': damaged, or changed by another program)", f->path);
    }
    return rc;
}

/* The file itself, or a launch of a study. */
static enum st_status find_root(struct st_file_reader *reader, const char *path,
                                size_t launch, struct st_error *err)
{
    const bool is_study = st_h5_has(reader->store->file, "launches");
    char name[40];

    if (!is_study) {
        reader->root = reader->store->file;
        return launch == SIZE_MAX
                   ? ST_OK
                   : st_fail(err, ST_ERR_USAGE, "'%s' holds one launch; it is no study",
                             path);
    }
    if (launch == SIZE_MAX) {
        return st_fail(err, ST_ERR_USAGE,
                       "'%s' is a study of several launches; say which one (--launch N, "
                       "from 0)",
                       path);
    }
    (void)snprintf(name, sizeof name, "launches/%04zu", launch);
    if (H5Lexists(reader->store->file, name, H5P_DEFAULT) <= 0) {
        H5Eclear2(H5E_DEFAULT);
        return st_fail(err, ST_ERR_USAGE, "'%s' has no launch %zu", path, launch);
    }
    reader->root = st_h5_open_group(reader->store->file, name, err);
    return reader->root >= 0 ? ST_OK : err->code;
}

enum st_status st_file_open(const char *path, struct st_file **out, struct st_error *err)
{
    return st_file_open_launch(path, SIZE_MAX, out, err);
}

enum st_status st_file_open_launch(const char *path, size_t launch, struct st_file **out,
                                   struct st_error *err)
{
    struct st_file *f = st_calloc(err, 1, sizeof *f);
    struct st_file_reader *reader = f != NULL ? st_calloc(err, 1, sizeof *reader) : NULL;
    enum st_status rc = reader != NULL ? ST_OK : ST_ERR_MEMORY;

    if (rc == ST_OK) {
        reader->step = reader->metric = SIZE_MAX;
        reader->values = reader->validity = reader->root = -1;
        f->handle = reader;
        f->path = st_strdup(err, path);
        rc = f->path != NULL ? st_store_open(path, &reader->store, err) : ST_ERR_MEMORY;
    }
    if (rc == ST_OK) {
        rc = find_root(reader, path, launch, err);
    }
    if (rc == ST_OK) {
        rc = read_all(f, err);
    }
    if (rc != ST_OK) {
        st_file_close(&f);
        return rc;
    }
    *out = f;
    return ST_OK;
}

void st_file_close(struct st_file **file)
{
    struct st_file *f = *file;
    struct st_file_reader *reader = f != NULL ? f->handle : NULL;

    if (f == NULL) {
        return;
    }
    for (size_t i = 0; i < f->n_steps; i++) {
        st_file_reader_step_clear(&f->steps[i]);
    }
    if (reader != NULL) {
        st_h5_drop(&reader->values);
        st_h5_drop(&reader->validity);
        if (reader->store != NULL && reader->root != reader->store->file) {
            st_h5_drop(&reader->root);
        }
        st_store_discard(&reader->store);
        st_free(reader->row);
        st_free(reader->codes);
        st_free(reader);
    }
    st_free(f->steps);
    st_free(f->nodes);
    st_free(f->path);
    st_free(f);
    *file = NULL;
}
