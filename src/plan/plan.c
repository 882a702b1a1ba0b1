/* From the text of a config file to a plan: the root of the file, and what is done in which
 * order. Options change the tree first, then all is checked, expanded, named and filtered. */
#include "src/plan/plan.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/plan/parts.h"

#include <string.h>

const char *const st_root_keys[] = {"campaign", "defaults", "peaks", "judge_fake_nodes",
                                    "steps"};
const size_t st_n_root_keys = ST_COUNT(st_root_keys);

/* What was asked for. */
struct request {
    const char *file;
    const char *text;
    size_t n_bytes;
    size_t n_overrides;
    const char *const *overrides;
    const struct st_registry *registry;
    struct st_error *err;
};

void st_step_clear(struct st_step *step)
{
    st_free(step->params);
    st_free(step->criteria);
    step->params = NULL;
    step->criteria = NULL;
    step->n_criteria = 0;
}

void st_plan_destroy(struct st_plan **plan)
{
    if (plan == NULL || *plan == NULL) {
        return;
    }
    for (size_t i = 0; i < (*plan)->n_steps; i++) {
        st_step_clear(&(*plan)->steps[i]);
    }
    st_free((*plan)->steps);
    st_free((*plan)->file);
    st_free((*plan)->config_text);
    st_free((*plan)->overrides);
    st_free(*plan);
    *plan = NULL;
}

/* `campaign:`, or the file's name without folder and ending. */
static enum st_status read_campaign(const struct st_value *root, struct st_plan *plan,
                                    struct st_error *err)
{
    const struct st_value *value = st_map_get(root, "campaign");
    const char *text = NULL;

    if (value == NULL) {
        const char *slash = strrchr(plan->file, '/');

        (void)st_copy(plan->campaign, sizeof plan->campaign,
                      slash == NULL ? plan->file : slash + 1);
        char *point = strrchr(plan->campaign, '.');
        if (point != NULL && point != plan->campaign) {
            *point = '\0';
        }
        return ST_OK;
    }
    const enum st_status rc = st_read_text(value, "campaign", &text, err);
    if (rc == ST_OK && !st_copy(plan->campaign, sizeof plan->campaign, text)) {
        return st_value_fail(err, value, "campaign: longer than %zu bytes",
                             sizeof plan->campaign - 1);
    }
    return rc;
}

static enum st_status read_steps(const struct st_value *root,
                                 const struct st_registry *registry, struct st_plan *plan,
                                 struct st_error *err)
{
    char words[128];
    const struct st_value *steps = st_map_get(root, "steps");
    const struct st_value *defaults = st_map_get(root, "defaults");
    enum st_status rc = ST_OK;

    if (steps == NULL) {
        return st_value_fail(err, root,
                             "no 'steps'; a config needs at least 'steps: [{benchmark: "
                             "NAME}]'");
    }
    if (steps->kind != ST_VALUE_LIST || steps->n == 0) {
        return st_value_fail(err, steps, "steps: found %s; a list of steps is needed",
                             steps->kind == ST_VALUE_LIST
                                 ? "an empty list"
                                 : st_value_words(steps, words, sizeof words));
    }
    for (size_t i = 0; rc == ST_OK && i < steps->n; i++) {
        rc = st_entry_read(steps->entries[i].value, defaults, registry, plan, err);
    }
    return rc;
}

static enum st_status read_root(const struct st_value *root,
                                const struct st_registry *registry, struct st_plan *plan,
                                struct st_error *err)
{
    const struct st_value *value = NULL;
    enum st_status rc =
        st_read_map(root, "the config", st_n_root_keys, st_root_keys, err);

    if (rc == ST_OK) {
        rc = read_campaign(root, plan, err);
    }
    if (rc == ST_OK && (value = st_map_get(root, "defaults")) != NULL) {
        rc = st_defaults_check(value, err);
    }
    if (rc == ST_OK && (value = st_map_get(root, "peaks")) != NULL) {
        rc = st_peaks_read(value, plan, err);
    }
    if (rc == ST_OK && (value = st_map_get(root, "judge_fake_nodes")) != NULL) {
        rc = st_read_bool(value, "judge_fake_nodes", &plan->judge_fake_nodes, err);
    }
    if (rc == ST_OK) {
        rc = read_steps(root, registry, plan, err);
    }
    return rc == ST_OK ? st_names_settle(plan, err) : rc;
}

/* File, text and options as they came. */
static enum st_status keep_texts(const struct request *request, struct st_plan *plan)
{
    struct st_text overrides = {0};

    plan->file = st_strdup(request->err, request->file);
    if (plan->file == NULL) {
        return ST_ERR_MEMORY;
    }
    plan->config_text = st_calloc(request->err, request->n_bytes + 1, 1);
    if (plan->config_text == NULL) {
        return ST_ERR_MEMORY;
    }
    if (request->n_bytes > 0) {
        memcpy(plan->config_text, request->text, request->n_bytes);
    }
    for (size_t i = 0; i < request->n_overrides; i++) {
        st_text_add(&overrides, "%s\n", request->overrides[i]);
    }
    if (!overrides.failed) {
        plan->overrides = st_strdup(request->err, st_text_get(&overrides));
    }
    const bool failed = overrides.failed;
    st_text_clear(&overrides);
    if (failed) {
        return st_fail(request->err, ST_ERR_MEMORY, "no memory for the --set options");
    }
    return plan->overrides == NULL ? ST_ERR_MEMORY : ST_OK;
}

/* One --set, and what messages about it begin with; long ones are cut. */
struct option {
    struct st_source source;
    char name[256];
};

static enum st_status apply_overrides(const struct request *request,
                                      struct st_document *document,
                                      struct option *options, struct st_value *root)
{
    enum st_status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < request->n_overrides; i++) {
        struct option *option = &options[i];

        (void)st_print(option->name, sizeof option->name, "--set %s",
                       request->overrides[i]);
        option->source = (struct st_source){.name = option->name, .is_option = true};
        rc = st_override_apply(document, root, &option->source, request->overrides[i],
                               request->err);
    }
    return rc;
}

/* The document lives only here: a plan keeps no pointer into it. */
static enum st_status read_document(const struct request *request, struct st_plan *plan)
{
    const struct st_source file = {.name = request->file};
    const struct st_value start = {.source = &file, .line = 1, .column = 1};
    struct st_document document = {0};
    struct st_value *root = NULL;
    struct option *options =
        st_calloc(request->err, request->n_overrides, sizeof *options);
    enum st_status rc = ST_ERR_MEMORY;

    if (options == NULL) {
        return rc;
    }
    if (request->n_bytes > ST_MAX_CONFIG_BYTES) {
        rc = st_value_fail(request->err, &start,
                           "the file has %zu bytes; allowed: up to %d", request->n_bytes,
                           ST_MAX_CONFIG_BYTES);
    } else {
        rc = st_document_parse(&document, &file, request->text, request->n_bytes, &root,
                               request->err);
    }
    if (rc == ST_OK && root == NULL) {
        rc = st_value_fail(
            request->err, &start,
            "the file is empty; a config needs at least 'steps: [{benchmark: "
            "NAME}]'");
    }
    if (rc == ST_OK) {
        rc = st_read_any_map(root, "the config", request->err);
    }
    if (rc == ST_OK) {
        rc = apply_overrides(request, &document, options, root);
    }
    if (rc == ST_OK) {
        rc = read_root(root, request->registry, plan, request->err);
    }
    st_document_clear(&document);
    st_free(options);
    return rc;
}

enum st_status st_plan_parse(const char *file, const char *text, size_t n_bytes,
                             size_t n_overrides, const char *const *overrides,
                             size_t n_only, const char *const *only,
                             const struct st_registry *registry, struct st_plan **out,
                             struct st_error *err)
{
    const struct request request = {.file = file,
                                    .text = text,
                                    .n_bytes = n_bytes,
                                    .n_overrides = n_overrides,
                                    .overrides = overrides,
                                    .registry = registry,
                                    .err = err};
    struct st_plan *plan = st_calloc(err, 1, sizeof *plan);
    enum st_status rc = ST_ERR_MEMORY;

    if (plan == NULL) {
        return rc;
    }
    rc = keep_texts(&request, plan);
    if (rc == ST_OK) {
        rc = read_document(&request, plan);
    }
    if (rc == ST_OK) {
        rc = st_names_keep(plan, n_only, only, err);
    }
    if (rc != ST_OK) {
        st_plan_destroy(&plan);
        return rc;
    }
    *out = plan;
    return ST_OK;
}
