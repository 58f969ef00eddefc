/* voice.h - tokens to text that is told: whole characters only, the tail waits for its rest. */
#ifndef OC_VOICE_H
#define OC_VOICE_H

#include "runtime/base/buffer.h"
#include "text/bpe.h"

typedef struct oc_voice {
    const oc_bpe *bpe;
    oc_buffer *answer;        /* all that was told; not owned */
    oc_buffer pending;        /* bytes of tokens, not yet told */
    ocelli_piece_fn on_piece; /* NULL: nobody listens */
    void *user;
    bool stopped; /* on_piece asked to stop */
} oc_voice;

/* Says a token: special tokens have no text. Bytes that no character has are left out (a small or
 * damaged model writes some): what is told is text. */
ocelli_status oc_voice_say(oc_voice *voice, int32_t id, ocelli_error *err);
/* Ends the answer: an incomplete character is dropped. */
void oc_voice_close(oc_voice *voice);

#endif
