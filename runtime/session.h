/* session.h - one conversation on one model: what was said, and what the cache holds of it. */
#ifndef OC_SESSION_H
#define OC_SESSION_H

#include "runtime/conversation.h"

struct ocelli_session {
    ocelli_model *model;
    oc_conversation talk;
    oc_chat_options chat;
    size_t context, prefill_rows;
    oc_kv_cache cache;
    oc_fused held; /* the tokens behind the cache; of its media only the identity may be read */
    size_t kept;   /* leading tokens of held whose keys and values are in the cache */
    float *logits; /* [vocab]: of the token after the last that was run; NULL before the first */
    oc_buffer answer;
};

/* Fuses the messages; *reused: leading tokens that the cache holds. At least the last token is run
 * again, since its logits are wanted. */
ocelli_status oc_session_fuse(oc_fused *fused, size_t *reused, const ocelli_session *session,
                              ocelli_error *err);

#endif
