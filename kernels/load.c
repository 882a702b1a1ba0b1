/*
 * Delay-loaded streams: the loops of kernels/stream.h, block by block. Without a delay
 * neighbouring blocks go in one call, so that nothing but the loop itself limits the load.
 * update multiplies by -1: values change at every store, and stay in range for ever.
 */
#include "kernels/load.h"

static const double stk_load_factor = -1.0;
static const double stk_load_written = 2.0;

bool stk_load_possible(const struct stk_stream_isa *isa, enum stk_load_kind kind)
{
    return kind != STK_LOAD_NONTEMPORAL || isa->nontemporal[STK_INIT] != NULL;
}

double stk_load_block_bytes(enum stk_load_kind kind)
{
    return kind == STK_LOAD_UPDATE ? 2.0 * STK_LOAD_BLOCK_BYTES : STK_LOAD_BLOCK_BYTES;
}

/* The empty asm statement takes and gives the counter: the loop stays, nothing is stored. */
void stk_spin(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        __asm__ volatile("" : "+r"(i));
    }
}

static void stream_blocks(struct stk_load *load, size_t n)
{
    struct stk_span span = {.first = load->at * STK_LOAD_BLOCK_ELEMENTS,
                            .last = (load->at + n) * STK_LOAD_BLOCK_ELEMENTS};

    switch (load->kind) {
    case STK_LOAD_UPDATE:
        span.w = load->data;
        span.s = stk_load_factor;
        (void)load->isa->ordinary[STK_UPDATE](&span);
        break;
    case STK_LOAD_NONTEMPORAL:
        span.w = load->data;
        span.s = stk_load_written;
        (void)load->isa->nontemporal[STK_INIT](&span);
        break;
    case STK_LOAD_SUM:
    case STK_LOAD_N_KINDS:
    default:
        span.x = load->data;
        load->sum += load->isa->ordinary[STK_SUM](&span);
        break;
    }
    load->at = load->at + n < load->n_blocks ? load->at + n : 0;
}

void stk_load_run(struct stk_load *load, size_t n, size_t delay)
{
    while (n > 0) {
        const size_t left = load->n_blocks - load->at;
        const size_t most = delay > 0 ? 1 : left;
        const size_t part = n < most ? n : most;
        stream_blocks(load, part);
        stk_spin(delay);
        n -= part;
    }
}

bool stk_load_value_good(enum stk_load_kind kind, double value)
{
    return value == 1.0 || (kind == STK_LOAD_UPDATE && value == stk_load_factor) ||
           (kind == STK_LOAD_NONTEMPORAL && value == stk_load_written);
}
