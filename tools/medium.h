/* medium.h - from a path to a visual that can be asked about: pictures and clips. */
#ifndef OCELLI_TOOLS_MEDIUM_H
#define OCELLI_TOOLS_MEDIUM_H

#include "tools/session_run.h"

/* All return an exit code and have said why unless it is EXIT_DONE or EXIT_INTERRUPTED; on failure
 * *out holds nothing. The run's model is opened when the first picture has been decoded, so that a
 * mistyped name costs no loading. With --dry-run nothing is encoded. */

/* A picture; "-" is stdin. */
int medium_picture(run *r, const char *path, medium *out);

/* A folder of frames, sampled as the options ask, at fps frames a second. */
int medium_clip(run *r, const char *folder, double fps, bool fps_assumed, medium *out);

/* The frames named by paths, all of them, in the order given. */
int medium_frames(run *r, const char *name, const char *const *paths, size_t count, double fps,
                  medium *out);

void medium_free(medium *m);
/* Frees media[0 .. count) and the array. */
void media_free(medium *media, size_t count);

#endif
