/* buffer.h - growable bytes. */
#ifndef OC_BASE_BUFFER_H
#define OC_BASE_BUFFER_H

#include "runtime/base/status.h"

/* Zero-initialise; data is always NUL-ended once anything was appended. */
typedef struct oc_buffer {
    char *data;
    size_t length, capacity;
} oc_buffer;

ocelli_status oc_buffer_append(oc_buffer *buffer, const void *bytes, size_t length,
                               ocelli_error *err);
ocelli_status oc_buffer_append_text(oc_buffer *buffer, const char *text, ocelli_error *err);
/* Forgets the contents, keeps the memory. */
void oc_buffer_clear(oc_buffer *buffer);
void oc_buffer_close(oc_buffer *buffer);

#endif
