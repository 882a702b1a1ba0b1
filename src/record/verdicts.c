#include "src/record/format.h"
#include "src/record/results.h"

/*
 * /verdicts: what the judge made of the file, for readers that do not judge themselves. The
 * judge comes after this folder, so its rows arrive as plain texts and numbers.
 */

static void get_verdict(const void *source, size_t i, void *row, char *room)
{
    const struct st_verdict_line *from = (const struct st_verdict_line *)source + i;
    struct st_verdict_table_row *to = row;

    (void)room;
    *to = (struct st_verdict_table_row){
        .step = from->step,
        .n = from->n,
        .metric = from->metric,
        .place = from->place,
        .statistic = from->statistic,
        .unit = from->unit,
        .outcome = from->outcome,
        .text = from->text,
        .value = from->value,
        .low = from->low,
        .high = from->high,
        .bound = from->bound,
    };
}

static enum st_status write_group(hid_t file, size_t n,
                                  const struct st_verdict_line *lines,
                                  const struct st_judgement_row *judgement,
                                  struct st_error *err)
{
    const htri_t there = H5Lexists(file, "verdicts", H5P_DEFAULT);

    if (there < 0 || (there > 0 && H5Ldelete(file, "verdicts", H5P_DEFAULT) < 0)) {
        return st_fail(err, ST_ERR_IO, "an older /verdicts cannot be removed");
    }
    enum st_status rc =
        st_table_write(file, "verdicts", &st_table_verdicts, n, get_verdict, lines, err);
    if (rc != ST_OK) {
        return rc;
    }
    const hid_t group = H5Gopen2(file, "verdicts", H5P_DEFAULT);
    if (group < 0) {
        return st_fail(err, ST_ERR_IO, "/verdicts cannot be opened again");
    }
    rc = st_record_write(group, &st_table_judgement, judgement, err);
    if (H5Gclose(group) < 0 && rc == ST_OK) {
        rc = st_fail(err, ST_ERR_IO, "/verdicts cannot be closed");
    }
    return rc;
}

enum st_status st_results_verdicts(struct st_results *results, size_t n,
                                   const struct st_verdict_line *lines,
                                   const char *outcome, int exit_status,
                                   struct st_error *err)
{
    const double start = st_now();
    const struct st_judgement_row judgement = {outcome, (size_t)exit_status};
    struct st_store *store = NULL;

    enum st_status rc = st_store_edit(results->path, &store, err);
    if (rc == ST_OK) {
        rc = write_group(store->file, n, lines, &judgement, err);
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
