/*
 * `seatrial check`: what would run, how much memory each rank needs and how long it may take. The
 * time of a step is its budget, or what its repetitions are thought to take if that is less.
 */
#include "src/show/screen.h"

#include "src/base/text.h"

#include <math.h>
#include <stdio.h>

enum {
    LABEL_WIDTH = 13
};

static void put_field(FILE *out, struct st_style style, const char *label,
                      enum st_ink ink, const char *text)
{
    if (text[0] != '\0') {
        (void)fprintf(out, "    %-*s", LABEL_WIDTH, label);
        st_wrap(out, style, 4 + LABEL_WIDTH, 4 + LABEL_WIDTH, ink, text);
    }
}

/* Memory in binary units: a person compares it with what a node has. */
static const char *memory_text(char *out, size_t size, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = bytes;
    size_t i = 0;

    while (value >= 1024.0 && i + 1 < sizeof units / sizeof units[0]) {
        value /= 1024.0;
        i++;
    }
    (void)snprintf(out, size, i == 0 ? "%.0f %s" : "%.1f %s", value, units[i]);
    return out;
}

static double measuring_s(const struct st_step *step, const struct st_need *need)
{
    const double by_repetitions = (double)step->repeat.max * need->seconds_per_repetition;

    return need->seconds_per_repetition > 0.0
               ? fmin(step->repeat.budget_s, by_repetitions)
               : step->repeat.budget_s;
}

static void put_ranks(FILE *out, struct st_style style, const struct st_shape *shape)
{
    struct st_text line = {0};

    st_text_add(&line, "%zu rank%s on %zu node%s x %zu thread%s", shape->n_ranks,
                shape->n_ranks == 1 ? "" : "s", shape->n_nodes,
                shape->n_nodes == 1 ? "" : "s", shape->max_threads,
                shape->max_threads == 1 ? "" : "s");
    if (shape->n_groups > 1) {
        st_text_add(&line, ", %zu such groups at the same time", shape->n_groups);
    }
    if (shape->oversubscribed) {
        st_text_add(&line, "; oversubscribed, will not be judged");
    }
    put_field(out, style, "ranks", shape->oversubscribed ? ST_INK_DOUBT : ST_INK_PLAIN,
              st_text_get(&line));
    st_text_clear(&line);
}

static void put_step(FILE *out, struct st_style style, const struct st_step *step,
                     const struct st_shape *shape, const struct st_need *need)
{
    char text[512];
    char a[48];
    char b[48];

    put_field(out, style, "layout", ST_INK_PLAIN,
              st_layout_text(&step->layout, text, sizeof text));
    put_ranks(out, style, shape);
    (void)snprintf(
        text, sizeof text, "%s per rank, %s on the busiest node",
        memory_text(a, sizeof a, (double)need->bytes_per_rank),
        memory_text(b, sizeof b,
                    (double)need->bytes_per_rank * (double)shape->max_ranks_per_node));
    put_field(out, style, "memory", ST_INK_PLAIN, text);
    (void)snprintf(
        text, sizeof text,
        "%zu to %zu, until the %.4g %% interval is within %.3g %% of the median",
        step->repeat.min, step->repeat.max, 100.0 * step->repeat.confidence,
        100.0 * step->repeat.width);
    put_field(out, style, "repetitions", ST_INK_PLAIN, text);
    (void)snprintf(text, sizeof text, "at most %s of measuring, deadline %s",
                   st_duration(a, sizeof a, measuring_s(step, need)),
                   st_duration(b, sizeof b, step->repeat.deadline_s));
    put_field(out, style, "time", ST_INK_PLAIN, text);
    for (size_t c = 0; c < step->n_criteria; c++) {
        (void)snprintf(text, sizeof text, "%s %s",
                       step->bench->metrics[step->criteria[c].metric_row].name,
                       step->criteria[c].text);
        put_field(out, style, c == 0 ? "criteria" : "", ST_INK_PLAIN, text);
    }
    put_field(out, style, "note", ST_INK_DOUBT, need->notes);
}

void st_show_plan(FILE *out, const struct st_plan *plan, const struct st_shape *shapes,
                  const struct st_need *needs)
{
    const struct st_style style = st_style_of(out);
    double total_s = 0.0;
    size_t largest = 0;
    char text[ST_NAME_SIZE + 256];
    char time[32];
    char memory[48];

    (void)snprintf(text, sizeof text, "campaign %s: %zu step%s", plan->campaign,
                   plan->n_steps, plan->n_steps == 1 ? "" : "s");
    st_wrap(out, style, 0, 2, ST_INK_STRONG, text);
    for (size_t s = 0; s < plan->n_steps; s++) {
        (void)snprintf(text, sizeof text, "step %zu/%zu  %s%s", s + 1, plan->n_steps,
                       plan->steps[s].name,
                       plan->steps[s].required ? "  (required)" : "");
        (void)fputs("\n  ", out);
        st_wrap(out, style, 2, 4, ST_INK_STRONG, text);
        put_step(out, style, &plan->steps[s], &shapes[s], &needs[s]);
        total_s += measuring_s(&plan->steps[s], &needs[s]);
        largest = needs[s].bytes_per_rank > needs[largest].bytes_per_rank ? s : largest;
    }
    if (plan->n_steps > 0) {
        (void)snprintf(
            text, sizeof text,
            "in total at most %s of measuring; most memory per rank %s (step %s)",
            st_duration(time, sizeof time, total_s),
            memory_text(memory, sizeof memory, (double)needs[largest].bytes_per_rank),
            plan->steps[largest].name);
        (void)fputc('\n', out);
        st_wrap(out, style, 0, 2, ST_INK_PLAIN, text);
    }
}
