/* visual_evict.c - see visual_evict.h. When an entry was used last is its file's time of change, so
 * that nothing but the entries themselves has to be kept. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/visual_evict.h"

#include "runtime/base/memory.h"
#include "runtime/visual_entry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Seconds after which nobody writes to a part any more. */
enum { STALE_SECONDS = 900 };

typedef struct found {
    char name[OC_VISUAL_ENTRY_NAME];
    uint64_t bytes;
    struct timespec used;
} found;

typedef struct listing {
    found *items; /* [count] */
    size_t count, room;
} listing;

static bool add(listing *all, const char *name, const struct stat *about)
{
    if (all->count == all->room) {
        size_t room = all->room * 2 + 64;
        found *items = oc_grow(all->items, all->count, room, sizeof *items);
        if (items == NULL) {
            return false;
        }
        all->items = items;
        all->room = room;
    }
    found *item = &all->items[all->count++];
    memcpy(item->name, name, strlen(name) + 1);
    item->bytes = (uint64_t)about->st_size;
    item->used = about->st_mtim;
    return true;
}

/* One name of the directory. A time in the future is no reason to stay for ever. */
static bool look_at(listing *all, int folder, const char *name, time_t now)
{
    struct stat about;
    bool part;
    if (!oc_visual_entry_is_name(name, &part) ||
        fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(about.st_mode)) {
        return true;
    }
    if (part && about.st_mtim.tv_sec < now - STALE_SECONDS) {
        (void)unlinkat(folder, name, 0);
        return true;
    }
    if (about.st_mtim.tv_sec > now + STALE_SECONDS) {
        about.st_mtim.tv_sec = 0;
    }
    return add(all, name, &about);
}

static bool list(listing *all, int folder)
{
    int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* closedir closes it */
    DIR *entries = own >= 0 ? fdopendir(own) : NULL;
    if (entries == NULL) {
        if (own >= 0) {
            close(own);
        }
        return false;
    }
    time_t now = time(NULL);
    bool sound = true;
    for (const struct dirent *entry; sound && (entry = readdir(entries)) != NULL;) {
        sound = look_at(all, folder, entry->d_name, now);
    }
    closedir(entries);
    if (!sound) {
        errno = ENOMEM;
    }
    return sound;
}

/* The last used first. */
static int by_use(const void *a, const void *b)
{
    const found *left = a, *right = b;
    if (left->used.tv_sec != right->used.tv_sec) {
        return left->used.tv_sec > right->used.tv_sec ? -1 : 1;
    }
    if (left->used.tv_nsec != right->used.tv_nsec) {
        return left->used.tv_nsec > right->used.tv_nsec ? -1 : 1;
    }
    return strcmp(left->name, right->name);
}

bool oc_visual_evict(int folder, uint64_t most)
{
    listing all = {0};
    bool sound = list(&all, folder);
    if (sound && all.count > 0) {
        qsort(all.items, all.count, sizeof *all.items, by_use);
        uint64_t room = most;
        size_t stay = 0;
        while (stay < all.count && all.items[stay].bytes <= room) {
            room -= all.items[stay++].bytes;
        }
        for (size_t i = stay; i < all.count; i++) {
            (void)unlinkat(folder, all.items[i].name, 0); /* gone already is as good */
        }
    }
    oc_free(all.items);
    return sound;
}
