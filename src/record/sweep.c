#include "src/record/store.h"

#include "src/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Temporary files of killed writers: removed when a campaign is resumed. A file whose
 * process lives on this host is left alone; it may be another campaign's writer. */

static bool writer_is_gone(const char *pid_text)
{
    uint64_t pid = 0;

    if (!st_parse_u64(pid_text, &pid) || pid == 0 || pid > INT_MAX) {
        return false; /* not a name of ours */
    }
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static void sweep_folder(const char *folder, const char *prefix)
{
    DIR *dir = opendir(folder);
    const size_t n = strlen(prefix);
    const struct dirent *entry = NULL;

    if (dir == NULL) {
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, prefix, n) == 0 && writer_is_gone(entry->d_name + n)) {
            unlinkat(dirfd(dir), entry->d_name,
                     0); /* a leftover that stays does no harm */
        }
    }
    closedir(dir);
}

void st_store_sweep(const char *path)
{
    const char *slash = strrchr(path, '/');
    struct st_text folder = {0};
    struct st_text prefix = {0};

    if (slash == NULL) {
        st_text_add(&folder, ".");
    } else {
        st_text_add_bytes(&folder, path, (size_t)(slash - path) + 1);
    }
    st_text_add(&prefix, "%s.tmp-", slash == NULL ? path : slash + 1);
    if (!folder.failed && !prefix.failed) {
        sweep_folder(folder.data, prefix.data);
    }
    st_text_clear(&folder);
    st_text_clear(&prefix);
}
