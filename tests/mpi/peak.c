#include "tests/mpi/peak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line of /proc/self/status in bytes; 0 if it is not there. */
static uint64_t status_bytes(const char *name)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    uint64_t kib = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            kib = strtoull(line + strlen(name), NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib * 1024;
}

/* By proc(5), clear_refs. */
bool peak_reset(uint64_t *now)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");

    *now = status_bytes("VmRSS:");
    if (file == NULL) {
        return false;
    }
    const bool written = fputs("5", file) >= 0;
    return fclose(file) == 0 && written && *now > 0;
}

double peak_since(uint64_t before)
{
    return (double)status_bytes("VmHWM:") - (double)before;
}

bool peak_is_as_predicted(double used, double predicted)
{
#if defined(__SANITIZE_ADDRESS__)
    const double shadow = 0.125;
#else
    const double shadow = 0.0;
#endif
    return used >= 0.9 * predicted && used <= (1.1 + shadow) * predicted;
}
