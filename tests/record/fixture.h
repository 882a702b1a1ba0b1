#ifndef ST_TESTS_RECORD_FIXTURE_H
#define ST_TESTS_RECORD_FIXTURE_H

#include "src/record/record.h"

/*
 * A campaign made by hand: a benchmark with a parameter of every type and metrics at every
 * kind of place, two nodes, four ranks. Every value can be recomputed by fixture_value().
 */

enum {
    FIXTURE_NODES = 2,
    FIXTURE_RANKS = 4,
    FIXTURE_METRICS = 8
};
enum {
    FIXTURE_REPETITIONS = 13
};

struct fixture {
    struct st_plan plan;
    struct st_machine machine;
    struct st_layout layout;
    struct st_run_info info;
    struct st_step_outcome outcome;
    struct st_step_report report;
    struct st_step_place *node_places; /**< [n_nodes] */
    size_t n_repetitions;
    bool all_at_once; /**< one block per metric instead of one per place */
};

/** A plan of @p n_steps steps on two nodes with four ranks. */
void fixture_init(struct fixture *f, size_t n_steps);
/** As many nodes as wanted, one rank each, and only the node metrics matter. */
void fixture_widen(struct fixture *f, size_t n_nodes);
void fixture_clear(struct fixture *f);

/** Value of a sample; @p row of the benchmark's metrics. */
double fixture_value(size_t step, size_t row, size_t place, size_t repetition);
/** Its validity: the warm-up, and one late start at place 1, repetition 3. */
int8_t fixture_validity(size_t place, size_t repetition);
/** Hand step @p number in @p state to the sink, blocks in the order in which owners send. */
enum st_status fixture_step(struct fixture *f, const struct st_sink *sink, size_t number,
                            enum st_step_state state, struct st_error *err);

#endif
