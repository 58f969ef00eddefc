/* video_segments.h - ocelli video --every: a long clip, asked about piece by piece. */
#ifndef OCELLI_TOOLS_VIDEO_SEGMENTS_H
#define OCELLI_TOOLS_VIDEO_SEGMENTS_H

#include "tools/session_run.h"

/* Asks the question about each segment of r->options->every seconds of the clip at path, in a
 * conversation of its own, and prints a line for each; with --follow goes on as the folder grows.
 * Returns an exit code: EXIT_PARTIAL if of some segments no frame could be read. */
int video_segments(run *r, const char *path, const char *question);

#endif
