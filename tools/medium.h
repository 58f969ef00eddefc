/* medium.h - from a path to a visual that can be asked about: pictures and clips. */
#ifndef OCELLI_TOOLS_MEDIUM_H
#define OCELLI_TOOLS_MEDIUM_H

#include "tools/session_run.h"

/* All return an exit code and have said why unless it is EXIT_DONE or EXIT_INTERRUPTED; on failure
 * *out holds nothing. The run's model is opened when the first picture has been decoded, so that a
 * mistyped name costs no loading. With --dry-run nothing is encoded. */

/* A picture; "-" is stdin. */
int medium_picture(run *r, const char *path, medium *out);
/* The same for a picture that is decoded already; the image stays the caller's. */
int medium_decoded(run *r, const char *path, const ocelli_image *image, medium *out);

/* A folder of frames at fps frames a second, or at the times that the options name; or a video file
 * or an animation, which have times of their own. Sampled as the options ask. */
int medium_clip(run *r, const char *path, double fps, bool fps_assumed, medium *out);

/* The frames named by paths, all of them, in the order given. */
int medium_frames(run *r, const char *name, const char *const *paths, size_t count, double fps,
                  medium *out);

/* How pictures and clips are encoded: what the command line asks for. */
ocelli_visual_options medium_visual_options(const run *r);

void medium_free(medium *m);
/* Frees media[0 .. count) and the array. */
void media_free(medium *media, size_t count);

#endif
