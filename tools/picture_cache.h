/* picture_cache.h - the cache of encoded pictures, as the flags ask for it. */
#ifndef OCELLI_TOOLS_PICTURE_CACHE_H
#define OCELLI_TOOLS_PICTURE_CACHE_H

#include "tools/cli_options.h"

#include <ocelli.h>

/* The folder of --cache, or of OCELLI_CACHE; NULL: none, or
 * a command without that flag. */
const char *picture_cache_folder(const cli_options *options);

/* Opens the cache: in memory always, and in the folder if there is one. *out is NULL with --dry-run,
 * which encodes nothing. Returns an exit code, and has said why. */
int picture_cache_open(const cli_options *options, ocelli_visual_cache **out);

/* What --timings says behind the encoding of media: "" when the cache had none of them, else
 * ", from the cache (memory)" or ", 2 of 3 from the cache (1 memory, 1 disk)". */
void picture_cache_label(char *out, size_t room, size_t media, size_t from_memory,
                         size_t from_disk);

#endif
