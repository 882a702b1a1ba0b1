/* Files that may be compressed: the same bytes, seeking, and what is wrong with a damaged one. */
#include "src/base/input.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

enum {
    N_LINES = 20000
};

static char folder[] = "/tmp/st_input_XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* The same lines plain and compressed, and the compressed file cut or with one bit changed. */
static int make_files(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    FILE *plain = fopen(path_of("plain"), "wb");
    gzFile packed = gzopen(path_of("packed"), "wb");
    assert_true(plain != NULL && packed != NULL);
    for (int i = 0; i < N_LINES; i++) {
        assert_true(fprintf(plain, "line %d %d\n", i, i * 7919 % 104729) > 0);
        assert_true(gzprintf(packed, "line %d %d\n", i, i * 7919 % 104729) > 0);
    }
    assert_int_equal(fclose(plain), 0);
    assert_int_equal(gzclose(packed), Z_OK);

    static unsigned char bytes[1 << 20];
    FILE *all = fopen(path_of("packed"), "rb");
    assert_non_null(all);
    const size_t n = fread(bytes, 1, sizeof bytes, all);
    assert_int_equal(fclose(all), 0);
    FILE *cut = fopen(path_of("cut"), "wb");
    assert_true(cut != NULL && fwrite(bytes, 1, n / 2, cut) == n / 2);
    assert_int_equal(fclose(cut), 0);
    bytes[n / 2] ^= 0x40;
    FILE *damaged = fopen(path_of("damaged"), "wb");
    assert_true(damaged != NULL && fwrite(bytes, 1, n, damaged) == n);
    assert_int_equal(fclose(damaged), 0);
    return 0;
}

static int remove_files(void **state)
{
    static const char *const names[] = {"plain", "packed", "cut", "damaged"};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        (void)unlink(path_of(names[i]));
    }
    return rmdir(folder);
}

static void both_read_alike_and_seek(void **state)
{
    static const char *const names[] = {"plain", "packed"};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct st_error err = {0};
        char line[64];
        char want[64];
        FILE *in = st_input_open(path_of(names[k]), &err);
        assert_non_null(in);
        for (int i = 0; i < N_LINES; i++) {
            assert_non_null(fgets(line, sizeof line, in));
            (void)snprintf(want, sizeof want, "line %d %d\n", i, i * 7919 % 104729);
            assert_string_equal(line, want);
        }
        assert_null(fgets(line, sizeof line, in));
        assert_false(ferror(in));
        assert_int_equal(fseek(in, 8, SEEK_SET), 0); /* the end of "line 0 0" */
        assert_non_null(fgets(line, sizeof line, in));
        assert_string_equal(line, "\n");
        assert_int_equal(ftell(in), 9);
        assert_int_equal(fclose(in), 0);
    }
}

static void damage_is_an_error_not_an_end(void **state)
{
    static const char *const names[] = {"cut", "damaged"};

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        struct st_error err = {0};
        char block[4096];
        FILE *in = st_input_open(path_of(names[k]), &err);
        assert_non_null(in);
        errno = 0;
        while (fread(block, 1, sizeof block, in) == sizeof block) {
        }
        assert_true(ferror(in));
        assert_int_equal(errno, EILSEQ);
        (void)fclose(in); /* zlib may tell of the damage again */
    }
}

static void what_is_not_there_is_named(void **state)
{
    struct st_error err = {0};

    (void)state;
    assert_null(st_input_open(path_of("nothing"), &err));
    assert_int_equal(err.code, ST_ERR_STEP);
    assert_non_null(strstr(err.text, "nothing: No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_read_alike_and_seek),
        cmocka_unit_test(damage_is_an_error_not_an_end),
        cmocka_unit_test(what_is_not_there_is_named),
    };

    return cmocka_run_group_tests(tests, make_files, remove_files);
}
