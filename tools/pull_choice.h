/* pull_choice.h - which of a repository's files a model needs. */
#ifndef OCELLI_TOOLS_PULL_CHOICE_H
#define OCELLI_TOOLS_PULL_CHOICE_H

#include "tools/pull_list.h"

typedef struct pull_choice {
    size_t count;   /* files wanted */
    uint64_t bytes; /* of them together */
    bool is_gguf;
    /* Of GGUF: the text models wanted, the first of them and of the towers; of the list. */
    size_t texts;
    const char *text, *tower;
} pull_choice;

/* Sets `wanted` of the list's files: the configuration, the tokenizer, licences and the weights,
 * which are safetensors as the index says, or else GGUF with its vision tower. The index is read
 * from folder if it is there and the record says it is whole, otherwise from the hub.
 *
 * include: NULL, or patterns with commas between; then the weights are those that match, and for
 * GGUF a vision tower's file is added. Exit code, after a message unless interrupted. */
int pull_choose(pull_hub *hub, remote_list *list, const char *include, const char *folder,
                const download_record *record, pull_choice *out);

#endif
