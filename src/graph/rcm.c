/*
 * Reverse Cuthill-McKee: a breadth-first walk that takes neighbours by rising degree, read
 * backwards. Equal degrees keep the order of the vertices' numbers, so that the result depends
 * on the graph alone.
 */
#include "src/graph/rcm.h"

#include "src/base/mem.h"

#include <stdbool.h>
#include <stdlib.h>

enum {
    MOST_STARTS = 8 /* walks in search of a far vertex; two or three are the rule */
};

/* A vertex waiting for its turn, with what decides it. */
struct turn {
    int32_t degree, vertex;
};

struct walk {
    const int32_t *start, *adjacent;
    int32_t *order;   /* the caller's */
    int32_t *seen;    /* [n] number of the last walk that came by; INT32_MAX: placed */
    struct turn *row; /* [greatest degree] */
    int32_t number;
};

static int32_t degree(const struct walk *w, int32_t v)
{
    return w->start[v + 1] - w->start[v];
}

static int compare(const void *left, const void *right)
{
    const struct turn *a = left;
    const struct turn *b = right;

    if (a->degree != b->degree) {
        return a->degree < b->degree ? -1 : 1;
    }
    return (a->vertex > b->vertex) - (a->vertex < b->vertex);
}

/*
 * Walk all that hangs together with @p root, into order[first …].
 * @param[out] last where the last level begins
 * @param[out] depth number of levels
 * @return the end of what was walked
 */
static int32_t walk_from(struct walk *w, int32_t root, int32_t first, int32_t mark,
                         int32_t *last, int32_t *depth)
{
    int32_t end = first + 1;
    int32_t level_end = end;

    w->order[first] = root;
    w->seen[root] = mark;
    *last = first;
    *depth = 1;
    for (int32_t at = first; at < end; at++) {
        const int32_t v = w->order[at];
        size_t n = 0;
        if (at == level_end) {
            *last = at;
            level_end = end;
            (*depth)++;
        }
        for (int32_t k = w->start[v]; k < w->start[v + 1]; k++) {
            const int32_t other = w->adjacent[k];
            if (w->seen[other] != mark && w->seen[other] != INT32_MAX) {
                w->seen[other] = mark;
                w->row[n++] = (struct turn){degree(w, other), other};
            }
        }
        qsort(w->row, n, sizeof *w->row, compare);
        for (size_t i = 0; i < n; i++) {
            w->order[end++] = w->row[i].vertex;
        }
    }
    return end;
}

/* A vertex far from another one: the one of least degree in the last level, again and again. */
static int32_t find_root(struct walk *w, int32_t root, int32_t first)
{
    int32_t deepest = 0;

    for (int i = 0; i < MOST_STARTS; i++) {
        int32_t last = 0;
        int32_t depth = 0;
        const int32_t end = walk_from(w, root, first, ++w->number, &last, &depth);
        if (depth <= deepest) {
            break;
        }
        deepest = depth;
        root = w->order[last];
        for (int32_t at = last; at < end; at++) {
            root = degree(w, w->order[at]) < degree(w, root) ? w->order[at] : root;
        }
    }
    return root;
}

static void reverse(int32_t *order, int32_t n)
{
    for (int32_t i = 0; i < n / 2; i++) {
        const int32_t other = order[n - 1 - i];
        order[n - 1 - i] = order[i];
        order[i] = other;
    }
}

enum st_status st_rcm(int32_t n, const int32_t *start, const int32_t *adjacent,
                      int32_t *order, struct st_error *err)
{
    struct walk w = {.start = start, .adjacent = adjacent, .order = order};
    int32_t most = 0;
    int32_t first = 0;

    for (int32_t v = 0; v < n; v++) {
        most = degree(&w, v) > most ? degree(&w, v) : most;
    }
    w.seen = st_calloc(err, (size_t)n, sizeof *w.seen);
    w.row = st_calloc(err, (size_t)most, sizeof *w.row);
    const bool is_whole = w.seen != NULL && w.row != NULL;
    for (int32_t v = 0; is_whole && v < n; v++) {
        if (w.seen[v] == INT32_MAX) {
            continue;
        }
        int32_t unused[2];
        const int32_t root = find_root(&w, v, first);
        const int32_t end = walk_from(&w, root, first, INT32_MAX, &unused[0], &unused[1]);
        first = end;
    }
    if (is_whole) {
        reverse(order, n);
    }
    st_free(w.seen);
    st_free(w.row);
    return is_whole ? ST_OK : ST_ERR_MEMORY;
}
