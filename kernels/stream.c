/*
 * What the stream kernels have in common: their table of work and roles, the slices of the
 * threads, the choice of an instruction set, and the parallel regions. Every region, also the
 * first touch and the final comparison, gives a thread the same slice, so that each thread
 * works on pages of its own NUMA node (METHODS 1.3).
 */
#include "kernels/stream_isa.h"

#include <omp.h>

#include <math.h>

struct kernel_facts {
    const char *name;
    enum stk_array w, x, y, z; /* STK_N_ARRAYS: not used */
    bool reads_w;
    struct stk_work work;
};

#define NONE STK_N_ARRAYS

/* METHODS 1.1, table of kernels: moved - STREAM bytes is the write-allocate read. */
/* clang-format off */
static const struct kernel_facts facts[STK_N_KERNELS] = {
    /*               name       w      x      y      z      reads_w  read write allocate flops */
    [STK_COPY]    = {"copy",    STK_C, STK_A, NONE,  NONE,  false, { 8.0, 8.0, 8.0, 0.0}},
    [STK_SCALE]   = {"scale",   STK_B, STK_C, NONE,  NONE,  false, { 8.0, 8.0, 8.0, 1.0}},
    [STK_ADD]     = {"add",     STK_C, STK_A, STK_B, NONE,  false, {16.0, 8.0, 8.0, 1.0}},
    [STK_TRIAD]   = {"triad",   STK_A, STK_B, STK_C, NONE,  false, {16.0, 8.0, 8.0, 2.0}},
    [STK_SUM]     = {"sum",     NONE,  STK_A, NONE,  NONE,  false, { 8.0, 0.0, 0.0, 1.0}},
    [STK_DOT]     = {"dot",     NONE,  STK_A, STK_B, NONE,  false, {16.0, 0.0, 0.0, 2.0}},
    [STK_INIT]    = {"init",    STK_A, NONE,  NONE,  NONE,  false, { 0.0, 8.0, 8.0, 0.0}},
    [STK_UPDATE]  = {"update",  STK_A, NONE,  NONE,  NONE,  true,  { 8.0, 8.0, 0.0, 1.0}},
    [STK_DAXPY]   = {"daxpy",   STK_A, STK_B, NONE,  NONE,  true,  {16.0, 8.0, 0.0, 2.0}},
    [STK_STRIAD]  = {"striad",  STK_A, STK_B, STK_C, STK_D, false, {24.0, 8.0, 8.0, 2.0}},
    [STK_NSTREAM] = {"nstream", STK_A, STK_B, STK_C, NONE,  true,  {24.0, 8.0, 0.0, 3.0}},
};
/* clang-format on */

const char *stk_stream_name(enum stk_stream_kernel kernel)
{
    return facts[kernel].name;
}

const struct stk_work *stk_stream_work(enum stk_stream_kernel kernel)
{
    return &facts[kernel].work;
}

unsigned stk_stream_uses(enum stk_stream_kernel kernel)
{
    const struct kernel_facts *f = &facts[kernel];
    const unsigned used = (1U << f->w) | (1U << f->x) | (1U << f->y) | (1U << f->z);

    return used & ~(1U << NONE);
}

enum stk_array stk_stream_writes(enum stk_stream_kernel kernel)
{
    return facts[kernel].w;
}

bool stk_stream_write_only(enum stk_stream_kernel kernel)
{
    return facts[kernel].w != NONE && !facts[kernel].reads_w;
}

size_t stk_stream_isas(size_t max, const struct stk_stream_isa **isas)
{
    /* In the order of enum stk_isa. */
    static const struct stk_stream_isa *const all[] = {
        &stk_stream_plain,
#if STK_HAVE_X86
        &stk_stream_avx2,
        &stk_stream_avx512,
#endif
    };
    const size_t n = (size_t)stk_isa_best() + 1;

    for (size_t i = 0; i < n && i < max; i++) {
        isas[i] = all[i];
    }
    return n;
}

const struct stk_stream_isa *stk_stream_widest(void)
{
    const struct stk_stream_isa *isas[STK_N_ISAS];
    const size_t n = stk_stream_isas(STK_N_ISAS, isas);

    return isas[n - 1];
}

void stk_slice(size_t n, size_t thread, size_t n_threads, size_t *first, size_t *last)
{
    const size_t n_pages = n / STK_SLICE_ELEMENTS + (n % STK_SLICE_ELEMENTS != 0);
    const size_t share = n_pages / n_threads;
    const size_t more = n_pages % n_threads; /* so many threads get one page more */
    const size_t page = thread * share + (thread < more ? thread : more);
    const size_t page_end = page + share + (thread < more ? 1 : 0);

    *first = page * STK_SLICE_ELEMENTS < n ? page * STK_SLICE_ELEMENTS : n;
    *last = page_end * STK_SLICE_ELEMENTS < n ? page_end * STK_SLICE_ELEMENTS : n;
}

static double *role(double *const arrays[STK_N_ARRAYS], enum stk_array which)
{
    return which == NONE ? NULL : arrays[which];
}

struct stk_span stk_stream_span(enum stk_stream_kernel kernel, size_t n,
                                double *const arrays[STK_N_ARRAYS], double s)
{
    const struct kernel_facts *f = &facts[kernel];

    return (struct stk_span){.last = n,
                             .w = role(arrays, f->w),
                             .x = role(arrays, f->x),
                             .y = role(arrays, f->y),
                             .z = role(arrays, f->z),
                             .s = s};
}

double stk_stream(const struct stk_stream_isa *isa, enum stk_stream_kernel kernel,
                  enum stk_stores stores, size_t n, double *const arrays[STK_N_ARRAYS],
                  double s)
{
    const stk_span_fn run =
        stores == STK_NONTEMPORAL ? isa->nontemporal[kernel] : isa->ordinary[kernel];
    const struct stk_span whole = stk_stream_span(kernel, n, arrays, s);
    double total = 0.0;

#pragma omp parallel default(none) shared(whole, run, n) reduction(+ : total)
    {
        struct stk_span span = whole;
        stk_slice(n, (size_t)omp_get_thread_num(), (size_t)omp_get_num_threads(),
                  &span.first, &span.last);
        total += run(&span);
    }
    return total;
}

double stk_stream_team(const struct stk_stream_isa *isa, enum stk_stream_kernel kernel,
                       const struct stk_team *team, size_t n,
                       double *const arrays[STK_N_ARRAYS], double s)
{
    const stk_span_fn run = isa->ordinary[kernel];
    const struct stk_span whole = stk_stream_span(kernel, n, arrays, s);
    double total = 0.0;

#pragma omp parallel default(none) shared(whole, run, n, team) reduction(+ : total)
    {
        const size_t thread = (size_t)omp_get_thread_num();
        struct stk_span span = whole;
        if (thread < team->n_team && team->slot[thread] != STK_IDLE) {
            stk_slice(n, team->slot[thread], team->n_slots, &span.first, &span.last);
            total += run(&span);
        }
    }
    return total;
}

void stk_stream_fill(size_t n, double *a, double value)
{
#pragma omp parallel default(none) shared(n, a, value)
    {
        size_t first = 0;
        size_t last = 0;
        stk_slice(n, (size_t)omp_get_thread_num(), (size_t)omp_get_num_threads(), &first,
                  &last);
        for (size_t i = first; i < last; i++) {
            a[i] = value;
        }
    }
}

struct stk_deviation stk_stream_compare(size_t n, const double *a, double want,
                                        double limit)
{
    size_t n_bad = 0;
    size_t first_bad = n;
    double worst = 0.0;

#pragma omp parallel default(none) shared(n, a, want, limit) reduction(+ : n_bad)         \
    reduction(min : first_bad) reduction(max : worst)
    {
        size_t first = 0;
        size_t last = 0;
        stk_slice(n, (size_t)omp_get_thread_num(), (size_t)omp_get_num_threads(), &first,
                  &last);
        for (size_t i = first; i < last; i++) {
            const double deviation = fabs(a[i] - want);
            if (!(deviation <= limit)) { /* NaN is bad */
                n_bad++;
                first_bad = i < first_bad ? i : first_bad;
            }
            worst = deviation > worst ? deviation : worst;
        }
    }
    return (struct stk_deviation){.n_bad = n_bad, .worst = worst, .first_bad = first_bad};
}
