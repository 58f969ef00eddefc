/* synth_folder.h - a folder that appears whole or not at all: written as NAME.partial, then renamed. */
#ifndef OCELLI_TOOLS_SYNTH_FOLDER_H
#define OCELLI_TOOLS_SYNTH_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct synth_folder {
    char *final_path;
    char *path; /* where files are written */
    int lock;   /* descriptor of path, held locked; -1 */
    bool replaces;
} synth_folder;

/* Makes the temporary folder, taking over what a killed run left. final_path must not exist, or be
 * empty; with force it may be a checkpoint: a folder with config.json and no folders in it. False
 * after a message. */
bool synth_folder_open(synth_folder *out, const char *final_path, bool force);

/* There are so many bytes free. False after a message. */
bool synth_folder_has_room(const synth_folder *folder, uint64_t bytes);

/* Renames it to its final name; what was there is removed. False after a message. */
bool synth_folder_commit(synth_folder *folder);

/* Removes what is not committed. Accepts a folder that failed to open. */
void synth_folder_close(synth_folder *folder);

#endif
