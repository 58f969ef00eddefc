/* Qwen2.5-VL and Qwen2-VL: what their files may leave out and must not say, names of tensors of
 * both kinds of files, packages, and what is different of a conversation. That their numbers are
 * right is golden_siblings' matter. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "runtime/session.h"
#include "tests/unit/weights/scratch.h"

#include <cjson/cJSON.h>
#include <math.h>

#define MODELS OCELLI_TEST_DATA "/golden/siblings/models/"
#define MEDIA OCELLI_TEST_DATA "/golden/siblings/media/"
#define NEWER MODELS "q25a_bf16"
#define FIRST MODELS "q2a_bf16"

/* ---- copies of a model ----------------------------------------------------------------------- */

static void copy_file(const scratch *folder, const char *model, const char *name)
{
    char path[SCRATCH_PATH];
    char *bytes;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", model, name);
    cr_assert_eq(oc_file_read(&bytes, &size, path, 1 << 24, NULL), OCELLI_OK, "%s", path);
    scratch_write(folder, name, bytes, size);
    oc_free(bytes);
}

static cJSON *read_json(const char *model, const char *name)
{
    char path[SCRATCH_PATH];
    char *bytes;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", model, name);
    cr_assert_eq(oc_file_read(&bytes, &size, path, 1 << 24, NULL), OCELLI_OK, "%s", path);
    cJSON *tree = cJSON_ParseWithLength(bytes, size);
    cr_assert_not_null(tree);
    oc_free(bytes);
    return tree;
}

static void write_json(const scratch *folder, const char *name, const cJSON *tree)
{
    char *text = cJSON_Print(tree);
    cr_assert_not_null(text);
    scratch_write(folder, name, text, strlen(text));
    cJSON_free(text);
}

/* The JSON files of model with one key of config.json changed: where is "" or "vision_config",
 * value JSON, or NULL to leave the key out. */
static ocelli_status read_changed(oc_config *config, const char *model, const char *where,
                                  const char *key, const char *value, ocelli_error *err)
{
    scratch folder = scratch_open();
    cJSON *tree = read_json(model, "config.json");
    cJSON *object = where[0] != '\0' ? cJSON_GetObjectItemCaseSensitive(tree, where) : tree;
    cr_assert_not_null(object);
    cJSON_DeleteItemFromObjectCaseSensitive(object, key);
    if (value != NULL) {
        cJSON *item = cJSON_Parse(value);
        cr_assert_not_null(item, "%s", value);
        cJSON_AddItemToObject(object, key, item);
    }
    write_json(&folder, "config.json", tree);
    copy_file(&folder, model, "preprocessor_config.json");
    copy_file(&folder, model, "generation_config.json");
    ocelli_status status = oc_config_read(config, folder.path, err);
    cJSON_Delete(tree);
    scratch_close(&folder);
    return status;
}

/* ---- configs --------------------------------------------------------------------------------- */

Test(siblings, numbers_of_a_flat_config)
{
    oc_config config;
    ocelli_error err = {.message = ""};
    cr_assert_eq(oc_config_read(&config, NEWER, &err), OCELLI_OK, "%s", err.message);
    cr_assert_str_eq(config.family->model_type, "qwen2_5_vl");
    cr_assert_eq(config.decoder.hidden, 64);
    cr_assert_eq(config.decoder.head_dim, 16);
    cr_assert(config.decoder.attention_bias && config.decoder.plain_output);
    cr_assert(config.decoder.plain_heads && !config.decoder.mrope.interleaved);
    cr_assert_eq(config.decoder.mrope.sections[1], 3);
    cr_assert_eq(config.vit.hidden, 32);
    cr_assert_eq(config.vit.intermediate, 72);
    cr_assert_eq(config.vit.window, 2);
    cr_assert(!config.vit.whole[0] && config.vit.whole[1] && config.vit.whole[4]);
    cr_assert_eq(config.vit.position_side, 0);
    cr_assert_eq(config.vit.tap_count, 0);
    cr_assert_float_eq(config.vit.patch.mean[0], 0.48145466f, 0);
    cr_assert_eq(config.tokens_per_second, 2);
    cr_assert_eq(config.image_size.factor, 28);
    cr_assert_eq(config.image_size.max_pixels, 11760);
    /* No file for videos: pictures' bounds, frame by frame. */
    cr_assert_eq(config.video_size.max_pixels, 11760);
    cr_assert(config.video_size.by_frame && config.even_frames);
    cr_assert_eq(config.eos_count, 2);
    oc_config_close(&config);

    /* The trap: hidden_size is the output's width. */
    cr_assert_eq(oc_config_read(&config, FIRST, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(config.vit.hidden, 32);
    cr_assert_eq(config.vit.out_hidden, 64);
    cr_assert_eq(config.vit.intermediate, 128);
    cr_assert_eq(config.vit.window, 0);
    cr_assert_eq(config.tokens_per_second, 0);
    cr_assert(config.vit.norm == OC_VIT_LAYER_NORM && config.vit.mlp == OC_VIT_GELU_QUICK);
    oc_config_close(&config);
}

/* A file that was saved again leaves out what is the reference's default. */
Test(siblings, what_is_left_out_is_the_default)
{
    oc_config config;
    ocelli_error err = {.message = ""};
    cr_assert_eq(read_changed(&config, NEWER, "vision_config", "tokens_per_second", NULL, &err),
                 OCELLI_OK, "%s", err.message);
    cr_assert_eq(config.tokens_per_second, 4);
    oc_config_close(&config);
    cr_assert_eq(read_changed(&config, NEWER, "vision_config", "window_size", NULL, &err),
                 OCELLI_OK, "%s", err.message);
    cr_assert_eq(config.vit.window, 4);
    oc_config_close(&config);
    cr_assert_eq(read_changed(&config, NEWER, "vision_config", "patch_size", NULL, &err), OCELLI_OK,
                 "%s", err.message);
    cr_assert_eq(config.vit.patch.patch_size, 14);
    oc_config_close(&config);
    cr_assert_eq(read_changed(&config, NEWER, "", "rope_theta", NULL, &err), OCELLI_OK, "%s",
                 err.message);
    cr_assert_eq(config.decoder.mrope.theta, 1e6);
    oc_config_close(&config);
    cr_assert_eq(read_changed(&config, NEWER, "", "rms_norm_eps", NULL, &err), OCELLI_OK, "%s",
                 err.message);
    cr_assert_float_eq(config.decoder.rms_norm_eps, 1e-5f, 0);
    oc_config_close(&config);
    cr_assert_eq(read_changed(&config, NEWER, "vision_config", "in_channels", "3", &err), OCELLI_OK,
                 "%s", err.message);
    oc_config_close(&config);
    /* Of blocks 0 to 4 the default's 7, 15, 23 and 31 are none, as in the reference. */
    cr_assert_eq(read_changed(&config, NEWER, "vision_config", "fullatt_block_indexes", NULL, &err),
                 OCELLI_OK, "%s", err.message);
    for (size_t i = 0; i < config.vit.layers; i++) {
        cr_assert_not(config.vit.whole[i]);
    }
    oc_config_close(&config);
    cr_assert_eq(read_changed(&config, FIRST, "vision_config", "mlp_ratio", NULL, &err), OCELLI_OK,
                 "%s", err.message);
    cr_assert_eq(config.vit.intermediate, 128);
    oc_config_close(&config);
    cr_assert_eq(read_changed(&config, FIRST, "vision_config", "depth", NULL, &err), OCELLI_OK,
                 "%s", err.message);
    cr_assert_eq(config.vit.layers, 32);
    oc_config_close(&config);
    cr_assert_eq(read_changed(&config, FIRST, "vision_config", "embed_dim", NULL, &err), OCELLI_OK,
                 "%s", err.message);
    cr_assert_eq(config.vit.hidden, 1280);
    oc_config_close(&config);
}

Test(siblings, what_is_wrong_is_named)
{
    static const struct {
        const char *model, *where, *key, *value, *message;
        ocelli_status status;
    } cases[] = {
        {NEWER, "", "use_sliding_window", "true", "use_sliding_window is true",
         OCELLI_E_UNSUPPORTED},
        {NEWER, "", "use_sliding_window", "1", "use_sliding_window", OCELLI_E_FORMAT},
        {NEWER, "", "rope_scaling", "{\"type\": \"yarn\", \"mrope_section\": [2, 3, 3]}",
         "type is \"yarn\"", OCELLI_E_UNSUPPORTED},
        {NEWER, "", "rope_scaling", "{\"type\": \"mrope\", \"mrope_section\": [2, 3, 4]}",
         "2, 3, 4 does not add up to half of head_dim 16", OCELLI_E_FORMAT},
        {NEWER, "", "rope_scaling", "{\"type\": \"mrope\"}", "16, 24, 24 does not add up",
         OCELLI_E_FORMAT},
        {NEWER, "", "num_attention_heads", "128", "head_dim 0 is odd or out of range",
         OCELLI_E_FORMAT},
        {NEWER, "", "hidden_size", "-64", "hidden_size: expected a whole number", OCELLI_E_FORMAT},
        {NEWER, "", "vision_config", "[]", "vision_config: expected an object", OCELLI_E_FORMAT},
        {NEWER, "", "text_config", "7", "text_config: expected an object", OCELLI_E_FORMAT},
        {NEWER, "vision_config", "window_size", "0", "window_size: expected a whole number",
         OCELLI_E_FORMAT},
        {NEWER, "vision_config", "window_size", "27", "window_size 27 is less than one block",
         OCELLI_E_FORMAT},
        {NEWER, "vision_config", "window_size", "1e18", "window_size: expected a whole number",
         OCELLI_E_FORMAT},
        {NEWER, "vision_config", "window_size", "\"112\"", "window_size: expected a whole number",
         OCELLI_E_FORMAT},
        {NEWER, "vision_config", "fullatt_block_indexes", "[1, 5]",
         "fullatt_block_indexes holds 5, but there are 5 blocks", OCELLI_E_FORMAT},
        {NEWER, "vision_config", "fullatt_block_indexes", "[-1]", "fullatt_block_indexes",
         OCELLI_E_FORMAT},
        {NEWER, "vision_config", "fullatt_block_indexes", "[1e30]", "fullatt_block_indexes",
         OCELLI_E_FORMAT},
        {NEWER, "vision_config", "fullatt_block_indexes", "{}", "fullatt_block_indexes",
         OCELLI_E_FORMAT},
        {NEWER, "vision_config", "spatial_merge_size", "0", "spatial_merge_size", OCELLI_E_FORMAT},
        {NEWER, "vision_config", "patch_size", "0", "patch_size", OCELLI_E_FORMAT},
        {NEWER, "vision_config", "num_heads", "0", "num_heads", OCELLI_E_FORMAT},
        {NEWER, "vision_config", "in_chans", "4", "in_chans", OCELLI_E_FORMAT},
        {NEWER, "vision_config", "tokens_per_second", "0", "tokens_per_second", OCELLI_E_FORMAT},
        {NEWER, "vision_config", "tokens_per_second", "-2", "tokens_per_second", OCELLI_E_FORMAT},
        {NEWER, "vision_config", "hidden_act", "\"gelu\"", "hidden_act is \"gelu\"",
         OCELLI_E_UNSUPPORTED},
        {NEWER, "vision_config", "out_hidden_size", NULL, "rows of 3584", OCELLI_E_FORMAT},
        {FIRST, "vision_config", "hidden_size", "1280", "rows of 1280 but the decoder takes",
         OCELLI_E_FORMAT},
        {FIRST, "vision_config", "mlp_ratio", "0", "mlp_ratio", OCELLI_E_FORMAT},
        {FIRST, "vision_config", "mlp_ratio", "0.001", "is no width", OCELLI_E_FORMAT},
        {FIRST, "vision_config", "embed_dim", "30", "embed_dim 30 over 4 heads", OCELLI_E_FORMAT},
        {FIRST, "vision_config", "hidden_act", "\"silu\"", "hidden_act is \"silu\"",
         OCELLI_E_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        oc_config config;
        ocelli_error err = {.message = ""};
        cr_assert_eq(read_changed(&config, cases[i].model, cases[i].where, cases[i].key,
                                  cases[i].value, &err),
                     cases[i].status, "%s: %s", cases[i].message, err.message);
        cr_assert_not_null(strstr(err.message, cases[i].message), "%s", err.message);
    }
}

/* ---- a file that newer tools saved again ----------------------------------------------------- */

/* "model.x" becomes "model.language_model.x" and "visual.x" "model.visual.x". */
static void rename_tensors(const scratch *folder, const char *model)
{
    char path[SCRATCH_PATH];
    char *bytes;
    size_t size;
    uint64_t length = 0;
    snprintf(path, sizeof path, "%s/model.safetensors", model);
    cr_assert_eq(oc_file_read(&bytes, &size, path, 1 << 24, NULL), OCELLI_OK);
    for (int i = 0; i < 8; i++) {
        length |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    }
    cJSON *header = cJSON_ParseWithLength(bytes + 8, (size_t)length);
    cJSON *renamed = cJSON_CreateObject();
    cr_assert(header != NULL && renamed != NULL);
    for (const cJSON *item = header->child; item != NULL; item = item->next) {
        char name[200];
        bool text = strncmp(item->string, "model.", 6) == 0;
        snprintf(name, sizeof name, "%s%s",
                 text                                       ? "model.language_model."
                 : strncmp(item->string, "visual.", 7) == 0 ? "model."
                                                            : "",
                 item->string + (text ? 6 : 0));
        cJSON_AddItemToObject(renamed, name, cJSON_Duplicate(item, true));
    }
    char *text = cJSON_PrintUnformatted(renamed);
    cr_assert_not_null(text);
    size_t padded = (strlen(text) + 7) / 8 * 8;
    char *spaced = malloc(padded);
    cr_assert_not_null(spaced);
    memset(spaced, ' ', padded);
    memcpy(spaced, text, strlen(text));
    scratch_write_safetensors(folder, "model.safetensors", padded, spaced, padded,
                              bytes + 8 + length, size - 8 - (size_t)length);
    free(spaced);
    cJSON_free(text);
    cJSON_Delete(renamed);
    cJSON_Delete(header);
    oc_free(bytes);
}

/* The decoder's keys move into text_config, the rotary ones into rope_parameters. */
static void nest_config(const scratch *folder, const char *model)
{
    static const char *const moved[] = {
        "hidden_size",         "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "rms_norm_eps",      "vocab_size",        "max_position_embeddings",
        "eos_token_id",        "hidden_act",        "use_sliding_window"};
    cJSON *tree = read_json(model, "config.json");
    cJSON *text = cJSON_AddObjectToObject(tree, "text_config");
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(tree, moved[i]);
        cr_assert_not_null(item, "%s", moved[i]);
        cJSON_AddItemToObject(text, moved[i], item);
    }
    cJSON *rope = cJSON_DetachItemFromObjectCaseSensitive(tree, "rope_scaling");
    cJSON_DeleteItemFromObjectCaseSensitive(rope, "type");
    cJSON_AddStringToObject(rope, "rope_type", "default");
    cJSON_AddItemToObject(rope, "rope_theta",
                          cJSON_DetachItemFromObjectCaseSensitive(tree, "rope_theta"));
    cJSON_AddItemToObject(text, "rope_parameters", rope);
    write_json(folder, "config.json", tree);
    cJSON_Delete(tree);
}

static ocelli_model *open_model(const char *directory, ocelli_quant quant)
{
    ocelli_error err = {.message = ""};
    ocelli_model *model;
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.quant = quant;
    options.threads = 2;
    cr_assert_eq(ocelli_model_open(&model, directory, &options, &err), OCELLI_OK, "%s",
                 err.message);
    return model;
}

static ocelli_visual *see(ocelli_model *model)
{
    ocelli_error err = {.message = ""};
    ocelli_image *image;
    ocelli_visual *visual;
    cr_assert_eq(ocelli_image_load(&image, MEDIA "r84x140.png", NULL, &err), OCELLI_OK, "%s",
                 err.message);
    cr_assert_eq(ocelli_encode_image(&visual, model, image, NULL, &err), OCELLI_OK, "%s",
                 err.message);
    ocelli_image_free(image);
    return visual;
}

/* Rows and an answer of one are the other's, bit for bit: quantised paths promise that. */
static void expect_same(ocelli_model *a, ocelli_model *b)
{
    ocelli_model *models[2] = {a, b};
    ocelli_visual *visuals[2];
    ocelli_session *sessions[2];
    size_t tokens, width;
    for (int i = 0; i < 2; i++) {
        ocelli_session_options options = OCELLI_SESSION_OPTIONS_INIT;
        ocelli_generate_options how = OCELLI_GENERATE_OPTIONS_INIT;
        ocelli_error err = {.message = ""};
        how.max_tokens = 12;
        how.stop_repetition = 0;
        visuals[i] = see(models[i]);
        const ocelli_part parts[2] = {{.visual = visuals[i]}, {.text = "what is it"}};
        cr_assert_eq(ocelli_session_open(&sessions[i], models[i], &options, &err), OCELLI_OK);
        cr_assert_eq(ocelli_session_add(sessions[i], OCELLI_USER, parts, 2, &err), OCELLI_OK);
        cr_assert_eq(ocelli_session_generate(sessions[i], &how, NULL, NULL, NULL, &err), OCELLI_OK,
                     "%s", err.message);
    }
    const float *rows = ocelli_visual_rows(visuals[0], &tokens, &width);
    cr_assert_eq(memcmp(rows, ocelli_visual_rows(visuals[1], &tokens, &width),
                        tokens * width * sizeof *rows),
                 0);
    cr_assert_str_eq(ocelli_session_answer(sessions[0]), ocelli_session_answer(sessions[1]));
    for (int i = 0; i < 2; i++) {
        ocelli_session_close(sessions[i]);
        ocelli_visual_free(visuals[i]);
    }
}

static void check_saved_again(const char *model)
{
    scratch folder = scratch_open();
    rename_tensors(&folder, model);
    nest_config(&folder, model);
    copy_file(&folder, model, "preprocessor_config.json");
    copy_file(&folder, model, "generation_config.json");
    copy_file(&folder, model, "tokenizer.json");
    ocelli_model *first = open_model(model, OCELLI_QUANT_Q8);
    ocelli_model *again = open_model(folder.path, OCELLI_QUANT_Q8);
    expect_same(first, again);
    ocelli_model_close(first);
    ocelli_model_close(again);
    scratch_close(&folder);
}

Test(siblings, files_saved_again_are_the_same_model)
{
    check_saved_again(NEWER);
    check_saved_again(FIRST);
}

Test(siblings, a_missing_tensor_has_the_name_of_the_file)
{
    scratch folder = scratch_open();
    cJSON *tree = read_json(NEWER, "config.json");
    ocelli_error err = {.message = ""};
    ocelli_model *model;
    cJSON_SetNumberValue(cJSON_GetObjectItemCaseSensitive(tree, "num_hidden_layers"), 4);
    write_json(&folder, "config.json", tree);
    copy_file(&folder, NEWER, "model.safetensors");
    copy_file(&folder, NEWER, "preprocessor_config.json");
    copy_file(&folder, NEWER, "generation_config.json");
    copy_file(&folder, NEWER, "tokenizer.json");
    cr_assert_eq(ocelli_model_open(&model, folder.path, NULL, &err), OCELLI_E_FORMAT);
    cr_assert_not_null(strstr(err.message, "no tensor \"model.layers.3."), "%s", err.message);
    cJSON_Delete(tree);
    scratch_close(&folder);
}

/* ---- packages -------------------------------------------------------------------------------- */

static void check_package(const char *model, ocelli_vision vision)
{
    scratch around = scratch_open(), folder;
    ocelli_error err = {.message = ""};
    ocelli_pack_options options = OCELLI_PACK_OPTIONS_INIT;
    ocelli_model_options open_options = OCELLI_MODEL_OPTIONS_INIT;
    ocelli_model *source;
    options.vision = open_options.vision = vision;
    options.quant = open_options.quant = OCELLI_QUANT_Q4;
    open_options.threads = 2;
    snprintf(folder.path, sizeof folder.path, "%.240s/package", around.path);
    cr_assert_eq(ocelli_pack(model, folder.path, &options, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(ocelli_model_open(&source, model, &open_options, &err), OCELLI_OK);
    ocelli_model *package = open_model(folder.path, OCELLI_QUANT_DEFAULT);
    cr_assert(package->packaged);
    expect_same(source, package);
    ocelli_model_close(source);
    ocelli_model_close(package);
    scratch_close(&folder);
    scratch_close(&around);
}

Test(siblings, packages_see_and_say_the_same)
{
    static const ocelli_vision forms[] = {OCELLI_VISION_BF16, OCELLI_VISION_Q8};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        check_package(NEWER, forms[i]);
        check_package(MODELS "q25b_sharded_bf16", forms[i]);
        check_package(FIRST, forms[i]);
    }
}

/* ---- conversations --------------------------------------------------------------------------- */

static ocelli_visual *watch(ocelli_model *model, const double *seconds, double rate,
                            ocelli_status wanted)
{
    enum { FRAMES = 6, SIDE = 56 };
    static uint8_t rgb[SIDE * SIDE * 3];
    ocelli_image *frames[FRAMES];
    ocelli_visual *clip;
    ocelli_error err = {.message = ""};
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    options.frames_per_second = rate;
    for (int i = 0; i < FRAMES; i++) {
        memset(rgb, 40 * i, sizeof rgb);
        cr_assert_eq(ocelli_image_from_rgb(&frames[i], rgb, SIDE, SIDE, SIDE * 3, NULL), OCELLI_OK);
    }
    cr_assert_eq(ocelli_encode_video(&clip, model, (const ocelli_image *const *)frames, seconds,
                                     FRAMES, &options, &err),
                 wanted, "%s", err.message);
    for (int i = 0; i < FRAMES; i++) {
        ocelli_image_free(frames[i]);
    }
    return clip;
}

/* Three pairs of 2 x 2 cells of one clip: at 2 fps a pair is a second, which is two positions. */
Test(siblings, time_passes_at_the_rate_of_the_frames)
{
    static const double seconds[] = {0, 0.5, 1, 1.5, 2, 2.5}, long_ones[] = {0, 1, 2, 3, 4, 1e9};
    ocelli_model *model = open_model(NEWER, OCELLI_QUANT_Q8);
    ocelli_visual *told = watch(model, seconds, 2, OCELLI_OK);
    ocelli_visual *found = watch(model, seconds, 0, OCELLI_OK);
    ocelli_visual *slow = watch(model, seconds, 0.4, OCELLI_OK);
    cr_assert_arr_eq(told->times, ((int32_t[]){0, 2, 4}), 3 * sizeof(int32_t));
    cr_assert_arr_eq(found->times, ((int32_t[]){0, 2, 4}), 3 * sizeof(int32_t));
    cr_assert_arr_eq(slow->times, ((int32_t[]){0, 10, 20}), 3 * sizeof(int32_t));
    cr_assert(oc_hash_equal(told->medium.identity, found->medium.identity));
    /* The same frames at another rate stand at other positions: the cache must not take them. */
    cr_assert_not(oc_hash_equal(told->medium.identity, slow->medium.identity));
    watch(model, seconds, -1, OCELLI_E_ARGUMENT);
    watch(model, seconds, NAN, OCELLI_E_ARGUMENT);
    watch(model, seconds, INFINITY, OCELLI_E_ARGUMENT);
    watch(model, seconds, 1e-30, OCELLI_E_LIMIT);
    watch(model, long_ones, 0, OCELLI_E_LIMIT);
    ocelli_visual_free(told);
    ocelli_visual_free(found);
    ocelli_visual_free(slow);
    ocelli_model_close(model);

    model = open_model(FIRST, OCELLI_QUANT_Q8); /* counts pairs, whatever the rate */
    slow = watch(model, seconds, 0.4, OCELLI_OK);
    cr_assert_arr_eq(slow->times, ((int32_t[]){0, 1, 2}), 3 * sizeof(int32_t));
    ocelli_visual_free(slow);
    ocelli_model_close(model);
}

Test(siblings, pictures_and_system_messages_stand_anywhere)
{
    ocelli_model *model = open_model(NEWER, OCELLI_QUANT_Q8);
    ocelli_visual *visual = see(model);
    ocelli_session *session;
    ocelli_error err = {.message = ""};
    ocelli_result result = {.struct_size = sizeof result};
    ocelli_generate_options how = OCELLI_GENERATE_OPTIONS_INIT;
    const ocelli_part parts[2] = {{.visual = visual}, {.text = "look"}};
    how.max_tokens = 2;
    cr_assert_eq(ocelli_session_open(&session, model, NULL, &err), OCELLI_OK);
    cr_assert_eq(ocelli_session_add(session, OCELLI_USER, parts + 1, 1, &err), OCELLI_OK);
    cr_assert_eq(ocelli_session_add(session, OCELLI_SYSTEM, parts, 2, &err), OCELLI_OK, "%s",
                 err.message);
    cr_assert_eq(ocelli_session_add(session, OCELLI_ASSISTANT, parts, 2, &err), OCELLI_OK);
    cr_assert_eq(ocelli_session_add(session, OCELLI_USER, parts + 1, 1, &err), OCELLI_OK);
    cr_assert_eq(ocelli_session_generate(session, &how, NULL, NULL, &result, &err), OCELLI_OK, "%s",
                 err.message);
    size_t tokens = oc_medium_tokens(&visual->medium);
    cr_assert_gt(result.prompt_tokens, 2 * tokens);
    ocelli_session_close(session);
    ocelli_visual_free(visual);
    ocelli_model_close(model);
}
