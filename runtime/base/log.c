/* log.c - see log.h. */
#include "runtime/base/log.h"

#include "runtime/base/status.h"

#include <stdarg.h>
#include <stdio.h>

void oc_log_write(const oc_log *log, ocelli_level level, const char *format, ...)
{
    if (log == NULL || log->write == NULL) {
        return;
    }
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    oc_line_clean(line);
    log->write(log->user, level, line);
}
