/* synth_folder.c - see synth_folder.h. */
#define _DEFAULT_SOURCE /* flock */

#include "tools/synth_folder.h"
#include "tools/model_shape.h"
#include "tools/output.h"
#include "tools/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static char *with_suffix(const char *path, const char *suffix)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    size_t size = length + strlen(suffix) + 1;
    char *out = malloc(size);
    if (out != NULL) {
        snprintf(out, size, "%.*s%s", (int)length, path, suffix);
    }
    return out;
}

/* Calls visit for every entry but . and ..; false when one call or the reading failed. */
static bool each_entry(const char *folder, bool (*visit)(const char *path, void *user), void *user)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    bool good = entries != NULL;
    while (good && (entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            char *path = path_join(folder, entry->d_name);
            good = path != NULL && visit(path, user);
            free(path);
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return good;
}

/* Files and links; a folder stays, and with it the folder around it. */
static bool remove_entry(const char *path, void *user)
{
    (void)user;
    (void)unlink(path);
    return true;
}

static void remove_folder(const char *folder)
{
    each_entry(folder, remove_entry, NULL);
    if (rmdir(folder) != 0) {
        report_warning("cannot remove '%s': %s", folder, strerror(errno));
    }
}

typedef struct look {
    size_t entries, folders;
} look;

static bool look_at(const char *path, void *user)
{
    look *l = user;
    struct stat status;
    l->entries++;
    l->folders += lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
    return true;
}

static bool check_target(synth_folder *folder, bool force)
{
    const char *path = folder->final_path;
    struct stat status;
    look l = {0, 0};
    if (lstat(path, &status) != 0) {
        return true;
    }
    if (!S_ISDIR(status.st_mode) || !each_entry(path, look_at, &l)) {
        report_error("'%s' exists and is not a folder that could be written", path);
        return false;
    }
    folder->replaces = l.entries > 0;
    if (l.entries == 0) {
        return true;
    }
    if (!force) {
        report_error("'%s' exists; choose another folder, or --force", path);
        return false;
    }
    char *config = path_join(path, "config.json");
    bool is_checkpoint = config != NULL && access(config, F_OK) == 0 && l.folders == 0;
    free(config);
    if (!is_checkpoint) {
        report_error("'%s' exists and is not a checkpoint; choose another folder", path);
    }
    return is_checkpoint;
}

/* Two writers would mix their files. */
static bool lock_folder(synth_folder *folder)
{
    if (mkdir(folder->path, 0777) != 0 && errno != EEXIST) {
        report_error("cannot make '%s': %s", folder->path, strerror(errno));
        return false;
    }
    int descriptor = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0 || flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        report_error("'%s' is in use: %s", folder->path, strerror(errno));
        if (descriptor >= 0) {
            close(descriptor);
        }
        return false;
    }
    folder->lock = descriptor;
    return each_entry(folder->path, remove_entry, NULL);
}

bool synth_folder_open(synth_folder *out, const char *final_path, bool force)
{
    memset(out, 0, sizeof *out);
    out->lock = -1;
    out->final_path = with_suffix(final_path, "");
    out->path = with_suffix(final_path, ".partial");
    if (out->final_path == NULL || out->path == NULL) {
        report_error("no memory");
        return false;
    }
    return check_target(out, force) && lock_folder(out);
}

bool synth_folder_has_room(const synth_folder *folder, uint64_t bytes)
{
    struct statvfs disk;
    char needs[32], has[32];
    if (statvfs(folder->path, &disk) != 0) {
        return true; /* writing will tell */
    }
    uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (room >= bytes) {
        return true;
    }
    format_bytes(needs, sizeof needs, bytes);
    format_bytes(has, sizeof has, room);
    report_error("'%s' needs %s, but %s are free there", folder->final_path, needs, has);
    return false;
}

bool synth_folder_commit(synth_folder *folder)
{
    char *old = folder->replaces ? with_suffix(folder->final_path, ".replaced") : NULL;
    bool good = !folder->replaces || (old != NULL && rename(folder->final_path, old) == 0);
    bool moved = good && folder->replaces;
    good = good && fsync(folder->lock) == 0 && rename(folder->path, folder->final_path) == 0;
    if (!good) {
        report_error("cannot rename '%s' to '%s': %s", folder->path, folder->final_path,
                     strerror(errno));
        if (moved) {
            (void)rename(old, folder->final_path);
        }
    } else if (moved) {
        remove_folder(old);
    }
    if (good) {
        close(folder->lock);
        folder->lock = -1;
    }
    free(old);
    return good;
}

void synth_folder_close(synth_folder *folder)
{
    if (folder->lock >= 0) {
        remove_folder(folder->path);
        close(folder->lock);
        folder->lock = -1;
    }
    free(folder->final_path);
    free(folder->path);
    memset(folder, 0, sizeof *folder);
    folder->lock = -1;
}
