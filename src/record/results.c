#include "src/record/results.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A results file's life: create or resume, steps through the sink, finish, close. HDF5 and
 * this folder keep no state between calls but struct st_results; calls from several threads
 * must be serialised by the caller (src/measure holds a lock around the sink).
 */

enum st_status st_results_blame(const struct st_results *results,
                                const struct st_store *store, struct st_error *err)
{
    if (store != NULL) {
        st_store_blame(store, err);
    }
    if (err->code != ST_ERR_IO) {
        return err->code;
    }
    return st_note(
        err,
        "; the %zu finished step%s in '%s', which was not changed: make room or "
        "mend the cause and go on with --resume",
        results->n_finished, results->n_finished == 1 ? " is" : "s are", results->path);
}

enum st_status st_touch_root(const struct st_results *results, hid_t file,
                             struct st_error *err)
{
    char now[ST_TIME_TEXT];
    const struct st_root_row row = {
        .updated = st_time_text(now),
        .wall_s = results->earlier_wall_s + (st_now() - results->begin_s),
        .write_s = results->write_s,
    };
    enum st_status rc = st_record_update(
        file, &st_table_root, offsetof(struct st_root_row, updated), &row, err);

    if (rc == ST_OK) {
        rc = st_record_update(file, &st_table_root, offsetof(struct st_root_row, wall_s),
                              &row, err);
    }
    return rc == ST_OK
               ? st_record_update(file, &st_table_root,
                                  offsetof(struct st_root_row, write_s), &row, err)
               : rc;
}

/* The file itself, not a symbolic link to it: rename() would replace the link. */
static enum st_status resolve(const char *path, bool resume, char **out,
                              struct st_error *err)
{
    char real[PATH_MAX];
    struct stat info;

    if (path[0] == '\0') {
        return st_fail(err, ST_ERR_IO, "the name of the results file is empty");
    }
    if (lstat(path, &info) != 0) {
        if (resume || errno != ENOENT) {
            return st_fail(err, ST_ERR_IO, "cannot %s '%s': %s",
                           resume ? "resume" : "create the results file", path,
                           strerror(errno));
        }
        *out = st_strdup(err, path);
        return *out != NULL ? ST_OK : err->code;
    }
    if (!resume) {
        return st_fail(
            err, ST_ERR_IO,
            "'%s' exists and is never overwritten: name another file with -o, move "
            "it away, or go on with it by --resume",
            path);
    }
    if (realpath(path, real) == NULL) {
        return st_fail(err, ST_ERR_IO, "cannot resume '%s': %s", path, strerror(errno));
    }
    *out = st_strdup(err, real);
    return *out != NULL ? ST_OK : err->code;
}

static enum st_status keep_hosts(struct st_results *r, const struct st_machine *machine,
                                 struct st_error *err)
{
    char name[ST_HOST_SIZE + 24];

    r->hosts = st_calloc(err, machine->n_nodes, sizeof *r->hosts);
    if (r->hosts == NULL) {
        return err->code;
    }
    for (r->n_nodes = 0; r->n_nodes < machine->n_nodes; r->n_nodes++) {
        /* Pretended nodes share a host name; their labels must not. */
        const struct st_node *node = &machine->nodes[r->n_nodes];
        if (machine->fake_nodes) {
            (void)st_print(name, sizeof name, "%s#%zu", node->host, r->n_nodes);
        } else {
            (void)st_copy(name, sizeof name, node->host);
        }
        r->hosts[r->n_nodes] = st_strdup(err, name);
        if (r->hosts[r->n_nodes] == NULL) {
            return err->code;
        }
    }
    return ST_OK;
}

static enum st_status write_first(struct st_results *r, const struct st_run_info *info,
                                  struct st_error *err)
{
    struct st_store *store = NULL;
    enum st_status rc = st_store_create(r->path, &store, err);

    if (rc != ST_OK) {
        return rc; /* nothing is finished yet: the text stands for itself */
    }
    rc = st_write_head(store->file, info, err);
    if (rc != ST_OK) {
        rc = st_store_blame(store, err);
        st_store_discard(&store);
        return rc;
    }
    return st_store_commit(&store, false, err);
}

enum st_status st_results_create(const char *path, const struct st_run_info *info,
                                 bool resume, bool *finished, struct st_results **out,
                                 struct st_error *err)
{
    struct st_results *r = st_calloc(err, 1, sizeof *r);
    enum st_status rc = r != NULL ? ST_OK : err->code;

    if (rc == ST_OK) {
        r->begin_s = st_now();
        r->sink = (struct st_sink){r, st_step_begin, st_step_block, st_step_end};
        rc = resolve(path, resume, &r->path, err);
    }
    if (rc == ST_OK) {
        rc = keep_hosts(r, info->machine, err);
    }
    if (rc == ST_OK) {
        rc = resume ? st_results_resume(r, info, finished, err)
                    : write_first(r, info, err);
    }
    if (rc != ST_OK) {
        st_results_close(&r);
        return rc;
    }
    r->write_s += st_now() - r->begin_s;
    *out = r;
    return ST_OK;
}

const struct st_sink *st_results_sink(struct st_results *results)
{
    return &results->sink;
}

enum st_status st_results_finish(struct st_results *results, const char *status,
                                 const char *reason, struct st_error *err)
{
    const double start = st_now();
    const struct st_root_row row = {.status = status,
                                    .reason = reason != NULL ? reason : ""};
    struct st_store *store = NULL;
    enum st_status rc = ST_OK;

    st_step_discard(results); /* a step that never ended does not get in */
    rc = st_store_edit(results->path, &store, err);
    if (rc == ST_OK) {
        rc = st_record_update(store->file, &st_table_root,
                              offsetof(struct st_root_row, status), &row, err);
    }
    if (rc == ST_OK) {
        rc = st_record_update(store->file, &st_table_root,
                              offsetof(struct st_root_row, reason), &row, err);
    }
    if (rc == ST_OK) {
        rc = st_touch_root(results, store->file, err);
    }
    if (rc == ST_OK) {
        rc = st_store_commit(&store, true, err);
    }
    if (rc != ST_OK) {
        rc = st_results_blame(results, store, err);
        st_store_discard(&store);
    }
    results->write_s += st_now() - start;
    return rc;
}

void st_results_close(struct st_results **results)
{
    struct st_results *r = *results;

    if (r == NULL) {
        return;
    }
    st_step_discard(r);
    for (size_t i = 0; i < r->n_nodes; i++) {
        st_free(r->hosts[i]);
    }
    st_free(r->hosts);
    st_free(r->path);
    st_free(r);
    *results = NULL;
}

double st_results_write_s(const struct st_results *results)
{
    return results->write_s;
}
