/* batch_feed.h - reads and decodes the pictures of a batch ahead of need, in a thread of its own. */
#ifndef OCELLI_TOOLS_BATCH_FEED_H
#define OCELLI_TOOLS_BATCH_FEED_H

#include "tools/batch_job.h"

typedef struct batch_feed batch_feed;

typedef struct feed_piece {
    size_t job;          /* index */
    ocelli_image *image; /* the taker's; NULL: it failed */
    char *error;         /* the taker's; NULL unless it failed */
    double seconds;      /* of reading and decoding */
} feed_piece;

/* Begins with the jobs that wait, in their order; jobs must last, and only their items are read. most:
 * pictures that may be ready at one time; decoded ones of more than 256 MiB together are not waited
 * for. NULL: no memory, or no thread. */
batch_feed *feed_open(const batch_job *jobs, size_t count, const cli_options *options, size_t most);

/* Pictures that are ready, and whether more will come. */
size_t feed_ready(batch_feed *feed, bool *more);
/* Takes the next; waits for it. False: there are no more, or a signal is pending. */
bool feed_take(batch_feed *feed, feed_piece *out);

/* Stops the thread at its present picture, and frees what was not taken. */
void feed_close(batch_feed *feed);

#endif
