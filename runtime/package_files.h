/* package_files.h - a package's folder while it is written: temporary, locked, renamed at the end. */
#ifndef OC_PACKAGE_FILES_H
#define OC_PACKAGE_FILES_H

#include "runtime/package.h"

typedef struct oc_package_folder {
    char *final_path; /* where the package will be */
    char *path;       /* "<final_path>.partial", written now */
    int lock;         /* descriptor of path, locked against a second writer; -1 */
    bool overwrite;
} oc_package_folder;

/* The i-th file that a package keeps as the checkpoint has it, if it has it; NULL past the last. */
const char *oc_package_copied(size_t i);

/* Makes the temporary folder anew (what a killed run left is removed). Refuses a final path that
 * exists, unless it is an empty folder, or overwrite is set and it is a package; a link that leads
 * nowhere; and a temporary folder that holds files of somebody else. */
ocelli_status oc_package_folder_open(oc_package_folder *out, const char *final_path, bool overwrite,
                                     ocelli_error *err);
/* OCELLI_E_IO, with both sizes, when the disk of the folder has no room for so many bytes. */
ocelli_status oc_package_folder_check_room(const oc_package_folder *folder, uint64_t bytes,
                                           ocelli_error *err);
/* Syncs the folder and renames it to its final path; an old package there is replaced. */
ocelli_status oc_package_folder_commit(oc_package_folder *folder, ocelli_error *err);
/* Removes what was not committed, frees. Accepts a zero folder. */
void oc_package_folder_close(oc_package_folder *folder);

/* A file of the folder being written: bytes are hashed on the way. */
typedef struct oc_package_stream {
    struct oc_hasher *hasher;
    char *path;
    int descriptor;
    uint64_t size;
} oc_package_stream;
ocelli_status oc_package_stream_open(oc_package_stream *out, const oc_package_folder *folder,
                                     const char *name, ocelli_error *err);
/* A full disk is OCELLI_E_IO with the path. */
ocelli_status oc_package_stream_write(oc_package_stream *stream, const void *bytes, size_t size,
                                      ocelli_error *err);
/* Syncs, closes and adds the file to the manifest. */
ocelli_status oc_package_stream_finish(oc_package_stream *stream, const char *name,
                                       oc_manifest *manifest, ocelli_error *err);
void oc_package_stream_close(oc_package_stream *stream);

/* Adds a finished file. */
ocelli_status oc_manifest_add(oc_manifest *manifest, const char *name, uint64_t size, oc_hash hash,
                              ocelli_error *err);

#endif
