/* batch_feed.c - see batch_feed.h. One lock guards all of it; decoding happens outside. */
#define _POSIX_C_SOURCE 200809L

#include "tools/batch_feed.h"
#include "tools/inputs.h"
#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/text_bytes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Decoded pictures that wait: beyond this the thread waits too. One is always let in. */
#define MOST_BYTES ((uint64_t)256 << 20)

struct batch_feed {
    const batch_job *jobs;
    size_t count;
    const cli_options *options;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    feed_piece *ring; /* [most] */
    size_t most, first, ready;
    uint64_t bytes; /* of the images in the ring */
    bool over;      /* the thread has come to the end */
    bool stop;
};

static uint64_t image_bytes(const ocelli_image *image)
{
    int width = 0, height = 0;
    if (image == NULL) {
        return 0;
    }
    ocelli_image_size(image, &width, &height);
    return (uint64_t)width * (uint64_t)height * 3;
}

static feed_piece decode(const batch_feed *feed, size_t job)
{
    ocelli_image_options options = input_image_options(feed->options);
    ocelli_error err = {OCELLI_OK, ""};
    feed_piece piece = {job, NULL, NULL, 0};
    double began = clock_seconds();
    if (ocelli_image_load(&piece.image, feed->jobs[job].item->path, &options, &err) != OCELLI_OK) {
        piece.error = text_copy(err.message);
    }
    piece.seconds = clock_seconds() - began;
    return piece;
}

static void *run_feed(void *user)
{
    batch_feed *feed = user;
    for (size_t i = 0; i < feed->count; i++) {
        if (feed->jobs[i].state != JOB_WAITING) {
            continue;
        }
        feed_piece piece = decode(feed, i);
        uint64_t bytes = image_bytes(piece.image);
        pthread_mutex_lock(&feed->lock);
        while (!feed->stop && feed->ready > 0 &&
               (feed->ready == feed->most || feed->bytes + bytes > MOST_BYTES)) {
            pthread_cond_wait(&feed->changed, &feed->lock);
        }
        bool stop = feed->stop;
        if (!stop) {
            feed->ring[(feed->first + feed->ready) % feed->most] = piece;
            feed->ready++;
            feed->bytes += bytes;
            pthread_cond_broadcast(&feed->changed);
        }
        pthread_mutex_unlock(&feed->lock);
        if (stop) {
            ocelli_image_free(piece.image);
            free(piece.error);
            break;
        }
    }
    pthread_mutex_lock(&feed->lock);
    feed->over = true;
    pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
    return NULL;
}

batch_feed *feed_open(const batch_job *jobs, size_t count, const cli_options *options, size_t most)
{
    batch_feed *feed = calloc(1, sizeof *feed);
    if (feed == NULL) {
        return NULL;
    }
    feed->jobs = jobs;
    feed->count = count;
    feed->options = options;
    feed->most = most;
    feed->ring = calloc(most, sizeof *feed->ring);
    pthread_mutex_init(&feed->lock, NULL);
    pthread_cond_init(&feed->changed, NULL);
    if (feed->ring == NULL || pthread_create(&feed->thread, NULL, run_feed, feed) != 0) {
        pthread_cond_destroy(&feed->changed);
        pthread_mutex_destroy(&feed->lock);
        free(feed->ring);
        free(feed);
        return NULL;
    }
    return feed;
}

size_t feed_ready(batch_feed *feed, bool *more)
{
    pthread_mutex_lock(&feed->lock);
    size_t ready = feed->ready;
    *more = !feed->over && ready < feed->most && feed->bytes < MOST_BYTES;
    pthread_mutex_unlock(&feed->lock);
    return ready;
}

bool feed_take(batch_feed *feed, feed_piece *out)
{
    bool taken = false;
    pthread_mutex_lock(&feed->lock);
    while (feed->ready == 0 && !feed->over && !interrupt_pending()) {
        struct timespec
            until; /* a signal does not wake a condition: it is looked for now and then */
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 50000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&feed->changed, &feed->lock, &until);
    }
    if (feed->ready > 0 && !interrupt_pending()) {
        *out = feed->ring[feed->first];
        feed->first = (feed->first + 1) % feed->most;
        feed->ready--;
        feed->bytes -= image_bytes(out->image);
        taken = true;
        pthread_cond_broadcast(&feed->changed);
    }
    pthread_mutex_unlock(&feed->lock);
    return taken;
}

void feed_close(batch_feed *feed)
{
    if (feed == NULL) {
        return;
    }
    pthread_mutex_lock(&feed->lock);
    feed->stop = true;
    pthread_cond_broadcast(&feed->changed);
    pthread_mutex_unlock(&feed->lock);
    pthread_join(feed->thread, NULL);
    for (; feed->ready > 0; feed->ready--) {
        ocelli_image_free(feed->ring[feed->first].image);
        free(feed->ring[feed->first].error);
        feed->first = (feed->first + 1) % feed->most;
    }
    pthread_cond_destroy(&feed->changed);
    pthread_mutex_destroy(&feed->lock);
    free(feed->ring);
    free(feed);
}
