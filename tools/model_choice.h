/* model_choice.h - which model to open: the flag, the environment, or the sample. */
#ifndef OCELLI_TOOLS_MODEL_CHOICE_H
#define OCELLI_TOOLS_MODEL_CHOICE_H

/* Sets *path, a new string freed by the caller. named is the -m flag or operand, NULL for none. The
 * sample model is announced by one note on stderr. Returns EXIT_DONE, or EXIT_FAILED after a
 * message. */
int model_choose(const char *named, char **path);

#endif
