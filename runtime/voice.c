/* voice.c - see voice.h. */
#include "runtime/voice.h"

#include "text/unicode.h"

#include <string.h>

static ocelli_status append_characters(oc_buffer *out, const char *text, size_t size,
                                       ocelli_error *err)
{
    while (size > 0) {
        size_t valid = oc_utf8_valid_prefix(text, size);
        OC_TRY(oc_buffer_append(out, text, valid, err));
        size_t skip = valid < size ? valid + 1 : valid;
        text += skip;
        size -= skip;
    }
    return OCELLI_OK;
}

/* Hands out the whole characters of what is pending. */
static ocelli_status tell(oc_voice *voice, ocelli_error *err)
{
    size_t whole = oc_utf8_complete_prefix(voice->pending.data, voice->pending.length);
    if (whole == 0) {
        return OCELLI_OK;
    }
    size_t told = voice->answer->length;
    OC_TRY(append_characters(voice->answer, voice->pending.data, whole, err));
    memmove(voice->pending.data, voice->pending.data + whole, voice->pending.length - whole);
    voice->pending.length -= whole;
    if (voice->on_piece != NULL && voice->answer->length > told &&
        voice->on_piece(voice->user, voice->answer->data + told, voice->answer->length - told) !=
            0) {
        voice->stopped = true;
    }
    return OCELLI_OK;
}

ocelli_status oc_voice_say(oc_voice *voice, int32_t id, ocelli_error *err)
{
    size_t length;
    const char *bytes = oc_bpe_bytes(voice->bpe, id, &length);
    if (length == 0 || oc_bpe_is_special(voice->bpe, id)) {
        return OCELLI_OK;
    }
    OC_TRY(oc_buffer_append(&voice->pending, bytes, length, err));
    return tell(voice, err);
}

void oc_voice_close(oc_voice *voice)
{
    oc_buffer_close(&voice->pending);
}
