/* batch_run.h - captions of many pictures: a folder, a list, a pattern. */
#ifndef OCELLI_TOOLS_BATCH_RUN_H
#define OCELLI_TOOLS_BATCH_RUN_H

#include "tools/cli_options.h"

/* The operands and flags ask for a batch, not for pictures one by one on stdout. */
bool batch_is_asked(const cli_options *options);

/* Does it. Returns an exit code: EXIT_PARTIAL where some pictures failed and the others are done. */
int batch_run(const cli_options *options);

#endif
