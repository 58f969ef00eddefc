/* status.h - how a function fails: fill the caller's error, return its code. */
#ifndef OC_BASE_STATUS_H
#define OC_BASE_STATUS_H

#include "ocelli.h"

/* Writes one line (printf style) into err (may be NULL) and returns status. */
ocelli_status oc_fail(ocelli_error *err, ocelli_status status, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4), cold))
#endif
    ;

/* The usual sentence for a failed allocation. what: "kv cache", "image", ... */
ocelli_status oc_fail_memory(ocelli_error *err, const char *what);

/* Puts "prefix: " before the message already in err, keeping its status. */
ocelli_status oc_fail_prefix(ocelli_error *err, ocelli_status status, const char *prefix);

/* Makes text fit for a terminal and for UTF-8 in place: control characters (C0, DEL, C1) and bytes
 * that are not well-formed UTF-8 become '?'. File names hold anything. */
void oc_line_clean(char *line);

#define OC_TRY(call)                                                                               \
    do {                                                                                           \
        ocelli_status oc_try_status = (call);                                                      \
        if (oc_try_status != OCELLI_OK) {                                                          \
            return oc_try_status;                                                                  \
        }                                                                                          \
    } while (0)

#endif
