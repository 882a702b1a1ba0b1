/*
 * The reader of OpenFOAM meshes: every form of the files gives the same mesh; every break is
 * found where it stands, told by file and line or byte, whatever else is asked.
 */
#include "src/base/mem.h"
#include "tests/mesh/poly_writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct poly_form ascii = {.is_binary = false};
/* 2 x 1 x 1 cells: 12 points, 1 internal face, 10 boundary faces. */
static const struct st_mesh_box pair = {.n = {2, 1, 1}, .length = {2.0, 1.0, 1.0}};

/* Read all to the end. */
static enum st_status read_all(const struct st_poly_source *source, double *sum,
                               struct st_error *err)
{
    struct st_poly_files files;
    int64_t points[ST_POLY_MOST_POINTS];
    enum st_status rc = st_poly_open(source, &files, err);

    *sum = 0.0;
    for (int64_t i = 0; rc == ST_OK && i < files.n_points; i++) {
        double xyz[3];
        rc = st_poly_point(&files, xyz, err);
        *sum += (double)(i + 1) * (xyz[0] + 2.0 * xyz[1] + 4.0 * xyz[2]);
    }
    for (int64_t i = 0; rc == ST_OK && i < files.n_faces; i++) {
        int n = 0;
        rc = st_poly_face(&files, &n, points, err);
        for (int k = 0; rc == ST_OK && k < n; k++) {
            *sum += (double)(i + 1) * (k + 1) * (double)points[k];
        }
    }
    for (int64_t i = 0; rc == ST_OK && i < files.n_faces; i++) {
        int64_t owner = 0;
        int64_t neighbour = 0;
        rc = st_poly_cells(&files, &owner, &neighbour, err);
        *sum += (double)(i + 1) * (double)(3 * owner + neighbour);
    }
    for (size_t i = 0; rc == ST_OK && i < files.n_patches; i++) {
        *sum += (double)(i + 1) * (double)(files.patches[i].start + files.patches[i].n);
    }
    st_poly_close(&files);
    return rc;
}

static void all_forms_are_the_same(void **unused)
{
    static const struct poly_form forms[] = {
        {.is_binary = false},
        {.is_binary = false, .is_compact = true},
        {.is_binary = true, .label_bytes = 4, .scalar_bytes = 8, .is_compact = true},
        {.is_binary = true, .label_bytes = 8, .scalar_bytes = 8, .is_compact = true},
        {.is_binary = true, .label_bytes = 4, .scalar_bytes = 8},
        {.is_binary = true, .label_bytes = 8, .scalar_bytes = 4},
    };
    /* Lengths that 32-bit scalars hold exactly. */
    const struct st_mesh_box box = {.n = {4, 2, 8}, .length = {1.0, 0.5, 2.0}};
    double want = 0.0;

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(forms); i++) {
        struct poly_mesh mesh = {.n = {0}};
        struct st_error err = {0};
        double got = 0.0;
        poly_write_box(&box, &forms[i], NULL, &mesh);
        const struct st_poly_source source = poly_source(&mesh);
        const enum st_status rc = read_all(&source, &got, &err);
        if (rc != ST_OK) {
            print_error("form %zu: %s\n", i, err.text);
        }
        assert_int_equal(rc, ST_OK);
        want = i == 0 ? got : want;
        assert_true(got == want);
        poly_free(&mesh);
    }
}

/* Counts and the place of a face, by hand from the writer's order. */
static void counts_and_places(void **unused)
{
    struct poly_mesh mesh = {.n = {0}};
    struct st_poly_files files;
    struct st_error err = {0};
    char where[100];

    (void)unused;
    poly_write_box(&pair, &ascii, NULL, &mesh);
    const struct st_poly_source source = poly_source(&mesh);
    assert_int_equal(st_poly_open(&source, &files, &err), ST_OK);
    assert_int_equal(files.n_points, 12);
    assert_int_equal(files.n_faces, 11);
    assert_int_equal(files.n_internal, 1);
    assert_int_equal(files.n_patches, 6);
    assert_string_equal(files.patches[2].name, "yMin");
    assert_int_equal(files.patches[2].start, 3);
    assert_int_equal(files.patches[2].n, 2);
    assert_int_equal(files.patches[2].beyond, -1);
    st_poly_close(&files);
    /* "11" is line 15, "(" line 16; then one line a face. */
    assert_string_equal(st_poly_where(&source, 0, where, sizeof where), "faces:17");
    assert_string_equal(st_poly_where(&source, 10, where, sizeof where), "faces:27");
    poly_free(&mesh);
}

/* Breaks of the ascii pair: replaced once, or (by NULL) cut off there. */
static const struct {
    int file;
    const char *old, *by;
    const char *said;
} breaks[] = {
    {POLY_POINTS, "FoamFile", "Foam", "points:4: no FoamFile header, but 'Foam'"},
    {POLY_POINTS, "{\n", "\n", "points:6: '{' must follow FoamFile, not 'version'"},
    {POLY_POINTS, "vectorField", "scalarField",
     "points: the header's class is 'scalarField', not vectorField"},
    {POLY_POINTS, "ascii", "xml", "the header's format is neither ascii nor binary"},
    {POLY_POINTS, "// * * * //", "/* no end", "begins no comment, or one without an end"},
    {POLY_POINTS, "\n12\n", "\n13\n", "')' where '(' should be, before a point"},
    {POLY_POINTS, "\n12\n", "\n11\n", "'(' where ')' should be, at the end of a list"},
    {POLY_POINTS, "\n12\n", "\n12000000000\n",
     "points:15: a list of 12000000000 elements cannot be in the rest of this file"},
    {POLY_POINTS, "\n12\n", "\n99999999999999999999\n", "more than 18 digits"},
    {POLY_POINTS, "\n12\n", "\n-12\n", "a list of -12 elements"},
    {POLY_POINTS, "\n12\n(", "\n12\n", "'0' where '(' should be, before a point"},
    {POLY_OWNER, "\n11\n(", "\n11\n", "'(' must follow a list's number of elements, 11"},
    {POLY_POINTS, "(0 0 0)", "(0 0)", "points:17: ')' where a coordinate should be"},
    {POLY_POINTS, "(0 0 0)", "(0 0 x)", "points:17: 'x' where a coordinate should be"},
    {POLY_POINTS, "(0 0 0)", "(0 0 nan)", "'nan' where a coordinate should be"},
    {POLY_POINTS, "(0 0 0)", "(0 0 1e999)", "'1e999' where a coordinate should be"},
    {POLY_POINTS, "(0 0 0)", "(0 0 0 0)", "'0' where ')' should be, after a point"},
    {POLY_POINTS, "(0 0 0)", NULL, "cannot be in the rest of this file"},
    {POLY_POINTS, "(2 1 1)", NULL, "the file ends where '(' should be: it is cut off"},
    {POLY_POINTS, "// *** //", "7", "points:31: more follows after the end of the list"},
    {POLY_FACES, "faceList", "cellList", "faces: the header's class is 'cellList'"},
    {POLY_FACES, "4(1 4 10 7)", "2(1 4)", "faces:17: face 0 has 2 points"},
    {POLY_FACES, "4(1 4 10 7)", "4(1 4 10 12)",
     "faces:17: face 0 has the point 12; the mesh has points 0 to 11"},
    {POLY_FACES, "4(1 4 10 7)", "4(1 4 10 -7)", "face 0 has the point -7"},
    {POLY_FACES, "4(1 4 10 7)", "4(1 4 10 4)", "face 0 has the point 4 twice"},
    {POLY_FACES, "4(1 4 10 7)", "5(1 4 10 7)", "faces:17: ')' where a label should be"},
    {POLY_FACES, "4(1 4 10 7)", "3(1 4 10 7)", "'7' where ')' should be"},
    {POLY_FACES, "4(1 4 10 7)", "4{1}", "face 0 has the point 1 twice"},
    {POLY_FACES, "4(1 4 10 7)", "4(1 4.5 10 7)", "'.' where a label should be"},
    {POLY_FACES, "4(1 4 10 7)", "1000(1 4 10 7)", "a list of 1000 elements cannot be"},
    {POLY_FACES, "\n11\n", "\n12\n", "11 owners, but the file faces has 12 faces"},
    {POLY_OWNER, "\n11\n", "\n10\n", "owner:15: 10 owners, but the file faces has 11"},
    {POLY_OWNER, "(\n0\n", "(\n1\n",
     "neighbour:17: face 0 has neighbour 1 and owner 1: the neighbour must be the "
     "greater"},
    {POLY_OWNER, "(\n0\n", "(\n-1\n", "owner:17: face 0 belongs to cell -1"},
    {POLY_OWNER, "(\n0\n", "(\n3\n",
     "face 0 belongs to cell 3; so many faces can bound cells 0 to 2"},
    {POLY_OWNER, "(\n0\n", "(\n", "')' where a label should be"},
    {POLY_OWNER, "(\n0\n", "(\n0 0\n", "'1' where ')' should be, at the end of a list"},
    {POLY_OWNER, "// *** //", "x", "more follows after the end of the list"},
    {POLY_OWNER, "labelList", "wordList", "owner: the header's class is 'wordList'"},
    {POLY_NEIGHBOUR, "(\n1\n", "(\n-1\n", "neighbour:17: face 0 belongs to cell -1"},
    {POLY_NEIGHBOUR, "(\n1\n)", "(\n1\n", "the file ends where ')' should be"},
    {POLY_NEIGHBOUR, "\n1\n", "\n11{1}\n", "11 neighbours, but the mesh has 11 faces"},
    {POLY_BOUNDARY, "polyBoundaryMesh", "dictionary",
     "boundary: the header's class is 'dictionary'"},
    {POLY_BOUNDARY, "6\n(", "7\n(", "')' where the name of a patch should be"},
    {POLY_BOUNDARY, "6\n(", "5\n(", "'z' where ')' should be, at the end of a list"},
    {POLY_BOUNDARY, "6\n(", "99999\n(", "cannot be in the rest of this file"},
    {POLY_BOUNDARY, "xMax", "xMin", "boundary:24: two patches are called 'xMin'"},
    {POLY_BOUNDARY, "startFace       1;", "startFace       0;",
     "patch 'xMin' starts at face 0, but the internal faces and the patches before it "
     "end "
     "before face 1: patches overlap"},
    {POLY_BOUNDARY, "startFace       2;", "startFace       3;",
     "patches leave faces out"},
    {POLY_BOUNDARY, "nFaces          1;", "nFaces          2;", "patches overlap"},
    {POLY_BOUNDARY, "nFaces          2;\n        startFace       9;",
     "nFaces          9;\n        startFace       9;",
     "patch 'zMax' has 9 faces from 9 on, but the mesh has 11 faces"},
    {POLY_BOUNDARY, "nFaces          2;\n        startFace       9;",
     "nFaces          1;\n        startFace       9;",
     "the patches end before face 10, but the mesh has 11 faces: a patch is missing"},
    {POLY_BOUNDARY, "nFaces          1;", "nFaces         -1;", "nFaces is '-1'"},
    {POLY_BOUNDARY, "nFaces          1;", "", "patch 'xMin' has no entry nFaces"},
    {POLY_BOUNDARY, "type            patch;", "", "patch 'xMin' has no entry type"},
    {POLY_BOUNDARY, "patch;", "wedge;", "patch 'xMin' is of type wedge: wedge patches"},
    {POLY_BOUNDARY, "patch;", "processor;", "run reconstructParMesh"},
    {POLY_BOUNDARY, "patch;", "cyclicAMI;", "do not match face by face"},
    {POLY_BOUNDARY, "patch;", "porous;", "is of type 'porous', which is not known here"},
    {POLY_BOUNDARY, "patch;", "cyclic;", "no entry neighbourPatch"},
    {POLY_BOUNDARY, "patch;", "cyclic; neighbourPatch xMax;",
     "has the neighbourPatch 'xMax', which is no cyclic patch"},
    {POLY_BOUNDARY, "patch;", "cyclic; neighbourPatch xMax; transform rotational;",
     "'xMin' is rotational"},
    {POLY_BOUNDARY, "{\n        type", "\n        type",
     "'{' must follow the patch name 'xMin', not 'type'"},
    {POLY_BOUNDARY, "    yMin", NULL, "where the name of a patch should be"},
    {POLY_BOUNDARY, "        startFace       1;", NULL, "the file ends where '}' should"},
    {POLY_BOUNDARY, "patch;", "\"patch;", "a word of more than 127 characters"},
    {POLY_BOUNDARY, "patch;", "patc\001h;", "byte 1 in a word: not text"},
};

static void breaks_are_found(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ST_COUNT(breaks); i++) {
        struct poly_mesh mesh = {.n = {0}};
        struct st_error err = {0};
        double sum = 0.0;
        poly_write_box(&pair, &ascii, NULL, &mesh);
        const int file = breaks[i].file;
        if (breaks[i].by == NULL) {
            const char *at = strstr(mesh.data[file], breaks[i].old);
            assert_non_null(at);
            poly_cut(&mesh, file, (size_t)(at - mesh.data[file]));
        } else {
            assert_true(poly_replace(&mesh, file, breaks[i].old, breaks[i].by));
        }
        const struct st_poly_source source = poly_source(&mesh);
        const enum st_status rc = read_all(&source, &sum, &err);
        if (rc != ST_ERR_STEP || strstr(err.text, breaks[i].said) == NULL) {
            print_error("row %zu: wanted '%s', got %d '%s'\n", i, breaks[i].said, rc,
                        err.text);
        }
        assert_int_equal(rc, ST_ERR_STEP);
        assert_non_null(strstr(err.text, breaks[i].said));
        poly_free(&mesh);
    }
}

static void order_is_checked(void **unused)
{
    /* 2 x 2 x 1 cells: internal faces (0,1) (0,2) (1,3) (2,3). */
    static const struct {
        const char *owners, *neighbours, *said;
    } rows[] = {
        {"(\n0\n0\n1\n2\n", "(\n2\n1\n3\n3\n", "neighbour:18: face 1 (cells 0, 1) comes"},
        {"(\n0\n1\n0\n2\n", "(\n1\n3\n2\n3\n", "owner:19: face 2 (cells 0, 2) comes"},
    };
    const struct st_mesh_box box = {.n = {2, 2, 1}, .length = {1.0, 1.0, 1.0}};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct poly_mesh mesh = {.n = {0}};
        struct st_error err = {0};
        double sum = 0.0;
        poly_write_box(&box, &ascii, NULL, &mesh);
        assert_true(poly_replace(&mesh, POLY_OWNER, "(\n0\n0\n1\n2\n", rows[i].owners));
        assert_true(
            poly_replace(&mesh, POLY_NEIGHBOUR, "(\n1\n2\n3\n3\n", rows[i].neighbours));
        const struct st_poly_source source = poly_source(&mesh);
        assert_int_equal(read_all(&source, &sum, &err), ST_ERR_STEP);
        assert_non_null(strstr(err.text, rows[i].said));
        poly_free(&mesh);
    }
}

/* Binary files: told by byte; cut anywhere, or with one byte changed, they never crash. */
static void binary_breaks_are_found(void **unused)
{
    static const struct poly_form form = {
        .is_binary = true, .label_bytes = 4, .scalar_bytes = 8, .is_compact = true};
    struct poly_mesh mesh = {.n = {0}};
    struct st_error err = {0};
    double sum = 0.0;

    (void)unused;
    poly_write_box(&pair, &form, NULL, &mesh);
    const struct st_poly_source source = poly_source(&mesh);
    for (int file = 0; file < POLY_N_FILES; file++) {
        const size_t whole = mesh.n[file];
        for (size_t n = 1; n < whole - 13; n++) { /* the last comment may be lost */
            mesh.n[file] = n;
            err = (struct st_error){0};
            assert_int_equal(read_all(&source, &sum, &err), ST_ERR_STEP);
            assert_non_null(strstr(err.text, poly_names[file]));
        }
        mesh.n[file] = whole;
        for (size_t at = 0; at < whole; at++) {
            mesh.data[file][at] ^= 0x15;
            err = (struct st_error){0};
            const enum st_status rc = read_all(&source, &sum, &err);
            assert_true(rc == ST_OK || (rc == ST_ERR_STEP && err.text[0] != '\0'));
            mesh.data[file][at] ^= 0x15;
        }
    }
    /* The first label of the owners. */
    char *list = NULL;
    for (size_t at = 0; at + 4 < mesh.n[POLY_OWNER]; at++) {
        if (memcmp(mesh.data[POLY_OWNER] + at, "11\n(", 4) == 0) {
            list = mesh.data[POLY_OWNER] + at + 4;
        }
    }
    assert_non_null(list);
    char wanted[80];
    (void)snprintf(wanted, sizeof wanted, "owner: byte %d: face 0 belongs to cell 7",
                   (int)(list - mesh.data[POLY_OWNER]));
    if (list != NULL) {
        list[0] = 7;
    }
    err = (struct st_error){0};
    assert_int_equal(read_all(&source, &sum, &err), ST_ERR_STEP);
    assert_non_null(strstr(err.text, wanted));
    poly_free(&mesh);
}

static void wrong_arch_is_found(void **unused)
{
    static const struct {
        const char *arch, *said;
    } rows[] = {
        {"LSB;label=64;scalar=64", ""}, /* 32-bit labels: some list ends elsewhere */
        {"LSB;label=32;scalar=32", ""},
        {"MSB;label=32;scalar=64", "cannot be read; this machine reads LSB"},
        {"LSB;label=16;scalar=64", "write the mesh as ascii"},
    };
    static const struct poly_form form = {
        .is_binary = true, .label_bytes = 4, .scalar_bytes = 8, .is_compact = true};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct poly_mesh mesh = {.n = {0}};
        struct st_error err = {0};
        double sum = 0.0;
        poly_write_box(&pair, &form, NULL, &mesh);
        for (int file = 0; file < POLY_N_FILES; file++) {
            char *at = strstr(mesh.data[file], "LSB;label=32;scalar=64");
            assert_non_null(at);
            for (size_t k = 0; at != NULL && rows[i].arch[k] != '\0'; k++) {
                at[k] = rows[i].arch[k];
            }
        }
        const struct st_poly_source source = poly_source(&mesh);
        assert_int_equal(read_all(&source, &sum, &err), ST_ERR_STEP);
        assert_non_null(strstr(err.text, rows[i].said));
        poly_free(&mesh);
    }
}

/* Compact lists that claim what cannot be. */
static void compact_breaks_are_found(void **unused)
{
    static const struct {
        const char *old, *by, *said;
    } rows[] = {
        {"(0\n4\n", "(0\n-4\n", "face 0 ends at label -4"},
        {"(0\n4\n", "(0\n2\n", "face 0 has 2 points"},
        {"(0\n4\n", "(4\n4\n", "the first offset is 4, not 0"},
        {"(0\n4\n", "(0\n400\n", "face 0 ends at label 400"},
        {"\n44\n)\n44\n(", "\n45\n)\n44\n(", "face 10 ends at label 45"},
        {"\n44\n)\n44\n(", "\n43\n)\n44\n(", "the last face ends at label 43 of 44"},
        {"\n12\n(0\n4\n8", "\n1000000000{0}\n12(0\n4\n8",
         "offsets and labels of faces cannot be all equal"},
        {")\n44\n(", ")\n2000000000{1}\n(", "cannot be all equal"},
    };
    static const struct poly_form form = {.is_compact = true};

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct poly_mesh mesh = {.n = {0}};
        struct st_error err = {0};
        double sum = 0.0;
        poly_write_box(&pair, &form, NULL, &mesh);
        assert_true(poly_replace(&mesh, POLY_FACES, rows[i].old, rows[i].by));
        const struct st_poly_source source = poly_source(&mesh);
        assert_int_equal(read_all(&source, &sum, &err), ST_ERR_STEP);
        if (strstr(err.text, rows[i].said) == NULL) {
            print_error("row %zu: wanted '%s', got '%s'\n", i, rows[i].said, err.text);
        }
        assert_non_null(strstr(err.text, rows[i].said));
        poly_free(&mesh);
    }
}

static void uniform_lists_and_comments_are_read(void **unused)
{
    const struct st_mesh_box one = {.n = {1, 1, 1}, .length = {1.0, 1.0, 1.0}};
    struct poly_mesh mesh = {.n = {0}};
    struct st_error err = {0};
    double want = 0.0;
    double got = 0.0;

    (void)unused;
    poly_write_box(&one, &ascii, NULL, &mesh);
    const struct st_poly_source source = poly_source(&mesh);
    assert_int_equal(read_all(&source, &want, &err), ST_OK);
    assert_true(poly_replace(&mesh, POLY_OWNER, "6\n(\n0\n0\n0\n0\n0\n0\n)", "6 { 0 }"));
    assert_true(poly_replace(&mesh, POLY_NEIGHBOUR, "0()", "0"));
    assert_true(poly_replace(&mesh, POLY_POINTS, "(1 0 0)",
                             "( /* a ) comment */ 1 // another (\n 0.0\t-0e3)"));
    assert_true(poly_replace(&mesh, POLY_BOUNDARY, "type            patch;",
                             "inner { more { a b; } type no; } type patch;"));
    assert_int_equal(read_all(&source, &got, &err), ST_OK);
    assert_true(got == want);
    poly_free(&mesh);
}

/* Folders: found by case, constant/polyMesh or itself; plain or compressed; damaged. */
static void folders_are_found(void **unused)
{
    char base[] = "/tmp/st_mesh_XXXXXX";
    char path[300];
    char file[400];
    struct poly_mesh mesh = {.n = {0}};
    struct st_error err = {0};
    double want = 0.0;
    double got = 0.0;

    (void)unused;
    assert_non_null(mkdtemp(base));
    poly_write_box(&pair, &ascii, NULL, &mesh);
    const struct st_poly_source memory = poly_source(&mesh);
    assert_int_equal(read_all(&memory, &want, &err), ST_OK);
    (void)snprintf(path, sizeof path, "%s/constant", base);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/constant/polyMesh", base);
    assert_int_equal(mkdir(path, 0700), 0);
    const char *const names[] = {base, path};
    const struct st_poly_source nothing = st_poly_folder(base);
    assert_int_equal(read_all(&nothing, &got, &err), ST_ERR_STEP);
    assert_non_null(strstr(err.text, "no OpenFOAM mesh"));
    assert_int_equal(st_poly_find("/nowhere/at/all", &err), ST_ERR_STEP);
    assert_non_null(strstr(err.text, "No such file or directory"));
    for (int zip = 0; zip < 2; zip++) {
        assert_true(poly_save(&mesh, path, zip == 1));
        for (size_t i = 0; i < 2; i++) {
            const struct st_poly_source source = st_poly_folder(names[i]);
            assert_int_equal(st_poly_find(names[i], &err), ST_OK);
            assert_int_equal(read_all(&source, &got, &err), ST_OK);
            assert_true(got == want);
        }
        for (int i = 0; zip == 0 && i < POLY_N_FILES; i++) {
            (void)snprintf(file, sizeof file, "%s/%s", path, poly_names[i]);
            assert_int_equal(remove(file), 0);
        }
    }
    /* A compressed file cut off, then none. */
    const struct st_poly_source source = st_poly_folder(base);
    (void)snprintf(file, sizeof file, "%s/faces.gz", path);
    struct stat info;
    assert_int_equal(stat(file, &info), 0);
    assert_int_equal(truncate(file, info.st_size / 2), 0);
    assert_int_equal(read_all(&source, &got, &err), ST_ERR_STEP);
    assert_non_null(strstr(err.text, "the compressed data are damaged or cut off"));
    assert_int_equal(remove(file), 0);
    assert_int_equal(st_poly_find(base, &err), ST_ERR_STEP);
    assert_non_null(
        strstr(err.text, "constant/polyMesh/faces: no such file, nor one with .gz"));
    for (int i = 0; i < POLY_N_FILES; i++) {
        (void)snprintf(file, sizeof file, "%s/%s.gz", path, poly_names[i]);
        (void)remove(file);
    }
    (void)rmdir(path);
    (void)snprintf(path, sizeof path, "%s/constant", base);
    (void)rmdir(path);
    (void)rmdir(base);
    poly_free(&mesh);
}

static void failing_allocations_are_told(void **unused)
{
    struct poly_mesh mesh = {.n = {0}};

    (void)unused;
    poly_write_box(&pair, &ascii, NULL, &mesh);
    const struct st_poly_source source = poly_source(&mesh);
    for (uint64_t nth = 1; nth <= 8; nth++) {
        struct st_error err = {0};
        double sum = 0.0;
        st_mem_fail_at(nth);
        const enum st_status rc = read_all(&source, &sum, &err);
        st_mem_fail_at(0);
        assert_int_equal(rc,
                         nth <= 7 ? ST_ERR_MEMORY : ST_OK); /* 5 files, 2 for patches */
    }
    poly_free(&mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_forms_are_the_same),
        cmocka_unit_test(counts_and_places),
        cmocka_unit_test(breaks_are_found),
        cmocka_unit_test(order_is_checked),
        cmocka_unit_test(binary_breaks_are_found),
        cmocka_unit_test(wrong_arch_is_found),
        cmocka_unit_test(compact_breaks_are_found),
        cmocka_unit_test(uniform_lists_and_comments_are_read),
        cmocka_unit_test(folders_are_found),
        cmocka_unit_test(failing_allocations_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
