/* options.h - options and results that grow: copies as many bytes as both sides know of. */
#ifndef OC_OPTIONS_H
#define OC_OPTIONS_H

#include <stddef.h>
#include <string.h>

/* Over the defaults in options (whose first field is struct_size) the caller's, if any. */
static inline void oc_options_read(void *options, size_t size, const void *given)
{
    if (given != NULL) {
        size_t theirs;
        memcpy(&theirs, given, sizeof theirs);
        memcpy(options, given, theirs < size ? theirs : size);
        memcpy(options, &size, sizeof size);
    }
}

/* Gives the caller what its struct has room for; its struct_size stays. */
static inline void oc_result_write(void *out, const void *result, size_t size)
{
    if (out != NULL) {
        size_t theirs;
        memcpy(&theirs, out, sizeof theirs);
        memcpy(out, result, theirs < size ? theirs : size);
        memcpy(out, &theirs, sizeof theirs);
    }
}

#endif
