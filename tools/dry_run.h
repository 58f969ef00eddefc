/* dry_run.h - --dry-run: what an answer would take, without giving it. */
#ifndef OCELLI_TOOLS_DRY_RUN_H
#define OCELLI_TOOLS_DRY_RUN_H

#include "tools/session_run.h"

/* Prints media, tokens, context and memory of the message just added to the run's session, as text
 * or, with --json, as one object. Returns an exit code. */
int dry_run_print(run *r, const medium *media, size_t count, const char *question);

/* Members that say what a medium is and became: path, sizes, grid, tokens; of a clip also frames and
 * times. Shared with the objects of answers, which take only the names. */
void dry_run_medium_json(cJSON *object, const medium *m);

#endif
