/* golden_vocabulary.h - the tokenizer that a folder of tokenizer cases was recorded with. */
#ifndef OC_TESTS_GOLDEN_VOCABULARY_H
#define OC_TESTS_GOLDEN_VOCABULARY_H

#include "text/bpe.h"

/* Opens folder/tokenizer.json, or tokenizer.json.gz. With folder/added_tokens.json only those added
 * tokens are left that it lists: for family, or for the first that it has where family is NULL; and
 * its "tokenizer" may name the file elsewhere, relative to the folder around folder. */
ocelli_status golden_vocabulary_open(oc_bpe **out, const char *folder, const char *family,
                                     ocelli_error *err);
/* Whether added_tokens.json lists any for family. */
bool golden_vocabulary_knows(const char *folder, const char *family);

#endif
