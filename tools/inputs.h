/* inputs.h - pictures named on the command line: files, and "-" for stdin. */
#ifndef OCELLI_TOOLS_INPUTS_H
#define OCELLI_TOOLS_INPUTS_H

#include "tools/cli_options.h"

#include <ocelli.h>

/* Refuses, with a message, what cannot be a picture: an address, a folder, a path that is not
 * there. Cheap: opens nothing. Returns EXIT_DONE or EXIT_FAILED. */
int input_check(const char *path);

/* The same check without a message: true, and a sentence in why, if path is refused. "-" is a name
 * like any other here. */
bool input_refused(const char *path, char *why, size_t size);

/* "-" more than once, or while stdin is a terminal, is misuse. Returns EXIT_DONE or EXIT_MISUSE. */
int input_check_stdin(const char *command, const char *const *paths, size_t count);

/* Reads and decodes one picture; "-" reads stdin to its end. Checks it as input_check does. The
 * image is the caller's. Returns an exit code, with a message unless EXIT_DONE. */
int input_decode(const char *path, const cli_options *options, ocelli_image **out);

/* All of a file of at most 1 GiB, or of stdin ("-"): *out is a new buffer with room for one byte past
 * *size. flag names what it is for in messages. Returns an exit code, with a message if
 * EXIT_FAILED. */
int input_read_file(const char *path, const char *flag, char **out, size_t *size);

/* The image options that the command line asks for. */
ocelli_image_options input_image_options(const cli_options *options);

#endif
