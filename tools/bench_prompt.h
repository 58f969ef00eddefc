/* bench_prompt.h - prompts of a wanted number of tokens, and a picture to look at. */
#ifndef OCELLI_TOOLS_BENCH_PROMPT_H
#define OCELLI_TOOLS_BENCH_PROMPT_H

#include <ocelli.h>
#include <stdint.h>

/* A user's message that makes a prompt of so many tokens, the template's included, or a few more
 * where the tokenizer has no text of just that length; for the caller to free. Different salts give
 * different texts. NULL: err says why. */
char *bench_prompt_text(ocelli_model *model, uint64_t tokens, unsigned salt, ocelli_error *err);

/* A picture with edges, colours and noise; different salts give different noise. */
ocelli_status bench_picture(ocelli_image **out, int width, int height, unsigned salt,
                            ocelli_error *err);

#endif
