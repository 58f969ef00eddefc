/* golden_media.h - the pictures and clips of a recorded conversation, from their files to visual
 * rows, stage by stage and in the shapes that the stages were recorded in. */
#ifndef OC_TESTS_GOLDEN_MEDIA_H
#define OC_TESTS_GOLDEN_MEDIA_H

#include "tests/golden/npy.h"

#include "fusion/media.h"
#include "runtime/model.h"

#include <cjson/cJSON.h>

/* One picture or clip. */
typedef struct golden_medium {
    bool video, jpeg;
    ocelli_image **frames; /* [count], owned; those that are used */
    double *seconds;       /* [count], owned; times of the frames, a clip's */
    int64_t *indices;      /* [count], owned; which frames of the folder, a clip's */
    size_t count;
    double *timestamps; /* [grid_t], owned */
    double rate;        /* how many of the frames there are to a second, a clip's */
    int32_t *times;     /* [grid_t], owned; NULL unless the family has a clip as one block */
    int height, width;  /* resized */
    uint8_t *rgb;       /* [count, height, width, 3], owned */
    size_t grid_t, grid_h, grid_w;
} golden_medium;

/* All pictures, or all clips, one after another as they are recorded. */
typedef struct golden_rows {
    float *pixels; /* [patches, values], owned */
    size_t patches, values;
    float *rows; /* [tokens, hidden], owned */
    float *taps; /* [tap_count, tokens, hidden], owned */
    size_t tokens;
    int64_t *grids; /* [media, 3], owned */
    size_t media;
} golden_rows;

typedef struct golden_media {
    golden_medium *media; /* [count], in order of appearance */
    size_t count;
    golden_rows kind[2]; /* 0: pictures, 1: clips */
    oc_medium *views;    /* [count]: as fusion sees them, once encoded */
    bool jpeg;           /* any of the files is lossy */
} golden_media;

/* Reads the media that parts (of the recorded messages) name, relative to directory, and resizes
 * and cuts them. */
ocelli_status golden_media_load(golden_media *out, const ocelli_model *model,
                                const cJSON *const *parts, size_t count, const char *directory,
                                ocelli_error *err);
/* Runs the tower over the resized frames; or, with recorded[0] and [1] (pictures, clips; NULL:
 * none), over those patch rows. Fills rows, taps and views. */
ocelli_status golden_media_encode(golden_media *media, const ocelli_model *model,
                                  const npy *const recorded[2], const oc_trace *trace,
                                  ocelli_error *err);
void golden_media_close(golden_media *media);

#endif
