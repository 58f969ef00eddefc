/* batch_names.h - where each picture's caption goes: the names of sidecars.
 *
 * photo.jpg gets photo.txt. Where that name would not be photo.jpg's alone - photo.png lies beside it,
 * or a picture is called photo or photo.txt - it gets photo.jpg.txt, and photo.png photo.png.txt. The
 * rule asks which pictures lie in the folder, never which captions do or which pictures were asked
 * for: a rerun, a list, a shard come to the same names. Letters are compared without regard to case,
 * since some file systems do. */
#ifndef OCELLI_TOOLS_BATCH_NAMES_H
#define OCELLI_TOOLS_BATCH_NAMES_H

#include "tools/batch_list.h"

/* "a/b" of "./a//b/." : no empty components, no "."; ".." and a slash at the start stay. A new string;
 * NULL: no memory. */
char *path_clean(const char *path);

/* Length of name without its ending: 5 of "photo.jpg", 5 of "photo", 6 of ".photo". */
size_t name_stem(const char *name);

/* The last component, and a new string for what is before it ("." for a bare name). */
const char *path_name(const char *path);
char *path_folder(const char *path);

/* Drops the items that are the same path again. EXIT_DONE or EXIT_FAILED (no memory). */
int batch_names_unique(batch_list *list);

/* Sets sidecars[i], [list->count], to a new string, or NULL for an item with a problem; one whose
 * caption would replace a picture is given a problem. *doubled counts those that took their whole
 * name. Returns an exit code, with a message unless EXIT_DONE: no memory, two captions of one name
 * in --out-dir. */
int batch_names_sidecars(batch_list *list, const cli_options *options, char **sidecars,
                         size_t *doubled);

#endif
