#include "src/record/step.h"

#include <string.h>

/* /steps/NNNN/parameters: one scalar per parameter, in a type that a program can use and with
 * the text a person would write. */

/* A value as it goes to the file. */
struct scalar {
    int64_t whole;
    double real;
    int8_t truth;
    hid_t type;
    const void *data;
};

static void read_value(const struct st_param *param, const void *params,
                       struct scalar *out)
{
    const char *field = (const char *)params + param->offset;
    uint64_t whole = 0;
    bool truth = false;

    switch (param->type) {
    case ST_TYPE_COUNT:
    case ST_TYPE_BYTES:
        memcpy(&whole, field, sizeof whole);
        out->whole = whole > INT64_MAX ? -1 : (int64_t)whole; /* ST_AUTO too */
        out->type = H5T_STD_I64LE;
        out->data = &out->whole;
        break;
    case ST_TYPE_REAL:
        memcpy(&out->real, field, sizeof out->real);
        out->type = H5T_IEEE_F64LE;
        out->data = &out->real;
        break;
    case ST_TYPE_BOOL:
        memcpy(&truth, field, sizeof truth);
        out->truth = truth ? 1 : 0;
        out->type = H5T_STD_I8LE;
        out->data = &out->truth;
        break;
    case ST_TYPE_CHOICE:
    case ST_TYPE_SET:
    case ST_TYPE_TEXT:
        break; /* stored as text */
    }
}

static enum st_status write_number(hid_t group, const struct st_param *param,
                                   const struct scalar *value, struct st_error *err)
{
    static const int8_t flags[2] = {0, 1};
    const struct st_h5_extent scalar = {.n_dims = 0};
    hid_t native = H5Tget_native_type(value->type, H5T_DIR_ASCEND);
    hid_t dataset = st_h5_dataset(group, param->name, value->type, &scalar, NULL, err);
    enum st_status rc = dataset >= 0 ? ST_OK : err->code;

    if (rc == ST_OK &&
        H5Dwrite(dataset, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, value->data) < 0) {
        rc = st_h5_fail(err, dataset, NULL, "write");
    }
    if (rc == ST_OK) {
        rc = st_h5_attribute_text(dataset, "units", param->unit, err);
    }
    if (rc == ST_OK) {
        rc = st_h5_attribute_text(dataset, "long_name", param->help, err);
    }
    if (rc == ST_OK && param->type == ST_TYPE_BOOL) {
        rc = st_h5_attribute(dataset, "flag_values", H5T_NATIVE_INT8, 2, flags, err);
    }
    if (rc == ST_OK && param->type == ST_TYPE_BOOL) {
        rc = st_h5_attribute_text(dataset, "flag_meanings", "no yes", err);
    }
    if (!st_h5_drop(&dataset) && rc == ST_OK) {
        rc = st_h5_fail(err, group, param->name, "close");
    }
    st_h5_drop(&native);
    return rc;
}

static enum st_status write_parameter(hid_t group, const struct st_param *param,
                                      const void *params, struct st_error *err)
{
    char text[ST_TEXT_PARAM_SIZE];
    struct scalar value = {.type = -1};
    hid_t dataset = -1;
    enum st_status rc = ST_OK;

    st_param_print(param, params, text, sizeof text);
    read_value(param, params, &value);
    rc = value.data != NULL ? write_number(group, param, &value, err)
                            : st_h5_text(group, param->name, text, param->help, err);
    if (rc != ST_OK) {
        return rc;
    }
    dataset = H5Dopen2(group, param->name, H5P_DEFAULT);
    rc = dataset >= 0 ? st_h5_attribute_text(dataset, "text", text, err)
                      : st_h5_fail(err, group, param->name, "open");
    st_h5_drop(&dataset);
    return rc;
}

enum st_status st_parameters_write(hid_t step_group, const struct st_step *step,
                                   struct st_error *err)
{
    hid_t group = st_h5_group(step_group, "parameters", err);
    enum st_status rc = group >= 0 ? ST_OK : err->code;

    for (size_t i = 0; rc == ST_OK && i < step->bench->n_params; i++) {
        rc = write_parameter(group, &step->bench->params[i], step->params, err);
    }
    st_h5_drop(&group);
    return rc;
}
