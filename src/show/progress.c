/*
 * Progress for people: on a terminal one line that is rewritten in place and then replaced by
 * what became of the step; in a log one line when a step begins and one when it ends.
 */
#include "src/show/screen.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/show/utf8.h"

#include <math.h>

/* Seconds between two rewritings: a person reads no faster, and the harness must not wait. */
static const double rewrite_s = 0.1;

struct st_progress {
    FILE *out;
    struct st_style style;
    struct st_listener listener;
    size_t number, n_steps; /* of the running step, number from 1 */
    char name[ST_NAME_SIZE];
    double shown_s;   /* elapsed time at the last rewriting */
    bool line_stands; /* a rewritten line waits to be replaced */
};

/* Leave the cursor at the start of an empty line. */
static void clear_line(struct st_progress *p)
{
    if (p->line_stands) {
        (void)fputs("\r\x1b[K", p->out);
        p->line_stands = false;
    }
}

static void rewrite(struct st_progress *p, const struct st_text *line)
{
    char cut[256];
    const size_t columns = p->style.columns < sizeof cut ? p->style.columns : sizeof cut;

    clear_line(p);
    /* One column stays free: a full line would scroll. ASCII is cut by bytes, the rest sooner. */
    (void)fputs(st_utf8_clean(cut, columns, st_text_get(line)), p->out);
    p->line_stands = true;
    (void)fflush(p->out);
}

static void on_begin(void *context, size_t number, size_t n_steps,
                     const struct st_step *step)
{
    struct st_progress *p = context;
    char layout[160];
    struct st_text line = {0};

    p->number = number + 1;
    p->n_steps = n_steps;
    p->shown_s = -(double)INFINITY;
    (void)st_utf8_clean(p->name, sizeof p->name, step->name);
    if (p->style.terminal) {
        st_text_add(&line, "step %zu/%zu %s  starting", p->number, n_steps, p->name);
        rewrite(p, &line);
    } else {
        (void)fprintf(p->out, "step %zu/%zu %s begins: %s\n", p->number, n_steps, p->name,
                      st_layout_text(&step->layout, layout, sizeof layout));
        (void)fflush(p->out);
    }
    st_text_clear(&line);
}

static void on_repetition(void *context, size_t done, size_t max, double elapsed_s,
                          double budget_s)
{
    struct st_progress *p = context;
    struct st_text line = {0};
    const double left_s = fmax(0.0, budget_s - elapsed_s);

    if (!p->style.terminal || elapsed_s - p->shown_s < rewrite_s) {
        return;
    }
    p->shown_s = elapsed_s;
    st_text_add(&line, "step %zu/%zu %s  rep %zu/%zu  %.1f s of %.0f s", p->number,
                p->n_steps, p->name, done, max, elapsed_s, budget_s);
    if (isfinite(left_s)) {
        st_text_add(&line, ", %.0f s left at most", ceil(left_s));
    }
    rewrite(p, &line);
    st_text_clear(&line);
}

static enum st_ink ink_of_state(enum st_step_state state)
{
    switch (state) {
    case ST_STEP_COMPLETE:
        return ST_INK_GOOD;
    case ST_STEP_SKIPPED:
        return ST_INK_DOUBT;
    case ST_STEP_RUNNING:
    case ST_STEP_INTERRUPTED:
    case ST_STEP_FAILED:
        break;
    }
    return ST_INK_BAD;
}

static void on_end(void *context, const struct st_step *step,
                   const struct st_step_outcome *outcome)
{
    struct st_progress *p = context;
    char time[32];
    char reason[ST_ERROR_TEXT_SIZE];
    /* the warm-up is stored as repetition 0 and is no measurement */
    const size_t n = outcome->n_repetitions > 0 ? outcome->n_repetitions - 1 : 0;

    clear_line(p);
    (void)fprintf(p->out, "step %zu/%zu %s ", p->number, p->n_steps,
                  st_utf8_clean(p->name, sizeof p->name, step->name));
    st_ink_put(p->out, p->style, ink_of_state(outcome->state),
               st_step_state_word(outcome->state));
    if (n > 0) {
        (void)fprintf(p->out, ", %zu repetition%s in %s%s", n, n == 1 ? "" : "s",
                      st_duration(time, sizeof time, outcome->wall_s),
                      outcome->converged ? "" : ", not converged");
    }
    if (outcome->reason[0] != '\0') {
        (void)fprintf(p->out, ": %s",
                      st_utf8_clean(reason, sizeof reason, outcome->reason));
    }
    (void)fputc('\n', p->out);
    (void)fflush(p->out);
}

enum st_status st_progress_create(FILE *out, struct st_style style,
                                  struct st_progress **progress, struct st_error *err)
{
    struct st_progress *p = st_calloc(err, 1, sizeof *p);

    if (p == NULL) {
        return ST_ERR_MEMORY;
    }
    p->out = out;
    p->style = style;
    p->listener = (struct st_listener){.context = p,
                                       .step_begin = on_begin,
                                       .repetition = on_repetition,
                                       .step_end = on_end};
    *progress = p;
    return ST_OK;
}

const struct st_listener *st_progress_listener(struct st_progress *progress)
{
    return &progress->listener;
}

void st_progress_destroy(struct st_progress **progress)
{
    if (progress == NULL || *progress == NULL) {
        return;
    }
    clear_line(*progress);
    (void)fflush((*progress)->out);
    st_free(*progress);
    *progress = NULL;
}
