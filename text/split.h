/* split.h - the Qwen2/Qwen3 pre-tokeniser: a fixed pattern as a hand-written matcher. */
#ifndef OC_TEXT_SPLIT_H
#define OC_TEXT_SPLIT_H

#include <stddef.h>

/* Length in bytes of the first piece of text (size > 0, well-formed UTF-8); at least one character.
 * (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ */
size_t oc_split_next(const char *text, size_t size);

#endif
