/*
 * The stopping rule of METHODS 8.1 and the size of the next batch. Between two decisions the
 * ranks only measure; so the batch is cut by a prediction from the last repetition.
 */
#include "src/measure/decide.h"

#include "src/stats/stats.h"

static const double BATCH_TIME_MAX_S = 1.0;       /* a signal is answered after that */
static const double DEADLINE_RESERVE = 0.1;       /* of the deadline, for what follows */
static const double BATCH_BUDGET_FRACTION = 0.25; /* a slowing machine is seen in time */

bool st_is_look(const struct st_repeat *repeat, size_t n)
{
    return n >= repeat->min && n > 0 && st_next_look(n - 1) == n;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many repetitions of @p each_s fit into @p time_s; at least one. */
static size_t fitting(double time_s, double each_s)
{
    const double n = time_s / each_s;

    if (!(n < (double)ST_MAX_BATCH)) { /* also if each_s is 0 */
        return ST_MAX_BATCH;
    }
    return n < 1.0 ? 1 : (size_t)n;
}

/* Time until the repetitions must end so that verification and gathering still fit. */
static double deadline_room_s(const struct st_repeat *repeat,
                              const struct st_progress *now)
{
    return now->deadline_left_s - DEADLINE_RESERVE * repeat->deadline_s;
}

static enum st_stop why_stop(const struct st_repeat *repeat,
                             const struct st_progress *now, double each_s)
{
    if (now->failed) {
        return ST_STOP_FAILED;
    }
    if (now->interrupted) {
        return ST_STOP_INTERRUPT;
    }
    if (!(deadline_room_s(repeat, now) > each_s)) {
        return ST_STOP_DEADLINE;
    }
    if (now->converged && st_is_look(repeat, now->n_done)) {
        return ST_STOP_CONVERGED;
    }
    if (now->n_done >= repeat->max) {
        return ST_STOP_MAX;
    }
    /* one repetition is always made: a budget below it gives one number, not none */
    if (now->n_done > 0 && !(now->elapsed_s + each_s <= repeat->budget_s)) {
        return ST_STOP_BUDGET;
    }
    return ST_GO_ON;
}

struct st_decision st_decide(const struct st_repeat *repeat,
                             const struct st_progress *now)
{
    const double each_s = now->last_s > now->mean_s ? now->last_s : now->mean_s;
    struct st_decision decision = {.stop = why_stop(repeat, now, each_s)};

    if (decision.stop != ST_GO_ON) {
        return decision;
    }
    const double left_s = repeat->budget_s - now->elapsed_s;
    double batch_s = BATCH_BUDGET_FRACTION * repeat->budget_s;
    batch_s = batch_s < BATCH_TIME_MAX_S ? batch_s : BATCH_TIME_MAX_S;
    batch_s = batch_s < left_s ? batch_s : left_s;
    const double room_s = 0.5 * deadline_room_s(repeat, now);
    batch_s = batch_s < room_s ? batch_s : room_s;

    size_t look = st_next_look(now->n_done);
    while (look < repeat->min) {
        look = st_next_look(look);
    }
    decision.n_batch = least(fitting(batch_s, each_s), look - now->n_done);
    decision.n_batch = least(decision.n_batch, repeat->max - now->n_done);
    decision.n_batch = least(decision.n_batch, ST_MAX_BATCH);
    return decision;
}
