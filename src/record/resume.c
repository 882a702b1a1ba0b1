#include "src/record/results.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/record/reader.h"

#include <hdf5.h>
#include <stdio.h>
#include <string.h>

/*
 * Going on with a file. It must come from the same config on the same nodes: samples of two
 * configs or of two sets of nodes in one file would be mistaken for one measurement. Steps
 * that are not complete are taken out and measured again under their numbers; the space they
 * held stays in the file unused.
 */

enum {
    SHOWN_CHARACTERS = 60
};

/* The end of the line that starts at @p text. */
static size_t line_length(const char *text)
{
    return strcspn(text, "\n");
}

static enum st_status tell_difference(const char *path, const char *what, size_t line,
                                      const char *old, const char *now,
                                      struct st_error *err)
{
    const size_t n_old = line_length(old);
    const size_t n_now = line_length(now);
    const int shown_old = (int)(n_old < SHOWN_CHARACTERS ? n_old : SHOWN_CHARACTERS);
    const int shown_now = (int)(n_now < SHOWN_CHARACTERS ? n_now : SHOWN_CHARACTERS);

    return st_fail(
        err, ST_ERR_CONFIG,
        "'%s' cannot be resumed: its %s differs in line %zu: it was '%.*s' and is "
        "now '%.*s'; use the same config and options, or start a new file",
        path, what, line, shown_old, old, shown_now, now);
}

/* Compare two texts; the first line that differs is shown. */
static enum st_status same_text(const char *path, const char *what, const char *old,
                                const char *now, struct st_error *err)
{
    size_t line = 1;

    while (*old != '\0' || *now != '\0') {
        const size_t n_old = line_length(old);
        const size_t n_now = line_length(now);
        if (n_old != n_now || memcmp(old, now, n_old) != 0 || old[n_old] != now[n_now]) {
            return tell_difference(path, what, line, old, now, err);
        }
        old += n_old + (old[n_old] == '\n' ? 1 : 0);
        now += n_now + (now[n_now] == '\n' ? 1 : 0);
        line++;
    }
    return ST_OK;
}

/* As the file holds it: bytes that are not UTF-8 were replaced on writing. */
static enum st_status same_stored_text(const char *path, const char *what,
                                       const char *old, const char *now,
                                       struct st_error *err)
{
    const size_t size = strlen(now) + 1;
    char *stored = st_calloc(err, size, 1);
    enum st_status rc = ST_OK;

    if (stored == NULL) {
        return err->code;
    }
    st_h5_put_text(stored, size, now);
    rc = same_text(path, what, old, stored, err);
    st_free(stored);
    return rc;
}

static enum st_status same_config(const struct st_file *file,
                                  const struct st_run_info *info, struct st_error *err)
{
    struct st_run_row run = {0};
    struct st_pool pool = {0};
    enum st_status rc = st_file_reader_run(file, &run, &pool, err);

    if (rc == ST_OK) {
        rc = same_stored_text(
            file->path, "config", run.config,
            info->plan->config_text != NULL ? info->plan->config_text : "", err);
    }
    if (rc == ST_OK) {
        rc = same_stored_text(file->path, "list of --set changes", run.overrides,
                              info->plan->overrides != NULL ? info->plan->overrides : "",
                              err);
    }
    st_pool_clear(&pool);
    if (rc == ST_OK && file->n_steps_planned != info->plan->n_steps) {
        return st_fail(
            err, ST_ERR_CONFIG,
            "'%s' cannot be resumed: it was planned with %zu steps, now there are "
            "%zu (--only must be the same)",
            file->path, file->n_steps_planned, info->plan->n_steps);
    }
    return rc;
}

static enum st_status same_machine(const struct st_file *file,
                                   const struct st_run_info *info, struct st_error *err)
{
    const struct st_machine *machine = info->machine;

    if (file->n_nodes != machine->n_nodes ||
        file->n_ranks != (size_t)machine->world.n_ranks) {
        return st_fail(
            err, ST_ERR_CONFIG,
            "'%s' cannot be resumed: it was measured with %zu ranks on %zu nodes, "
            "now there are %zu on %zu; start as many again, or measure into a new file "
            "(-o NEW.h5)",
            file->path, file->n_ranks, file->n_nodes, (size_t)machine->world.n_ranks,
            machine->n_nodes);
    }
    for (size_t i = 0; i < file->n_nodes; i++) {
        if (strcmp(file->nodes[i].host, machine->nodes[i].host) != 0) {
            return st_fail(
                err, ST_ERR_CONFIG,
                "'%s' cannot be resumed: its node %zu was '%s' and is now '%s', and "
                "steps of different nodes in one file would be taken for one machine. "
                "Start on the same nodes in the same order, or measure all steps on "
                "these nodes into a new file (-o NEW.h5) and put both into one study "
                "with `seatrial merge STUDY.h5 %s NEW.h5`",
                file->path, i, file->nodes[i].host, machine->nodes[i].host, file->path);
        }
    }
    return ST_OK;
}

static enum st_status mark_finished(const struct st_file *file,
                                    struct st_results *results,
                                    const struct st_plan *plan, bool *finished,
                                    struct st_error *err)
{
    for (size_t i = 0; i < file->n_steps; i++) {
        const struct st_file_step *step = &file->steps[i];
        if (step->number >= plan->n_steps ||
            strcmp(step->name, plan->steps[step->number].name) != 0) {
            return st_fail(
                err, ST_ERR_CONFIG,
                "'%s' cannot be resumed: its step %zu is '%s', which is not the "
                "plan's",
                file->path, step->number, step->name);
        }
        if (step->state == ST_STEP_COMPLETE) {
            finished[step->number] = true;
            results->n_finished++;
        }
    }
    return ST_OK;
}

static enum st_status drop_unfinished(hid_t hdf5, const struct st_file *file,
                                      struct st_error *err)
{
    hid_t steps = st_h5_open_group(hdf5, "steps", err);
    enum st_status rc = steps >= 0 ? ST_OK : err->code;
    char name[24];

    for (size_t i = 0; rc == ST_OK && i < file->n_steps; i++) {
        if (file->steps[i].state != ST_STEP_COMPLETE) {
            st_step_group_name(file->steps[i].number, name);
            if (H5Ldelete(steps, name, H5P_DEFAULT) < 0) {
                rc = st_h5_fail(err, steps, name, "take out");
            }
        }
    }
    st_h5_drop(&steps);
    return rc;
}

static enum st_status write_state(struct st_results *results, hid_t hdf5,
                                  size_t n_launches, struct st_error *err)
{
    static const size_t members[] = {offsetof(struct st_root_row, status),
                                     offsetof(struct st_root_row, reason),
                                     offsetof(struct st_root_row, n_launches)};
    const struct st_root_row row = {
        .status = "running", .reason = "", .n_launches = n_launches};
    enum st_status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < ST_COUNT(members); i++) {
        rc = st_record_update(hdf5, &st_table_root, members[i], &row, err);
    }
    return rc == ST_OK ? st_touch_root(results, hdf5, err) : rc;
}

static enum st_status put_version(struct st_results *results, const struct st_file *file,
                                  struct st_error *err)
{
    struct st_store *store = NULL;
    size_t n_launches = 0;
    enum st_status rc = st_file_reader_launches(file, &n_launches, err);

    if (rc == ST_OK) {
        rc = st_store_edit(results->path, &store, err);
    }
    if (rc == ST_OK) {
        rc = drop_unfinished(store->file, file, err);
    }
    if (rc == ST_OK) {
        rc = write_state(results, store->file, n_launches + 1, err);
    }
    if (rc == ST_OK) {
        return st_store_commit(&store, true, err);
    }
    if (store != NULL) {
        rc = st_results_blame(results, store, err);
        st_store_discard(&store);
    }
    return rc;
}

enum st_status st_results_resume(struct st_results *results,
                                 const struct st_run_info *info, bool *finished,
                                 struct st_error *err)
{
    struct st_file *file = NULL;
    enum st_status rc = st_file_open(results->path, &file, err);

    if (rc != ST_OK) {
        return st_note(err, " (it cannot be resumed)");
    }
    rc = same_config(file, info, err);
    if (rc == ST_OK) {
        rc = same_machine(file, info, err);
    }
    if (rc == ST_OK) {
        rc = mark_finished(file, results, info->plan, finished, err);
    }
    if (rc == ST_OK) {
        results->earlier_wall_s = file->wall_s;
        rc = put_version(results, file, err);
    }
    if (rc == ST_OK) {
        st_store_sweep(results->path);
    }
    st_file_close(&file);
    return rc;
}
