/* fuzz_tokenizer.c - the first byte says which: 'j' a tokenizer.json, 'b' its compiled form. What
 * opens encodes and decodes without leaving its ids. */
#include "tests/fuzz/fuzz.h"
#include "text/bpe.h"

#include <string.h>

enum { ID_LIMIT = 1000 };

static void use(const oc_bpe *bpe)
{
    static const char text[] = "Hello, world 12<|im_start|> e\xcc\x81\n  it's\xe4\xbd\xa0";
    const oc_text_run run = {text, sizeof text - 1, true};
    oc_ids ids = {0};
    if (oc_bpe_encode(bpe, &run, 1, &ids, NULL) == OCELLI_OK) {
        for (size_t i = 0; i < ids.count; i++) {
            size_t length;
            fuzz_require(ids.ids[i] >= 0 && ids.ids[i] < ID_LIMIT, "an id is below the limit");
            (void)oc_bpe_bytes(bpe, ids.ids[i], &length);
            (void)oc_bpe_is_special(bpe, ids.ids[i]);
        }
    }
    for (size_t id = 0; id < oc_bpe_size(bpe); id++) {
        size_t length, sum = 0;
        const char *bytes = oc_bpe_bytes(bpe, (int32_t)id, &length);
        for (size_t i = 0; i < length; i++) {
            sum += (unsigned char)bytes[i];
        }
        (void)sum;
    }
    (void)oc_bpe_find_added(bpe, "<|im_end|>");
    oc_ids_close(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oc_bpe *bpe = NULL;
    ocelli_status status = OCELLI_E_ARGUMENT;
    if (size == 0) {
        return 0;
    }
    if (data[0] == 'b') {
        fuzz_write("tokenizer.bin", data + 1, size - 1);
        status = oc_bpe_open_image(&bpe, fuzz_path("tokenizer.bin"), ID_LIMIT, NULL);
    } else {
        status = oc_bpe_open_text(&bpe, "tokenizer.json", (const char *)data + 1, size - 1,
                                  ID_LIMIT, NULL);
    }
    fuzz_require((bpe != NULL) == (status == OCELLI_OK), "a tokenizer on success only");
    if (bpe != NULL) {
        use(bpe);
        oc_bpe_close(bpe);
    }
    return 0;
}
