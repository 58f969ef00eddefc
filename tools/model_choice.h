/* model_choice.h - which model to open, and how: the flags, the environment, or the sample. */
#ifndef OCELLI_TOOLS_MODEL_CHOICE_H
#define OCELLI_TOOLS_MODEL_CHOICE_H

#include "tools/cli_options.h"

#include <ocelli.h>

/* Sets *path, a new string freed by the caller: named itself if it is a path, else where the model
 * folder has a model of that name. Returns EXIT_DONE, or EXIT_FAILED after a message: there is none,
 * several have the name, or the download is not finished. */
int model_find(const char *named, char **path);

/* Sets *path, a new string freed by the caller. named is the -m flag or operand, NULL for none. The
 * sample model is announced by one note on stderr. Returns EXIT_DONE, or EXIT_FAILED after a
 * message. */
int model_choose(const char *named, char **path);

/* The forms that --quant and --vision ask for; the library's default where they are not given.
 * False after a message. */
bool model_forms(const cli_options *options, ocelli_quant *quant, ocelli_vision *vision);

/* Begins *out anew and fills it from the flags of the group "Model", with reports and progress on
 * stderr. False after a message. */
bool model_options(const cli_options *options, ocelli_model_options *out);

#endif
