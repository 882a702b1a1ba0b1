#include "tests/record/fixture.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/*
 * Killed writers, full disks, damaged and foreign files. Whatever happens: no crash, and the
 * file that was there holds every step that had been told finished.
 */

enum {
    KILLS = 50,
    KILLS_IF_SLOW = 15,
    FLIPS = 500,
    STEPS = 20,
    SOME_STEPS = 8
};

struct scene {
    char folder[64];
    char path[128];
};

static int set_up(void **state)
{
    struct scene *s = st_calloc(NULL, 1, sizeof *s);

    snprintf(s->folder, sizeof s->folder, "/tmp/test_record_XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->path, sizeof s->path, "%s/out.h5", s->folder);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *s = *state;

    unlink(s->path);
    assert_int_equal(rmdir(s->folder), 0);
    st_free(s);
    return 0;
}

/* Create or resume, then steps until one fails; each is told on @p pipe_fd once it is safe. */
static enum st_status append(const char *path, bool resume, size_t n_steps, int pipe_fd,
                             struct st_error *err)
{
    struct fixture f;
    struct st_results *r = NULL;
    bool finished[STEPS] = {false};
    enum st_status rc = ST_OK;

    fixture_init(&f, n_steps);
    rc = st_results_create(path, &f.info, resume, finished, &r, err);
    for (size_t i = 0; rc == ST_OK && i < n_steps; i++) {
        const unsigned char told = (unsigned char)i;
        if (finished[i]) {
            continue;
        }
        rc = fixture_step(&f, st_results_sink(r), i, ST_STEP_COMPLETE, err);
        if (rc == ST_OK && pipe_fd >= 0 && write(pipe_fd, &told, 1) != 1) {
            break;
        }
    }
    st_results_close(&r);
    fixture_clear(&f);
    return rc;
}

/* Every step in the file is whole: its samples are the ones that were sent. */
static size_t check_steps(const char *path)
{
    struct st_error err = {0};
    struct st_file *file = NULL;
    size_t n = 0;

    if (st_file_open(path, &file, &err) != ST_OK) {
        fail_msg("%s", err.text);
    }
    for (size_t i = 0; i < file->n_steps; i++) {
        double *values = NULL;
        size_t n_values = 0;
        assert_int_equal(file->steps[i].state, ST_STEP_COMPLETE);
        assert_int_equal(file->steps[i].number, i);
        assert_int_equal(st_file_samples(file, i, 1, 0, &n_values, &values, &err), ST_OK);
        assert_int_equal(n_values, FIXTURE_REPETITIONS - 1);
        assert_true(values[0] == fixture_value(i, 1, 0, 1));
        st_free(values);
    }
    n = file->n_steps;
    st_file_close(&file);
    return n;
}

static size_t read_told(int fd)
{
    unsigned char told[STEPS];
    size_t n = 0;
    ssize_t got = 0;

    while ((got = read(fd, told + n, sizeof told - n)) > 0) {
        n += (size_t)got;
    }
    return n;
}

static pid_t start_writer(const char *path, bool resume, int *out)
{
    struct st_error err = {0};
    int ends[2];
    pid_t child = -1;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        _exit((int)append(path, resume, STEPS, ends[1], &err));
    }
    close(ends[1]);
    *out = ends[0];
    return child;
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* How long a writer takes here, now, with this build: start-up and a few steps. */
static double time_of_some_steps(const char *path)
{
    const double start = seconds();
    int fd = -1;
    const pid_t child = start_writer(path, false, &fd);

    assert_int_equal(read_told(fd), STEPS);
    close(fd);
    assert_int_equal(waitpid(child, NULL, 0), child);
    unlink(path);
    return (seconds() - start) * SOME_STEPS / STEPS;
}

/* 50 instants spread evenly, by the golden ratio, over the time of some steps. */
static void a_killed_writer_loses_no_finished_step(void **state)
{
    const struct scene *s = *state;
    const double window_s = time_of_some_steps(s->path);
    /* under sanitizers a step takes a hundred times as long */
    const unsigned n_kills = window_s > 1.0 ? KILLS_IF_SLOW : KILLS;
    size_t n_before = 0;
    size_t n_opened = 0;

    for (unsigned k = 0; k < n_kills; k++) {
        const bool resume = access(s->path, F_OK) == 0;
        const double pause_s = window_s * fmod(k * 0.61803398875, 1.0);
        const struct timespec pause = {(time_t)pause_s, (long)(1e9 * fmod(pause_s, 1.0))};
        int fd = -1;
        const pid_t child = start_writer(s->path, resume, &fd);
        assert_true(child > 0);
        nanosleep(&pause, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        const size_t n_told = read_told(fd);
        close(fd);
        if (access(s->path, F_OK) == 0) {
            const size_t n = check_steps(s->path);
            assert_true(n >= n_before + n_told);
            n_opened++;
            n_before = n;
            if (n == STEPS) {
                unlink(s->path);
                n_before = 0;
            }
        } else {
            assert_int_equal(n_told, 0);
        }
    }
    print_message("killed at %u instants, %zu files opened, no finished step lost\n",
                  n_kills, n_opened);
    assert_true(n_opened > n_kills / 2);
    struct st_error err = {0};
    assert_int_equal(append(s->path, access(s->path, F_OK) == 0, STEPS, -1, &err), ST_OK);
    /* resuming sweeps what killed writers left: tear_down finds the folder empty */
    assert_int_equal(append(s->path, true, STEPS, -1, &err), ST_OK);
}

/* In a child process: steps until the space ends. */
struct starved {
    size_t n_told;
    int status; /* exit status of the child; -1: it crashed */
    char text[512];
};

static void run_starved(const char *path, rlim_t limit, struct starved *out)
{
    struct st_error err = {0};
    int ends[2];
    int texts[2];
    int status = 0;
    pid_t child = -1;

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(texts), 0);
    child = fork();
    if (child == 0) {
        if (limit != RLIM_INFINITY) {
            const struct rlimit size = {limit, limit};
            signal(SIGXFSZ, SIG_IGN); /* as the program does */
            setrlimit(RLIMIT_FSIZE, &size);
        }
        const enum st_status rc = append(path, false, STEPS, ends[1], &err);
        (void)!write(texts[1], err.text, strlen(err.text));
        _exit((int)rc);
    }
    close(ends[1]);
    close(texts[1]);
    out->n_told = read_told(ends[0]);
    const ssize_t n = read(texts[0], out->text, sizeof out->text - 1);
    out->text[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    close(texts[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    out->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check_starved(const char *path, const struct starved *s)
{
    assert_int_equal(s->status, ST_ERR_IO);
    if (strstr(s->text, "no space left") == NULL) {
        fail_msg("%s", s->text);
    }
    if (access(path, F_OK) == 0) {
        assert_int_equal(check_steps(path), s->n_told);
        assert_non_null(strstr(s->text, path));
        assert_non_null(strstr(s->text, "finished step"));
    } else {
        assert_int_equal(s->n_told, 0);
    }
}

static void a_file_size_limit_is_an_error(void **state)
{
    const struct scene *s = *state;

    for (rlim_t limit = 0; limit < 700000; limit += 45678) {
        struct starved starved;
        run_starved(s->path, limit, &starved);
        check_starved(s->path, &starved);
        unlink(s->path);
    }
}

static void a_full_disk_is_an_error(void **state)
{
    const struct scene *s = *state;

    if (mount("none", s->folder, "tmpfs", 0, "size=64k") != 0) {
        print_message("skipped: no right to mount a small file system\n");
        skip();
    }
    umount2(s->folder, MNT_DETACH);
    for (unsigned kib = 4; kib < 800; kib += 97) {
        struct starved starved;
        char options[32];
        snprintf(options, sizeof options, "size=%uk", kib);
        assert_int_equal(mount("none", s->folder, "tmpfs", 0, options), 0);
        run_starved(s->path, RLIM_INFINITY, &starved);
        check_starved(s->path, &starved);
        assert_int_equal(umount2(s->folder, MNT_DETACH), 0);
    }
}

static void a_read_only_folder_is_told_at_once(void **state)
{
    const struct scene *s = *state;
    struct st_error err = {0};

    if (mount("none", s->folder, "tmpfs", MS_RDONLY, "size=64k") != 0) {
        print_message("skipped: no right to mount a small file system\n");
        skip();
    }
    const enum st_status rc = append(s->path, false, 1, -1, &err);
    umount2(s->folder, MNT_DETACH);
    assert_int_equal(rc, ST_ERR_IO);
    assert_non_null(strstr(err.text, "Read-only file system"));
}

static char *load(const char *path, size_t *n)
{
    struct st_error err = {0};
    char *bytes = st_read_file(&err, path, (size_t)64 << 20, n);

    assert_non_null(bytes);
    return bytes;
}

static void store(const char *path, const char *bytes, size_t n)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), (ssize_t)n);
    close(fd);
}

static void flipped_bytes_are_found(void **state)
{
    const struct scene *s = *state;
    struct st_error err = {0};
    struct st_file *file = NULL;
    size_t n = 0;
    char *bytes = NULL;
    uint64_t x = 1;

    assert_int_equal(append(s->path, false, 1, -1, &err), ST_OK);
    bytes = load(s->path, &n);
    for (unsigned k = 0; k < FLIPS; k++) {
        x = x * 6364136223846793005U + 1442695040888963407U; /* Knuth's MMIX generator */
        const size_t at = (size_t)((x >> 16) % (n - 32)); /* the seal itself: see below */
        const char bit = (char)(1 << (x >> 13 & 7));
        bytes[at] = (char)(bytes[at] ^ bit);
        store(s->path, bytes, n);
        assert_int_equal(st_file_open(s->path, &file, &err), ST_ERR_IO);
        assert_non_null(strstr(err.text, "damaged"));
        bytes[at] = (char)(bytes[at] ^ bit);
    }
    for (size_t at = n - 32; at < n;
         at++) { /* a broken seal: refused, or read without it */
        bytes[at] = (char)(bytes[at] ^ 4);
        store(s->path, bytes, n);
        if (st_file_open(s->path, &file, &err) == ST_OK) {
            assert_true(at < n - 16);
            st_file_close(&file);
        }
        bytes[at] = (char)(bytes[at] ^ 4);
    }
    for (size_t cut = 0; cut < n; cut += cut < 4096 ? 97 : 4999) {
        store(s->path, bytes, cut);
        assert_int_equal(st_file_open(s->path, &file, &err), ST_ERR_IO);
        assert_non_null(strstr(err.text, s->path));
    }
    st_free(bytes);
}

/* Changes another program could make; each must be named, none may crash. */
static void delete_link(hid_t file, const char *path)
{
    assert_true(H5Ldelete(file, path, H5P_DEFAULT) >= 0);
}

static void replace_with(hid_t file, const char *path, hid_t type, int n_dims,
                         const hsize_t *size)
{
    const hid_t space = H5Screate_simple(n_dims, size, NULL);
    const hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[2] = {size[0] < 1 << 20 ? size[0] : 1 << 20, 2};

    delete_link(file, path);
    H5Pset_chunk(plist, n_dims, chunk);
    const hid_t dataset =
        H5Dcreate2(file, path, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Dclose(dataset);
    H5Pclose(plist);
    H5Sclose(space);
}

struct change {
    const char *path;
    int what; /* 0 delete, 1 wrong type, 2 wrong length, 3 absurd length, 4 two dimensions */
};

static void apply(const char *path, const struct change *change)
{
    static const hsize_t two[2] = {3, 2}; /* the rate has two places */
    static const hsize_t seven[1] = {7};
    static const hsize_t huge[1] = {(hsize_t)1 << 60};
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);

    assert_true(file >= 0);
    switch (change->what) {
    case 0:
        delete_link(file, change->path);
        break;
    case 1:
        replace_with(file, change->path, H5T_STD_REF_OBJ, 1, seven);
        break;
    case 2:
        replace_with(file, change->path, H5T_NATIVE_DOUBLE, 1, seven);
        break;
    case 3:
        replace_with(file, change->path, H5T_NATIVE_INT64, 1, huge);
        break;
    default:
        replace_with(file, change->path, H5T_NATIVE_DOUBLE, 2, two);
        break;
    }
    H5Fclose(file);
}

static void changed_files_are_named(void **state)
{
    static const struct change changes[] = {
        {"/run", 0},
        {"/run/config", 1},
        {"/run/binary", 0},
        {"/system", 0},
        {"/system/nodes", 0},
        {"/system/nodes/host", 1},
        {"/system/nodes/node", 3},
        {"/system/nodes/node", 4},
        {"/system/nodes/n_ranks", 0},
        {"/steps", 0},
        {"/steps/0000/metrics", 0},
        {"/steps/0000/metrics/name", 1},
        {"/steps/0000/phases/duration", 0},
        {"/steps/0000/samples", 0},
        {"/steps/0000/samples/rate", 4},
        {"/steps/0000/samples/rate", 2},
        {"/steps/0000/samples/place_node", 3},
        {"/steps/0000/samples/place_node_label", 0},
        {"/steps/0000/summary/median", 2},
        {"/steps/0000/summary/row", 3},
        {"/steps/0000/summary/metric", 0},
        {"/steps/0000/criteria/metric", 0},
        {"/steps/0000/parameters/size", 1},
    };
    const struct scene *s = *state;
    struct st_error err = {0};
    struct st_file *file = NULL;
    size_t n = 0;
    char *bytes = NULL;

    assert_int_equal(append(s->path, false, 1, -1, &err), ST_OK);
    bytes = load(s->path, &n);
    for (size_t i = 0; i < ST_COUNT(changes); i++) {
        store(s->path, bytes, n);
        apply(s->path, &changes[i]);
        if (st_file_open(s->path, &file, &err) != ST_ERR_IO) {
            fail_msg("%s (%d) was not noticed", changes[i].path, changes[i].what);
        }
        assert_non_null(strstr(err.text, s->path));
    }
    st_free(bytes);
}

/* Validity of a wrong shape is noticed when the samples are asked for. */
static void changed_validity_is_named(void **state)
{
    static const struct change change = {"/steps/0000/samples/rate_validity", 4};
    const struct scene *s = *state;
    struct st_error err = {0};
    struct st_file *file = NULL;
    double *values = NULL;
    size_t n = 0;

    assert_int_equal(append(s->path, false, 1, -1, &err), ST_OK);
    apply(s->path, &change);
    assert_int_equal(st_file_open(s->path, &file, &err), ST_OK);
    assert_int_equal(st_file_samples(file, 0, 1, 0, &n, &values, &err), ST_ERR_IO);
    assert_int_equal(st_file_samples(file, 0, 0, 0, &n, &values, &err), ST_OK);
    st_free(values);
    assert_int_equal(st_file_samples(file, 0, 99, 0, &n, &values, &err), ST_ERR_INTERNAL);
    st_file_close(&file);
}

static void foreign_files_are_named(void **state)
{
    const struct scene *s = *state;
    struct st_error err = {0};
    struct st_file *file = NULL;
    int64_t version = 2;
    hid_t hdf5 = -1;
    hid_t root = -1;

    assert_int_equal(st_file_open("/nonexistent/x.h5", &file, &err), ST_ERR_IO);
    assert_int_equal(st_file_open("/tmp", &file, &err), ST_ERR_IO);
    assert_int_equal(st_file_open("/dev/null", &file, &err), ST_ERR_IO);
    store(s->path, "campaign: quick\n", 16);
    assert_int_equal(st_file_open(s->path, &file, &err), ST_ERR_IO);
    assert_non_null(strstr(err.text, "not HDF5"));
    hdf5 = H5Fcreate(s->path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(hdf5);
    assert_int_equal(st_file_open(s->path, &file, &err), ST_ERR_IO);
    assert_non_null(strstr(err.text, "not a results file"));
    unlink(s->path);
    assert_int_equal(append(s->path, false, 1, -1, &err), ST_OK);
    hdf5 = H5Fopen(s->path, H5F_ACC_RDWR, H5P_DEFAULT);
    root = H5Aopen(hdf5, "format_version", H5P_DEFAULT);
    assert_true(H5Awrite(root, H5T_NATIVE_INT64, &version) >= 0);
    H5Aclose(root);
    H5Fclose(hdf5);
    assert_int_equal(st_file_open(s->path, &file, &err), ST_ERR_IO);
    assert_non_null(strstr(err.text, "use a newer one"));
    /* and it is not extended either: another program's changes would be lost unnoticed */
    assert_int_equal(append(s->path, true, 2, -1, &err), ST_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_killed_writer_loses_no_finished_step, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_file_size_limit_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_read_only_folder_is_told_at_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(flipped_bytes_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(changed_files_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(changed_validity_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(foreign_files_are_named, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("record_faults", tests, NULL, NULL);
}
