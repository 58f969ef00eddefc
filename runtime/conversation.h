/* conversation.h - the messages of a session, as they were said. */
#ifndef OC_CONVERSATION_H
#define OC_CONVERSATION_H

#include "fusion/fuse.h"
#include "runtime/visual.h"
#include "text/chat.h"

/* One part, owned: text, a visual, or the ids of an answer. */
typedef struct oc_said {
    char *text;
    size_t length;
    ocelli_visual *visual;
    oc_ids ids;
} oc_said;

typedef struct oc_message {
    ocelli_role role;
    oc_said *parts; /* [count] */
    size_t count;
} oc_message;

typedef struct oc_conversation {
    oc_message *messages; /* [count] */
    size_t count, capacity;
} oc_conversation;

void oc_conversation_close(oc_conversation *talk);
/* Copies texts and keeps visuals. OCELLI_E_ARGUMENT: a part with both or neither, text that is not
 * UTF-8; and what the template of this style would lose, for Qwen3-VL's a system message that is
 * not the first and pictures that are not a user's. */
ocelli_status oc_conversation_add(oc_conversation *talk, oc_chat_style style, ocelli_role role,
                                  const ocelli_part *parts, size_t count, ocelli_error *err);
/* Appends an answer by its ids, which are copied. */
ocelli_status oc_conversation_add_answer(oc_conversation *talk, const int32_t *ids, size_t count,
                                         ocelli_error *err);
void oc_conversation_drop_last(oc_conversation *talk);
/* Fills an empty one with the messages of another; visuals are shared. */
ocelli_status oc_conversation_copy(oc_conversation *out, const oc_conversation *talk,
                                   ocelli_error *err);

/* Renders all of it and fuses. */
ocelli_status oc_conversation_fuse(oc_fused *out, const oc_conversation *talk,
                                   const ocelli_model *model, const oc_chat_options *options,
                                   ocelli_error *err);

#endif
