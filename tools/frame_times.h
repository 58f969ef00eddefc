/* frame_times.h - --times: when the frames of a folder were, from a text file. */
#ifndef OCELLI_TOOLS_FRAME_TIMES_H
#define OCELLI_TOOLS_FRAME_TIMES_H

#include "tools/frames_folder.h"

/* Reads the file ("-": stdin) with a time in seconds for each of frames: *out is a new array
 * [frames->count] in their order, ascending. A line is "SECONDS", the frames in order, or "NAME
 * SECONDS", the frames in any order; empty lines and those that begin with # are left out. folder is
 * for messages. Returns EXIT_DONE, or EXIT_FAILED after a message with the line or both counts. */
int frame_times_read(const char *path, const char *folder, const frames_folder *frames,
                     double **out);

#endif
