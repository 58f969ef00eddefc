/* package_files.c - see package_files.h. POSIX. */
#define _DEFAULT_SOURCE /* flock */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700 /* realpath */
#include "runtime/package_files.h"

#include "runtime/base/file.h"
#include "runtime/base/memory.h"

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
    char *out = oc_alloc(length + strlen(suffix) + 1, 1);
    if (out != NULL) {
        memcpy(out, path, length);
        memcpy(out + length, suffix, strlen(suffix));
    }
    return out;
}

/* Calls fn for every entry of a folder but "." and ".."; stops at the first false. */
static bool each_entry(const char *path, bool (*fn)(int folder, const char *name))
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return false;
    }
    bool going = true;
    struct dirent *entry;
    while (going && (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            going = fn(dirfd(folder), entry->d_name);
        }
    }
    closedir(folder);
    return going;
}

/* The files of the checkpoint that a package keeps as they are. */
static const char *const COPIED[] = {"config.json",
                                     "generation_config.json",
                                     "preprocessor_config.json",
                                     "video_preprocessor_config.json",
                                     "tokenizer.json",
                                     "tokenizer_config.json",
                                     "vocab.json",
                                     "merges.txt",
                                     "chat_template.json",
                                     "chat_template.jinja"};

const char *oc_package_copied(size_t i)
{
    return i < sizeof COPIED / sizeof *COPIED ? COPIED[i] : NULL;
}

static bool is_ours(const char *name)
{
    static const char *const made[] = {OC_PACKAGE_MANIFEST, OC_PACKAGE_EMBED, OC_PACKAGE_DECODER,
                                       OC_PACKAGE_VISION, OC_PACKAGE_TOKENIZER};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        if (strcmp(name, made[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; oc_package_copied(i) != NULL; i++) {
        if (strcmp(name, oc_package_copied(i)) == 0) {
            return true;
        }
    }
    return false;
}

static bool check_is_ours(int folder, const char *name)
{
    (void)folder;
    return is_ours(name);
}

/* Only files that a package has: what else somebody put there is theirs. */
static bool remove_file(int folder, const char *name)
{
    return !is_ours(name) || unlinkat(folder, name, 0) == 0;
}

static bool stop_at_any(int folder, const char *name)
{
    (void)folder;
    (void)name;
    return false;
}

/* Removes a package's files, and their folder if it is empty then. */
static void remove_folder(const char *path)
{
    each_entry(path, remove_file);
    rmdir(path);
}

static ocelli_status check_target(const oc_package_folder *folder, ocelli_error *err)
{
    const char *path = folder->final_path;
    if (!oc_file_exists(path)) {
        return OCELLI_OK;
    }
    if (!oc_file_is_directory(path)) {
        return oc_fail(err, OCELLI_E_IO, "%s: exists and is not a folder", path);
    }
    bool empty = each_entry(path, stop_at_any);
    if (empty || (folder->overwrite && oc_package_is(path))) {
        return OCELLI_OK;
    }
    if (folder->overwrite) {
        return oc_fail(err, OCELLI_E_IO, "%s: exists and is not a package; choose another folder",
                       path);
    }
    return oc_fail(err, OCELLI_E_IO,
                   "%s: exists; choose another folder, or overwrite it on purpose (--force)", path);
}

/* True while path still is the folder that was opened: its writer may have renamed or removed it
 * between our opening and our locking it. */
static bool is_still(int descriptor, const char *path)
{
    struct stat opened, named;
    return fstat(descriptor, &opened) == 0 && lstat(path, &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* Locks the temporary folder: two writers would mix their files. */
static ocelli_status lock_folder(oc_package_folder *folder, ocelli_error *err)
{
    if (mkdir(folder->path, 0777) != 0 && errno != EEXIST) {
        return oc_fail(err, OCELLI_E_IO,
                       "%s: cannot make this folder: %s; choose another place for the package",
                       folder->path, strerror(errno));
    }
    int descriptor = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) {
        return oc_fail(err, OCELLI_E_IO,
                       "%s: cannot be used as the temporary folder: %s; move it away", folder->path,
                       strerror(errno));
    }
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 || !is_still(descriptor, folder->path)) {
        close(descriptor);
        return oc_fail(err, OCELLI_E_STATE,
                       "%s: another process is writing this package; wait for it", folder->path);
    }
    if (!each_entry(folder->path, check_is_ours)) {
        close(descriptor);
        return oc_fail(err, OCELLI_E_IO,
                       "%s: holds files that are not of a package; move them away", folder->path);
    }
    folder->lock = descriptor;
    each_entry(folder->path, remove_file); /* what a killed run left */
    return OCELLI_OK;
}

/* Where the package will be: what a symbolic link leads to, so that the link stays. */
static ocelli_status resolve_target(oc_package_folder *folder, const char *given, ocelli_error *err)
{
    struct stat status;
    folder->final_path = with_suffix(given, "");
    if (folder->final_path == NULL) {
        return oc_fail_memory(err, "a package");
    }
    if (lstat(folder->final_path, &status) != 0 || !S_ISLNK(status.st_mode)) {
        return OCELLI_OK;
    }
    char *real = realpath(folder->final_path, NULL);
    if (real == NULL) {
        return oc_fail(err, OCELLI_E_IO, "%s: a symbolic link that leads nowhere: %s; remove it",
                       folder->final_path, strerror(errno));
    }
    oc_free(folder->final_path);
    folder->final_path = oc_strdup(real);
    free(real);
    return folder->final_path != NULL ? OCELLI_OK : oc_fail_memory(err, "a package");
}

ocelli_status oc_package_folder_open(oc_package_folder *out, const char *final_path, bool overwrite,
                                     ocelli_error *err)
{
    *out = (oc_package_folder){.lock = -1, .overwrite = overwrite};
    ocelli_status status = resolve_target(out, final_path, err);
    if (status == OCELLI_OK) {
        status = check_target(out, err);
    }
    if (status == OCELLI_OK) {
        out->path = with_suffix(out->final_path, ".partial");
        status = out->path != NULL ? lock_folder(out, err) : oc_fail_memory(err, "a package");
    }
    if (status == OCELLI_OK) {
        status = check_target(out, err); /* again: another writer may have finished it meanwhile */
    }
    if (status != OCELLI_OK) {
        oc_package_folder_close(out);
    }
    return status;
}

ocelli_status oc_package_folder_check_room(const oc_package_folder *folder, uint64_t bytes,
                                           ocelli_error *err)
{
    struct statvfs disk;
    char needs[OC_BYTES_ROOM], has[OC_BYTES_ROOM];
    if (statvfs(folder->path, &disk) != 0) {
        return OCELLI_OK; /* writing will tell */
    }
    uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    return room >= bytes ? OCELLI_OK
                         : oc_fail(err, OCELLI_E_IO,
                                   "%s: the package takes %s, but %s are free there; nothing was "
                                   "written",
                                   folder->final_path, oc_bytes_label(bytes, needs),
                                   oc_bytes_label(room, has));
}

static void sync_parent(const char *path)
{
    char *parent = oc_strdup(path);
    if (parent == NULL) {
        return;
    }
    char *slash = strrchr(parent, '/');
    if (slash != NULL) {
        slash[slash == parent ? 1 : 0] = '\0';
    }
    int descriptor = open(slash != NULL ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)fsync(descriptor); /* the rename is done; syncing it earlier than the system would is
                                  * all that could fail */
        close(descriptor);
    }
    oc_free(parent);
}

/* A free name beside the package for the old one: a folder of that name may be somebody's. */
static char *old_name(const char *path)
{
    struct stat status;
    for (int i = 0; i < 1000; i++) {
        char suffix[24] = ".old";
        if (i > 0) {
            snprintf(suffix, sizeof suffix, ".old%d", i);
        }
        char *name = with_suffix(path, suffix);
        if (name == NULL || lstat(name, &status) != 0) {
            return name;
        }
        oc_free(name);
    }
    return with_suffix(path, ".old"); /* renaming to it says what is wrong */
}

ocelli_status oc_package_folder_commit(oc_package_folder *folder, ocelli_error *err)
{
    char *old = NULL;
    if (fsync(folder->lock) != 0) {
        return oc_fail(err, OCELLI_E_IO, "%s: %s", folder->path, strerror(errno));
    }
    if (oc_file_exists(folder->final_path)) {
        old = old_name(folder->final_path);
        if (old == NULL) {
            return oc_fail_memory(err, "a package");
        }
        if (rename(folder->final_path, old) != 0) {
            oc_free(old);
            return oc_fail(err, OCELLI_E_IO, "%s: cannot be replaced: %s", folder->final_path,
                           strerror(errno));
        }
    }
    if (rename(folder->path, folder->final_path) != 0) {
        int reason = errno;
        if (old != NULL) {
            (void)rename(old, folder->final_path); /* put the old one back */
            oc_free(old);
        }
        return oc_fail(err, OCELLI_E_IO, "%s: %s", folder->final_path, strerror(reason));
    }
    sync_parent(folder->final_path);
    if (old != NULL) {
        remove_folder(old);
        oc_free(old);
    }
    oc_free(folder->path);
    folder->path = NULL; /* nothing is left to remove */
    return OCELLI_OK;
}

void oc_package_folder_close(oc_package_folder *folder)
{
    if (folder->path != NULL && folder->lock >= 0) {
        remove_folder(folder->path);
    }
    if (folder->lock >= 0) {
        close(folder->lock);
    }
    oc_free(folder->path);
    oc_free(folder->final_path);
    *folder = (oc_package_folder){.lock = -1};
}

ocelli_status oc_package_stream_open(oc_package_stream *out, const oc_package_folder *folder,
                                     const char *name, ocelli_error *err)
{
    *out = (oc_package_stream){.descriptor = -1};
    out->path = oc_path_join(folder->path, name);
    out->hasher = oc_hasher_open();
    if (out->path == NULL || out->hasher == NULL) {
        oc_package_stream_close(out);
        return oc_fail_memory(err, name);
    }
    out->descriptor = open(out->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (out->descriptor < 0) {
        ocelli_status status = oc_fail(err, OCELLI_E_IO, "%s: %s", out->path, strerror(errno));
        oc_package_stream_close(out);
        return status;
    }
    return OCELLI_OK;
}

ocelli_status oc_package_stream_write(oc_package_stream *stream, const void *bytes, size_t size,
                                      ocelli_error *err)
{
    const unsigned char *at = bytes;
    oc_hasher_update(stream->hasher, bytes, size);
    while (size > 0) {
        ssize_t written = write(stream->descriptor, at, size);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return oc_fail(err, OCELLI_E_IO, "%s: cannot write after %llu bytes: %s", stream->path,
                           (unsigned long long)stream->size,
                           written < 0 ? strerror(errno) : "nothing was taken");
        }
        at += written;
        size -= (size_t)written;
        stream->size += (uint64_t)written;
    }
    return OCELLI_OK;
}

ocelli_status oc_package_stream_finish(oc_package_stream *stream, const char *name,
                                       oc_manifest *manifest, ocelli_error *err)
{
    int failed = fsync(stream->descriptor) != 0 ? errno : 0;
    if (close(stream->descriptor) != 0 && failed == 0) {
        failed = errno;
    }
    stream->descriptor = -1;
    if (failed != 0) {
        return oc_fail(err, OCELLI_E_IO, "%s: %s", stream->path, strerror(failed));
    }
    return oc_manifest_add(manifest, name, stream->size, oc_hasher_digest(stream->hasher), err);
}

void oc_package_stream_close(oc_package_stream *stream)
{
    if (stream->descriptor >= 0) {
        close(stream->descriptor);
    }
    oc_hasher_close(stream->hasher);
    oc_free(stream->path);
    *stream = (oc_package_stream){.descriptor = -1};
}

ocelli_status oc_manifest_add(oc_manifest *manifest, const char *name, uint64_t size, oc_hash hash,
                              ocelli_error *err)
{
    if (manifest->file_count == OC_PACKAGE_MOST_FILES ||
        strlen(name) >= sizeof manifest->files[0].name) {
        return oc_fail(err, OCELLI_E_INTERNAL, "%s: the manifest has no room for it", name);
    }
    oc_package_file *file = &manifest->files[manifest->file_count++];
    memcpy(file->name, name, strlen(name) + 1);
    file->size = size;
    oc_hash_format(hash, file->hash);
    return OCELLI_OK;
}
