/*
 * Config files that are wrong: exactly what is said, and exactly where. The place is marked
 * in the text itself: '^' stands before the character that the message must name and is taken
 * out before parsing, so that expected positions are counted here and not by the code under
 * test. A text without it is wrong from its start. Each '~' becomes 128 times 'x', and '`' a NUL byte.
 */
#include "src/plan/plan.h"

#include "src/base/mem.h"
#include "src/base/text.h"
#include "tests/fuzz/fake_registry.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    TEXT_SIZE = 1 << 21,
    LONG_RUN = 128
};

/* A marked text made ready, and where its mark was. */
struct config {
    char text[TEXT_SIZE];
    size_t n;
    int line, column;
};
static struct config config;

static void add_byte(char c)
{
    assert_true(config.n < TEXT_SIZE);
    config.text[config.n++] = c;
}

static void set_config(const char *marked)
{
    int line = 1;
    int column = 1;

    config.n = 0;
    config.line = 1;
    config.column = 1;
    for (const char *c = marked; *c != '\0'; c++) {
        if (*c == '^') {
            config.line = line;
            config.column = column;
            continue;
        }
        if (*c == '~') {
            for (int i = 0; i < LONG_RUN; i++) {
                add_byte('x');
            }
        } else {
            add_byte(*c == '`' ? '\0' : *c);
        }
        column += ((unsigned char)*c & 0xC0U) != 0x80U ? 1 : 0;
        if (*c == '\n') {
            line++;
            column = 1;
        }
    }
}

/* Parse `config` and compare the whole message. */
static void expect_error(const char *message)
{
    char expected[ST_ERROR_TEXT_SIZE];
    struct st_plan *plan = NULL;
    struct st_error err = {0};
    const enum st_status rc = st_plan_parse("c.yaml", config.text, config.n, 0, NULL, 0,
                                            NULL, &fake_registry, &plan, &err);

    (void)snprintf(expected, sizeof expected, "c.yaml:%d:%d: %s", config.line,
                   config.column, message);
    assert_string_equal(err.text, expected);
    assert_int_equal(rc, ST_ERR_CONFIG);
    assert_int_equal(err.code, ST_ERR_CONFIG);
    assert_null(plan);
}

/* clang-format off */
static const struct {
    const char *marked;
    const char *message;
} rows[] = {
    {"^", "the file is empty; a config needs at least 'steps: [{benchmark: NAME}]'"},
    {"^# only a comment\n", "the file is empty; a config needs at least 'steps: [{benchmark: NAME}]'"},
    {"a: b\n^\x09""c: d\n", "tab character; use spaces"},
    {"steps: [{benchmark: pairs}\n^", "not valid YAML: did not find expected ',' or ']' while parsing a flow sequence that began in line 1"},
    {"campaign: \"x\n^", "not valid YAML: found unexpected end of stream while scanning a quoted scalar that began in line 1"},
    {"steps:\n  - benchmark: pairs\n ^- benchmark: pairs\n", "not valid YAML: did not find expected key while parsing a block mapping that began in line 1"},
    {"campaign: a^: b\n", "not valid YAML: mapping values are not allowed in this context"},
    {"campaign: x\n^---\nsteps: []\n", "a second YAML document begins here; one is allowed"},
    {"campaign: x\n...\n^---\nb: c\n", "a second YAML document begins here; one is allowed"},
    {"campaign: ^\xFF\n", "not a readable text: invalid leading UTF-8 octet (found 0xFF)"},
    {"campaign: a^`b\n", "not a readable text: control characters are not allowed (found 0x00)"},
    {"# \xC3\xA9 ^\x07\n", "not a readable text: control characters are not allowed (found 0x07)"},
    {"campaign: ^\"a\\0b\"\n", "control character 0x00 in a value; a value is one line of printable text"},
    {"campaign: ^|\n  a\n  b\n", "control character 0x0A in a value; a value is one line of printable text"},
    {"steps: ^!!python/object [1]\n", "tag '!!python/object' is not allowed; values are written without tags"},
    {"^!t {steps: []}\n", "tag '!t' is not allowed; values are written without tags"},
    {"campaign: ^!!str x\n", "tag '!!str' is not allowed; values are written without tags"},
    {"campaign: ^*nowhere\n", "not valid YAML: found undefined alias"},
    {"steps: ^&a [*a]\n", "an alias inside this list leads back to it"},
    {"steps: [{benchmark: pairs, accept: ^&a {x: {y: *a}}}]\n", "an alias inside this map leads back to it"},
    {"defaults: {}\n^defaults: {}\n", "key 'defaults' is given twice; first in line 1"},
    {"steps: [{benchmark: pairs, layout: {nodes: 1, ^nodes: 2}}]\n", "key 'nodes' is given twice; first in line 1"},
    {"? ^[a, b]\n: c\n", "a key must be one word, not a list or a map"},
    {"^[1, 2]\n", "the config: found a list; a map (key: value) is needed"},
    {"^hello\n", "the config: found 'hello'; a map (key: value) is needed"},
    {"'steps': ^x\n", "steps: found 'x'; a list of steps is needed"},
    {"--- ^''\n", "the config: found nothing; a map (key: value) is needed"},
    {"campain: x\nsteps: [{benchmark: pairs}]\n", "unknown key 'campain' in the config; allowed: campaign, defaults, peaks, judge_fake_nodes, steps (did you mean 'campaign'?)"},
    {"^steps2: x\nsteps: [{benchmark: pairs}]\n", "unknown key 'steps2' in the config; allowed: campaign, defaults, peaks, judge_fake_nodes, steps (did you mean 'steps'?)"},
    {"^{}\n", "no 'steps'; a config needs at least 'steps: [{benchmark: NAME}]'"},
    {"campaign: x\nsteps:^\n", "steps: found nothing; a list of steps is needed"},
    {"steps: ^[]\n", "steps: found an empty list; a list of steps is needed"},
    {"steps: ^{benchmark: pairs}\n", "steps: found a map; a list of steps is needed"},
    {"campaign: ^[a]\nsteps: [{benchmark: pairs}]\n", "campaign: found a list; a single value is needed"},
    {"campaign:^\nsteps: [{benchmark: pairs}]\n", "campaign: found nothing; a single value is needed"},
    {"campaign: ^~\nsteps: [{benchmark: pairs}]\n", "campaign: longer than 127 bytes"},
    {"judge_fake_nodes: ^maybe\nsteps: [{benchmark: pairs}]\n", "judge_fake_nodes: found 'maybe'; allowed: yes, no, true, false"},
    {"defaults: ^[]\nsteps: [{benchmark: pairs}]\n", "defaults: found a list; a map (key: value) is needed"},
    {"defaults: {^parameters: {size: 1GiB}}\nsteps: [{benchmark: pairs}]\n", "unknown key 'parameters' in defaults; allowed: layout, repeat, required"},
    {"defaults: {layout: {fill: ^compackt}}\nsteps: [{benchmark: pairs}]\n", "fill: found 'compackt'; allowed: compact, scatter (did you mean 'compact'?)"},
    {"steps: [{benchmark: pairs, layout: {within: ^socket}}]\n", "within: 'socket' is not a part of a node; allowed are node, 'socket N', 'numa N' and 'l3 N', N counted from 0"},
    {"steps: [{benchmark: pairs, layout: {within: [numa 0, ^numa -1]}}]\n", "within: 'numa -1' is not a part of a node; allowed are node, 'socket N', 'numa N' and 'l3 N', N counted from 0"},
    {"steps: [{benchmark: pairs, layout: {within: ^socket 0, ranks: 2}}]\n", "'within' picks CPUs of each node; that goes with 'ranks_per_node' and the policy seatrial only"},
    {"defaults: {layout: {within: ^l3 1}}\nsteps: [{benchmark: pairs, layout: {policy: launcher}}]\n", "'within' picks CPUs of each node; that goes with 'ranks_per_node' and the policy seatrial only"},
    {"steps: [{benchmark: pairs, layout: {others: ^bussy}}]\n", "others: found 'bussy'; allowed: idle, busy (did you mean 'busy'?)"},
    {"defaults: {required: ^2}\nsteps: [{benchmark: pairs}]\n", "required: found '2'; allowed: yes, no, true, false"},
    {"defaults: {repeat: {^maximum: 3}}\nsteps: [{benchmark: pairs}]\n", "unknown key 'maximum' in repeat; allowed: min, max, confidence, width, budget, time, deadline"},
    {"defaults: {layout: {threads: [1, ^zero]}}\nsteps: [{benchmark: pairs}]\n", "threads: found 'zero'; allowed: a number from 1, all-cores, all-pus, per-numa, per-l3, K per-numa, K per-l3"},
    {"defaults:^\nsteps: [{benchmark: pairs}]\n", "defaults: found nothing; a map (key: value) is needed"},
    {"peaks: ^460GB/s\nsteps: [{benchmark: pairs}]\n", "peaks: found '460GB/s'; a map (key: value) is needed"},
    {"peaks: {memory: ^460.8}\nsteps: [{benchmark: pairs}]\n", "peak memory: found '460.8'; a quantity above 0 with its unit is needed, such as 460.8GB/s, 3.2Tflop/s, 200M/s, 1.2us"},
    {"peaks: {memory: ^-1GB/s}\nsteps: [{benchmark: pairs}]\n", "peak memory: found '-1GB/s'; a quantity above 0 with its unit is needed, such as 460.8GB/s, 3.2Tflop/s, 200M/s, 1.2us"},
    {"peaks: {memory: ^80%}\nsteps: [{benchmark: pairs}]\n", "peak memory: found '80%'; a quantity above 0 with its unit is needed, such as 460.8GB/s, 3.2Tflop/s, 200M/s, 1.2us"},
    {"peaks: {memory: ^{origin: x}}\nsteps: [{benchmark: pairs}]\n", "peak memory has no 'value'"},
    {"peaks: {memory: {value: 1GB/s, ^source: x}}\nsteps: [{benchmark: pairs}]\n", "unknown key 'source' in memory; allowed: value, origin"},
    {"peaks: {memory: {value: 1GB/s, origin: ^~}}\nsteps: [{benchmark: pairs}]\n", "origin: longer than 127 bytes"},
    {"peaks: {^my memory: 1GB/s}\nsteps: [{benchmark: pairs}]\n", "name of a peak: found 'my memory'; allowed: at most 63 letters, digits, _ and -"},
    {"peaks: {p0: 1s, p1: 1s, p2: 1s, p3: 1s, p4: 1s, p5: 1s, p6: 1s, p7: 1s, p8: 1s, p9: 1s, p10: 1s, p11: 1s, p12: 1s, p13: 1s, p14: 1s, p15: 1s, ^q: 1s}\nsteps: [{benchmark: pairs}]\n", "peaks: more than 16"},
    {"steps:\n- ^pairs\n", "a step: found 'pairs'; a map (key: value) is needed"},
    {"steps:\n- ^[benchmark, pairs]\n", "a step: found a list; a map (key: value) is needed"},
    {"steps:\n- ^- benchmark: pairs\n", "a step: found a list; a map (key: value) is needed"},
    {"steps:\n- ^name: x\n", "a step without 'benchmark'; `seatrial list` shows them"},
    {"steps:\n- benchmark: ^pears\n", "unknown benchmark 'pears'; allowed: stream, pairs, solve"},
    {"steps:\n- benchmark: ^xyz\n", "unknown benchmark 'xyz'; allowed: stream, pairs, solve"},
    {"steps:\n- benchmark:^\n", "benchmark: found nothing; a single value is needed"},
    {"steps:\n- benchmark: ^[pairs, stream]\n", "benchmark: found a list; a single value is needed"},
    {"steps:\n- benchmark: pairs\n  ^parameter: {}\n", "unknown key 'parameter' in a step; allowed: benchmark, name, layout, parameters, repeat, accept, required, scaling (did you mean 'parameters'?)"},
    {"steps:\n- benchmark: pairs\n  name: ^a b\n", "name: found 'a b'; allowed: at most 127 letters, digits, _ and -"},
    {"steps:\n- benchmark: pairs\n  name: ^~\n", "name: found 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'; allowed: at most 127 letters, digits, _ and -"},
    {"steps:\n- benchmark: solve\n  scaling: ^week\n", "scaling: found 'week'; allowed: none, strong, weak (did you mean 'weak'?)"},
    {"steps:\n- benchmark: solve\n  parameters: {n: 8, scope: total}\n  scaling: ^weak\n", "'scaling' sets the parameter 'scope'; give one of them"},
    {"steps:\n- benchmark: pairs\n  scaling: ^strong\n", "benchmark pairs has no problem size to scale; leave 'scaling' out and compare the steps of its sweep as they are"},
    {"steps:\n- benchmark: pairs\n  required: ^1\n", "required: found '1'; allowed: yes, no, true, false"},
    {"steps:\n- benchmark: pairs\n  layout: ^all\n", "layout: found 'all'; a map (key: value) is needed"},
    {"steps:\n- benchmark: pairs\n  layout: {^node: 1}\n", "unknown key 'node' in layout; allowed: nodes, ranks_per_node, ranks, threads, within, others, fill, policy, oversubscribe (did you mean 'nodes'?)"},
    {"steps:\n- benchmark: pairs\n  layout: {nodes: ^every}\n", "nodes: found 'every'; allowed: a number from 1, all, each"},
    {"steps:\n- benchmark: pairs\n  layout: {nodes: ^0}\n", "nodes: found '0'; allowed: a number from 1, all, each"},
    {"steps:\n- benchmark: pairs\n  layout: {nodes: ^-1}\n", "nodes: found '-1'; allowed: a number from 1, all, each"},
    {"steps:\n- benchmark: pairs\n  layout: {nodes: [1, ^1.5]}\n", "nodes: found '1.5'; allowed: a number from 1, all, each"},
    {"steps:\n- benchmark: pairs\n  layout: {nodes: ^[]}\n", "nodes: the list is empty; give at least one value"},
    {"steps:\n- benchmark: pairs\n  layout: {nodes: [1, ^[2]]}\n", "nodes: found a list; a single value is needed"},
    {"steps:\n- benchmark: pairs\n  layout: {ranks_per_node: ^all-core}\n", "ranks_per_node: found 'all-core'; allowed: a number from 1, all-cores, all-pus, per-numa, per-socket, per-l3 (did you mean 'all-cores'?)"},
    {"steps:\n- benchmark: pairs\n  layout: {ranks_per_node: ^2147483648}\n", "ranks_per_node: found '2147483648'; allowed: a number from 1, all-cores, all-pus, per-numa, per-socket, per-l3"},
    {"steps:\n- benchmark: pairs\n  layout: {threads: ^per-socket}\n", "threads: found 'per-socket'; allowed: a number from 1, all-cores, all-pus, per-numa, per-l3, K per-numa, K per-l3"},
    {"steps:\n- benchmark: pairs\n  layout: {ranks: ^all}\n", "ranks: found 'all'; allowed: a number from 1 to 2147483647"},
    {"steps:\n- benchmark: pairs\n  layout: {ranks: ^9999999999999999999999}\n", "ranks: found '9999999999999999999999'; allowed: a number from 1 to 2147483647"},
    {"steps:\n- benchmark: pairs\n  layout: {ranks_per_node: 1, ^ranks: 4}\n", "'ranks' (total) and 'ranks_per_node' contradict each other; give one of them"},
    {"steps:\n- benchmark: pairs\n  layout: {nodes: each, ranks: ^4}\n", "'ranks' is a total over the nodes and 'nodes: each' has one job per node; give 'ranks_per_node'"},
    {"steps:\n- benchmark: pairs\n  layout: {fill: ^[compact, scatter]}\n", "fill: found a list; a single value is needed"},
    {"steps:\n- benchmark: pairs\n  layout: {policy: ^slurm}\n", "policy: found 'slurm'; allowed: seatrial, launcher"},
    {"steps:\n- benchmark: pairs\n  layout: {oversubscribe: ^on}\n", "oversubscribe: found 'on'; allowed: yes, no, true, false (did you mean 'no'?)"},
    {"defaults: {layout: {nodes: each}}\nsteps:\n- benchmark: pairs\n  layout: {ranks: ^4}\n", "'ranks' is a total over the nodes and 'nodes: each' has one job per node; give 'ranks_per_node'"},
    {"steps:\n- benchmark: pairs\n  repeat: ^5\n", "repeat: found '5'; a map (key: value) is needed"},
    {"steps:\n- benchmark: pairs\n  repeat: {min: ^0}\n", "min: found '0'; allowed: 1 to 1000000"},
    {"steps:\n- benchmark: pairs\n  repeat: {min: ^5%}\n", "min: found '5%'; allowed: 1 to 1000000"},
    {"steps:\n- benchmark: pairs\n  repeat: {max: ^1000001}\n", "max: found '1000001'; allowed: 1 to 1000000"},
    {"steps:\n- benchmark: pairs\n  repeat: {min: ^60}\n", "min is 60 and max is 50 by default; min must not be above max"},
    {"steps:\n- benchmark: pairs\n  repeat: {max: ^4}\n", "min is 5 by default and max is 4; min must not be above max"},
    {"steps:\n- benchmark: pairs\n  repeat: {min: ^9, max: 8}\n", "min is 9 and max is 8; min must not be above max"},
    {"steps:\n- benchmark: pairs\n  repeat: {confidence: ^1}\n", "confidence: found '1'; allowed: 50% to 99.99%"},
    {"steps:\n- benchmark: pairs\n  repeat: {confidence: ^95 percent}\n", "confidence: '95 percent' has the unknown unit 'percent'; write a number, alone or with %"},
    {"steps:\n- benchmark: pairs\n  repeat: {width: ^0%}\n", "width: found '0%'; allowed: 0.0001% to 100%"},
    {"steps:\n- benchmark: pairs\n  repeat: {width: ^200%}\n", "width: found '200%'; allowed: 0.0001% to 100%"},
    {"steps:\n- benchmark: pairs\n  repeat: {budget: ^10}\n", "budget: '10' has no unit; write a number with ns, us, ms, s, min or h"},
    {"steps:\n- benchmark: pairs\n  repeat: {budget: ^10GB}\n", "budget: '10GB' has the unknown unit 'GB'; write a number with ns, us, ms, s, min or h"},
    {"steps:\n- benchmark: pairs\n  repeat: {budget: ^0s}\n", "budget: found '0s'; allowed: 1ms to 168h"},
    {"steps:\n- benchmark: pairs\n  repeat: {budget: 1s, time: ^2s}\n", "time is 2 s and budget is 1 s; time must not be above budget"},
    {"steps:\n- benchmark: pairs\n  repeat: {budget: ^1min, deadline: 30s}\n", "budget is 60 s and deadline is 30 s; budget must not be above deadline"},
    {"steps:\n- benchmark: pairs\n  repeat: {deadline: ^5s}\n", "budget is 10 s by default and deadline is 5 s; budget must not be above deadline"},
    {"defaults: {repeat: {min: 9}}\nsteps:\n- benchmark: pairs\n  repeat: {max: ^8}\n", "min is 9 and max is 8; min must not be above max"},
    {"steps:\n- benchmark: pairs\n  repeat: {time: ^-1s}\n", "time: found '-1s'; allowed: 0s to 1h"},
    {"steps:\n- benchmark: pairs\n  repeat: {^widht: 2%}\n", "unknown key 'widht' in repeat; allowed: min, max, confidence, width, budget, time, deadline (did you mean 'width'?)"},
    {"steps:\n- benchmark: pairs\n  repeat: {budget: ^nan}\n", "budget: 'nan' does not begin with a number; write a number with ns, us, ms, s, min or h"},
    {"steps:\n- benchmark: pairs\n  repeat: {budget: ^[1s, 2s]}\n", "budget: found a list; a single value is needed"},
    {"defaults: {repeat: {max: ^3}}\nsteps: [{benchmark: pairs}]\n", "min is 5 by default and max is 3; min must not be above max"},
    {"steps:\n- benchmark: stream\n  parameters: ^[size]\n", "parameters: found a list; a map (key: value) is needed"},
    {"steps:\n- benchmark: stream\n  parameters: {^sizes: 1GiB}\n", "stream has no parameter 'sizes'; allowed: size, stores, kernels (did you mean 'size'?)"},
    {"steps:\n- benchmark: stream\n  parameters: {size: ^64}\n", "parameter 'size': '64' has no unit; write a number with B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, or auto"},
    {"steps:\n- benchmark: stream\n  parameters: {size: ^64Gb}\n", "parameter 'size': '64Gb' has the unknown unit 'Gb'; write a number with B, kB, MB, GB, TB, KiB, MiB, GiB or TiB (did you mean 'GB'?), or auto"},
    {"steps:\n- benchmark: stream\n  parameters: {size: ^1B}\n", "parameter 'size': '1B' is out of range; allowed: 1.000 KiB to 909.5 TiB, or auto"},
    {"steps:\n- benchmark: stream\n  parameters: {size: ^-1KiB}\n", "parameter 'size': '-1KiB' is negative; write a number with B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, or auto"},
    {"steps:\n- benchmark: stream\n  parameters: {size: ^18446744073709551616B}\n", "parameter 'size': '18446744073709551616B' is more than 64 bits can hold; write a number with B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, or auto"},
    {"steps:\n- benchmark: stream\n  parameters:\n    size:^\n", "size: found nothing; a single value is needed"},
    {"steps:\n- benchmark: stream\n  parameters: {size: ^{a: b}}\n", "size: found a map; a single value is needed"},
    {"steps:\n- benchmark: stream\n  parameters: {size: [1GiB, ^[2GiB]]}\n", "size: found a list; a single value is needed"},
    {"steps:\n- benchmark: stream\n  parameters: {size: ^[]}\n", "size: the list is empty; give at least one value"},
    {"steps:\n- benchmark: stream\n  parameters: {stores: [ordinary, ^nontemporl]}\n", "parameter 'stores': 'nontemporl' is not one of ordinary, nontemporal (did you mean 'nontemporal'?)"},
    {"steps:\n- benchmark: stream\n  parameters: {kernels: ^copy trad}\n", "parameter 'kernels': 'trad' is not one of copy, scale, add, triad, or all (did you mean 'triad'?)"},
    {"steps: [{benchmark: solve, parameters: {n: ^1.5}}]\n", "parameter 'n': '1.5' is not whole; write a whole number"},
    {"steps: [{benchmark: solve, parameters: {tolerance: ^2}}]\n", "parameter 'tolerance': '2' is out of range; allowed: 0 to 1"},
    {"steps: [{benchmark: solve, parameters: {wait: ^3}}]\n", "parameter 'wait': '3' has no unit; write a number with ns, us, ms, s, min or h"},
    {"steps: [{benchmark: solve, parameters: {warm: ^maybe}}]\n", "parameter 'warm': 'maybe' is neither yes nor no"},
    {"steps: [{benchmark: solve, parameters: {matrix: ^~~~~}}]\n", "parameter 'matrix': the text has 512 bytes; at most 511 are allowed"},
    {"steps: [^{benchmark: pairs, parameters: {message: [1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B]}, layout: {threads: [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}}]\n", "the sweep of this step makes more than 10000 steps in all; give shorter lists"},
    {"steps:\n- benchmark: stream\n  accept: ^[triad]\n", "accept: found a list; a map (key: value) is needed"},
    {"steps:\n- benchmark: stream\n  accept: {^tria: {at_least: 1GB/s}}\n", "stream has no metric 'tria'; allowed: copy, scale, add, triad (did you mean 'triad'?)"},
    {"steps:\n- benchmark: stream\n  accept: {triad: ^1GB/s}\n", "triad: found '1GB/s'; a map (key: value) is needed"},
    {"steps:\n- benchmark: stream\n  accept: {triad: ^{}}\n", "triad: nothing to judge by; give at_least, at_most or spread"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {^atleast: 1GB/s}}\n", "unknown key 'atleast' in triad; allowed: at_least, at_most, spread, spread_over_nodes, statistic, confidence, may_fail, floor, inconclusive (did you mean 'at_least'?)"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: ^380}}\n", "at_least: '380' has no unit; write a number with B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s or TiB/s"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: ^380us}}\n", "at_least: '380us' has the unknown unit 'us'; write a number with B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s or TiB/s"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: ^80%}}\n", "at_least: found '80%'; say of what: '80% of peak', or '80% of' and a quantity"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {^at_most: 1GB/s}}\n", "at_most: of triad higher values are better; use at_least"},
    {"steps:\n- benchmark: pairs\n  accept: {latency: {^at_least: 1us}}\n", "at_least: of latency lower values are better; use at_most"},
    {"steps: [{benchmark: solve, accept: {^iterations: {at_most: 50}}}]\n", "iterations has no good and bad side (better: neither) and cannot be judged"},
    {"steps:\n- benchmark: stream\n  parameters: {kernels: [all, copy]}\n  accept: {^triad: {at_least: 1GB/s}}\n", "step stream:kernels=copy does not measure triad with its parameters"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: ^80% of peak}}\n", "no peak in the unit of triad (B/s) is given; add one at the root of the config, such as 'peaks: {NAME: 460.8GB/s}'"},
    {"peaks: {memory: 1GB/s, cache: 2GB/s}\nsteps:\n- benchmark: stream\n  accept: {triad: {at_least: ^80% of peak}}\n", "several peaks have the unit of triad (B/s): name one, as in '80% of peak memory'; allowed: memory, cache"},
    {"peaks: {memory: 1GB/s}\nsteps:\n- benchmark: stream\n  accept: {triad: {at_least: ^80% of peak memroy}}\n", "no peak is called 'memroy'; allowed: memory (did you mean 'memory'?)"},
    {"peaks: {memory: 1GB/s, cpu: 1Tflop/s}\nsteps:\n- benchmark: stream\n  accept: {triad: {at_least: ^80% of peak cpu}}\n", "peak cpu is in flop/s and triad in B/s"},
    {"peaks: {cpu: 1Tflop/s}\nsteps:\n- benchmark: stream\n  accept: {triad: {at_least: ^80% of peak}}\n", "no peak in the unit of triad (B/s) is given; add one at the root of the config, such as 'peaks: {NAME: 460.8GB/s}'"},
    {"steps: [{benchmark: solve, accept: {efficiency: {at_least: ^80% of peak}}}]\n", "efficiency is a number without unit and has no peak; give the bound itself"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: ^80% of pek}}\n", "at_least: after 'of' comes 'peak', 'peak NAME' or a quantity: 'pek' does not begin with a number; write a number with B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s or TiB/s"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: ^80% of 0GB/s}}\n", "at_least: a percentage of '0GB/s' says nothing; the reference must be above 0"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: ^0.8 of 1GB/s}}\n", "at_least: found '0.8 of 1GB/s'; a percentage from above 0% to 1000% is needed before 'of'"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: ^2000% of 1GB/s}}\n", "at_least: found '2000% of 1GB/s'; a percentage from above 0% to 1000% is needed before 'of'"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: ^80%of 1GB/s}}\n", "at_least: '80%of 1GB/s' has the unknown unit '%of 1GB/s'; write a number with B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s or TiB/s"},
    {"steps:\n- benchmark: pairs\n  accept: {latency: {^spread_over_nodes: 5%}}\n", "spread_over_nodes: the places of latency are of kind 'pair'; use 'spread'"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {spread: 5%, spread_over_nodes: ^5%}}\n", "'spread' and 'spread_over_nodes' say the same; give one of them"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {spread: ^-1%}}\n", "spread: found '-1%'; allowed: 0% to 1000%"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {spread: ^5GB/s}}\n", "spread: '5GB/s' has the unknown unit 'GB/s'; write a number, alone or with %"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {spread: 5%, may_fail: ^1}}\n", "may_fail: only with at_least or at_most"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: 1GB/s, floor: ^0.5GB/s}}\n", "floor: only with 'may_fail', for the places that may fail"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: 1GB/s, may_fail: 1, floor: ^2GB/s}}\n", "floor: found '2GB/s', which is stricter than the bound itself"},
    {"steps:\n- benchmark: pairs\n  accept: {latency: {at_most: 120% of 1us, may_fail: 1, floor: ^1.1us}}\n", "floor: found '1.1us', which is stricter than the bound itself"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: 1GB/s, statistic: ^mean}}\n", "statistic: found 'mean'; allowed: median, min, max, p99"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: 1GB/s, confidence: ^100%}}\n", "confidence: found '100%'; allowed: 50% to 99.99%"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: 1GB/s, inconclusive: ^yes}}\n", "inconclusive: found 'yes'; allowed: ok, fail"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: 1GB/s, may_fail: ^-1}}\n", "may_fail: found '-1'; allowed: 0 to 1000000000"},
    {"steps:\n- benchmark: stream\n  accept: {triad: {at_least: ^{value: 1GB/s}}}\n", "at_least: found a map; a single value is needed"},
};
/* clang-format on */

static void every_mistake_is_named_where_it_stands(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ST_COUNT(rows); i++) {
        set_config(rows[i].marked);
        expect_error(rows[i].message);
    }
}

/* A text of `n` times `item` between two others; a mark may stand in either of those. */
static char *repeated(const char *before, const char *item, size_t n, const char *after)
{
    struct st_text text = {0};
    struct st_error err = {0};
    char *copy = NULL;

    st_text_add(&text, "%s", before);
    for (size_t i = 0; i < n; i++) {
        st_text_add(&text, "%s", item);
    }
    st_text_add(&text, "%s", after);
    assert_false(text.failed);
    copy = st_strdup(&err, st_text_get(&text));
    assert_non_null(copy);
    st_text_clear(&text);
    return copy;
}

static void limits_hold(void **unused)
{
    static const struct {
        const char *before, *item;
        size_t n;
        const char *after, *message;
    } limits[] = {
        {"a: [", "[", 30, "^[", "maps and lists are nested more than 32 levels deep"},
        {"^", "#", 1048577, "", "the file has 1048577 bytes; allowed: up to 1048576"},
        {"a: [", "1,", 10000, "^1]", "a list of more than 10000 elements"},
        {"steps: [^{benchmark: pairs, layout: {threads: [1", ",1", 100,
         "]}, parameters: {message: "
         "[1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,"
         "1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,"
         "1B,1B,"
         "1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,"
         "1B,1B,"
         "1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B,1B]}}]",
         "the sweep of this step makes more than 10000 steps in all; give shorter lists"},
    };

    (void)unused;
    for (size_t i = 0; i < ST_COUNT(limits); i++) {
        char *marked =
            repeated(limits[i].before, limits[i].item, limits[i].n, limits[i].after);

        set_config(marked);
        st_free(marked);
        expect_error(limits[i].message);
    }
}

/* One map with 256 keys, one more is too many; 256 anchors likewise. */
static void keys_and_anchors_are_limited(void **unused)
{
    struct st_text text = {0};

    (void)unused;
    for (int i = 0; i < 257; i++) {
        st_text_add(&text, "%sk%d: 0\n", i == 256 ? "^" : "", i);
    }
    set_config(st_text_get(&text));
    expect_error("a map of more than 256 keys");
    st_text_clear(&text);
    st_text_add(&text, "a: [");
    for (int i = 0; i < 257; i++) {
        st_text_add(&text, "%s%s&a%d 0", i == 0 ? "" : ",", i == 256 ? "^" : "", i);
    }
    st_text_add(&text, "]");
    set_config(st_text_get(&text));
    expect_error("more than 256 anchors");
    st_text_clear(&text);
}

/* "Billion laughs": 9 levels of 9 aliases would be 387 million values; the depth alone is
 * harmless. The message stands at the value that is copied when the limit is reached. */
static void aliases_do_not_explode(void **unused)
{
    struct st_text text = {0};
    struct st_plan *plan = NULL;
    struct st_error err = {0};

    (void)unused;
    st_text_add(&text, "a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 9; i++) {
        st_text_add(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 9; k++) {
            st_text_add(&text, "%s*a%d", k == 0 ? "" : ",", i - 1);
        }
        st_text_add(&text, "]\n");
    }
    const enum st_status rc = st_plan_parse("c.yaml", st_text_get(&text), text.length, 0,
                                            NULL, 0, NULL, &fake_registry, &plan, &err);
    assert_int_equal(rc, ST_ERR_CONFIG);
    assert_non_null(strstr(err.text, "aliases expand to more than 100000 values"));
    assert_true(strncmp(err.text, "c.yaml:", 7) == 0);
    st_text_clear(&text);
}

/* A chain of 40 aliases, each around the one before, nests too deep only when followed. */
static void aliases_do_not_nest_too_deep(void **unused)
{
    struct st_text text = {0};
    struct st_plan *plan = NULL;
    struct st_error err = {0};

    (void)unused;
    st_text_add(&text, "a0: &a0 [x]\n");
    for (int i = 1; i < 40; i++) {
        st_text_add(&text, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    }
    const enum st_status rc = st_plan_parse("c.yaml", st_text_get(&text), text.length, 0,
                                            NULL, 0, NULL, &fake_registry, &plan, &err);
    assert_int_equal(rc, ST_ERR_CONFIG);
    assert_string_equal(err.text,
                        "c.yaml:1:5: maps and lists are nested more than 32 levels "
                        "deep (aliases followed)");
    st_text_clear(&text);
}

static void too_many_values(void **unused)
{
    struct st_text text = {0};

    (void)unused;
    for (int i = 0; i < 12; i++) {
        st_text_add(&text, "k%d: [", i);
        for (int k = 0; k < 9000; k++) {
            st_text_add(&text, "1,");
        }
        st_text_add(&text, "]\n");
    }
    /* 11 keys and lists before the last, 9000 values in each: the mark is set by counting
     * 1 (root) + 11 * 9002 + 2 = 99025 values before the last list's first. */
    set_config(st_text_get(&text));
    st_text_clear(&text);
    config.line = 12;
    config.column = 7 + 2 * (100000 - 99025); /* "k11: [" has 6 characters */
    expect_error("more than 100000 values");
}

/* tests/cli/bad_configs: the first line of each says what must be reported. */
static void the_bad_examples_are_refused(void **unused)
{
    static const char folder[] = ST_SOURCE_DIR "/tests/cli/bad_configs";
    static const char mark[] = "# expect: ";
    DIR *dir = opendir(folder);
    size_t n_files = 0;

    (void)unused;
    assert_non_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[1024];
        char expected[512];
        struct st_plan *plan = NULL;
        struct st_error err = {0};
        size_t n = 0;

        if (strstr(entry->d_name, ".yaml") == NULL) {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        char *text = st_read_file(&err, path, ST_MAX_CONFIG_BYTES, &n);
        assert_non_null(text);
        assert_true(strncmp(text, mark, strlen(mark)) == 0);
        const size_t length = strcspn(text, "\n") - strlen(mark);
        (void)snprintf(expected, sizeof expected, "%.*s", (int)length,
                       text + strlen(mark));
        const enum st_status rc = st_plan_parse(entry->d_name, text, n, 0, NULL, 0, NULL,
                                                &fake_registry, &plan, &err);
        if (rc != ST_ERR_CONFIG || strstr(err.text, expected) == NULL) {
            fail_msg("%s: '%s' instead of '%s'", entry->d_name, err.text, expected);
        }
        st_free(text);
        n_files++;
    }
    (void)closedir(dir);
    assert_true(n_files >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_is_named_where_it_stands),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(keys_and_anchors_are_limited),
        cmocka_unit_test(aliases_do_not_explode),
        cmocka_unit_test(aliases_do_not_nest_too_deep),
        cmocka_unit_test(too_many_values),
        cmocka_unit_test(the_bad_examples_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
