/* eval_ask.h - one item of an evaluation: its media, and its question put to a model. */
#ifndef OCELLI_TOOLS_EVAL_ASK_H
#define OCELLI_TOOLS_EVAL_ASK_H

#include "tools/eval_items.h"
#include "tools/session_run.h"

/* Both return an exit code and have said why unless it is EXIT_DONE or EXIT_INTERRUPTED. */

/* Encodes the item's media, whose paths are relative to folder, for the run's model. *out [*count] is
 * for media_free; on failure it holds nothing. */
int eval_media(run *r, const char *folder, const eval_item *item, medium **out, size_t *count);

/* Asks in a conversation of its own. The answer is ocelli_session_answer(r->session). */
int eval_ask(run *r, const eval_item *item, const medium *media, size_t count, answer *a);

#endif
