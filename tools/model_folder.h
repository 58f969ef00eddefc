/* model_folder.h - the folder where models are kept: where it is, what is in it, finding one by
 * name.
 *
 * OCELLI_HOME names it; without that it is ocelli/models under XDG_DATA_HOME, or under
 * ~/.local/share. A model is a folder there, or a folder in one of its folders ("owner/name").
 */
#ifndef OCELLI_TOOLS_MODEL_FOLDER_H
#define OCELLI_TOOLS_MODEL_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* The folder's path, whether or not it exists, for the caller to free; NULL after a message. */
char *model_folder_path(void);

typedef struct model_folder_entry {
    char *name; /* "owner/name" or "name", of a GGUF file among several "owner/name/file.gguf" */
    char *path; /* of its folder, or of the GGUF file */
} model_folder_entry;

typedef struct model_folder_list {
    model_folder_entry *entries; /* [count] by name, owned */
    size_t count;
} model_folder_list;

/* Lists the models: folders with a config.json, a manifest.json, a GGUF file or the record of a
 * download. A model folder that does not exist is an empty one. Sub folders of a model are not
 * looked into, nor hidden ones. Start from zeros. False after a message; free in any case. */
bool model_folder_read(const char *folder, model_folder_list *out);
void model_folder_free(model_folder_list *list);

/* The path of the model called name: "owner/name", or "name" where one alone has it. Sets *path,
 * for the caller to free, or NULL where there is none. EXIT_FAILED after a message: several have
 * that name, or are files of the folder of that name, or no memory. */
int model_folder_find(const char *name, char **path);

/* A name is relative and does not climb: all else is a path. */
bool model_folder_is_name(const char *name);

/* The folder can be read and has nothing of a model: no configuration, weights or package, whole or
 * begun. A folder that has some of it is a damaged model, of which opening it says what is wrong. */
bool folder_holds_no_model(const char *folder);

/* The GGUF file of that path is a vision tower's: llama.cpp names these mmproj. */
bool gguf_is_tower(const char *path);

#endif
