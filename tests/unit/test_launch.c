#include "src/machine/launch.h"

#include "src/base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The launch check against environments as launchers make them (CASES 1): Slurm's from its
 * manual pages srun(1) and sbatch(1), Open MPI's as read from `mpirun -n 1 env`.
 */

/* "NAME=VALUE" texts of the row under test. */
static const char *const *in_force;

static const char *pretended(const char *name)
{
    const size_t length = strlen(name);

    for (const char *const *at = in_force; *at != NULL; at++) {
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') {
            return *at + length + 1;
        }
    }
    return NULL;
}

static void mismatches_are_refused(void **state)
{
    static const struct {
        const char *env[8];
        int mpi_size;
        bool fine;
        const char *say;
    } rows[] = {
        {{NULL}, 1, true, NULL},
        {{NULL}, 4, true, NULL},
        /* srun without a PMI: singletons */
        {{"SLURM_JOB_ID=1", "SLURM_NTASKS=4", "SLURM_PROCID=2"},
         1,
         false,
         "4 separate programs"},
        {{"SLURM_JOB_ID=1", "SLURM_NTASKS=4", "SLURM_PROCID=2"},
         1,
         false,
         "srun --mpi=list"},
        {{"SLURM_NTASKS=4"}, 1, false, "SEATRIAL_IGNORE_LAUNCHER=1"},
        {{"SLURM_STEP_NUM_TASKS=8", "SLURM_NTASKS=8"},
         1,
         false,
         "SLURM_STEP_NUM_TASKS=8"},
        {{"SLURM_PROCID=3"}, 1, false, "SLURM_PROCID=3"},
        {{"SLURM_NTASKS=1"}, 1, true, NULL},
        {{"SLURM_NTASKS=4", "SEATRIAL_IGNORE_LAUNCHER=1"}, 1, true, NULL},
        {{"SLURM_NTASKS=4", "SEATRIAL_IGNORE_LAUNCHER=0"}, 1, false, ""},
        /* srun --mpi=pmix as it should be */
        {{"SLURM_STEP_NUM_TASKS=4", "SLURM_NTASKS=4", "PMIX_RANK=3"}, 4, true, NULL},
        {{"PMIX_RANK=3"}, 1, false, "PMIX_RANK=3"},
        {{"PMIX_RANK=0"}, 1, true, NULL}, /* Open MPI sets it in a singleton */
        /* srun with pmi2, MPI built without it */
        {{"PMI_SIZE=4", "PMI_RANK=1", "SLURM_NTASKS=4"}, 1, false, "PMI_SIZE=4"},
        /* sbatch -n 4 and mpirun: the job's count is not ours */
        {{"SLURM_NTASKS=4", "SLURM_PROCID=0", "OMPI_COMM_WORLD_SIZE=2"}, 2, true, NULL},
        {{"SLURM_NTASKS=4", "SLURM_PROCID=0", "OMPI_COMM_WORLD_SIZE=1"}, 1, true, NULL},
        /* … whose daemons are tasks of a step of 2 nodes */
        {{"SLURM_STEP_NUM_TASKS=2", "SLURM_PROCID=1", "OMPI_COMM_WORLD_SIZE=8",
          "OMPI_COMM_WORLD_LOCAL_SIZE=4"},
         8,
         true,
         NULL},
        /* a bare start in a batch script of 4 tasks */
        {{"SLURM_JOB_ID=1", "SLURM_NTASKS=4", "SLURM_PROCID=0"}, 1, false, ""},
        {{"SLURM_JOB_ID=1", "SLURM_NPROCS=4"}, 1, false, ""},
        /* another MPI's mpirun */
        {{"OMPI_COMM_WORLD_SIZE=4"}, 1, false, "4 separate programs"},
        {{"OMPI_COMM_WORLD_SIZE=4"}, 2, false, "MPI sees 2"},
        {{"PMI_SIZE=2", "MPI_LOCALNRANKS=2"}, 2, true, NULL},
        {{"MPI_LOCALNRANKS=2"}, 1, false, "MPI_LOCALNRANKS=2"},
        /* allocations are no launches */
        {{"PBS_NP=64"}, 1, true, NULL},
        {{"LSB_DJOB_NUMPROC=64"}, 1, true, NULL},
        {{"LSB_DJOB_NUMPROC=64", "PMI_SIZE=64"}, 1, false, "LSB_DJOB_NUMPROC=64"},
        /* junk is no number */
        {{"SLURM_NTASKS=many"}, 1, true, NULL},
        {{"SLURM_NTASKS="}, 1, true, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_error err = {0};
        in_force = rows[i].env;
        const enum st_status rc = st_launch_check(pretended, rows[i].mpi_size, &err);
        if (rc != (rows[i].fine ? ST_OK : ST_ERR_LAUNCH)) {
            fail_msg("row %zu: status %d, '%s'", i, (int)rc, err.text);
        }
        if (!rows[i].fine && strstr(err.text, rows[i].say) == NULL) {
            fail_msg("row %zu: '%s' does not say '%s'", i, err.text, rows[i].say);
        }
    }
}

/* Before MPI_Init: Open MPI 4 would end the process with words of its own. */
static void a_step_without_pmi_is_refused_before_mpi_starts(void **state)
{
    static const struct {
        const char *env[4];
        bool fine;
    } rows[] = {
        {{NULL}, true},
        {{"SLURM_STEP_NUM_TASKS=2", "SLURM_PROCID=0"}, false},
        {{"SLURM_STEP_NUM_TASKS=1", "SLURM_PROCID=0"}, true},
        {{"SLURM_NTASKS=4", "SLURM_PROCID=0"}, true}, /* sbatch script */
        {{"SLURM_STEP_NUM_TASKS=2", "PMIX_RANK=1"}, true},
        {{"SLURM_STEP_NUM_TASKS=2", "PMI_FD=3"}, true},
        {{"SLURM_STEP_NUM_TASKS=4", "OMPI_COMM_WORLD_SIZE=8"},
         true}, /* mpirun's daemons */
        {{"SLURM_STEP_NUM_TASKS=2", "SEATRIAL_IGNORE_LAUNCHER=1"}, true},
        {{"SLURM_STEP_NUM_TASKS=2", "SEATRIAL_IGNORE_LAUNCHER=yes"}, false},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct st_error err = {0};
        in_force = rows[i].env;
        assert_int_equal(st_launch_precheck(pretended, &err),
                         rows[i].fine ? ST_OK : ST_ERR_LAUNCH);
        assert_true(rows[i].fine || strstr(err.text, "--mpi=pmix") != NULL);
    }
}

static void launches_are_told_from_allocations(void **state)
{
    static const struct {
        const char *env[4];
        bool launched;
    } rows[] = {
        {{NULL}, false},
        {{"SLURM_JOB_ID=1", "SLURM_NTASKS=4", "SLURM_PROCID=0"},
         false}, /* sbatch script */
        {{"SLURM_JOB_ID=1", "SLURM_STEP_ID=0", "SLURM_PROCID=0"}, true},
        {{"OMPI_COMM_WORLD_SIZE=1"}, true},
        {{"PMIX_RANK=0"}, true},
        {{"PMI_RANK=0"}, true},
        {{"PBS_JOBID=1", "PBS_NP=4"}, false},
        {{"PBS_TASKNUM=2"}, true},
        {{"PMIX_RANK="}, false},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        in_force = rows[i].env;
        assert_int_equal(st_launched(pretended), rows[i].launched);
    }
}

/* A child that never disarms; its last words and status. */
static int hang(const char *timeout, char *said, size_t size)
{
    int ends[2];
    int status = 0;
    size_t used = 0;

    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)setenv("SEATRIAL_INIT_TIMEOUT", timeout, 1);
        (void)setenv("PMIX_RANK", "7", 1);
        st_launch_arm(3600);
        for (;;) {
            (void)pause();
        }
    }
    (void)close(ends[1]);
    ssize_t n = 0;
    while ((n = read(ends[0], said + used, size - 1 - used)) > 0) {
        used += (size_t)n;
    }
    said[used] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_hanging_start_ends_with_last_words(void **state)
{
    char said[2048];

    (void)state;
    assert_int_equal(hang("1", said, sizeof said), ST_EXIT_USAGE);
    assert_non_null(
        strstr(said, "seatrial: MPI_Init has not returned after 1 s on host "));
    assert_non_null(strstr(said, ", pid "));
    assert_non_null(strstr(said, "PMIX_RANK=7"));
}

static void disarming_takes_the_alarm_away(void **state)
{
    (void)state;
    (void)unsetenv("SEATRIAL_INIT_TIMEOUT");
    st_launch_arm(3600);
    st_launch_disarm();
    assert_int_equal(alarm(0), 0);
    st_launch_arm(3600);
    assert_true(alarm(0) > 3000); /* it was armed */
    st_launch_disarm();
    (void)setenv("SEATRIAL_INIT_TIMEOUT", "0", 1);
    st_launch_arm(3600);
    assert_int_equal(alarm(0), 0); /* 0: no limit */
    st_launch_disarm();
    (void)setenv("SEATRIAL_INIT_TIMEOUT", "soon", 1);
    st_launch_arm(3600);
    assert_true(alarm(0) > 3000); /* junk is ignored */
    st_launch_disarm();
    (void)unsetenv("SEATRIAL_INIT_TIMEOUT");
}

static void secrets_are_never_allowed(void **state)
{
    static const struct {
        const char *name;
        bool allowed;
    } rows[] = {
        {"SLURM_JOB_ID", true},
        {"OMP_NUM_THREADS", true},
        {"OMPI_MCA_pml", true},
        {"UCX_TLS", true},
        {"HWLOC_XMLFILE", true},
        {"SEATRIAL_FAKE_NODES", true},
        {"SLURM_TASKS_PER_NODE", true},
        {"PMIX_SECURITY_MODE", true},
        {"GITHUB_TOKEN", false},
        {"SLURM_JWT", false},
        {"OMPI_MCA_x_secret", false},
        {"OMPI_MCA_my_Token_x", false},
        {"UCX_API_KEY", false},
        {"PBS_PASSWORD", false},
        {"FI_CREDENTIALS", false},
        {"PMIX_AUTH", false},
        {"I_MPI_COOKIE", false},
        {"HOME", false},
        {"PATH", false},
        {"AWS_SECRET_ACCESS_KEY", false},
        {"MYSLURM_X", false},
        {"", false},
        {"LANG", true},
        {"LANGUAGE", false},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        if (st_env_allowed(rows[i].name) != rows[i].allowed) {
            fail_msg("%s", rows[i].name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mismatches_are_refused),
        cmocka_unit_test(a_step_without_pmi_is_refused_before_mpi_starts),
        cmocka_unit_test(launches_are_told_from_allocations),
        cmocka_unit_test(a_hanging_start_ends_with_last_words),
        cmocka_unit_test(disarming_takes_the_alarm_away),
        cmocka_unit_test(secrets_are_never_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
