#ifndef ST_PLAN_PARTS_H
#define ST_PLAN_PARTS_H

#include "src/plan/plan.h"
#include "src/plan/reader.h"

/*
 * The sections of a config file, each read by its own source file. Private to src/plan.
 * A section is checked first as it stands (keys, words, ranges, every element of a list) and
 * then read once for each combination of swept values. All local; ST_ERR_CONFIG carries the
 * position.
 */

enum {
    ST_MAX_AXES = 32
};

/** One list of a step that makes several steps, and the element it stands at. */
struct st_axis {
    const char *key;             /**< borrowed */
    const struct st_value *list; /**< borrowed */
    size_t index;
};

/** The lists of one entry of `steps:`, slowest first. */
struct st_sweep {
    size_t n;
    struct st_axis axes[ST_MAX_AXES];
};

/** Add @p value to the sweep if it is a list. */
enum st_status st_sweep_add(struct st_sweep *sweep, const char *key,
                            const struct st_value *value, struct st_error *err);
/** Number of combinations. @return false if it does not fit */
bool st_sweep_count(const struct st_sweep *sweep, size_t *out);
/** Go to combination @p number; the last axis moves fastest. */
void st_sweep_seek(struct st_sweep *sweep, size_t number);
/** The element at which the sweep stands if @p value is one of its lists, else @p value. */
const struct st_value *st_sweep_pick(const struct st_sweep *sweep,
                                     const struct st_value *value);

/** layout: keys, words, numbers, lists. */
enum st_status st_layout_check(const struct st_value *map, struct st_error *err);
/** The lists that count for a step: those of the defaults it does not replace, then its own. */
enum st_status st_layout_axes(const struct st_value *map, const struct st_value *defaults,
                              struct st_sweep *sweep, struct st_error *err);
/** Checked maps, NULL if absent, to a request; @p map wins key by key. */
enum st_status st_layout_read(const struct st_value *map, const struct st_value *defaults,
                              const struct st_sweep *sweep, struct st_layout_request *out,
                              struct st_error *err);

/** repeat: keys and ranges. */
enum st_status st_repeat_check(const struct st_value *map, struct st_error *err);
/** Checked maps, NULL if absent; @p map wins key by key; then min <= max and the like. */
enum st_status st_repeat_read(const struct st_value *map, const struct st_value *defaults,
                              struct st_repeat *out, struct st_error *err);

/** peaks: into the plan. */
enum st_status st_peaks_read(const struct st_value *map, struct st_plan *plan,
                             struct st_error *err);
/**
 * The peak called @p name in the metric's unit; @p name "": the only one of that unit.
 * @param at the value that asked, for the message
 */
enum st_status st_peak_find(const struct st_plan *plan, const struct st_metric *metric,
                            const char *name, const struct st_value *at, double *out,
                            struct st_error *err);

/** accept: of a step whose benchmark, parameters and name are set; fills its criteria. */
enum st_status st_accept_read(const struct st_value *map, const struct st_plan *plan,
                              struct st_step *step, struct st_error *err);

/**
 * The defaults: section and one entry of `steps:`, expanded and appended to the plan.
 * @param defaults NULL if absent
 */
enum st_status st_entry_read(const struct st_value *entry,
                             const struct st_value *defaults,
                             const struct st_registry *registry, struct st_plan *plan,
                             struct st_error *err);
enum st_status st_defaults_check(const struct st_value *defaults, struct st_error *err);

/** Make the names of all steps different: "#2", "#3" … behind repeated ones. */
enum st_status st_names_settle(struct st_plan *plan, struct st_error *err);
/** Keep the steps that @p only [n] names; ST_ERR_USAGE if one of them names none. */
enum st_status st_names_keep(struct st_plan *plan, size_t n, const char *const *only,
                             struct st_error *err);
/** Free what a step owns. */
void st_step_clear(struct st_step *step);

/** Keys of the root, for st_override_apply() and the reader of the root. */
extern const char *const st_root_keys[];
extern const size_t st_n_root_keys;
/** Keys of an entry of `steps:`, likewise. */
extern const char *const st_entry_keys[];
extern const size_t st_n_entry_keys;

/**
 * Apply one --set to the tree: "PATH=VALUE", the value parsed as YAML.
 * ST_ERR_USAGE for a text that is not of this form, ST_ERR_CONFIG for a path that leads nowhere.
 * @param source names the option; must live as long as the document
 */
enum st_status st_override_apply(struct st_document *document, struct st_value *root,
                                 const struct st_source *source, const char *option,
                                 struct st_error *err);

#endif
