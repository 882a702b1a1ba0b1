/*
 * How text reaches a screen: width, colour, line breaks, numbers. Widths count characters;
 * what seatrial itself writes is ASCII, so that it looks the same in every log.
 */
#include "src/show/screen.h"

#include "src/show/utf8.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    COLUMNS_UNKNOWN = 80,
    COLUMNS_LEAST = 40,
    COLUMNS_MOST = 160
};

/*
 * The stream's own descriptor, or a terminal behind it. mpirun of Open MPI gives each rank a
 * pseudo-terminal of its own and copies what comes out, also into a pipe or a file: what
 * counts there is mpirun's standard output, which rank 0's parent process tells.
 * @return a descriptor (close it if it is not the stream's), -1 if no person sits there
 */
static int terminal_of(FILE *stream)
{
    const int fd = fileno(stream);
    char parent[64];
    struct stat status;

    if (fd < 0 || isatty(fd) != 1) {
        return -1;
    }
    if (getenv("OMPI_COMM_WORLD_SIZE") == NULL) {
        return fd;
    }
    (void)snprintf(parent, sizeof parent, "/proc/%ld/fd/1", (long)getppid());
    if (stat(parent, &status) != 0 || !S_ISCHR(status.st_mode)) {
        return -1;
    }
    const int behind = open(parent, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (behind >= 0 && isatty(behind) != 1) {
        (void)close(behind);
        return -1;
    }
    return behind;
}

struct st_style st_style_of(FILE *stream)
{
    struct st_style style = {.columns = COLUMNS_UNKNOWN};
    const char *term = getenv("TERM");
    const char *no_colour =
        getenv("NO_COLOR"); /* https://no-color.org: set and not empty */
    const bool is_dumb = term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0;
    const int fd = terminal_of(stream);
    struct winsize window = {0};

    if (fd < 0) {
        return style;
    }
    style.terminal = !is_dumb;
    style.colour = !is_dumb && (no_colour == NULL || no_colour[0] == '\0');
    if (ioctl(fd, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
        style.columns = window.ws_col;
    }
    if (fd != fileno(stream)) {
        (void)close(fd);
    }
    if (style.columns < COLUMNS_LEAST) {
        style.columns = COLUMNS_LEAST;
    } else if (style.columns > COLUMNS_MOST) {
        style.columns = COLUMNS_MOST; /* longer lines are hard to read */
    }
    return style;
}

void st_ink_put(FILE *out, struct st_style style, enum st_ink ink, const char *text)
{
    static const char *const codes[] = {
        [ST_INK_PLAIN] = "",         [ST_INK_STRONG] = "\x1b[1m",
        [ST_INK_FAINT] = "\x1b[2m",  [ST_INK_GOOD] = "\x1b[32m",
        [ST_INK_BAD] = "\x1b[1;31m", [ST_INK_DOUBT] = "\x1b[33m"};

    if (!style.colour || ink == ST_INK_PLAIN || text[0] == '\0') {
        (void)fputs(text, out);
        return;
    }
    (void)fprintf(out, "%s%s\x1b[0m", codes[ink], text);
}

enum st_ink st_ink_of(enum st_outcome outcome)
{
    switch (outcome) {
    case ST_PASS:
        return ST_INK_GOOD;
    case ST_FAIL:
        return ST_INK_BAD;
    case ST_INCONCLUSIVE:
    case ST_NOT_JUDGED:
        break;
    }
    return ST_INK_DOUBT;
}

void st_blanks(FILE *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        (void)fputc(' ', out);
    }
}

/* Bytes of the next line: as many whole words as fit into @p room, at least one. */
static size_t line_length(const char *text, size_t room)
{
    size_t fits = 0;
    size_t at = 0;
    size_t width = 0;

    while (text[at] != '\0') {
        uint32_t code = 0;
        if (text[at] == ' ' && text[at + 1] != '%') { /* "4.5 %" stays together */
            fits = at;
        }
        if (width >= room && fits > 0) {
            return fits;
        }
        at += st_utf8_next(text + at, &code);
        width++;
    }
    return width <= room || fits == 0 ? at : fits;
}

void st_wrap(FILE *out, struct st_style style, size_t at, size_t indent, enum st_ink ink,
             const char *text)
{
    char line[2560]; /* longer than any text of a file or verdict */
    const char *rest = st_utf8_clean(line, sizeof line, text);

    for (size_t n = strlen(line); n > 0 && line[n - 1] == ' '; n--) {
        line[n - 1] = '\0';
    }
    for (;;) {
        char part[sizeof line];
        const size_t room = style.columns > at ? style.columns - at : 1;
        const size_t n = line_length(rest, room);
        memcpy(part, rest, n);
        part[n] = '\0';
        st_ink_put(out, style, ink, part);
        (void)fputc('\n', out);
        rest += n;
        rest += strspn(rest, " ");
        if (*rest == '\0') {
            return;
        }
        st_blanks(out, indent);
        at = indent;
    }
}

bool st_line_done(struct st_text *line)
{
    const bool whole = !line->failed;

    st_text_clear(line);
    return whole;
}

const char *st_duration(char *out, size_t size, double seconds)
{
    if (!isfinite(seconds) || !(seconds >= 0.0) || seconds > 1e9) {
        (void)snprintf(out, size, "-");
    } else if (seconds < 9.95) {
        (void)snprintf(out, size, "%.1f s", seconds);
    } else if (seconds < 119.5) {
        (void)snprintf(out, size, "%.0f s", seconds);
    } else if (seconds < 7200.0) {
        const long whole = lround(seconds);
        (void)snprintf(out, size, "%ld min %02ld s", whole / 60, whole % 60);
    } else {
        const long minutes = lround(seconds / 60.0);
        (void)snprintf(out, size, "%ld h %02ld min", minutes / 60, minutes % 60);
    }
    return out;
}

/* Digits behind the point for four significant ones. */
static int decimals_of(double value)
{
    const double magnitude = fabs(value) > 0.0 ? floor(log10(fabs(value))) : 0.0;

    return magnitude >= 3.0 ? 0 : 3 - (int)magnitude;
}

const char *st_number(char *out, size_t size, double value, double like)
{
    if (!isfinite(value)) {
        (void)snprintf(out, size, "-");
        return out;
    }
    const int decimals = isfinite(like) ? decimals_of(like) : decimals_of(value);
    const int own = decimals_of(value);
    if (fabs(value) >= 1e6 || decimals > 6) {
        (void)snprintf(out, size, "%.4g", value);
    } else {
        (void)snprintf(out, size, "%.*f", own < decimals ? own : decimals, value);
    }
    return out;
}
