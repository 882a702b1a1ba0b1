#include "src/machine/launch.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <ctype.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Was the program started as it was meant? The common accident is `srun` without a PMI that
 * MPI understands: P processes, each rank 0 of 1, all writing one file (open-mpi/ompi#13523).
 * The check reads variables only, so it can come before anything else.
 *
 * A limit on MPI_Init is an alarm: the process may hang inside the library, where nothing but
 * a signal handler runs. Its text is made beforehand; the handler only writes and leaves.
 */

/* What a variable tells. */
enum source {
    FROM_MPI,   /* total of MPI's own launcher: decides */
    FROM_LOCAL, /* ranks on this node: MPI cannot have fewer */
    FROM_RANK,  /* this process's number: MPI must have more */
    FROM_TASKS, /* tasks of a step or job of the batch system */
    FROM_ALLOC  /* size of the allocation: a hint for the message */
};

static const struct {
    const char *name;
    enum source source;
    bool launched; /* set for processes of a launch only */
} variables[] = {
    {"OMPI_COMM_WORLD_SIZE", FROM_MPI, true},
    {"PMI_SIZE", FROM_MPI, true},
    {"MPI_LOCALNRANKS", FROM_LOCAL, true},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", FROM_LOCAL, true},
    {"PMIX_RANK", FROM_RANK, true},
    {"PMI_RANK", FROM_RANK, true},
    {"SLURM_STEP_NUM_TASKS", FROM_TASKS, true},
    {"SLURM_NTASKS", FROM_TASKS, false},
    {"SLURM_NPROCS", FROM_TASKS, false},
    {"SLURM_PROCID", FROM_RANK, false},
    {"SLURM_STEP_ID", FROM_ALLOC, true},
    {"PBS_TASKNUM", FROM_ALLOC, true},
    {"LSF_PM_TASKID", FROM_ALLOC, true},
    {"PBS_NP", FROM_ALLOC, false},
    {"LSB_DJOB_NUMPROC", FROM_ALLOC, false},
};

static bool number(st_getenv_fn env, size_t i, uint64_t *out)
{
    const char *text = env(variables[i].name);

    return text != NULL && st_parse_u64(text, out);
}

bool st_launched(st_getenv_fn env)
{
    for (size_t i = 0; i < ST_COUNT(variables); i++) {
        const char *value = env(variables[i].name);
        if (variables[i].launched && value != NULL && value[0] != '\0') {
            return true;
        }
    }
    return false;
}

/* "SLURM_NTASKS=4 SLURM_PROCID=2" */
static void list_found(st_getenv_fn env, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (size_t i = 0; i < ST_COUNT(variables); i++) {
        const char *value = env(variables[i].name);
        if (value == NULL || used >= size) {
            continue;
        }
        const int n = snprintf(out + used, size - used, "%s%s=%.40s", used > 0 ? " " : "",
                               variables[i].name, value);
        used += n > 0 ? (size_t)n : 0;
    }
}

/* What speaks against MPI's size: the variable's index and the count it implies. */
struct verdict {
    bool wrong;
    uint64_t count;
};

static struct verdict judge(st_getenv_fn env, uint64_t mpi_size)
{
    struct verdict verdict = {0};
    uint64_t value = 0;
    bool trusted = false;

    for (size_t i = 0; i < ST_COUNT(variables); i++) { /* MPI's own launcher first */
        if (variables[i].source == FROM_MPI && number(env, i, &value)) {
            if (value == mpi_size) {
                trusted = true;
            } else if (!verdict.wrong) {
                verdict = (struct verdict){true, value};
            }
        }
    }
    if (trusted || verdict.wrong) {
        verdict.wrong = !trusted;
        return verdict;
    }
    for (size_t i = 0; i < ST_COUNT(variables); i++) {
        if (variables[i].source == FROM_ALLOC || !number(env, i, &value)) {
            continue;
        }
        if (variables[i].source == FROM_RANK) {
            value = value < UINT64_MAX ? value + 1 : value; /* at least so many */
        }
        if (value > mpi_size && value > verdict.count) {
            verdict = (struct verdict){true, value};
        }
    }
    return verdict;
}

static bool is_ignored(st_getenv_fn env)
{
    const char *ignore = env("SEATRIAL_IGNORE_LAUNCHER");

    return ignore != NULL && strcmp(ignore, "1") == 0;
}

enum st_status st_launch_precheck(st_getenv_fn env, struct st_error *err)
{
    /* One of them is there whenever a PMI of any kind or MPI's own launcher is. */
    static const char *const signs[] = {
        "PMIX_RANK",      "PMIX_NAMESPACE",    "PMI_RANK",
        "PMI_FD",         "PMI_SIZE",          "PMI_PORT",
        "PMI_JOBID",      "PMI_SHARED_SECRET", "OMPI_COMM_WORLD_SIZE",
        "MPI_LOCALNRANKS"};
    const char *tasks = env("SLURM_STEP_NUM_TASKS");
    uint64_t n = 0;

    if (tasks == NULL || !st_parse_u64(tasks, &n) || n < 2 || is_ignored(env)) {
        return ST_OK;
    }
    for (size_t i = 0; i < ST_COUNT(signs); i++) {
        if (env(signs[i]) != NULL) {
            return ST_OK;
        }
    }
    return st_fail(
        err, ST_ERR_LAUNCH,
        "srun started %llu tasks without a PMI (--mpi=none, or the site's "
        "default), so MPI cannot bring them together. Cure: `srun --mpi=pmix` "
        "for Open MPI (`srun --mpi=list` shows what Slurm offers), or MPI's own "
        "mpirun. Nothing was measured, no file was touched. To run all the "
        "same, set SEATRIAL_IGNORE_LAUNCHER=1",
        (unsigned long long)n);
}

enum st_status st_launch_check(st_getenv_fn env, int mpi_size, struct st_error *err)
{
    char found[512];
    const uint64_t size = mpi_size > 0 ? (uint64_t)mpi_size : 0;
    const struct verdict verdict = judge(env, size);

    if (!verdict.wrong || is_ignored(env)) {
        return ST_OK;
    }
    list_found(env, found, sizeof found);
    if (size == 1 && verdict.count > 1) {
        return st_fail(err, ST_ERR_LAUNCH,
                       "the launcher started at least %llu processes (%s), but MPI sees "
                       "1: these are %llu "
                       "separate programs, not one. MPI and launcher do not understand "
                       "each other. Cure: "
                       "`srun --mpi=list` shows what Slurm offers, `srun --mpi=pmix` is "
                       "what Open MPI needs; "
                       "or start with MPI's own mpirun. Nothing was measured, no file "
                       "was touched. To run "
                       "all the same, set SEATRIAL_IGNORE_LAUNCHER=1",
                       (unsigned long long)verdict.count, found,
                       (unsigned long long)verdict.count);
    }
    return st_fail(
        err, ST_ERR_LAUNCH,
        "the launcher speaks of %llu processes (%s), but MPI sees %d. Start with the "
        "launcher that belongs to this MPI (`srun --mpi=list`, `srun --mpi=pmix`, or "
        "its own mpirun). Nothing was measured, no file was touched. To run all the "
        "same, set SEATRIAL_IGNORE_LAUNCHER=1",
        (unsigned long long)verdict.count, found, mpi_size);
}

/* ---- a limit on MPI_Init ---- */

static const char *environment(const char *name)
{
    return getenv(name); /* NOLINT(concurrency-mt-unsafe): before any thread exists */
}

static char alarm_text[1024];
static size_t alarm_length;
static struct sigaction alarm_before;

/* Only async-signal-safe calls (POSIX.1-2008, 2.4.3). */
static void on_alarm(int signal_number)
{
    (void)signal_number;
    const ssize_t n = write(STDERR_FILENO, alarm_text, alarm_length);
    _exit(n < 0 ? ST_EXIT_INTERNAL : ST_EXIT_USAGE);
}

void st_launch_arm(unsigned seconds)
{
    char host[256] = "unknown-host";
    char found[512];
    uint64_t limit = 0;
    const char *override = environment("SEATRIAL_INIT_TIMEOUT");

    if (override != NULL && st_parse_u64(override, &limit) && limit <= 1000000) {
        seconds = (unsigned)limit;
    }
    (void)gethostname(host, sizeof host - 1);
    host[sizeof host - 1] = '\0';
    list_found(environment, found, sizeof found);
    const int n =
        snprintf(alarm_text, sizeof alarm_text,
                 "seatrial: MPI_Init has not returned after %u s on host %s, pid %ld "
                 "(%s). Usual causes: "
                 "a launcher without the PMI that this MPI needs (srun --mpi=list), or a "
                 "host that "
                 "cannot be reached. SEATRIAL_INIT_TIMEOUT sets the limit in seconds.\n",
                 seconds, host, (long)getpid(),
                 found[0] != '\0' ? found : "no launcher variables");
    alarm_length =
        n > 0 && (size_t)n < sizeof alarm_text ? (size_t)n : strlen(alarm_text);
    struct sigaction action = {.sa_handler = on_alarm};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGALRM, &action, &alarm_before);
    (void)alarm(seconds);
}

void st_launch_disarm(void)
{
    (void)alarm(0);
    (void)sigaction(SIGALRM, &alarm_before, NULL);
}

/* ---- what may be stored of the environment ---- */

static bool looks_secret(const char *name)
{
    static const char *const words[] = {"TOKEN", "KEY",  "SECRET", "PASS",
                                        "JWT",   "CRED", "AUTH",   "COOKIE"};

    for (size_t w = 0; w < ST_COUNT(words); w++) {
        const size_t length = strlen(words[w]);
        for (const char *at = name; *at != '\0'; at++) {
            size_t k = 0;
            while (k < length && toupper((unsigned char)at[k]) == words[w][k]) {
                k++;
            }
            if (k == length) {
                return true;
            }
        }
    }
    return false;
}

bool st_env_allowed(const char *name)
{
    static const char *const prefixes[] = {
        "SLURM_", "OMP_",  "GOMP_", "KMP_",  "OMPI_",  "PMIX_",     "PMI_",   "PRTE_",
        "UCX_",   "UCC_",  "FI_",   "PSM2_", "MPICH_", "I_MPI_",    "HWLOC_", "HDF5_",
        "MV2_",   "PALS_", "PBS_",  "LSB_",  "LSF_",   "SEATRIAL_", "HCOLL_"};
    static const char *const names[] = {
        "MPI_LOCALNRANKS", "MPI_LOCALRANKID", "LANG",      "LC_ALL", "TZ",
        "HOSTNAME",        "LOADEDMODULES",   "LD_PRELOAD"};

    if (looks_secret(name)) {
        return false;
    }
    for (size_t i = 0; i < ST_COUNT(prefixes); i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < ST_COUNT(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}
