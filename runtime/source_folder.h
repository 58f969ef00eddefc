/* source_folder.h - a folder of GGUF files: which of them are the text model and
 * its vision file. */
#ifndef OC_SOURCE_FOLDER_H
#define OC_SOURCE_FOLDER_H

#include "runtime/weights/gguf.h"

#include <stdbool.h>

/* Paths, owned: oc_source_folder_close. vision NULL: the folder has none. */
typedef struct oc_source_folder {
    char *text, *vision;
} oc_source_folder;

/* True if the name ends as a GGUF file's does, in small letters or capitals. */
bool oc_source_is_gguf_name(const char *name);
/* *found: the folder has a GGUF file and no safetensors checkpoint.
 * Fails only for want of memory. */
ocelli_status oc_source_folder_look(const char *directory, bool *found, ocelli_error *err);
/* Tells the files of the folder by their architecture. OCELLI_E_ARGUMENT when there is not exactly
 * one text model, or, if wants_vision, when there are several vision files: the message names
 * them. Errors of files that cannot be read as they come. */
ocelli_status oc_source_folder_open(oc_source_folder *out, const char *directory, bool wants_vision,
                                    ocelli_error *err);
/* The vision file in the folder of a text model that is given by itself: *vision is the path of the
 * only one that belongs to it, *choice the names of several ("a.gguf, b.gguf"), both NULL if there
 * is none; owned, oc_free. Files that cannot be read count for nothing. Fails only for want of
 * memory. */
ocelli_status oc_source_beside(char **vision, char **choice, const oc_gguf *text,
                               ocelli_error *err);
void oc_source_folder_close(oc_source_folder *folder);

#endif
