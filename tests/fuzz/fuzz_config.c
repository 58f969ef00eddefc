/* fuzz_config.c - the JSON files of a checkpoint. The first byte says which is the input: 'c'
 * config.json, 'p' preprocessor_config.json, 'v' the clips', 'g' generation_config.json, 'i' the
 * index of shards; the others are sound. */
#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "runtime/config.h"
#include "runtime/weights/shards.h"
#include "tests/fuzz/fuzz.h"

#define SOUND OCELLI_TEST_DATA "/bad/hf/"

static const struct {
    char kind;
    const char *name, *base;
} files[] = {{'c', "config.json", SOUND "base.config.json"},
             {'p', "preprocessor_config.json", SOUND "base.preprocessor_config.json"},
             {'v', "video_preprocessor_config.json", SOUND "video_preprocessor_config.json"},
             {'g', "generation_config.json", SOUND "generation_config.json"}};

static void write_sound(size_t i)
{
    char *bytes;
    size_t size;
    fuzz_require(oc_file_read(&bytes, &size, files[i].base, 1 << 20, NULL) == OCELLI_OK,
                 files[i].base);
    fuzz_write(files[i].name, bytes, size);
    oc_free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *folder = NULL;
    if (size == 0) {
        return 0;
    }
    if (data[0] == 'i') {
        oc_shards shards;
        folder = fuzz_write("model.safetensors.index.json", data + 1, size - 1);
        if (oc_shards_find(&shards, folder, NULL) == OCELLI_OK) {
            oc_shards_close(&shards);
        }
        return 0;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (files[i].kind == (char)data[0]) {
            folder = fuzz_write(files[i].name, data + 1, size - 1);
        } else {
            write_sound(i);
        }
    }
    oc_config config;
    if (oc_config_read(&config, folder != NULL ? folder : "", NULL) == OCELLI_OK) {
        fuzz_require(config.decoder.hidden > 0 && config.decoder.heads > 0 &&
                         config.decoder.layers > 0 && config.decoder.vocab > 0,
                     "a model has a size");
        oc_config_close(&config);
    }
    return 0;
}
