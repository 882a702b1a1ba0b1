/*
 * Words from rank 0 to all. A message without words tells a rank that nothing more comes,
 * whether all went well or not: the agreement behind it says which.
 */
#include "src/mesh/feed.h"

#include "mpi/agree.h"
#include "src/base/mem.h"

#include <string.h>

enum st_status st_feed_open(const struct stm_comm *comm, struct st_feed *feed,
                            struct st_error *err)
{
    *feed = (struct st_feed){.comm = comm};
    feed->words = st_calloc(err, ST_FEED_WORDS, sizeof *feed->words);
    return stm_agree(comm, feed->words == NULL ? ST_ERR_MEMORY : ST_OK, err);
}

void st_feed_close(struct st_feed *feed)
{
    st_free(feed->words);
    feed->words = NULL;
}

void st_feed_begin(struct st_feed *feed, st_feed_taker take, void *context)
{
    feed->take = take;
    feed->context = context;
    feed->n = 0;
    feed->dest = 0;
}

static enum st_status flush(struct st_feed *feed, struct st_error *err)
{
    const size_t n = feed->n;

    feed->n = 0;
    if (n == 0) {
        return ST_OK;
    }
    if (feed->dest == 0) {
        return feed->take(feed->context, feed->words, n, err);
    }
    STM_TRY(err, MPI_Send(feed->words, (int)n, MPI_INT64_T, feed->dest, STM_TAG_SETUP,
                          feed->comm->handle));
    return ST_OK;
}

enum st_status st_feed_put(struct st_feed *feed, int dest, const int64_t *words, size_t n,
                           struct st_error *err)
{
    enum st_status rc = ST_OK;

    if (dest != feed->dest || feed->n + n > ST_FEED_WORDS) {
        rc = flush(feed, err);
    }
    feed->dest = dest;
    memcpy(feed->words + feed->n, words, n * sizeof *words);
    feed->n += n;
    return rc;
}

/* Everything that comes, also after a failure here: rank 0 does not know of it. */
static enum st_status take_all(struct st_feed *feed, struct st_error *err)
{
    enum st_status rc = ST_OK;
    MPI_Status status;
    int n = 1;

    while (n > 0) {
        STM_TRY(err, MPI_Recv(feed->words, ST_FEED_WORDS, MPI_INT64_T, 0, STM_TAG_SETUP,
                              feed->comm->handle, &status));
        STM_TRY(err, MPI_Get_count(&status, MPI_INT64_T, &n));
        if (n > 0 && rc == ST_OK) {
            rc = feed->take(feed->context, feed->words, (size_t)n, err);
        }
    }
    return rc;
}

static enum st_status end_putting(struct st_feed *feed, enum st_status mine,
                                  struct st_error *err)
{
    const enum st_status rc = mine == ST_OK ? flush(feed, err) : mine;

    for (int rank = 1; rank < feed->comm->n_ranks && rc != ST_ERR_MPI; rank++) {
        STM_TRY(err, MPI_Send(feed->words, 0, MPI_INT64_T, rank, STM_TAG_SETUP,
                              feed->comm->handle));
    }
    return rc;
}

enum st_status st_feed_end(struct st_feed *feed, enum st_status mine,
                           struct st_error *err)
{
    const enum st_status rc =
        feed->comm->rank == 0 ? end_putting(feed, mine, err) : take_all(feed, err);

    return stm_agree(feed->comm, rc, err);
}
