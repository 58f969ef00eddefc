/* answer.h - one session's answer on its way: a prompt put behind the cache, then token after token.
 *
 * Nothing is computed here: batch.c runs the rows that an answer has, and tells it when their logits
 * are there. */
#ifndef OC_ANSWER_H
#define OC_ANSWER_H

#include "runtime/session.h"
#include "runtime/voice.h"
#include "text/sampler.h"

typedef struct oc_answer {
    ocelli_session *session; /* not owned */
    ocelli_generate_options options;
    oc_sampler *sampler;
    oc_voice voice;
    void *user;    /* on_piece's */
    size_t prompt; /* tokens before the answer */
    bool done;
    ocelli_result result;
} oc_answer;

/* Puts the session's prompt behind its cache, keeping what it shares with the one before. Rows to
 * run are the session's held tokens from kept on. user: given to on_piece. OCELLI_E_CONTEXT when it
 * does not fit: the session is then as it was. On failure there is nothing to close. */
ocelli_status oc_answer_open(oc_answer *answer, ocelli_session *session,
                             const ocelli_generate_options *options, ocelli_piece_fn on_piece,
                             void *user, ocelli_error *err);
void oc_answer_close(oc_answer *answer);

/* Tokens that are held and not yet in the cache: what the next steps run. */
size_t oc_answer_waiting(const oc_answer *answer);

/* Picks a token from the session's logits, says it, and leaves it held but not yet run; or ends the
 * answer, which then becomes part of the conversation. */
ocelli_status oc_answer_pick(oc_answer *answer, ocelli_error *err);

#endif
