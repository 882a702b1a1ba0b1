/*
 * The file `boundary` of a polyMesh. Types that need more than boundary faces (or, for cyclic,
 * a translation) are refused by name: what is not understood is not solved.
 */
#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/mesh/poly_files.h"

#include <inttypes.h>
#include <string.h>

/* "" of a patch without such an entry. */
struct entries {
    char beyond[ST_FOAM_WORD_SIZE], transform[ST_FOAM_WORD_SIZE];
    bool has_start, has_n;
};

static const char *const known_types[] = {"patch",         "wall",       "empty",
                                          "symmetryPlane", "symmetry",   "cyclic",
                                          "mappedWall",    "mappedPatch"};

static const struct {
    const char *type, *why;
} refused_types[] = {
    {"wedge", "wedge patches turn the flow about an axis, which is not solved here"},
    {"processor", "this is one part of a decomposed case: run reconstructParMesh and "
                  "give the whole mesh; "
                  "it is partitioned here"},
    {"processorCyclic", "this is one part of a decomposed case: run reconstructParMesh "
                        "and give the whole mesh"},
    {"cyclicAMI", "sides that do not match face by face are not coupled here; use cyclic "
                  "patches or make them walls"},
    {"cyclicACMI", "sides that do not match face by face are not coupled here"},
    {"cyclicSlip", "only plain cyclic patches are coupled here"},
    {"nonuniformTransformCyclic", "only plain cyclic patches are coupled here"},
    {"overset", "overset meshes are not solved here"},
};

static enum st_status check_type(const struct st_foam *f, const struct st_poly_patch *p,
                                 struct st_error *err)
{
    for (size_t i = 0; i < ST_COUNT(known_types); i++) {
        if (strcmp(p->type, known_types[i]) == 0) {
            return ST_OK;
        }
    }
    for (size_t i = 0; i < ST_COUNT(refused_types); i++) {
        if (strcmp(p->type, refused_types[i].type) == 0) {
            return st_foam_fail(f, err, "patch '%s' is of type %s: %s", p->name, p->type,
                                refused_types[i].why);
        }
    }
    return st_foam_fail(
        f, err,
        "patch '%s' is of type '%.40s', which is not known here; known: "
        "patch, wall, empty, symmetryPlane, symmetry, cyclic, mappedWall, "
        "mappedPatch",
        p->name, p->type);
}

static enum st_status read_number(const struct st_foam *f, const char *patch,
                                  const char *key, const char *text, int64_t *out,
                                  struct st_error *err)
{
    uint64_t value = 0;

    if (!st_parse_u64(text, &value) || value > INT64_MAX / 2) {
        return st_foam_fail(f, err, "patch '%s': %s is '%.40s', not a count", patch, key,
                            text);
    }
    *out = (int64_t)value;
    return ST_OK;
}

/* The dictionary of one patch whose '{' was read. */
static enum st_status read_entries(struct st_foam *f, struct st_poly_patch *p,
                                   struct entries *e, struct st_error *err)
{
    char key[ST_FOAM_WORD_SIZE];
    char value[ST_FOAM_WORD_SIZE];
    enum st_status rc = ST_OK;

    for (;;) {
        rc = st_foam_entry(f, key, value, err);
        if (rc != ST_OK || strcmp(key, "}") == 0) {
            return rc;
        }
        if (strcmp(key, "type") == 0) {
            (void)st_copy(p->type, sizeof p->type, value);
        } else if (strcmp(key, "nFaces") == 0) {
            rc = read_number(f, p->name, key, value, &p->n, err);
            e->has_n = true;
        } else if (strcmp(key, "startFace") == 0) {
            rc = read_number(f, p->name, key, value, &p->start, err);
            e->has_start = true;
        } else if (strcmp(key, "neighbourPatch") == 0) {
            (void)st_copy(e->beyond, sizeof e->beyond, value);
        } else if (strcmp(key, "transform") == 0) {
            (void)st_copy(e->transform, sizeof e->transform, value);
        }
        if (rc != ST_OK) {
            return rc;
        }
    }
}

static enum st_status check_entries(const struct st_foam *f,
                                    const struct st_poly_patch *p,
                                    const struct entries *e, struct st_error *err)
{
    const bool is_cyclic = strcmp(p->type, "cyclic") == 0;

    if (p->type[0] == '\0' || !e->has_n || !e->has_start) {
        return st_foam_fail(f, err, "patch '%s' has no entry %s", p->name,
                            p->type[0] == '\0' ? "type"
                            : !e->has_n        ? "nFaces"
                                               : "startFace");
    }
    if (is_cyclic && e->beyond[0] == '\0') {
        return st_foam_fail(
            f, err,
            "cyclic patch '%s' has no entry neighbourPatch: both sides in "
            "one patch is the form before OpenFOAM 2.0; run "
            "foamUpgradeCyclics",
            p->name);
    }
    if (is_cyclic && strcmp(e->transform, "rotational") == 0) {
        return st_foam_fail(f, err,
                            "cyclic patch '%s' is rotational: only sides that are moved "
                            "without turning are coupled here",
                            p->name);
    }
    return check_type(f, p, err);
}

static enum st_status read_patch(struct st_foam *f, struct st_poly_patch *p,
                                 struct entries *e, struct st_error *err)
{
    char word[ST_FOAM_WORD_SIZE];
    enum st_status rc = st_foam_word(f, p->name, err);

    if (rc != ST_OK) {
        return rc;
    }
    if (p->name[0] == '\0' || strpbrk(p->name, "(){};") != NULL) {
        return st_foam_fail(f, err,
                            "'%s' where the name of a patch should be: the number of "
                            "patches is wrong, or the file is cut off",
                            p->name);
    }
    p->line = st_foam_line(f);
    rc = st_foam_word(f, word, err);
    if (rc == ST_OK && strcmp(word, "{") != 0) {
        return st_foam_fail(f, err, "'{' must follow the patch name '%s', not '%.40s'",
                            p->name, word);
    }
    if (rc == ST_OK) {
        rc = read_entries(f, p, e, err);
    }
    if (rc != ST_OK) {
        return rc;
    }
    st_foam_go_back(f, p->line);
    return check_entries(f, p, e, err);
}

/* Patches cover [next, ...) without gap or overlap. */
static enum st_status check_range(const struct st_foam *f, const struct st_poly_patch *p,
                                  int64_t next, int64_t n_faces, struct st_error *err)
{
    if (p->start != next) {
        return st_foam_fail(f, err,
                            "patch '%s' starts at face %" PRId64 ", but %s end before "
                            "face %" PRId64 ": patches %s",
                            p->name, p->start,
                            "the internal faces and the patches before it", next,
                            p->start < next ? "overlap" : "leave faces out");
    }
    if (p->n > n_faces - next) {
        return st_foam_fail(f, err,
                            "patch '%s' has %" PRId64 " faces from %" PRId64
                            " on, but the mesh has %" PRId64 " faces",
                            p->name, p->n, p->start, n_faces);
    }
    return ST_OK;
}

static int32_t find(const struct st_poly_patch *patches, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(patches[i].name, name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

/* Both sides of cyclic pairs name each other and have equally many faces. */
static enum st_status pair_cyclics(struct st_foam *f, size_t n,
                                   struct st_poly_patch *patches,
                                   const struct entries *entries, struct st_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct st_poly_patch *p = &patches[i];
        p->beyond = -1;
        if (strcmp(p->type, "cyclic") != 0) {
            continue;
        }
        p->beyond = find(patches, n, entries[i].beyond);
        const struct st_poly_patch *other = p->beyond < 0 ? NULL : &patches[p->beyond];
        if (other == NULL || other == p || strcmp(other->type, "cyclic") != 0 ||
            strcmp(entries[p->beyond].beyond, p->name) != 0 || other->n != p->n) {
            st_foam_go_back(f, p->line);
            return st_foam_fail(
                f, err,
                "cyclic patch '%s' has the neighbourPatch '%.60s', which "
                "is no cyclic patch with as many faces that names '%s' in "
                "turn",
                p->name, entries[i].beyond, p->name);
        }
    }
    return ST_OK;
}

static enum st_status read_all(struct st_foam *f, int64_t n_internal, int64_t n_faces,
                               size_t n, struct st_poly_patch *patches,
                               struct entries *entries, struct st_error *err)
{
    int64_t next = n_internal;
    enum st_status rc = ST_OK;

    for (size_t i = 0; rc == ST_OK && i < n; i++) {
        rc = read_patch(f, &patches[i], &entries[i], err);
        if (rc == ST_OK && find(patches, i, patches[i].name) >= 0) {
            rc = st_foam_fail(f, err, "two patches are called '%s'", patches[i].name);
        }
        if (rc == ST_OK) {
            rc = check_range(f, &patches[i], next, n_faces, err);
        }
        next += patches[i].n;
    }
    if (rc == ST_OK) {
        rc = st_foam_end(f, err);
    }
    if (rc == ST_OK && next != n_faces) {
        rc = st_foam_fail(f, err,
                          "the patches end before face %" PRId64 ", but the mesh has "
                          "%" PRId64 " faces: a patch is missing",
                          next, n_faces);
    }
    if (rc == ST_OK) {
        rc = st_foam_finish(f, err);
    }
    return rc == ST_OK ? pair_cyclics(f, n, patches, entries, err) : rc;
}

enum st_status st_poly_read_patches(struct st_foam *boundary, int64_t n_internal,
                                    int64_t n_faces, size_t *n_patches,
                                    struct st_poly_patch **patches, struct st_error *err)
{
    int64_t n = 0;
    enum st_status rc = st_foam_begin(boundary, ST_FOAM_ENTRIES, &n, err);

    if (rc == ST_OK && n > ST_POLY_MOST_PATCHES) {
        rc = st_foam_fail(boundary, err, "%" PRId64 " patches; at most %d are read", n,
                          ST_POLY_MOST_PATCHES);
    }
    if (rc != ST_OK) {
        return rc;
    }
    struct st_poly_patch *all = st_calloc(err, (size_t)n, sizeof *all);
    struct entries *entries = st_calloc(err, (size_t)n, sizeof *entries);
    rc = all == NULL || entries == NULL
             ? ST_ERR_MEMORY
             : read_all(boundary, n_internal, n_faces, (size_t)n, all, entries, err);
    st_free(entries);
    if (rc != ST_OK) {
        st_free(all);
        return rc;
    }
    *n_patches = (size_t)n;
    *patches = all;
    return ST_OK;
}
