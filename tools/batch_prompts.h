/* batch_prompts.h - what is asked about each picture: --prompt and --prompt-file, with {name}, {dir}
 * and {tags} replaced. */
#ifndef OCELLI_TOOLS_BATCH_PROMPTS_H
#define OCELLI_TOOLS_BATCH_PROMPTS_H

#include "tools/cli_options.h"

/* --prompt as often as it may be given, and --prompt-file. */
#define BATCH_MOST_PROMPTS 17

typedef struct batch_prompts {
    char *texts[BATCH_MOST_PROMPTS]; /* [count], owned, UTF-8 */
    size_t count;
    const char *tags_ext;
} batch_prompts;

/* Reads and checks them. Returns an exit code, with a message unless EXIT_DONE; *prompts is to be freed
 * in any case. */
int prompts_load(batch_prompts *prompts, const cli_options *options);
void prompts_free(batch_prompts *prompts);

/* Prompt index as it is asked about the picture at path, a new string. Names that are not UTF-8 are
 * mended; other braces stay. NULL, and a sentence in why: the tags cannot be read, no memory. */
char *prompts_expand(const batch_prompts *prompts, size_t index, const char *path, char *why,
                     size_t size);

#endif
