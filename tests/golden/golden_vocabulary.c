/* golden_vocabulary.c - see golden_vocabulary.h. */
#define _XOPEN_SOURCE 700
#include "tests/golden/golden_vocabulary.h"

#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "tests/golden/golden_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The id limit is the embedding table's rows; without a model beside it, any is right. */
enum { ID_LIMIT = 1 << 20 };

/* added_tokens.json; NULL: there is none. */
static cJSON *read_added(const char *folder)
{
    char path[GOLDEN_PATH];
    cJSON *added = NULL;
    if (!golden_path(path, folder, "added_tokens.json") ||
        golden_json(&added, path, NULL) != OCELLI_OK) {
        return NULL;
    }
    return added;
}

/* The list of a family, or the first there is. */
static const cJSON *list_of(const cJSON *added, const char *family)
{
    if (family != NULL) {
        return golden_get(golden_get(added, family), "added_tokens");
    }
    for (const cJSON *item = added != NULL ? added->child : NULL; item != NULL; item = item->next) {
        if (cJSON_IsArray(golden_get(item, "added_tokens"))) {
            return golden_get(item, "added_tokens");
        }
    }
    return NULL;
}

bool golden_vocabulary_knows(const char *folder, const char *family)
{
    cJSON *added = read_added(folder);
    bool known = list_of(added, family) != NULL;
    cJSON_Delete(added);
    return known;
}

static bool is_listed(const cJSON *list, const char *content)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        const char *listed = golden_string(item, "content");
        if (listed != NULL && strcmp(listed, content) == 0) {
            return true;
        }
    }
    return false;
}

/* Leaves in the tokenizer.json at path only those added tokens that are listed. */
static ocelli_status keep_listed(const char *path, const cJSON *list, ocelli_error *err)
{
    cJSON *tree;
    OC_TRY(golden_json(&tree, path, err));
    cJSON *tokens = cJSON_GetObjectItemCaseSensitive(tree, "added_tokens");
    for (int i = cJSON_GetArraySize(tokens) - 1; i >= 0; i--) {
        const char *content = golden_string(cJSON_GetArrayItem(tokens, i), "content");
        if (content != NULL && !is_listed(list, content)) {
            cJSON_DeleteItemFromArray(tokens, i);
        }
    }
    char *text = cJSON_PrintUnformatted(tree);
    FILE *file = text != NULL ? fopen(path, "wb") : NULL;
    bool good = file != NULL && fputs(text, file) != EOF;
    good = file != NULL && fclose(file) == 0 && good;
    cJSON_free(text);
    cJSON_Delete(tree);
    return good ? OCELLI_OK : oc_fail(err, OCELLI_E_IO, "%s: cannot be written", path);
}

static ocelli_status open_packed(oc_bpe **out, const char *packed, const cJSON *list,
                                 ocelli_error *err)
{
    char folder[] = "/tmp/ocelli-golden-XXXXXX";
    char target[sizeof folder + 32];
    if (mkdtemp(folder) == NULL) {
        return oc_fail(err, OCELLI_E_IO, "%s: cannot make a temporary folder", folder);
    }
    snprintf(target, sizeof target, "%s/tokenizer.json", folder);
    ocelli_status status = golden_gunzip(packed, target, err);
    if (status == OCELLI_OK && list != NULL) {
        status = keep_listed(target, list, err);
    }
    if (status == OCELLI_OK) {
        status = oc_bpe_open(out, folder, ID_LIMIT, err);
    }
    unlink(target);
    rmdir(folder);
    return status;
}

ocelli_status golden_vocabulary_open(oc_bpe **out, const char *folder, const char *family,
                                     ocelli_error *err)
{
    char path[GOLDEN_PATH], around[GOLDEN_PATH];
    cJSON *added = read_added(folder);
    const char *elsewhere = golden_string(added, "tokenizer");
    *out = NULL;
    bool fits = elsewhere != NULL
                    ? golden_path(around, folder, "..") && golden_path(path, around, elsewhere)
                    : golden_path(path, folder, "tokenizer.json.gz");
    ocelli_status status;
    if (!fits) {
        status = oc_fail(err, OCELLI_E_IO, "%s: the path is too long", folder);
    } else if (elsewhere != NULL || oc_file_exists(path)) {
        status = open_packed(out, path, list_of(added, family), err);
    } else {
        status = oc_bpe_open(out, folder, ID_LIMIT, err);
    }
    cJSON_Delete(added);
    return status;
}
