/* Safetensors files that lie, by a list of files: each ends as it says, in one line, and in memory
 * of the file's order. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/weights/safetensors.h"
#include "tests/unit/weights/bad_cases.h"

#include <criterion/criterion.h>

static void check_tensors(const char *id, const oc_safetensors *file, const cJSON *want)
{
    cr_expect_eq(file->count, (size_t)cJSON_GetArraySize(want), "%s", id);
    for (want = want->child; want != NULL; want = want->next) {
        const oc_safetensors_entry *found = oc_safetensors_find(file, bad_text(want, "name"));
        cr_expect_not_null(found, "%s: %s", id, bad_text(want, "name"));
        if (found == NULL) {
            continue;
        }
        cr_expect_str_eq(oc_dtype_name(found->tensor.dtype), bad_text(want, "dtype"), "%s", id);
        bad_check_tensor(id, &found->tensor, file->map.bytes, want, "shape", false);
    }
}

Test(bad_safetensors, list)
{
    cJSON *list = bad_list("bad_safetensors/list.json");
    size_t count = 0;
    long before = bad_peak();
    for (const cJSON *entry = cJSON_GetObjectItem(list, "cases")->child; entry != NULL;
         entry = entry->next, count++) {
        char path[1024];
        ocelli_error err = {0};
        oc_safetensors file;
        const char *name = bad_text(entry, "file");
        snprintf(path, sizeof path, BAD_ROOT "bad_safetensors/%s", name);
        ocelli_status status = oc_safetensors_open(&file, path, &err);
        if (bad_must(entry, "accept")) {
            cr_expect_eq(status, OCELLI_OK, "%s: %s", name, err.message);
        } else if (bad_must(entry, "refuse")) {
            bad_check_refusal(name, status, &err);
        }
        if (status == OCELLI_OK && cJSON_HasObjectItem(entry, "tensors_if_accepted")) {
            check_tensors(name, &file, cJSON_GetObjectItem(entry, "tensors_if_accepted"));
        }
        oc_safetensors_close(&file);
    }
    cr_assert_geq(count, 100);
    cr_expect_lt(bad_peak() - before, BAD_MOST_MEMORY);
    cJSON_Delete(list);
}
