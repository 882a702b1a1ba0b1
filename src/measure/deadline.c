/*
 * The watchdog thread. It sleeps on a condition until the step ends or its deadline passes.
 *
 * After the deadline, in seconds: 0 every rank writes its record; 2 rank 0 reads them,
 * reports, lets the program save its file and ends; 7 the lowest rank that answered does the
 * same if rank 0 wrote no record; 12 everyone else ends, in case the launcher does not end
 * them. Nothing here can be taken back: the main thread may be stuck in MPI for ever.
 */
#include "src/measure/deadline.h"

#include "mpi/agree.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    READ_AFTER_S = 2, /* time for the records to reach a shared file system */
    DEPUTY_AFTER_S = 7,
    EVERYBODY_AFTER_S = 12,
    SINK_WAIT_S = 5
};

struct st_deadline {
    const struct st_campaign *campaign;
    const struct st_step *step;
    size_t rank;
    struct timespec end;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards is_over */
    pthread_cond_t over;
    bool is_over;
    pthread_mutex_t sink_mutex; /* held by the main thread inside the sink */
    struct st_whereabouts where;
};

static struct timespec later(struct timespec from, double by_s)
{
    const double whole = (double)(time_t)by_s;

    from.tv_sec += (time_t)by_s;
    from.tv_nsec += (long)((by_s - whole) * 1e9);
    if (from.tv_nsec >= 1000000000L) {
        from.tv_nsec -= 1000000000L;
        from.tv_sec++;
    }
    return from;
}

/* @return true if the step ended before @p until */
static bool wait_until(struct st_deadline *d, struct timespec until)
{
    int rc = 0;

    (void)pthread_mutex_lock(&d->mutex);
    while (!d->is_over && rc == 0) {
        rc = pthread_cond_timedwait(&d->over, &d->mutex, &until);
    }
    const bool is_over = d->is_over;
    (void)pthread_mutex_unlock(&d->mutex);
    return is_over;
}

static void write_record(const struct st_deadline *d)
{
    char record[ST_RECORD_SIZE];
    const int file =
        open(d->campaign->deadline_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    if (file < 0) {
        return; /* then this rank counts as silent; its own stderr may still tell */
    }
    st_record_print(record, d->rank, stm_host(), d->step->name, &d->where);
    const ssize_t n =
        pwrite(file, record, sizeof record, (off_t)(d->rank * (size_t)ST_RECORD_SIZE));
    if (n == (ssize_t)sizeof record) {
        (void)fsync(file);
    }
    (void)close(file);
}

static const char *host_of(const void *context, size_t rank)
{
    const struct st_machine *machine = context;

    return machine->nodes[machine->ranks[rank].node].host;
}

static char *read_records(const struct st_deadline *d, size_t *n_bytes)
{
    const size_t most = (size_t)d->campaign->machine->world.n_ranks * ST_RECORD_SIZE;

    *n_bytes = 0;
    return st_read_file(NULL, d->campaign->deadline_file, most, n_bytes);
}

/* A writer in mid-call cannot be waited for endlessly: then the file keeps its last state. */
static bool lock_sink(struct st_deadline *d)
{
    struct timespec now;

    if (clock_gettime(CLOCK_REALTIME, &now) != 0) {
        return pthread_mutex_trylock(&d->sink_mutex) == 0;
    }
    const struct timespec until = later(now, SINK_WAIT_S);
    return pthread_mutex_timedlock(&d->sink_mutex, &until) == 0;
}

static _Noreturn void report_and_end(struct st_deadline *d)
{
    const struct st_campaign *campaign = d->campaign;
    const struct st_late_launch launch = {.n_ranks =
                                              (size_t)campaign->machine->world.n_ranks,
                                          .host = host_of,
                                          .context = campaign->machine};
    size_t n_bytes = 0;
    char *records = read_records(d, &n_bytes);
    char *text = st_late_report(d->step->name, d->step->repeat.deadline_s, &launch,
                                records, n_bytes);
    const char *shown = text == NULL ? "a step did not end within its deadline\n" : text;

    (void)fprintf(stderr, "seatrial: %s", shown);
    (void)fflush(stderr);
    if (campaign->on_deadline != NULL && lock_sink(d)) {
        campaign->on_deadline(campaign->deadline_context, shown);
    }
    _exit((int)ST_EXIT_INCOMPLETE);
}

/* Is this the lowest rank that answered, with rank 0 silent? */
static bool is_deputy(const struct st_deadline *d)
{
    size_t n_bytes = 0;
    char *records = read_records(d, &n_bytes);
    bool lower = false;

    for (size_t rank = 0; rank < d->rank && !lower; rank++) {
        lower = st_late_answered(d->step->name, records, n_bytes, rank);
    }
    st_free(records);
    return !lower;
}

static void *watch(void *argument)
{
    struct st_deadline *d = argument;

    if (wait_until(d, d->end)) {
        return NULL;
    }
    write_record(d);
    if (d->rank == 0) {
        if (wait_until(d, later(d->end, READ_AFTER_S))) {
            return NULL;
        }
        report_and_end(d);
    }
    if (wait_until(d, later(d->end, DEPUTY_AFTER_S))) {
        return NULL;
    }
    if (is_deputy(d)) {
        report_and_end(d);
    }
    if (wait_until(d, later(d->end, EVERYBODY_AFTER_S))) {
        return NULL;
    }
    _exit((int)ST_EXIT_INCOMPLETE);
}

static void destroy(struct st_deadline *d)
{
    (void)pthread_mutex_destroy(&d->sink_mutex);
    (void)pthread_cond_destroy(&d->over);
    (void)pthread_mutex_destroy(&d->mutex);
    st_free(d);
}

/* Signals are the main thread's: the watchdog starts with all of them blocked. */
static int start_thread(struct st_deadline *d)
{
    sigset_t all;
    sigset_t old;

    (void)sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0) {
        return -1;
    }
    const int rc = pthread_create(&d->thread, NULL, watch, d);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

/* The condition waits by CLOCK_MONOTONIC: a step of the wall clock is no deadline. */
static int init_sync(struct st_deadline *d)
{
    pthread_condattr_t attributes;
    int rc = pthread_condattr_init(&attributes);

    if (rc == 0) {
        rc = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        rc = rc != 0 ? rc : pthread_cond_init(&d->over, &attributes);
        (void)pthread_condattr_destroy(&attributes);
    }
    rc = rc != 0 ? rc : pthread_mutex_init(&d->mutex, NULL);
    return rc != 0 ? rc : pthread_mutex_init(&d->sink_mutex, NULL);
}

enum st_status st_deadline_arm(const struct st_campaign *campaign,
                               const struct st_step *step, struct st_deadline **out,
                               struct st_error *err)
{
    struct timespec now;
    struct st_deadline *d = st_calloc(err, 1, sizeof *d);

    if (d == NULL) {
        return ST_ERR_MEMORY;
    }
    d->campaign = campaign;
    d->step = step;
    d->rank = (size_t)campaign->machine->world.rank;
    if (d->rank == 0) {
        (void)unlink(campaign->deadline_file); /* of an earlier run; absent is the rule */
    }
    if (init_sync(d) != 0 || clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        st_free(d);
        return st_fail(err, ST_ERR_INTERNAL, "cannot set up the watch over the deadline");
    }
    d->end = later(now, step->repeat.deadline_s);
    const int rc = start_thread(d);
    if (rc != 0) {
        destroy(d);
        return st_fail(err, ST_ERR_MEMORY,
                       "cannot start the thread that watches the deadline (error %d): is "
                       "the number of processes or the address space limited?",
                       rc);
    }
    *out = d;
    return ST_OK;
}

void st_deadline_disarm(struct st_deadline **deadline)
{
    struct st_deadline *d = *deadline;

    if (d == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&d->mutex);
    d->is_over = true;
    (void)pthread_cond_signal(&d->over);
    (void)pthread_mutex_unlock(&d->mutex);
    (void)pthread_join(d->thread, NULL);
    destroy(d);
    *deadline = NULL;
}

struct st_whereabouts *st_deadline_where(struct st_deadline *deadline)
{
    return &deadline->where;
}

double st_deadline_left(const struct st_deadline *deadline)
{
    struct timespec now;

    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
        return 0.0;
    }
    return (double)(deadline->end.tv_sec - now.tv_sec) +
           1e-9 * (double)(deadline->end.tv_nsec - now.tv_nsec);
}

void st_deadline_lock_sink(struct st_deadline *deadline)
{
    if (deadline != NULL) {
        (void)pthread_mutex_lock(&deadline->sink_mutex);
    }
}

void st_deadline_unlock_sink(struct st_deadline *deadline)
{
    if (deadline != NULL) {
        (void)pthread_mutex_unlock(&deadline->sink_mutex);
    }
}
