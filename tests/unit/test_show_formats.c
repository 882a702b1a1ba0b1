/*
 * JSON and XML: whatever bytes a file holds, a strict parser reads what is written, and reads
 * the same values. Python's parsers are the judges (CASES 52).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/test_judge_fixture.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "src/show/json.h"
#include "src/show/show.h"
#include "src/show/utf8.h"
#include "src/show/xml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Quotes, markup, control characters, a lone continuation, an overlong form, half a character. */
static const char hostile[] =
    "a\"b\\c<d>&'\x01\x1b[31m\x7f\n\t\r\x80\xc0\xaf\xed\xa0\x80 \xc3\xa9 "
    "\xf4\x90\x80\x80 ]]> \xe2\x82";

struct output {
    char *text;
    size_t size;
    FILE *stream;
};

static FILE *open_output(struct output *out)
{
    out->stream = open_memstream(&out->text, &out->size);
    assert_non_null(out->stream);
    return out->stream;
}

static void close_output(struct output *out)
{
    assert_int_equal(fclose(out->stream), 0);
    out->stream = NULL;
}

/* The text through a Python program on its standard input; asserts exit status 0. */
static void ask_python(const char *program, const char *text)
{
    char path[] = "/tmp/seatrial-show-XXXXXX";
    char command[4096];
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
    assert_true(snprintf(command, sizeof command, "python3 -c '%s' %s", program, path) <
                (int)sizeof command);
    const int status = system(command);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(status, 0);
}

static void utf8_by_the_book(void **state)
{
    /* RFC 3629; 0xFFFD with length 1 is "not valid" */
    static const struct {
        const char *text;
        uint32_t code;
        size_t n;
    } rows[] = {
        {"a", 'a', 1},
        {"\xc3\xa9", 0xE9, 2},
        {"\xe2\x82\xac", 0x20AC, 3},
        {"\xf0\x9f\x9a\xa2", 0x1F6A2, 4},
        {"\xf4\x8f\xbf\xbf", 0x10FFFF, 4},
        {"\x80", ST_REPLACEMENT, 1},             /* continuation alone */
        {"\xc0\xaf", ST_REPLACEMENT, 1},         /* overlong */
        {"\xe0\x80\xaf", ST_REPLACEMENT, 1},     /* overlong */
        {"\xed\xa0\x80", ST_REPLACEMENT, 1},     /* surrogate */
        {"\xf4\x90\x80\x80", ST_REPLACEMENT, 1}, /* above U+10FFFF */
        {"\xe2\x82", ST_REPLACEMENT, 1},         /* cut */
        {"\xff", ST_REPLACEMENT, 1},
    };

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        uint32_t code = 0;
        assert_int_equal(st_utf8_next(rows[i].text, &code), rows[i].n);
        assert_int_equal(code, rows[i].code);
    }
    assert_int_equal(st_utf8_width("\xc3\xa9t\xc3\xa9"), 3);
    char clean[8];
    assert_string_equal(st_utf8_clean(clean, sizeof clean, "a\x1b\x80z"), "a??z");
    assert_string_equal(st_utf8_clean(clean, sizeof clean, "123456\xc3\xa9"), "123456");
    assert_string_equal(st_utf8_clean(clean, sizeof clean, "12345\xc3\xa9"),
                        "12345\xc3\xa9");
}

static void json_values(void **state)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0.05, "0.05"},
                {1e9, "1000000000"},
                {400e9, "400000000000"},
                {1.0 / 3.0, "0.3333333333333333"},
                {-1.5e-9, "-1.5e-09"},
                {0.1 + 0.2, "0.30000000000000004"},
                {(double)NAN, "null"},
                {(double)INFINITY, "null"},
                {-(double)INFINITY, "null"}};

    (void)state;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        struct output out;
        struct st_json j;
        st_json_init(&j, open_output(&out));
        st_json_real(&j, rows[i].value);
        assert_true(st_json_end(&j));
        close_output(&out);
        out.text[strcspn(out.text, "\n")] = '\0';
        assert_string_equal(out.text, rows[i].text);
        free(out.text);
    }
}

static void json_nests_and_escapes(void **state)
{
    struct output out;
    struct st_json j;

    (void)state;
    st_json_init(&j, open_output(&out));
    st_json_object(&j);
    st_json_key_text(&j, hostile, hostile);
    st_json_key(&j, "empty");
    st_json_array(&j);
    st_json_close(&j);
    st_json_key(&j, "list");
    st_json_array(&j);
    st_json_count(&j, UINT64_MAX);
    st_json_index(&j, SIZE_MAX);
    st_json_bool(&j, true);
    st_json_object(&j);
    st_json_close(&j);
    st_json_close(&j);
    st_json_close(&j);
    assert_true(st_json_end(&j));
    close_output(&out);
    ask_python(
        "import json,sys\n"
        "d=json.load(open(sys.argv[1],encoding=\"utf-8\"))\n"
        "assert d[\"empty\"]==[] and d[\"list\"]==[2**64-1,None,True,{}]\n"
        "k=[x for x in d if x not in (\"empty\",\"list\")][0]\n"
        "assert k==d[k] and k.startswith(\"a\\\"b\\\\c<d>&\")\n"
        "assert chr(1) in k and chr(27) in k and chr(0xe9) in k and chr(0xfffd) in k\n",
        out.text);
    free(out.text);
}

static void json_misuse_is_noticed(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        struct output out;
        struct st_json j;
        st_json_init(&j, open_output(&out));
        switch (i) {
        case 0:
            st_json_object(&j);
            st_json_real(&j, 1.0); /* value without key */
            st_json_close(&j);
            break;
        case 1:
            st_json_array(&j);
            st_json_key(&j, "key in an array");
            st_json_close(&j);
            break;
        case 2:
            st_json_object(&j);
            st_json_key(&j, "no value");
            st_json_close(&j);
            break;
        case 3:
            st_json_array(&j); /* never closed */
            break;
        case 4:
            st_json_real(&j, 1.0);
            st_json_real(&j, 2.0); /* two documents */
            break;
        case 5:
            st_json_close(&j);
            break;
        case 6:
            for (int k = 0; k <= ST_JSON_DEPTH; k++) {
                st_json_array(&j);
            }
            break;
        default: /* nothing at all */
            break;
        }
        assert_false(st_json_end(&j));
        close_output(&out);
        free(out.text);
    }
}

static void xml_escapes(void **state)
{
    struct output out;

    (void)state;
    (void)fputs("<x", open_output(&out));
    st_xml_attribute(out.stream, "a", hostile);
    (void)fputs(">", out.stream);
    st_xml_put(out.stream, hostile);
    (void)fputs("</x>", out.stream);
    close_output(&out);
    ask_python(
        "import sys,xml.etree.ElementTree as E\n"
        "x=E.parse(sys.argv[1]).getroot()\n"
        "assert x.get(\"a\")==x.text, (x.get(\"a\"),x.text)\n"
        "assert x.text.startswith(\"a\\\"b\\\\c<d>&\") and chr(1) not in x.text\n"
        "assert \"\\n\\t\\r\" in x.text and chr(0xe9) in x.text and \"]]>\" in x.text\n",
        out.text);
    free(out.text);
}

/* A file in which every text is hostile and every number that may be is not finite. */
static void make_hostile(struct st_file *file)
{
    const double bad = (double)NAN;

    fix_init(file);
    fix_nodes(file, 2);
    (void)st_copy(file->campaign, sizeof file->campaign, hostile);
    (void)st_copy(file->reason, sizeof file->reason, hostile);
    (void)st_copy(file->command, sizeof file->command, hostile);
    (void)st_copy(file->version, sizeof file->version, hostile);
    (void)st_copy(file->created, sizeof file->created, hostile);
    (void)st_copy(file->warnings, sizeof file->warnings, hostile);
    (void)st_copy(file->nodes[0].host, sizeof file->nodes[0].host, hostile);
    file->wall_s = bad;
    file->start_up_s = -(double)INFINITY;
    struct st_file_step *s = fix_step(file, hostile);
    s->clock_error_s = (double)INFINITY;
    s->wall_s = bad;
    (void)st_copy(s->notes, sizeof s->notes, hostile);
    (void)st_copy(s->layout, sizeof s->layout, hostile);
    s->n_params = 1;
    s->params = st_calloc(NULL, 1, sizeof *s->params);
    assert_non_null(s->params);
    (void)st_copy(s->params[0].name, sizeof s->params[0].name, "size");
    (void)st_copy(s->params[0].value, sizeof s->params[0].value, hostile);
    const size_t m = fix_metric(file, hostile, hostile, ST_HIGHER, ST_NODE, 5);
    for (size_t p = 0; p < 5; p++) {
        struct st_file_metric *metric = &file->steps[0].metrics[m];
        (void)st_copy(metric->places[p].label, sizeof metric->places[p].label, hostile);
        metric->summary[p] = (struct st_summary){.median = bad,
                                                 .ci_low = bad,
                                                 .ci_high = (double)INFINITY,
                                                 .min = -(double)INFINITY,
                                                 .max = bad};
    }
    struct st_criterion *c = fix_criterion(file, m, ST_AT_LEAST, bad);
    (void)st_copy(c->text, sizeof c->text, hostile);
    c = fix_criterion(file, m, ST_SPREAD, bad);
    (void)st_copy(c->text, sizeof c->text, hostile);
    s = fix_step(file, hostile);
    s->state = ST_STEP_FAILED;
    (void)st_copy(s->reason, sizeof s->reason, hostile);
}

/* The report of @p file in @p format; owned, free(). */
static char *report(const struct st_file *file, enum st_report_format format,
                    size_t columns)
{
    struct output out;
    struct st_error err = {0};
    struct st_verdict *v = fix_judge(file);
    const struct st_style style = {.columns = columns};

    assert_int_equal(st_show_report(open_output(&out), style, format, file, v, &err),
                     ST_OK);
    close_output(&out);
    st_verdict_destroy(&v);
    return out.text;
}

static void hostile_files_parse(void **state)
{
    struct st_file file;

    (void)state;
    make_hostile(&file);
    char *text = report(&file, ST_REPORT_JSON, 80);
    ask_python(
        "import json,sys\n"
        "def bad(x): raise SystemExit(\"not JSON: \"+x)\n"
        "d=json.load(open(sys.argv[1],encoding=\"utf-8\"),parse_constant=bad)\n"
        "s=d[\"steps\"][0]\n"
        "assert d[\"wall_s\"] is None and s[\"metrics\"][0][\"places\"][4][\"median\"] "
        "is None\n"
        "assert d[\"verdict\"][\"exit_status\"]==2\n"
        "assert chr(1) in d[\"campaign\"] and chr(1) in s[\"parameters\"][\"size\"]\n",
        text);
    free(text);
    text = report(&file, ST_REPORT_JUNIT, 80);
    ask_python(
        "import sys,xml.etree.ElementTree as E\n"
        "t=E.parse(sys.argv[1]).getroot()\n"
        "assert t.find(\"testsuite\").get(\"name\").startswith(\"a\\\"b\\\\c<d>&\")\n",
        text);
    free(text);
    text = report(&file, ST_REPORT_TEXT, 80);
    assert_null(strchr(text, '\x1b'));
    assert_null(strchr(text, '\x01'));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf "));
    free(text);
    fix_clear(&file);
}

/* One criterion of each outcome, one step of each state. */
static void make_mixed(struct st_file *file)
{
    static const double bounds[] = {390e9, 410e9, 400e9};

    fix_init(file);
    (void)fix_step(file, "stream");
    const size_t m = fix_metric(file, "triad", "byte s-1", ST_HIGHER, ST_NODE, 1);
    fix_around(file, m, 0, 400e9, 0.001);
    for (size_t i = 0; i < ST_COUNT(bounds); i++) {
        (void)fix_criterion(file, m, ST_AT_LEAST, bounds[i]);
    }
    static const enum st_step_state states[] = {ST_STEP_SKIPPED, ST_STEP_FAILED,
                                                ST_STEP_INTERRUPTED};
    for (size_t i = 0; i < ST_COUNT(states); i++) {
        struct st_file_step *s = fix_step(file, "pairs");
        s->state = states[i];
        (void)st_copy(s->reason, sizeof s->reason, "the reason");
    }
    (void)fix_metric(file, "rate", "s-1", ST_HIGHER, ST_JOB, 1);
    fix_around(file, 0, 0, 1e6, 0.001);
    (void)fix_criterion(file, 0, ST_AT_LEAST, 1.0);
}

static void junit_counts_are_those_of_its_cases(void **state)
{
    struct st_file file;

    (void)state;
    make_mixed(&file);
    for (int i = 0; i < 2; i++) {
        if (i == 1) {
            (void)st_copy(file.status, sizeof file.status, "interrupted");
        }
        char *text = report(&file, ST_REPORT_JUNIT, 80);
        /* campaign, 4 steps, 4 criteria: 1 fails, 1 + 2 errors, 1 + 1 skipped */
        ask_python(
            i == 0 ? "import sys,xml.etree.ElementTree as E\n"
                     "t=E.parse(sys.argv[1]).getroot(); s=t.find(\"testsuite\")\n"
                     "n=lambda k:int(s.get(k))\n"
                     "c=s.findall(\"testcase\")\n"
                     "w=lambda k:sum(x.find(k) is not None for x in c)\n"
                     "assert n(\"tests\")==len(c)==9\n"
                     "assert n(\"failures\")==w(\"failure\")==1\n"
                     "assert n(\"errors\")==w(\"error\")==3\n"
                     "assert n(\"skipped\")==w(\"skipped\")==2\n"
                     "assert all(t.get(k)==s.get(k) for k in (\"tests\",\"errors\"))\n"
                   : "import sys,xml.etree.ElementTree as E\n"
                     "s=E.parse(sys.argv[1]).getroot().find(\"testsuite\")\n"
                     "assert s.get(\"errors\")==\"4\"\n",
            text);
        free(text);
    }
    fix_clear(&file);
}

static void json_tells_the_whole(void **state)
{
    struct st_file file;

    (void)state;
    make_mixed(&file);
    char *text = report(&file, ST_REPORT_JSON, 80);
    ask_python(
        "import json,sys\n"
        "d=json.load(open(sys.argv[1]))\n"
        "v=d[\"verdict\"]\n"
        "assert (v[\"outcome\"],v[\"exit_status\"])==(\"fail\",2)\n"
        "assert (v[\"n_pass\"],v[\"n_fail\"],v[\"n_inconclusive\"],v[\"n_not_judged\"])"
        "==(1,1,1,1)\n"
        "s=d[\"steps\"]\n"
        "assert [x[\"state\"] for x in s]==[\"complete\",\"skipped\",\"failed\","
        "\"interrupted\"]\n"
        "p=s[0][\"metrics\"][0][\"places\"][0]\n"
        "assert (p[\"label\"],p[\"outcome\"],p[\"n\"],p[\"median\"])==(\"node00\","
        "\"fail\",7,400e9)\n"
        "assert p[\"ci_low\"]<p[\"median\"]<p[\"ci_high\"] and p[\"p99\"] is None\n"
        "c=[x for x in d[\"criteria\"] if x[\"place\"] is None and x[\"metric\"] is not "
        "None]\n"
        "assert [x[\"outcome\"] for x in c]==[\"pass\",\"fail\",\"inconclusive\","
        "\"not judged\"]\n"
        "assert s[1][\"reason\"]==\"the reason\" and d[\"outliers\"]==[]\n"
        "assert len(s[0][\"phases_s\"])==10\n",
        text);
    free(text);
    fix_clear(&file);
}

static void a_full_disk_is_an_error(void **state)
{
    static const enum st_report_format formats[] = {ST_REPORT_TEXT, ST_REPORT_JSON,
                                                    ST_REPORT_JUNIT};
    struct st_file file;

    (void)state;
    make_mixed(&file);
    struct st_verdict *v = fix_judge(&file);
    for (size_t i = 0; i < ST_COUNT(formats); i++) {
        struct st_error err = {0};
        FILE *full = fopen("/dev/full", "w");
        assert_non_null(full);
        assert_int_equal(st_show_report(full, (struct st_style){.columns = 80},
                                        formats[i], &file, v, &err),
                         ST_ERR_IO);
        assert_non_null(strstr(err.text, "could not be written"));
        (void)fclose(full);
    }
    st_verdict_destroy(&v);
    fix_clear(&file);
}

static void no_memory_is_an_error(void **state)
{
    struct st_file file;
    enum st_status rc = ST_ERR_MEMORY;
    uint64_t k = 1;

    (void)state;
    make_mixed(&file);
    struct st_verdict *v = fix_judge(&file);
    for (; rc != ST_OK && k < 500; k++) {
        struct output out;
        struct st_error err = {0};
        (void)open_output(&out);
        st_mem_fail_at(k);
        rc = st_show_report(out.stream, (struct st_style){.columns = 80}, ST_REPORT_TEXT,
                            &file, v, &err);
        st_mem_fail_at(0);
        assert_true(rc == ST_OK || rc == ST_ERR_MEMORY);
        close_output(&out);
        free(out.text);
    }
    assert_int_equal(rc, ST_OK);
    assert_true(k > 20);
    st_verdict_destroy(&v);
    fix_clear(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_by_the_book),
        cmocka_unit_test(json_values),
        cmocka_unit_test(json_nests_and_escapes),
        cmocka_unit_test(json_misuse_is_noticed),
        cmocka_unit_test(xml_escapes),
        cmocka_unit_test(hostile_files_parse),
        cmocka_unit_test(junit_counts_are_those_of_its_cases),
        cmocka_unit_test(json_tells_the_whole),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
