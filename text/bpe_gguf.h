/* bpe_gguf.h - the tokenizer in a GGUF file's metadata, written as the tokenizer.json that it was
 * made from, for bpe_load.c to read: one reader, one set of checks, the same tables. */
#ifndef OC_TEXT_BPE_GGUF_H
#define OC_TEXT_BPE_GGUF_H

#include "runtime/base/buffer.h"
#include "runtime/weights/gguf.h"

/* Appends the text to out. What the file does not say is that of its pre-tokeniser, qwen2: NFC
 * before splitting, nothing added at the ends. Tokens of type control and user defined become added
 * tokens, the former special; unused ones are left out. OCELLI_E_FORMAT for keys that are missing
 * or of another type, tokens that are not UTF-8 or of an unknown type; OCELLI_E_UNSUPPORTED for
 * another tokenizer. What the tokens are is checked by whoever reads the text. */
ocelli_status oc_bpe_gguf_write(oc_buffer *out, const oc_gguf *file, ocelli_error *err);

#endif
