#ifndef ST_SHOW_PUBLISHED_H
#define ST_SHOW_PUBLISHED_H

#include "src/show/screen.h"

#include <stdbool.h>

/* Figures of other people's machines beside those of a file. Private to src/show; local. */

/** Lines of data/published_systems.csv, NULL at the end; compiled in. */
extern const char *const st_published_lines[];

enum {
    ST_PUBLISHED_FIELD = 160
};

/** One published figure. */
struct st_published {
    char system[ST_PUBLISHED_FIELD], metric[32], unit[16], scope[32], stores[64];
    char conditions[ST_PUBLISHED_FIELD], source[64];
    double value; /**< in base units: byte s-1 or s */
    double sockets, cores;
};

/** Read a line. @return false for a comment, the title line, or one that is no figure */
bool st_published_read(const char *line, struct st_published *out);

/**
 * "Beside published systems": for every figure of the file that was measured as a published
 * one was, the two together. Nothing if there is none. @return false if not written whole
 */
bool st_report_published(FILE *out, struct st_style style, const struct st_file *file);

#endif
