/* chat.c - the list of items that a template fills. See chat.h; the template is chat_qwen.c. */
#include "text/chat.h"

#include "runtime/base/memory.h"

void oc_chat_items_close(oc_chat_items *items)
{
    oc_buffer_close(&items->text);
    oc_free(items->items);
    *items = (oc_chat_items){0};
}

static ocelli_status push_item(oc_chat_items *items, const oc_chat_item *item, ocelli_error *err)
{
    if (items->count == items->capacity) {
        size_t capacity;
        oc_chat_item *grown = NULL;
        if (oc_size_mul(items->capacity < 16 ? 16 : items->capacity, 2, &capacity)) {
            grown = oc_grow(items->items, items->count, capacity, sizeof *grown);
        }
        if (grown == NULL) {
            return oc_fail_memory(err, "the prompt");
        }
        items->items = grown;
        items->capacity = capacity;
    }
    items->items[items->count++] = *item;
    return OCELLI_OK;
}

ocelli_status oc_chat_items_text(oc_chat_items *items, const char *text, size_t length,
                                 bool special, ocelli_error *err)
{
    if (length == 0) {
        return OCELLI_OK;
    }
    size_t begin = items->text.length;
    OC_TRY(oc_buffer_append(&items->text, text, length, err));
    oc_chat_item *last = items->count > 0 ? &items->items[items->count - 1] : NULL;
    if (last != NULL && last->kind == OC_ITEM_TEXT && last->special == special) {
        last->length += length; /* the buffer only grows by text: it ends where this one begins */
        return OCELLI_OK;
    }
    oc_chat_item item = {
        .kind = OC_ITEM_TEXT, .begin = begin, .length = length, .special = special};
    return push_item(items, &item, err);
}

ocelli_status oc_chat_items_media(oc_chat_items *items, bool video, size_t media, ocelli_error *err)
{
    oc_chat_item item = {.kind = video ? OC_ITEM_VIDEO : OC_ITEM_IMAGE, .media = media};
    return push_item(items, &item, err);
}

ocelli_status oc_chat_items_ids(oc_chat_items *items, const int32_t *ids, size_t count,
                                ocelli_error *err)
{
    if (count == 0) {
        return OCELLI_OK;
    }
    oc_chat_item item = {.kind = OC_ITEM_IDS, .length = count, .ids = ids};
    return push_item(items, &item, err);
}
