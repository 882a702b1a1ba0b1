#ifndef ST_BENCHMARKS_PART_SELL_H
#define ST_BENCHMARKS_PART_SELL_H

#include "kernels/sell.h"
#include "src/base/mem.h"
#include "src/base/status.h"

/*
 * A rank's rows in SELL-C-sigma storage, made from its rows in CSR; parts and their threads
 * are those of the CSR matrix, and each part's pages are touched by its thread.
 */
struct st_sell {
    struct stk_sell a;
    double fill;         /**< beta: nonzeros / stored entries; 1 if there are none */
    size_t *first_chunk; /**< backing store; owned */
    struct st_mapping arrays[4]; /**< backing store; owned */
};

/**
 * Local.
 * @param csr   borrowed; its row split must outlive the result
 * @param chunk 4, 8 or 16
 * @param sigma rows of a sorting window, at least 1; 1 keeps the order
 * @param out   owned by the caller on success; st_sell_destroy()
 */
enum st_status st_sell_create(const struct stk_csr *csr, size_t chunk, size_t sigma,
                              struct st_sell **out, struct st_error *err);
/** Local; accepts NULL and half-built. */
void st_sell_destroy(struct st_sell **sell);

/** Minimum traffic of one product, padding included (METHODS 4.3). Local. */
double st_sell_work_bytes(const struct st_sell *sell);

#endif
