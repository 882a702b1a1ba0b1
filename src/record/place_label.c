#include "src/base/units.h"
#include "src/record/results.h"

#include <stdio.h>

/* How a place is called for people. */

static const char *host_of(char *const *hosts, size_t n_nodes, size_t node)
{
    return node < n_nodes ? hosts[node] : "?";
}

static void label_point(const struct st_step_place *p, const char *host, char *out,
                        size_t size)
{
    char value[48];

    snprintf(out, size, "%s %s, rank %zu (%s)", p->value_name,
             st_format_quantity(value, sizeof value, p->value, p->value_unit), p->rank,
             host);
}

static void label_pair(const struct st_step_place *p, char *const *hosts, size_t n_nodes,
                       char *out, size_t size)
{
    if (p->node == p->node_b) {
        snprintf(out, size, "rank %zu -> rank %zu (%s)", p->rank, p->rank_b,
                 host_of(hosts, n_nodes, p->node));
    } else {
        /* two host names of full length (255) would not fit: each gets half of the room */
        snprintf(out, size, "rank %zu -> rank %zu (%.120s -> %.120s)", p->rank, p->rank_b,
                 host_of(hosts, n_nodes, p->node), host_of(hosts, n_nodes, p->node_b));
    }
}

const char *st_place_label(enum st_place_kind kind, const struct st_step_place *place,
                           char *const *hosts, size_t n_nodes, bool many_groups,
                           char *out, size_t size)
{
    const char *host = host_of(hosts, n_nodes, place->node);

    switch (kind) {
    case ST_JOB:
        if (!many_groups) {
            snprintf(out, size, "job");
        } else if (place->node < n_nodes) {
            snprintf(out, size, "job on %s", host);
        } else {
            snprintf(out, size, "job of group %zu", place->group);
        }
        break;
    case ST_NODE:
        snprintf(out, size, "%s", host);
        break;
    case ST_RANK:
        snprintf(out, size, "rank %zu (%s)", place->rank, host);
        break;
    case ST_PAIR:
        label_pair(place, hosts, n_nodes, out, size);
        break;
    case ST_NUMA:
        snprintf(out, size, "%s: CPUs of NUMA %zu, memory of NUMA %zu", host, place->numa,
                 place->numa_b);
        break;
    case ST_POINT:
        label_point(place, host, out, size);
        break;
    }
    return out;
}
