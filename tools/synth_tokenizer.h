/* synth_tokenizer.h - the tokenizer of a synthetic checkpoint: copied, or a minimal one.
 *
 * A real tokenizer is large and is not ours to ship, so that without one a byte-level tokenizer is
 * written: the 256 symbols of bytes as ids 0 to 255, the 26 added tokens at the ids that the config
 * names, and in between made-up words that no text becomes but that answers are made of. With it a
 * token of the prompt is one byte.
 */
#ifndef OCELLI_TOOLS_SYNTH_TOKENIZER_H
#define OCELLI_TOOLS_SYNTH_TOKENIZER_H

#include "tools/synth_config.h"

/* The ids of the control tokens of folder's tokenizer, all below vocab. False after a message. */
bool synth_tokenizer_ids(const char *folder, uint64_t vocab, synth_ids *out);

/* Copies the tokenizer's files of one folder to another. False after a message. */
bool synth_tokenizer_copy(const char *from, const char *to);

/* The control tokens can stand where ids has them: in their usual order, above the bytes and below
 * vocab. False after a message. */
bool synth_tokenizer_fits(const synth_ids *ids, uint64_t vocab);
/* Writes tokenizer.json and tokenizer_config.json. False after a message. */
bool synth_tokenizer_write(const char *folder, const synth_ids *ids);

/* Writes a tree to folder/name and deletes it; NULL (no memory) is a failure. False after a
 * message. */
bool json_file_write(const char *folder, const char *name, cJSON *tree);

#endif
