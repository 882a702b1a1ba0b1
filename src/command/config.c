#include "src/command/config.h"

#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/benchmarks/registry.h"

static enum st_status parse(const struct st_arguments *arguments, const char *text,
                            size_t n_bytes, struct st_plan **plan, struct st_error *err)
{
    size_t n_set = 0;
    size_t n_only = 0;
    const char *const *set = st_values(arguments, "set", &n_set);
    const char *const *only = st_values(arguments, "only", &n_only);

    return st_plan_parse(arguments->operands[0], text, n_bytes, n_set, set, n_only, only,
                         &st_registry, plan, err);
}

enum st_status st_config_load(const struct st_arguments *arguments, struct st_plan **plan,
                              struct st_error *err)
{
    size_t n_bytes = 0;
    char *text = st_read_file(err, arguments->operands[0], ST_MAX_CONFIG_BYTES, &n_bytes);

    if (text == NULL) {
        err->code = ST_ERR_CONFIG;
        return err->code;
    }
    const enum st_status rc = parse(arguments, text, n_bytes, plan, err);
    st_free(text);
    return rc;
}

enum st_status st_config_share(const struct st_arguments *arguments,
                               const struct stm_comm *world, struct st_plan **plan,
                               struct st_error *err)
{
    size_t n_bytes = 0;
    char *text = NULL;
    enum st_status rc = ST_OK;

    if (world->rank == 0) {
        text = st_read_file(err, arguments->operands[0], ST_MAX_CONFIG_BYTES, &n_bytes);
        if (text == NULL) {
            err->code = rc = ST_ERR_CONFIG;
        }
    }
    rc = stm_agree(world, rc, err);
    if (rc == ST_OK) {
        rc = stm_bcast_bytes(world, &n_bytes, sizeof n_bytes, err);
    }
    if (rc == ST_OK && world->rank != 0) {
        text = st_calloc(err, n_bytes + 1, 1);
        rc = text == NULL ? err->code : ST_OK;
    }
    rc = stm_agree(world, rc, err);
    if (rc == ST_OK) {
        rc = stm_bcast_bytes(world, text, n_bytes, err);
    }
    if (rc == ST_OK) {
        rc = stm_agree(world, parse(arguments, text, n_bytes, plan, err), err);
    }
    if (rc != ST_OK) {
        st_plan_destroy(plan);
    }
    st_free(text);
    return rc;
}
