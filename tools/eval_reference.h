/* eval_reference.h - a model's next-token distributions against those of a reference in float32.
 *
 * The reference answers a question greedily; the model under test is then asked the same and made to
 * give the reference's answer, token by token, so that both see the same text at every position, the
 * answer's end included. Counting right answers shows little of what rounding does to a model that
 * is sure of itself; this shows all of it. */
#ifndef OCELLI_TOOLS_EVAL_REFERENCE_H
#define OCELLI_TOOLS_EVAL_REFERENCE_H

#include "tools/divergence.h"
#include "tools/eval_items.h"
#include "tools/session_run.h"

typedef struct eval_reference {
    cli_options options; /* the command's, but for the model and its form */
    run run;
    divergences found;
    /* The answer being compared: */
    float *logits; /* [room, vocab] before each choice */
    int32_t *ids;  /* [room] what was chosen */
    size_t count, room, vocab;
    size_t at; /* of the model under test */
    bool failed;
} eval_reference;

/* All return an exit code and have said why unless it is EXIT_DONE or EXIT_INTERRUPTED. */

/* Opens the checkpoint in directory, in float32. */
int eval_reference_open(eval_reference *e, const cli_options *options, const char *directory);
/* Asks both; media [count] are those of tested, whose model must have the reference's vocabulary. */
int eval_reference_compare(eval_reference *e, const char *folder, const eval_item *item,
                           run *tested, const medium *media, size_t count);
void eval_reference_close(eval_reference *e);

#endif
