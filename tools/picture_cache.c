/* picture_cache.c - see picture_cache.h. */
#include "tools/picture_cache.h"
#include "tools/flags.h"
#include "tools/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A conversation comes back to its pictures; of a folder's pictures hardly one comes twice, and what
 * is kept of the others is memory for nothing. */
#define CHAT_MEMORY (UINT64_C(256) << 20)
#define OTHER_MEMORY (UINT64_C(64) << 20)

const char *picture_cache_folder(const cli_options *options)
{
    const command_spec *command = command_find(options->command);
    if (command == NULL || (flag_at(FLAG_CACHE)->commands & (unsigned)command->id) == 0) {
        return NULL;
    }
    const char *folder = options->cache != NULL ? options->cache : getenv("OCELLI_CACHE");
    return folder != NULL && *folder != '\0' ? folder : NULL;
}

int picture_cache_open(const cli_options *options, ocelli_visual_cache **out)
{
    ocelli_visual_cache_options wanted = OCELLI_VISUAL_CACHE_OPTIONS_INIT;
    ocelli_error err = {OCELLI_OK, ""};
    *out = NULL;
    if (options->dry_run) {
        return EXIT_DONE;
    }
    wanted.memory_bytes = strcmp(options->command, "chat") == 0 ? CHAT_MEMORY : OTHER_MEMORY;
    wanted.directory = picture_cache_folder(options);
    wanted.disk_bytes = options->cache_size;
    wanted.log = report_log;
    return ocelli_visual_cache_open(out, &wanted, &err) == OCELLI_OK ? EXIT_DONE
                                                                     : report_failure(&err);
}

void picture_cache_label(char *out, size_t room, size_t media, size_t from_memory, size_t from_disk)
{
    size_t hits = from_memory + from_disk;
    char share[48] = "", kinds[64];
    if (hits == 0) {
        *out = '\0';
        return;
    }
    if (hits < media) {
        snprintf(share, sizeof share, "%zu of %zu ", hits, media);
    }
    if (from_memory > 0 && from_disk > 0) {
        snprintf(kinds, sizeof kinds, "%zu memory, %zu disk", from_memory, from_disk);
    } else {
        snprintf(kinds, sizeof kinds, "%s", from_memory > 0 ? "memory" : "disk");
    }
    snprintf(out, room, ", %sfrom the cache (%s)", share, kinds);
}
