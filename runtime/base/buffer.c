/* buffer.c - see buffer.h. */
#include "runtime/base/buffer.h"

#include "runtime/base/memory.h"

#include <string.h>

ocelli_status oc_buffer_append(oc_buffer *buffer, const void *bytes, size_t length,
                               ocelli_error *err)
{
    size_t need;
    if (!oc_size_add(buffer->length, length, &need) || !oc_size_add(need, 1, &need)) {
        return oc_fail_memory(err, "text");
    }
    if (need > buffer->capacity) {
        size_t capacity = buffer->capacity < 128 ? 256 : buffer->capacity;
        while (capacity < need) {
            if (!oc_size_mul(capacity, 2, &capacity)) {
                return oc_fail_memory(err, "text");
            }
        }
        char *data = oc_grow(buffer->data, buffer->length, capacity, 1);
        if (data == NULL) {
            return oc_fail_memory(err, "text");
        }
        buffer->data = data;
        buffer->capacity = capacity;
    }
    if (length > 0) {
        memcpy(buffer->data + buffer->length, bytes, length);
    }
    buffer->length += length;
    buffer->data[buffer->length] = '\0';
    return OCELLI_OK;
}

ocelli_status oc_buffer_append_text(oc_buffer *buffer, const char *text, ocelli_error *err)
{
    return oc_buffer_append(buffer, text, strlen(text), err);
}

void oc_buffer_clear(oc_buffer *buffer)
{
    buffer->length = 0;
    if (buffer->data != NULL) {
        buffer->data[0] = '\0';
    }
}

void oc_buffer_close(oc_buffer *buffer)
{
    oc_free(buffer->data);
    memset(buffer, 0, sizeof *buffer);
}
