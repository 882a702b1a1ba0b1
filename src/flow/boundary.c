/*
 * Boundary conditions from text. Each entry of the text is read once into a small list; names
 * are then looked up in the list, exact ones before those with a star.
 */
#include "src/flow/boundary.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <string.h>

enum {
    MOST_ENTRIES = 64,
    WORD_SIZE = ST_PATCH_NAME_SIZE
};

struct entry {
    char name[WORD_SIZE];
    struct st_bc bc;
    bool is_used;
};

struct entries {
    size_t n;
    struct entry list[MOST_ENTRIES];
};

static const struct {
    const char *word;
    enum st_bc_kind kind;
    int n_values;
    const char *values;
} kinds[] = {
    {"wall", ST_BC_WALL, 0, ""},
    {"velocity", ST_BC_VELOCITY, 3, " UX UY UZ"},
    {"parabola", ST_BC_PARABOLA, 3, " Y_FROM Y_TO MEAN"},
    {"pressure", ST_BC_PRESSURE, 1, " VALUE"},
    {"symmetry", ST_BC_SYMMETRY, 0, ""},
    {"empty", ST_BC_EMPTY, 0, ""},
};

static const char GRAMMAR[] = "write PATCH: wall | velocity UX UY UZ | parabola Y_FROM "
                              "Y_TO MEAN | pressure VALUE | symmetry | empty, with "
                              "semicolons between patches";

/* Cut the next word of [*at, end) off; false: none is left. */
static bool next_word(const char **at, const char *end, char word[WORD_SIZE])
{
    const char *from = *at + strspn(*at, " \t\r\n");
    size_t n = 0;

    while (from + n < end && strchr(" \t\r\n", from[n]) == NULL) {
        n++;
    }
    if (from >= end || n == 0) {
        return false;
    }
    const size_t kept = n < WORD_SIZE ? n : WORD_SIZE - 1;
    memcpy(word, from, kept);
    word[kept] = '\0';
    *at = from + n;
    return true;
}

static enum st_status read_condition(const char *at, const char *end, struct entry *entry,
                                     struct st_error *err)
{
    char word[WORD_SIZE];
    size_t kind = 0;

    if (!next_word(&at, end, word)) {
        return st_fail(err, ST_ERR_CONFIG, "patch '%s' has no condition; %s", entry->name,
                       GRAMMAR);
    }
    while (kind < ST_COUNT(kinds) && strcmp(word, kinds[kind].word) != 0) {
        kind++;
    }
    if (kind == ST_COUNT(kinds)) {
        return st_fail(err, ST_ERR_CONFIG, "patch '%s': no condition is called '%s'; %s",
                       entry->name, word, GRAMMAR);
    }
    entry->bc.kind = kinds[kind].kind;
    for (int i = 0; i < kinds[kind].n_values; i++) {
        if (!next_word(&at, end, word) || !st_parse_double(word, &entry->bc.value[i])) {
            return st_fail(err, ST_ERR_CONFIG, "patch '%s': %s needs %d number(s): %s%s",
                           entry->name, kinds[kind].word, kinds[kind].n_values,
                           kinds[kind].word, kinds[kind].values);
        }
    }
    if (next_word(&at, end, word)) {
        return st_fail(err, ST_ERR_CONFIG, "patch '%s': '%s' is too much after %s%s",
                       entry->name, word, kinds[kind].word, kinds[kind].values);
    }
    if (entry->bc.kind == ST_BC_PARABOLA && !(entry->bc.value[1] > entry->bc.value[0])) {
        return st_fail(err, ST_ERR_CONFIG,
                       "patch '%s': parabola from y = %g to y = %g: the second must be "
                       "greater",
                       entry->name, entry->bc.value[0], entry->bc.value[1]);
    }
    return ST_OK;
}

static enum st_status read_entry(const char *at, const char *end, struct entries *all,
                                 struct st_error *err)
{
    const char *colon = memchr(at, ':', (size_t)(end - at));
    struct entry entry = {.is_used = false};
    char more[WORD_SIZE];

    if (colon == NULL || !next_word(&at, colon, entry.name) ||
        next_word(&at, colon, more)) {
        return st_fail(err, ST_ERR_CONFIG, "boundary conditions: '%.*s' is not one; %s",
                       (int)(end - at < 80 ? end - at : 80), at, GRAMMAR);
    }
    for (size_t i = 0; i < all->n; i++) {
        if (strcmp(all->list[i].name, entry.name) == 0) {
            return st_fail(err, ST_ERR_CONFIG, "patch '%s' has two conditions",
                           entry.name);
        }
    }
    if (all->n == MOST_ENTRIES) {
        return st_fail(err, ST_ERR_CONFIG,
                       "more than %d boundary conditions; use names with a star",
                       MOST_ENTRIES);
    }
    const enum st_status rc = read_condition(colon + 1, end, &entry, err);
    if (rc == ST_OK) {
        all->list[all->n++] = entry;
    }
    return rc;
}

static enum st_status read_entries(const char *text, struct entries *all,
                                   struct st_error *err)
{
    enum st_status rc = ST_OK;

    while (rc == ST_OK && *text != '\0') {
        const char *end = text + strcspn(text, ";");
        if (text + strspn(text, " \t\r\n") < end) { /* a last semicolon may be there */
            rc = read_entry(text, end, all, err);
        }
        text = *end == ';' ? end + 1 : end;
    }
    return rc;
}

enum st_status st_bc_check(const char *text, struct st_error *err)
{
    struct entries all = {0};

    return read_entries(text, &all, err);
}

static bool matches(const char *pattern, const char *name)
{
    const size_t n = strlen(pattern);

    if (n > 0 && pattern[n - 1] == '*') {
        return strncmp(pattern, name, n - 1) == 0;
    }
    return strcmp(pattern, name) == 0;
}

/* The entry for a patch: of its own name, else the longest with a star that fits. */
static struct entry *entry_of(struct entries *all, const char *name)
{
    struct entry *best = NULL;

    for (size_t i = 0; i < all->n; i++) {
        struct entry *entry = &all->list[i];
        if (!matches(entry->name, name)) {
            continue;
        }
        entry->is_used = true;
        if (strcmp(entry->name, name) == 0) {
            return entry;
        }
        if (best == NULL || strlen(entry->name) > strlen(best->name)) {
            best = entry;
        }
    }
    return best;
}

static void list_patches(const struct st_mesh *mesh, struct st_text *names)
{
    for (size_t i = 0; i < mesh->n_patches; i++) {
        if (mesh->patches[i].kind != ST_PATCH_HALO) {
            st_text_add(names, "%s%s (%s)", names->length > 0 ? ", " : "",
                        mesh->patches[i].name, mesh->patches[i].type);
        }
    }
}

static enum st_bc_kind kind_by_type(const struct st_patch *patch)
{
    if (patch->kind == ST_PATCH_EMPTY) {
        return ST_BC_EMPTY;
    }
    if (strcmp(patch->type, "symmetry") == 0 ||
        strcmp(patch->type, "symmetryPlane") == 0) {
        return ST_BC_SYMMETRY;
    }
    return strcmp(patch->type, "wall") == 0 ? ST_BC_WALL : ST_BC_NONE;
}

static enum st_status apply_to(const struct st_patch *patch, struct entries *all,
                               struct st_bc *out, struct st_error *err)
{
    const struct entry *entry = entry_of(all, patch->name);

    *out = entry != NULL ? entry->bc : (struct st_bc){.kind = kind_by_type(patch)};
    if (out->kind == ST_BC_NONE) {
        return st_fail(err, ST_ERR_CONFIG,
                       "patch '%s' (%s) has no boundary condition; %s", patch->name,
                       patch->type, GRAMMAR);
    }
    if ((out->kind == ST_BC_EMPTY) != (patch->kind == ST_PATCH_EMPTY)) {
        return st_fail(err, ST_ERR_CONFIG,
                       "patch '%s' is of type '%s' in the mesh: only patches of type "
                       "empty, and all of these, have the condition empty",
                       patch->name, patch->type);
    }
    return ST_OK;
}

static enum st_status apply(const struct st_mesh *mesh, struct entries *all,
                            struct st_bc *out, struct st_text *names,
                            struct st_error *err)
{
    enum st_status rc = ST_OK;

    for (size_t i = 0; i < mesh->n_patches; i++) {
        if (mesh->patches[i].kind != ST_PATCH_HALO) {
            (void)entry_of(all, mesh->patches[i].name); /* marks what is used */
        }
    }
    /* A wrong name is why a patch has no condition: it is told first. */
    for (size_t i = 0; rc == ST_OK && i < all->n; i++) {
        if (!all->list[i].is_used) {
            list_patches(mesh, names);
            rc = st_fail(err, ST_ERR_CONFIG,
                         "the mesh has no patch '%s'; its patches are: %.1500s",
                         all->list[i].name, st_text_get(names));
        }
    }
    for (size_t i = 0; rc == ST_OK && i < mesh->n_patches; i++) {
        if (mesh->patches[i].kind != ST_PATCH_HALO) {
            rc = apply_to(&mesh->patches[i], all, &out[i], err);
        }
    }
    return rc;
}

enum st_status st_bc_apply(const struct st_mesh *mesh, const char *text,
                           struct st_bc *out, struct st_error *err)
{
    struct entries all = {0};
    struct st_text names = {0};
    enum st_status rc = read_entries(text, &all, err);

    if (rc == ST_OK) {
        rc = apply(mesh, &all, out, &names, err);
    }
    st_text_clear(&names);
    return rc;
}

bool st_bc_fixes_velocity(const struct st_bc *bc)
{
    return bc->kind == ST_BC_WALL || bc->kind == ST_BC_VELOCITY ||
           bc->kind == ST_BC_PARABOLA;
}

struct st_vec st_bc_velocity(const struct st_bc *bc, struct st_vec at)
{
    const double *v = bc->value;

    if (bc->kind == ST_BC_VELOCITY) {
        return (struct st_vec){v[0], v[1], v[2]};
    }
    if (bc->kind == ST_BC_PARABOLA && at.y > v[0] && at.y < v[1]) {
        const double width = v[1] - v[0];
        return (struct st_vec){
            6.0 * v[2] * (at.y - v[0]) * (v[1] - at.y) / (width * width), 0.0, 0.0};
    }
    return (struct st_vec){0.0, 0.0, 0.0};
}
