#ifndef ST_MACHINE_LAUNCH_H
#define ST_MACHINE_LAUNCH_H

#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* How the program was started: checked before anything else (DESIGN, CASES 1 and 2). Local. */

/** getenv() or a test's stand-in. */
typedef const char *(*st_getenv_fn)(const char *name);

/**
 * True if any launcher variable (Slurm step, PMI, PMIx, Open MPI, Hydra, PBS task, LSF task) says
 * that this process is one of a launch. Ask before MPI_Init: Open MPI sets PMIX_RANK itself.
 * The variables of a mere allocation (sbatch script, SLURM_JOB_ID, PBS_JOBID) do not count.
 */
bool st_launched(st_getenv_fn env);

/**
 * To be asked before MPI_Init, which may end or hang the process: several tasks of a Slurm step
 * without a single variable of a PMI, so that no MPI can bring them together.
 * @return ST_ERR_LAUNCH with the cure; SEATRIAL_IGNORE_LAUNCHER=1 overrides
 */
enum st_status st_launch_precheck(st_getenv_fn env, struct st_error *err);

/**
 * MPI's size against the launcher's variables. What MPI's own launcher says (Open MPI, PMI)
 * decides; only if it says nothing are Slurm's counts of tasks asked, because mpirun inside a
 * Slurm job starts its daemons as tasks of a step. Allocation sizes (PBS_NP, LSB_DJOB_NUMPROC)
 * are only mentioned.
 * @return ST_ERR_LAUNCH with the variables, both counts and the usual cure;
 *         SEATRIAL_IGNORE_LAUNCHER=1 overrides
 */
enum st_status st_launch_check(st_getenv_fn env, int mpi_size, struct st_error *err);

/**
 * Arm a limit around MPI_Init: if st_launch_disarm() is not called within @p seconds, host,
 * pid and launcher variables go to stderr and the process ends with status 3.
 * SEATRIAL_INIT_TIMEOUT (whole seconds, 0: no limit) overrides the seconds. Uses SIGALRM.
 */
void st_launch_arm(unsigned seconds);
void st_launch_disarm(void);

/** Names in the environment that may be stored and shown (allow-list by name and prefix; nothing
 *  that looks like a secret: TOKEN, KEY, SECRET, PASS, JWT, CRED, AUTH, COOKIE). */
bool st_env_allowed(const char *name);

#endif
