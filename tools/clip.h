/* clip.h - the frames of a clip while it is put together, and the visual that comes of them.
 *
 * A clip's frames must all be there at once, so their sum is bounded. Functions return an exit code
 * and have said why unless it is EXIT_DONE or EXIT_INTERRUPTED. */
#ifndef OCELLI_TOOLS_CLIP_H
#define OCELLI_TOOLS_CLIP_H

#include "tools/clip_source.h"
#include "tools/session_run.h"

typedef struct clip {
    run *r;
    medium *m;             /* the result */
    ocelli_image **images; /* [room], the first m->frame_count are set */
    size_t room;
    uint64_t bytes; /* of all images */
    bool mixed;     /* not all of one size */
} clip;

/* Begins a clip of at most room frames, out of found, at fps a second. m is filled; it holds nothing
 * after a failure of clip_end. */
int clip_begin(clip *c, run *r, medium *m, const char *name, size_t room, size_t found, double fps);

/* Takes the image over, as the next frame. */
int clip_add(clip *c, ocelli_image *image, const char *name, double seconds);

/* Decodes the file as the next frame. *damaged: it is, was reported and left out; with --strict that
 * fails. */
int clip_add_file(clip *c, const char *path, const char *name, double seconds, bool *damaged);

/* Adds the next count frames that s gives. */
int clip_add_chosen(clip *c, clip_source *s, size_t count);

/* Encodes what has been added if code is EXIT_DONE, and lets the images go. A clip without a frame is
 * refused. Returns code, or why it failed. */
int clip_end(clip *c, int code);

#endif
