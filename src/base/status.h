#ifndef ST_BASE_STATUS_H
#define ST_BASE_STATUS_H

/*
 * Status codes and error text.
 *
 * A function that can fail returns enum st_status and takes a struct st_error. Whoever
 * decides that something is wrong writes the text once with st_fail(); callers add context
 * with st_note() or pass the code on. Nothing here prints or ends the program.
 */

enum {
    ST_ERROR_TEXT_SIZE = 2048
};

/** Ordered by severity: of several ranks' codes the greatest wins (stm_agree). */
enum st_status {
    ST_OK = 0,
    ST_ERR_UNSUPPORTED, /**< this machine lacks what is asked for; a step is skipped */
    ST_ERR_INTERRUPTED, /**< SIGTERM, SIGINT or SIGUSR1 arrived */
    ST_ERR_DEADLINE,    /**< a deadline passed */
    ST_ERR_STEP,        /**< one step cannot go on (placement, size); others may */
    ST_ERR_USAGE,       /**< wrong command line */
    ST_ERR_CONFIG,      /**< wrong config file */
    ST_ERR_LAUNCH,      /**< wrongly started (singletons, stacked ranks) */
    ST_ERR_MEMORY,      /**< allocation failed */
    ST_ERR_TOPO,        /**< topology or binding */
    ST_ERR_IO,          /**< file, HDF5 */
    ST_ERR_INTERNAL,    /**< a bug in seatrial */
    ST_ERR_MPI          /**< an MPI call failed; the communicator is no longer trusted */
};

/** Error text of one failure; zero-initialised means "no error". */
struct st_error {
    enum st_status code;
    char text[ST_ERROR_TEXT_SIZE];
};

/** Program exit status (docs/DESIGN.md, "Exit status"). */
enum st_exit {
    ST_EXIT_PASS = 0,
    ST_EXIT_FAIL = 1,
    ST_EXIT_INCOMPLETE = 2,
    ST_EXIT_USAGE = 3,
    ST_EXIT_INTERNAL = 4
};

/**
 * Set @p err to @p code and a printf-style text (cut at the buffer's end).
 * Local. @p err may be NULL; the arguments must not point into it. @return @p code
 */
enum st_status st_fail(struct st_error *err, enum st_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Append printf-style context to the text. Local. @return err->code; ST_ERR_INTERNAL for NULL,
 * so that a failure without a place for its text stays one */
enum st_status st_note(struct st_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Put printf-style context before the text, e.g. "FILE:LINE:COLUMN: ". Local. The arguments
 * must not point into @p err. @return as st_note()
 */
enum st_status st_prefix(struct st_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Exit status that belongs to a status code that ends the program. Local. */
enum st_exit st_exit_of(enum st_status code);

/** Short fixed word for a code ("config", "io" …), never NULL. Local. */
const char *st_status_word(enum st_status code);

#endif
