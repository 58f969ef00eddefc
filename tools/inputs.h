/* inputs.h - pictures named on the command line: files, and "-" for stdin. */
#ifndef OCELLI_TOOLS_INPUTS_H
#define OCELLI_TOOLS_INPUTS_H

#include "tools/cli_options.h"

#include <ocelli.h>

/* Refuses, with a message, what cannot be a picture: an address, a folder, a path that is not
 * there. Cheap: opens nothing. Returns EXIT_DONE or EXIT_FAILED. */
int input_check(const char *path);

/* "-" more than once, or while stdin is a terminal, is misuse. Returns EXIT_DONE or EXIT_MISUSE. */
int input_check_stdin(const char *command, const char *const *paths, size_t count);

/* Reads and decodes one picture; "-" reads stdin to its end. Checks it as input_check does. The
 * image is the caller's. Returns an exit code, with a message unless EXIT_DONE. */
int input_decode(const char *path, const cli_options *options, ocelli_image **out);

/* The image options that the command line asks for. */
ocelli_image_options input_image_options(const cli_options *options);

#endif
