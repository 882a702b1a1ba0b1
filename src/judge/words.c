/*
 * Words and sentences of the verdict. A sentence that does not fit its row is cut, and the cut
 * must show.
 */
#include "src/judge/judging.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void st_say(char *out, size_t size, const char *format, ...)
{
    static const char cut[] = "...";
    va_list arguments;

    va_start(arguments, format);
    const int wanted = vsnprintf(out, size, format, arguments);
    va_end(arguments);
    if (wanted < 0) {
        out[0] = '\0';
    } else if ((size_t)wanted >= size && size > sizeof cut) {
        memcpy(out + size - sizeof cut, cut, sizeof cut);
    }
}

const char *st_outcome_word(enum st_outcome outcome)
{
    switch (outcome) {
    case ST_PASS:
        return "pass";
    case ST_FAIL:
        return "fail";
    case ST_INCONCLUSIVE:
        return "inconclusive";
    case ST_NOT_JUDGED:
        return "not judged";
    }
    return "unknown";
}

enum st_outcome st_outcome_worse(enum st_outcome a, enum st_outcome b)
{
    /* From best to worst; an undecided criterion says more than one nobody looked at. */
    static const enum st_outcome order[] = {ST_PASS, ST_NOT_JUDGED, ST_INCONCLUSIVE,
                                            ST_FAIL};
    size_t rank_a = 0;
    size_t rank_b = 0;

    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        rank_a = order[i] == a ? i : rank_a;
        rank_b = order[i] == b ? i : rank_b;
    }
    return rank_a >= rank_b ? a : b;
}
