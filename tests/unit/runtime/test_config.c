/* A checkpoint's JSON files: what is wrong in them is named, nothing is guessed that a file should say. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "runtime/config.h"

#include "runtime/base/file.h"
#include "runtime/base/memory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL OCELLI_TEST_DATA "/golden/qwen3vl/models/t1_f32"

static const char *const FILES[] = {"config.json", "preprocessor_config.json",
                                    "video_preprocessor_config.json", "generation_config.json"};
enum { FILE_COUNT = 4 };

/* Reads the model's files with `old` replaced by `new` in one of them; "" for `old` leaves it out. */
static ocelli_status read_changed(oc_config *config, const char *file, const char *old,
                                  const char *new, ocelli_error *err)
{
    char folder[] = "/tmp/ocelli-config-XXXXXX", path[256];
    cr_assert_not_null(mkdtemp(folder));
    for (int i = 0; i < FILE_COUNT; i++) {
        char *text;
        size_t size;
        bool changed = strcmp(FILES[i], file) == 0;
        snprintf(path, sizeof path, MODEL "/%s", FILES[i]);
        cr_assert_eq(oc_file_read(&text, &size, path, 1 << 20, err), OCELLI_OK);
        snprintf(path, sizeof path, "%s/%s", folder, FILES[i]);
        if (!changed || old[0] != '\0') {
            FILE *out = fopen(path, "wb");
            cr_assert_not_null(out);
            char *at = changed ? strstr(text, old) : NULL;
            cr_assert(!changed || at != NULL, "%s holds no %s", file, old);
            if (at != NULL) {
                fwrite(text, 1, (size_t)(at - text), out);
                fputs(new, out);
                fputs(at + strlen(old), out);
            } else {
                fwrite(text, 1, size, out);
            }
            fclose(out);
        }
        oc_free(text);
    }
    ocelli_status status = oc_config_read(config, folder, err);
    for (int i = 0; i < FILE_COUNT; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, FILES[i]);
        unlink(path);
    }
    rmdir(folder);
    return status;
}

Test(config, every_number_comes_from_the_files)
{
    oc_config config;
    ocelli_error err;
    cr_assert_eq(oc_config_read(&config, MODEL, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(config.decoder.hidden, 64);
    cr_assert_eq(config.decoder.head_dim, 32);
    cr_assert_eq(config.decoder.heads, 4);
    cr_assert_eq(config.decoder.kv_heads, 2);
    cr_assert_eq(config.decoder.vocab, 512);
    cr_assert_eq(config.decoder.mrope.sections[0], 6);
    cr_assert_eq(config.decoder.mrope.theta, 5e6);
    cr_assert(config.decoder.tied);
    cr_assert_eq(config.vit.layers, 6);
    cr_assert_eq(config.vit.position_side, 24);
    cr_assert_eq(config.vit.tap_count, 3);
    cr_assert_eq(config.vit.taps[2], 5);
    cr_assert_eq(config.image_size.min_pixels, 4096);
    cr_assert_eq(config.image_size.max_pixels, 16384);
    cr_assert_eq(config.image_size.factor, 32);
    cr_assert_eq(config.video_size.max_pixels, 24576);
    cr_assert_eq(config.pads.image, 468);
    cr_assert_eq(config.pads.video, 469);
    cr_assert_eq(config.eos_count, 2); /* 458 of both files once, and 456 */
    cr_assert_eq(config.eos[0], 458);
    cr_assert_eq(config.eos[1], 456);
    oc_config_close(&config);
}

Test(config, both_ways_of_writing_the_rotary_numbers)
{
    oc_config config;
    ocelli_error err;
    cr_assert_eq(read_changed(&config, "config.json", "\"rope_scaling\": {",
                              "\"rope_parameters\": {\"rope_theta\": 10000,", &err),
                 OCELLI_OK, "%s", err.message);
    cr_assert_eq(config.decoder.mrope.theta, 10000);
    oc_config_close(&config);
    cr_assert_eq(read_changed(&config, "generation_config.json", "", "", &err), OCELLI_OK);
    cr_assert_eq(config.eos_count, 1);
    oc_config_close(&config);
}

Test(config, what_is_wrong_is_named)
{
    static const struct {
        const char *file, *old, *new, *message;
        ocelli_status status;
    } cases[] = {
        {"config.json", "", "", "config.json: missing", OCELLI_E_IO},
        {"preprocessor_config.json", "", "", "preprocessor_config.json: missing", OCELLI_E_IO},
        {"config.json", "\"model_type\": \"qwen3_vl\"", "\"model_type\": \"llava\"",
         "\"llava\" is not known; this version runs qwen3_vl", OCELLI_E_UNSUPPORTED},
        {"config.json", "\"hidden_size\": 64", "\"hidden_size\": \"64\"",
         "text_config.hidden_size: expected a whole number", OCELLI_E_FORMAT},
        {"config.json", "\"hidden_size\": 64", "\"hidden_size\": 1e15",
         "text_config.hidden_size: expected a whole number", OCELLI_E_FORMAT},
        {"config.json", "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3",
         "num_attention_heads 4 is not a multiple of num_key_value_heads 3", OCELLI_E_FORMAT},
        {"config.json", "\"out_hidden_size\": 64", "\"out_hidden_size\": 96",
         "rows of 96 but the decoder takes rows of 64", OCELLI_E_FORMAT},
        {"config.json", "\"num_position_embeddings\": 576", "\"num_position_embeddings\": 577",
         "577 is not a square", OCELLI_E_FORMAT},
        {"config.json", "\"deepstack_visual_indexes\": [", "\"deepstack_visual_indexes\": [5,",
         "deepstack_visual_indexes must ascend, but 1 follows 5", OCELLI_E_FORMAT},
        {"config.json", "\"rms_norm_eps\": 1e-06,", "", "rms_norm_eps: expected a number",
         OCELLI_E_FORMAT},
        {"config.json", "\"rope_type\": \"default\"", "\"rope_type\": \"yarn\"",
         "rope_type is \"yarn\"", OCELLI_E_UNSUPPORTED},
        {"config.json", "\"hidden_act\": \"gelu_pytorch_tanh\"", "\"hidden_act\": \"relu\"",
         "hidden_act is \"relu\"", OCELLI_E_UNSUPPORTED},
        {"config.json", "\"image_token_id\": 468", "\"image_token_id\": 512",
         "image_token_id: expected a whole number from 0 to 511, found 512", OCELLI_E_FORMAT},
        {"config.json", "\"vision_config\": {", "\"unknown_config\": {", "no vision_config",
         OCELLI_E_FORMAT},
        {"preprocessor_config.json", "\"patch_size\": 16", "\"patch_size\": 14", "patch_size 14",
         OCELLI_E_FORMAT},
        {"preprocessor_config.json", "\"size\": {", "\"size\": [], \"was\": {",
         "size: expected an object", OCELLI_E_FORMAT},
        {"preprocessor_config.json", "\"shortest_edge\": 4096", "\"shortest_edge\": 99999",
         "shortest_edge 99999 is above longest_edge 16384", OCELLI_E_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        oc_config config;
        ocelli_error err = {0};
        cr_assert_eq(read_changed(&config, cases[i].file, cases[i].old, cases[i].new, &err),
                     cases[i].status, "%s: %s", cases[i].message, err.message);
        cr_assert_not_null(strstr(err.message, cases[i].message), "%s", err.message);
        cr_assert_null(config.decoder.sparse);
    }
}
