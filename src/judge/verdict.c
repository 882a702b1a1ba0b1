/*
 * From rows to the verdict: what counts as incomplete, the exit status, the one sentence.
 */
#include "src/judge/judging.h"

#include "src/base/mem.h"

#include <string.h>

/* DESIGN: a step that could not run here is incomplete only if something was asked of it. */
static bool is_incomplete(const struct st_file_step *step)
{
    switch (step->state) {
    case ST_STEP_COMPLETE:
        return step->check_bad > 0;
    case ST_STEP_SKIPPED:
        return step->required || step->n_criteria > 0;
    case ST_STEP_RUNNING:
    case ST_STEP_INTERRUPTED:
    case ST_STEP_FAILED:
        break;
    }
    return true;
}

/* Upper bound of the rows: a step row, a set row per criterion, a row per place of it. */
static bool count_rows(const struct st_file *file, size_t *n)
{
    *n = 0;
    for (size_t s = 0; s < file->n_steps; s++) {
        const struct st_file_step *step = &file->steps[s];
        if (!st_add_size(*n, 1, n)) {
            return false;
        }
        for (size_t c = 0; c < step->n_criteria; c++) {
            const size_t m = step->criteria[c].metric;
            const size_t places = m < step->n_metrics ? step->metrics[m].n_places : 0;
            if (!st_add_size(*n, 1, n) || !st_add_size(*n, places, n)) {
                return false;
            }
        }
    }
    return true;
}

static void add_step_row(struct st_judging *j, size_t s)
{
    const struct st_file_step *step = &j->file->steps[s];
    struct st_verdict_row *row = st_row_add(j, s, SIZE_MAX);

    st_say(row->text, sizeof row->text, "step %s is %s%s%s", step->name,
           step->state == ST_STEP_COMPLETE ? "wrong in its results"
                                           : st_step_state_word(step->state),
           step->reason[0] != '\0' ? ": " : "", step->reason);
    j->verdict->n_steps_incomplete++;
}

static enum st_status judge_steps(struct st_judging *j)
{
    struct st_verdict *v = j->verdict;
    enum st_status rc = ST_OK;

    for (size_t s = 0; s < j->file->n_steps && rc == ST_OK; s++) {
        const struct st_file_step *step = &j->file->steps[s];
        if (is_incomplete(step)) {
            add_step_row(j, s);
        }
        for (size_t c = 0; c < step->n_criteria && rc == ST_OK; c++) {
            const size_t set = v->n_rows;
            rc = st_judge_criterion(j, s, c);
            v->n_pass += v->rows[set].outcome == ST_PASS;
            v->n_fail += v->rows[set].outcome == ST_FAIL;
            v->n_inconclusive += v->rows[set].outcome == ST_INCONCLUSIVE;
            v->n_not_judged += v->rows[set].outcome == ST_NOT_JUDGED;
            v->overall = st_outcome_worse(v->overall, v->rows[set].outcome);
        }
    }
    if (j->file->n_steps_planned > j->file->n_steps) {
        v->n_steps_incomplete += j->file->n_steps_planned - j->file->n_steps;
    }
    return rc;
}

static void conclude(const struct st_file *file, struct st_verdict *v)
{
    v->exit = v->n_fail > 0 ? ST_EXIT_FAIL : ST_EXIT_PASS;
    if (v->n_steps_incomplete > 0 || v->n_inconclusive > 0 || v->n_not_judged > 0 ||
        strcmp(file->status, "complete") != 0) {
        v->exit = ST_EXIT_INCOMPLETE;
    }
}

/* The text of the first set row that has the overall outcome. */
static const char *first_text(const struct st_verdict *v)
{
    for (size_t i = 0; i < v->n_rows; i++) {
        if (v->rows[i].metric != SIZE_MAX && v->rows[i].place == SIZE_MAX &&
            v->rows[i].outcome == v->overall) {
            return v->rows[i].text;
        }
    }
    return "";
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* "1 of 4 criteria failed, 2 inconclusive, 1 passed", as far as there is something to count. */
static void criteria_words(const struct st_verdict *v, char *out, size_t size)
{
    const size_t n = v->n_pass + v->n_fail + v->n_inconclusive + v->n_not_judged;
    const struct {
        size_t n;
        const char *word;
    } parts[] = {{v->n_fail, "failed"},
                 {v->n_inconclusive, "inconclusive"},
                 {v->n_not_judged, "not judged"},
                 {v->n_pass, "passed"}};
    size_t used = 0;

    if (n == 0) {
        st_say(out, size, "no criteria were asked for");
        return;
    }
    for (size_t i = 0; i < ST_COUNT(parts); i++) {
        if (parts[i].n > 0 && used == 0) {
            st_say(out, size, "%zu of %zu criteri%s %s", parts[i].n, n,
                   n == 1 ? "on" : "a", parts[i].word);
        } else if (parts[i].n > 0) {
            st_say(out + used, size - used, ", %zu %s", parts[i].n, parts[i].word);
        }
        used = strlen(out);
    }
}

/* "1 of 5 steps did not finish as planned", "the run is interrupted" */
static void incomplete_words(const struct st_file *file, const struct st_verdict *v,
                             char *out, size_t size)
{
    const size_t n =
        file->n_steps_planned > file->n_steps ? file->n_steps_planned : file->n_steps;
    const bool is_complete = strcmp(file->status, "complete") == 0;
    const char *status = file->status[0] != '\0' ? file->status : "without a status";
    char steps[96];

    st_say(steps, sizeof steps, "%zu of %zu step%s did not finish as planned",
           v->n_steps_incomplete, n, plural(n));
    if (is_complete) {
        st_say(out, size, "%s", steps);
    } else {
        st_say(out, size, "the run is %s%s%s", status,
               v->n_steps_incomplete > 0 ? ", " : "",
               v->n_steps_incomplete > 0 ? steps : "");
    }
}

static void summarise(const struct st_file *file, struct st_verdict *v)
{
    char criteria[160] = "";
    char unfinished[160];

    criteria_words(v, criteria, sizeof criteria);
    if (v->exit == ST_EXIT_PASS && v->n_pass > 0) {
        st_say(v->summary, sizeof v->summary, "Passed: %s%zu criteri%s in %zu step%s.",
               v->n_pass == 1 ? "the " : "all ", v->n_pass, v->n_pass == 1 ? "on" : "a",
               file->n_steps, plural(file->n_steps));
    } else if (v->exit == ST_EXIT_PASS) {
        st_say(v->summary, sizeof v->summary, "Complete: %s; %zu step%s measured.",
               criteria, file->n_steps, plural(file->n_steps));
    } else if (v->exit == ST_EXIT_FAIL) {
        st_say(v->summary, sizeof v->summary, "Failed: %s; %s.", criteria, first_text(v));
    } else if (v->n_steps_incomplete > 0 || strcmp(file->status, "complete") != 0) {
        incomplete_words(file, v, unfinished, sizeof unfinished);
        st_say(v->summary, sizeof v->summary, "Incomplete: %s; %s%s%s.", unfinished,
               criteria, v->n_fail > 0 ? "; failed: " : "",
               v->n_fail > 0 ? first_text(v) : "");
    } else {
        st_say(v->summary, sizeof v->summary, "Undecided: %s; %s.", criteria,
               first_text(v));
    }
}

enum st_status st_judge_with(const struct st_file *file, st_samples_fn samples,
                             struct st_verdict **out, struct st_error *err)
{
    struct st_judging j = {.file = file, .samples = samples, .err = err};
    size_t n_rows = 0;

    if (!count_rows(file, &n_rows)) {
        return st_fail(err, ST_ERR_IO,
                       "%s: more places and criteria than memory can hold", file->path);
    }
    j.verdict = st_calloc(err, 1, sizeof *j.verdict);
    if (j.verdict == NULL) {
        return ST_ERR_MEMORY;
    }
    j.verdict->overall = ST_PASS;
    j.verdict->rows = st_calloc(err, n_rows, sizeof *j.verdict->rows);
    enum st_status rc = j.verdict->rows == NULL ? ST_ERR_MEMORY : judge_steps(&j);
    if (rc == ST_OK) {
        rc = st_find_outliers(&j);
    }
    if (rc != ST_OK) {
        st_verdict_destroy(&j.verdict);
        return rc;
    }
    conclude(file, j.verdict);
    summarise(file, j.verdict);
    *out = j.verdict;
    return ST_OK;
}

void st_verdict_destroy(struct st_verdict **verdict)
{
    if (verdict == NULL || *verdict == NULL) {
        return;
    }
    st_free((*verdict)->rows);
    st_free((*verdict)->outliers);
    st_free(*verdict);
    *verdict = NULL;
}

bool st_verdict_at(const struct st_verdict *verdict, size_t step, size_t metric,
                   size_t place, enum st_outcome *outcome)
{
    bool found = false;

    for (size_t i = 0; i < verdict->n_rows; i += 1 + verdict->rows[i].n_place_rows) {
        const struct st_verdict_row *set = &verdict->rows[i];
        if (set->step != step || set->metric != metric || set->criterion == SIZE_MAX) {
            continue;
        }
        if (set->n_place_rows == 0 && set->outcome != ST_NOT_JUDGED) {
            continue; /* a spread says nothing about one place */
        }
        const enum st_outcome here = place < set->n_place_rows
                                         ? verdict->rows[i + 1 + place].outcome
                                         : set->outcome;
        *outcome = found ? st_outcome_worse(*outcome, here) : here;
        found = true;
    }
    return found;
}
