#include <errno.h>
#include <sched.h>
#include <string.h>

/*
 * sched_getaffinity() of a kernel with 8192 CPUs: a smaller mask is answered with EINVAL, as
 * by the real call (sched_setaffinity(2), "NOTES"). Linked into a test it stands before the
 * C library's function; every thread is said to run on CPUs 0, 1 and 5000.
 */

enum {
    KERNEL_BYTES = 8192 / 8
};

/* Read by the test: how often it was asked. */
int shim_n_calls(void);

static int n_calls;

int shim_n_calls(void)
{
    return n_calls;
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *mask)
{
    (void)pid;
    n_calls++;
    if (size < KERNEL_BYTES) {
        errno = EINVAL;
        return -1;
    }
    memset(mask, 0, size);
    CPU_SET_S(0, size, mask);
    CPU_SET_S(1, size, mask);
    CPU_SET_S(5000, size, mask);
    return 0;
}
