/* log.h - formats a line and hands it to the model's callback. */
#ifndef OC_BASE_LOG_H
#define OC_BASE_LOG_H

#include "ocelli.h"

typedef struct oc_log {
    ocelli_log_fn write; /* NULL: silent */
    void *user;
} oc_log;

void oc_log_write(const oc_log *log, ocelli_level level, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

#endif
