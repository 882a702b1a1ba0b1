/* Data that travelled over a link are those that were sent. */
#include "src/benchmarks/part_link_check.h"

#include "kernels/splitmix.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t word_of(size_t from, size_t to, size_t i)
{
    return stk_random_u64(((uint64_t)from << 32) + to, i);
}

enum st_status st_link_check(const struct stm_link *link, size_t self, size_t other,
                             bool spoil, struct st_check *check, struct st_error *err)
{
    const size_t n_words = (size_t)link->message_bytes / sizeof(uint64_t);
    size_t n_wrong = 0;
    char what[128];

    for (size_t i = 0; i < n_words; i++) {
        const uint64_t word = word_of(self, other, i);
        (void)memcpy(link->send + i * sizeof word, &word, sizeof word);
    }
    const enum st_status rc = stm_windows_both(link, 1, err);
    if (rc != ST_OK) {
        return rc;
    }
    if (spoil) {
        link->recv[0] = (char)(link->recv[0] ^ 1);
    }
    for (size_t i = 0; i < n_words; i++) {
        const uint64_t word = word_of(other, self, i);
        n_wrong += memcmp(link->recv + i * sizeof word, &word, sizeof word) != 0;
    }
    (void)snprintf(what, sizeof what, "%zu of %zu words from node %zu to node %zu",
                   n_wrong, n_words, other, self);
    st_check_true(check, n_wrong == 0, what);
    return ST_OK;
}
