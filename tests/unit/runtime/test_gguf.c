/* GGUF models against the checkpoints they were made from: weights, configuration, tokenizer,
 * logits; packages of them; folders; what a text model without its vision file does. */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64
#include "runtime/base/file.h"
#include "runtime/kernels/half.h"
#include "runtime/session.h"
#include "runtime/source.h"
#include "runtime/weights/gguf_names.h"
#include "tests/unit/runtime/gguf_writer.h"

#include <criterion/criterion.h>
#include <math.h>
#include <sys/stat.h>

#define GOLDEN OCELLI_TEST_DATA "/golden/"
#define GGUF GOLDEN "gguf/models/"

static ocelli_model *open_model(const char *path, const char *vision, ocelli_quant quant)
{
    ocelli_error err;
    ocelli_model *model;
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.quant = quant;
    options.threads = 2;
    options.mmproj = vision;
    cr_assert_eq(ocelli_model_open(&model, path, &options, &err), OCELLI_OK, "%s", err.message);
    return model;
}

/* The logits of the first token after a picture and a question, [vocab]; the answer's text. */
static float *first_logits(ocelli_model *model, size_t tokens, char answer[256])
{
    ocelli_error err;
    ocelli_image *image;
    ocelli_visual *visual;
    ocelli_session *session;
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    options.max_tokens = tokens;
    options.stop_repetition = 0;
    cr_assert_eq(ocelli_image_load(&image, GOLDEN "qwen3vl/media/odd77x91.png", NULL, &err),
                 OCELLI_OK);
    /* Pixel limits are not in the files. */
    ocelli_visual_options size = OCELLI_VISUAL_OPTIONS_INIT;
    size.min_pixels = 4096;
    size.max_pixels = 16384;
    cr_assert_eq(ocelli_encode_image(&visual, model, image, &size, &err), OCELLI_OK, "%s",
                 err.message);
    cr_assert_eq(ocelli_session_open(&session, model, NULL, &err), OCELLI_OK, "%s", err.message);
    const ocelli_part parts[2] = {{.visual = visual}, {.text = "What do you see?"}};
    cr_assert_eq(ocelli_session_add(session, OCELLI_USER, parts, 2, &err), OCELLI_OK);
    cr_assert_eq(ocelli_session_generate(session, &options, NULL, NULL, NULL, &err), OCELLI_OK,
                 "%s", err.message);
    snprintf(answer, 256, "%s", session->answer.data != NULL ? session->answer.data : "");
    size_t bytes = model->config.decoder.vocab * sizeof(float);
    float *logits = malloc(bytes);
    cr_assert_not_null(logits);
    memcpy(logits, session->logits, bytes);
    ocelli_session_close(session);
    ocelli_visual_free(visual);
    ocelli_image_free(image);
    return logits;
}

static void compare_answers(ocelli_model *a, ocelli_model *b, double tolerance)
{
    char left[256], right[256];
    size_t vocab = a->config.decoder.vocab;
    cr_assert_eq(b->config.decoder.vocab, vocab);
    float *x = first_logits(a, 8, left), *y = first_logits(b, 8, right);
    for (size_t i = 0; i < vocab; i++) {
        cr_assert(fabs((double)x[i] - (double)y[i]) <= tolerance, "logit %zu: %g, %g", i,
                  (double)x[i], (double)y[i]);
    }
    cr_assert_str_eq(left, right);
    free(x);
    free(y);
}

/* Every tensor that the towers may ask for, to the bit. */
static void compare_weights(const oc_weights *ours, const oc_weights *theirs)
{
    const char *name;
    oc_tensor want, got;
    size_t compared = 0;
    for (size_t i = 0; oc_weights_at(theirs, i, &name, &want); i++) {
        size_t count = 1;
        if (!oc_weights_find(ours, name, &got, NULL)) {
            continue;
        }
        cr_assert_eq(got.rank, want.rank, "%s", name);
        for (int axis = 0; axis < want.rank; axis++) {
            cr_assert_eq(got.shape[axis], want.shape[axis], "%s", name);
            count *= (size_t)want.shape[axis];
        }
        float *x = malloc(count * sizeof *x), *y = malloc(count * sizeof *y);
        oc_tensor_widen(&got, 0, count, x);
        oc_tensor_widen(&want, 0, count, y);
        cr_assert_eq(memcmp(x, y, count * sizeof *x), 0, "%s", name);
        free(x);
        free(y);
        compared++;
    }
    cr_assert_eq(compared, oc_weights_count(theirs));
}

/* A configuration as bytes, without the pointers in it. */
static void compare_configs(const oc_config *ours, const oc_config *theirs)
{
    const oc_decoder_config *d = &ours->decoder, *e = &theirs->decoder;
    const oc_vit_config *v = &ours->vit, *u = &theirs->vit;
    const uint64_t left[] = {d->layers,
                             d->hidden,
                             d->heads,
                             d->kv_heads,
                             d->vocab,
                             d->head_dim,
                             d->context,
                             d->intermediate,
                             d->tied,
                             d->experts,
                             d->experts_per_token,
                             d->expert_intermediate,
                             oc_float_bits(d->rms_norm_eps),
                             (uint64_t)d->mrope.theta,
                             (uint64_t)d->mrope.sections[0],
                             (uint64_t)d->mrope.sections[1],
                             (uint64_t)d->mrope.sections[2],
                             d->mrope.interleaved,
                             d->attention_bias,
                             v->layers,
                             v->hidden,
                             v->heads,
                             v->intermediate,
                             v->out_hidden,
                             v->position_side,
                             v->head_dim,
                             v->tap_count,
                             v->taps[0],
                             v->taps[1],
                             v->taps[2],
                             (uint64_t)v->patch.patch_size,
                             (uint64_t)v->patch.merge_size,
                             (uint64_t)v->patch.temporal_patch_size,
                             (uint64_t)ours->pads.image,
                             (uint64_t)ours->pads.video,
                             (uint64_t)ours->eos[0],
                             (uint64_t)ours->min_frames,
                             (uint64_t)ours->max_frames};
    const uint64_t right[] = {e->layers,
                              e->hidden,
                              e->heads,
                              e->kv_heads,
                              e->vocab,
                              e->head_dim,
                              e->context,
                              e->intermediate,
                              e->tied,
                              e->experts,
                              e->experts_per_token,
                              e->expert_intermediate,
                              oc_float_bits(e->rms_norm_eps),
                              (uint64_t)e->mrope.theta,
                              (uint64_t)e->mrope.sections[0],
                              (uint64_t)e->mrope.sections[1],
                              (uint64_t)e->mrope.sections[2],
                              e->mrope.interleaved,
                              e->attention_bias,
                              u->layers,
                              u->hidden,
                              u->heads,
                              u->intermediate,
                              u->out_hidden,
                              u->position_side,
                              u->head_dim,
                              u->tap_count,
                              u->taps[0],
                              u->taps[1],
                              u->taps[2],
                              (uint64_t)u->patch.patch_size,
                              (uint64_t)u->patch.merge_size,
                              (uint64_t)u->patch.temporal_patch_size,
                              (uint64_t)theirs->pads.image,
                              (uint64_t)theirs->pads.video,
                              (uint64_t)theirs->eos[0],
                              (uint64_t)theirs->min_frames,
                              (uint64_t)theirs->max_frames};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        cr_assert_eq(left[i], right[i], "number %zu: %llu, %llu", i, (unsigned long long)left[i],
                     (unsigned long long)right[i]);
    }
    cr_assert_eq(memcmp(v->patch.mean, u->patch.mean, sizeof v->patch.mean), 0);
    cr_assert_eq(memcmp(v->patch.deviation, u->patch.deviation, sizeof v->patch.deviation), 0);
}

/* The files keep no limits: they are those of the released models' preprocessor_config.json and
 * video_preprocessor_config.json. */
static void check_released_limits(const oc_config *config)
{
    cr_assert_eq(config->image_size.min_pixels, 65536);
    cr_assert_eq(config->image_size.max_pixels, 16777216);
    cr_assert_eq(config->video_size.min_pixels, 4096);
    cr_assert_eq(config->video_size.max_pixels, 25165824);
    cr_assert_eq(config->video_fps, 2.0);
    cr_assert_eq(config->min_frames, 4);
    cr_assert_eq(config->max_frames, 768);
}

static void compare_tokenizers(const oc_bpe *ours, const oc_bpe *theirs)
{
    cr_assert_eq(oc_bpe_size(ours), oc_bpe_size(theirs));
    for (int32_t id = 0; (size_t)id < oc_bpe_size(ours); id++) {
        size_t left, right;
        const char *a = oc_bpe_bytes(ours, id, &left), *b = oc_bpe_bytes(theirs, id, &right);
        cr_assert_eq(left, right, "id %d", id);
        cr_assert_eq(memcmp(a, b, left), 0, "id %d", id);
    }
}

/* ---- the same model -------------------------------------------------------------------------- */

Test(gguf, weights_configuration_and_tokenizer_are_the_checkpoints)
{
    ocelli_model *ours =
        open_model(GGUF "t1-f32.gguf", GGUF "mmproj-t1-f32.gguf", OCELLI_QUANT_F32);
    ocelli_model *theirs = open_model(GOLDEN "qwen3vl/models/t1_f32", NULL, OCELLI_QUANT_F32);
    compare_weights(ours->decoder_files, theirs->decoder_files);
    compare_configs(&ours->config, &theirs->config);
    compare_tokenizers(ours->bpe, theirs->bpe);
    compare_answers(ours, theirs, 0);
    ocelli_model_close(ours);
    ocelli_model_close(theirs);
}

Test(gguf, configuration_of_quantised_files)
{
    ocelli_model *ours =
        open_model(GGUF "t5-q4_K_M.gguf", GGUF "mmproj-t5-f16.gguf", OCELLI_QUANT_DEFAULT);
    ocelli_model *theirs = open_model(GGUF "t5_bf16", NULL, OCELLI_QUANT_DEFAULT);
    ocelli_model_info info = {.struct_size = sizeof info};
    compare_configs(&ours->config, &theirs->config);
    compare_tokenizers(ours->bpe, theirs->bpe);
    ocelli_model_describe(ours, &info);
    cr_assert_str_eq(info.form, "gguf");
    cr_assert_str_eq(info.embed_dtype, "q6_K");
    cr_assert_eq(info.quant, OCELLI_QUANT_Q8);
    cr_assert_eq(info.vision, OCELLI_VISION_BF16);
    ocelli_model_close(ours);
    ocelli_model_close(theirs);
}

/* As the converter writes them: dense and untied, and of experts, whose fused tensors are taken
 * apart and turned; beyond 4 GiB of a file that is mostly a hole. */
static void compare_written(const char *checkpoint, uint64_t hole)
{
    char text[SCRATCH_PATH], vision[SCRATCH_PATH];
    scratch folder = scratch_open();
    scratch_path(&folder, "text.gguf", text);
    scratch_path(&folder, "mmproj.gguf", vision);
    write_gguf_pair(checkpoint, text, vision, hole);
    ocelli_model *ours = open_model(text, vision, OCELLI_QUANT_F32);
    ocelli_model *theirs = open_model(checkpoint, NULL, OCELLI_QUANT_F32);
    compare_configs(&ours->config, &theirs->config);
    compare_tokenizers(ours->bpe, theirs->bpe);
    compare_answers(ours, theirs, 0);
    ocelli_model_close(ours);
    ours = open_model(text, vision, OCELLI_QUANT_Q4);
    ocelli_model_close(theirs);
    theirs = open_model(checkpoint, NULL, OCELLI_QUANT_Q4);
    compare_answers(ours, theirs, 0);
    ocelli_model_close(ours);
    ocelli_model_close(theirs);
    scratch_close(&folder);
}

Test(gguf, written_dense)
{
    compare_written(GOLDEN "qwen3vl/models/t2_sharded_bf16", 0);
}

Test(gguf, written_experts)
{
    compare_written(GOLDEN "qwen3vl/models/t3_bf16", 0);
}

Test(gguf, written_beyond_4_GiB)
{
    compare_written(GOLDEN "qwen3vl/models/t2_sharded_bf16", UINT64_C(5) << 30);
}

/* ---- the sample model in three forms --------------------------------------------------------- */

/* A greedy answer about a sample picture, sized by the checkpoint's rule: GGUF files do not tell it. */
static void describe_sample(ocelli_model *model, const char *picture, char answer[256])
{
    ocelli_error err;
    ocelli_image *image;
    ocelli_visual *visual;
    ocelli_session *session;
    ocelli_visual_options sizes = OCELLI_VISUAL_OPTIONS_INIT;
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    char path[512];
    sizes.min_pixels = 9216;
    sizes.max_pixels = 20480;
    options.max_tokens = 24;
    snprintf(path, sizeof path, OCELLI_SAMPLES "/pictures/%s", picture);
    cr_assert_eq(ocelli_image_load(&image, path, NULL, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(ocelli_encode_image(&visual, model, image, &sizes, &err), OCELLI_OK);
    cr_assert_eq(ocelli_session_open(&session, model, NULL, &err), OCELLI_OK);
    const ocelli_part parts[] = {{.visual = visual}, {.text = "Describe this image."}};
    cr_assert_eq(ocelli_session_add(session, OCELLI_USER, parts, 2, &err), OCELLI_OK);
    cr_assert_eq(ocelli_session_generate(session, &options, NULL, NULL, NULL, &err), OCELLI_OK,
                 "%s", err.message);
    snprintf(answer, 256, "%s", session->answer.data != NULL ? session->answer.data : "");
    ocelli_session_close(session);
    ocelli_visual_free(visual);
    ocelli_image_free(image);
}

/* From the checkpoint, from a package of it, from GGUF files of it, and from a package of those: the same
 * words about every sample picture. */
Test(gguf, sample_pictures)
{
    static const char *const pictures[] = {"picture01.png", "picture02.png", "picture03.jpg",
                                           "picture04.png", "picture05.png", "picture06.jpg",
                                           "picture07.png", "picture08.png", "picture09.jpg",
                                           "picture10.png", "picture11.png", "picture12.jpg"};
    enum { FORMS = 4 };
    char text[SCRATCH_PATH], vision[SCRATCH_PATH], packages[2][SCRATCH_PATH];
    ocelli_error err;
    ocelli_pack_options options = OCELLI_PACK_OPTIONS_INIT;
    ocelli_model *models[FORMS];
    scratch folder = scratch_open();
    scratch_path(&folder, "text.gguf", text);
    scratch_path(&folder, "mmproj.gguf", vision);
    scratch_path(&folder, "one", packages[0]);
    scratch_path(&folder, "two", packages[1]);
    write_gguf_pair(OCELLI_SAMPLES "/model", text, vision, 0);
    options.quant = OCELLI_QUANT_Q8;
    cr_assert_eq(ocelli_pack(OCELLI_SAMPLES "/model", packages[0], &options, &err), OCELLI_OK);
    options.mmproj = vision;
    cr_assert_eq(ocelli_pack(text, packages[1], &options, &err), OCELLI_OK, "%s", err.message);
    models[0] = open_model(OCELLI_SAMPLES "/model", NULL, OCELLI_QUANT_Q8);
    models[1] = open_model(packages[0], NULL, OCELLI_QUANT_DEFAULT);
    models[2] = open_model(text, vision, OCELLI_QUANT_Q8);
    models[3] = open_model(packages[1], NULL, OCELLI_QUANT_DEFAULT);
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
        char answers[FORMS][256];
        for (int form = 0; form < FORMS; form++) {
            describe_sample(models[form], pictures[i], answers[form]);
            cr_assert_str_eq(answers[form], answers[0], "%s, form %d", pictures[i], form);
        }
        cr_assert_gt(strlen(answers[0]), 8);
    }
    for (int form = 0; form < FORMS; form++) {
        ocelli_model_close(models[form]);
    }
    for (int i = 0; i < 2; i++) {
        scratch package;
        snprintf(package.path, sizeof package.path, "%.200s", packages[i]);
        scratch_close(&package);
    }
    scratch_close(&folder);
}

/* ---- packages and folders -------------------------------------------------------------------- */

static void compare_package(const char *text, const char *vision, ocelli_quant quant)
{
    char package[SCRATCH_PATH];
    ocelli_error err;
    ocelli_pack_options options = OCELLI_PACK_OPTIONS_INIT;
    scratch folder = scratch_open();
    scratch parent = folder;
    int length = snprintf(folder.path, sizeof folder.path, "%.200s/package", parent.path);
    cr_assert_lt(length, 200);
    snprintf(package, sizeof package, "%s", folder.path);
    options.quant = quant;
    options.mmproj = vision;
    cr_assert_eq(ocelli_pack(text, package, &options, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(ocelli_verify(package, NULL, NULL, &err), OCELLI_OK, "%s", err.message);
    ocelli_model *packed = open_model(package, NULL, OCELLI_QUANT_DEFAULT);
    ocelli_model *plain = open_model(text, vision, quant);
    compare_configs(&packed->config, &plain->config);
    check_released_limits(&packed->config);
    check_released_limits(&plain->config);
    compare_tokenizers(packed->bpe, plain->bpe);
    compare_answers(packed, plain, 0);
    /* The table is the widened one, whatever the file's blocks. */
    cr_assert_eq(oc_embed_table_dtype(packed->table), OC_F32);
    ocelli_model_close(packed);
    ocelli_model_close(plain);
    scratch_close(&folder);
    scratch_close(&parent);
}

Test(gguf, package_of_blocks)
{
    compare_package(GGUF "t5-q4_K_M.gguf", GGUF "mmproj-t5-f16.gguf", OCELLI_QUANT_Q8);
    compare_package(GGUF "t1-q4_0.gguf", GGUF "mmproj-t1-f32.gguf", OCELLI_QUANT_Q4);
}

Test(gguf, package_of_floats)
{
    compare_package(GGUF "t1-mix.gguf", GGUF "mmproj-t1-f32.gguf", OCELLI_QUANT_F32);
}

static void link_into(const scratch *folder, const char *from, const char *name)
{
    char to[SCRATCH_PATH];
    cr_assert_eq(symlink(from, scratch_path(folder, name, to)), 0);
}

static ocelli_status try_open(const char *path, const char *vision, int needs_vision,
                              ocelli_error *err)
{
    ocelli_model *model;
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.threads = 1;
    options.mmproj = vision;
    options.needs_vision = needs_vision;
    ocelli_status status = ocelli_model_open(&model, path, &options, err);
    ocelli_model_close(model);
    return status;
}

Test(gguf, folders)
{
    ocelli_error err = {0};
    scratch folder = scratch_open();
    link_into(&folder, GGUF "t5-q6_K.gguf", "text.gguf");
    cr_assert_eq(try_open(folder.path, NULL, 0, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(try_open(folder.path, NULL, 1, &err), OCELLI_E_ARGUMENT);
    cr_assert_eq(try_open(folder.path, GGUF "mmproj-t5-f16.gguf", 1, &err), OCELLI_OK, "%s",
                 err.message);
    link_into(&folder, GGUF "mmproj-t5-f16.gguf", "vision.gguf"); /* told by what it holds */
    cr_assert_eq(try_open(folder.path, NULL, 1, &err), OCELLI_OK, "%s", err.message);
    link_into(&folder, GGUF "mmproj-t1-f32.gguf", "vision2.gguf");
    cr_assert_eq(try_open(folder.path, NULL, 0, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "several vision files"), "%s", err.message);
    cr_assert_eq(try_open(folder.path, GGUF "mmproj-t5-f16.gguf", 1, &err), OCELLI_OK, "%s",
                 err.message);
    link_into(&folder, GGUF "t1-f32.gguf", "text2.gguf");
    cr_assert_eq(try_open(folder.path, NULL, 0, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "several text models; give one of them by itself: "
                                           "text.gguf, text2.gguf"),
                       "%s", err.message);
    /* By itself: its one vision file is taken, of two that fit neither. */
    char path[SCRATCH_PATH];
    scratch_path(&folder, "text.gguf", path);
    cr_assert_eq(try_open(path, NULL, 1, &err), OCELLI_OK, "%s", err.message);
    link_into(&folder, "/nonexistent.gguf", "broken.gguf");
    cr_assert_eq(try_open(path, NULL, 1, &err), OCELLI_OK, "%s", err.message);
    link_into(&folder, GGUF "mmproj-t5-f16.gguf", "a.gguf");
    cr_assert_eq(try_open(path, NULL, 0, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(try_open(path, NULL, 1, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "(mmproj): a.gguf, vision.gguf"), "%s", err.message);
    scratch_close(&folder);
    folder = scratch_open();
    link_into(&folder, GGUF "mmproj-t5-f16.gguf", "vision.gguf");
    cr_assert_eq(try_open(folder.path, NULL, 0, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "no text model"), "%s", err.message);
    scratch_close(&folder);
}

/* ---- without a vision file ------------------------------------------------------------------- */

Test(gguf, a_text_model_reads_text)
{
    ocelli_error err = {0};
    ocelli_image *image;
    ocelli_visual *visual = NULL;
    ocelli_session *session;
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    ocelli_model_info info = {.struct_size = sizeof info};
    ocelli_memory memory = {.struct_size = sizeof memory};
    char path[SCRATCH_PATH];
    scratch folder = scratch_open();
    link_into(&folder, GGUF "t5-q6_K.gguf", "text.gguf");
    ocelli_model *model =
        open_model(scratch_path(&folder, "text.gguf", path), NULL, OCELLI_QUANT_DEFAULT);
    options.max_tokens = 3;
    ocelli_model_describe(model, &info);
    cr_assert_eq(info.vision_layers, 0);
    cr_assert_eq(info.vision_bytes, 0);
    cr_assert_eq(ocelli_memory_estimate(model, 512, 0, &memory, &err), OCELLI_OK);
    cr_assert_eq(ocelli_memory_estimate(model, 512, 10, &memory, &err), OCELLI_E_ARGUMENT);
    cr_assert_eq(ocelli_image_load(&image, GOLDEN "qwen3vl/media/odd77x91.png", NULL, &err),
                 OCELLI_OK);
    cr_assert_eq(ocelli_encode_image(&visual, model, image, NULL, &err), OCELLI_E_ARGUMENT);
    cr_assert_null(visual);
    cr_assert_not_null(strstr(err.message, "give its vision file too (mmproj"), "%s", err.message);
    ocelli_model_release_vision(model);
    const ocelli_part part = {.text = "Hello"};
    cr_assert_eq(ocelli_session_open(&session, model, NULL, &err), OCELLI_OK);
    cr_assert_eq(ocelli_session_add(session, OCELLI_USER, &part, 1, &err), OCELLI_OK);
    cr_assert_eq(ocelli_session_generate(session, &options, NULL, NULL, NULL, &err), OCELLI_OK,
                 "%s", err.message);
    ocelli_session_close(session);
    ocelli_image_free(image);
    ocelli_model_close(model);
    scratch_close(&folder);
}

Test(gguf, a_vision_file_belongs_to_a_text_model)
{
    ocelli_error err = {0};
    cr_assert_eq(try_open(GGUF "t5_bf16", GGUF "mmproj-t5-f16.gguf", 0, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "no GGUF text model"), "%s", err.message);
    cr_assert_eq(try_open(GGUF "t5-q6_K.gguf", "/nonexistent.gguf", 0, &err), OCELLI_E_IO);
    cr_assert_eq(try_open("/nonexistent.gguf", NULL, 0, &err), OCELLI_E_IO);
}

/* A file that became shorter is noticed before it is read: to read on would end the process. */
Test(gguf, a_file_that_shrinks)
{
    char path[SCRATCH_PATH];
    char *bytes;
    size_t size;
    ocelli_error err = {0};
    ocelli_session *session;
    const ocelli_part part = {.text = "Hello"};
    scratch folder = scratch_open();
    cr_assert_eq(oc_file_read(&bytes, &size, GGUF "t5-q6_K.gguf", (size_t)1 << 26, &err),
                 OCELLI_OK);
    scratch_write(&folder, "x.gguf", bytes, size);
    oc_free(bytes);
    ocelli_model *model =
        open_model(scratch_path(&folder, "x.gguf", path), NULL, OCELLI_QUANT_DEFAULT);
    cr_assert_eq(truncate(path, 20000), 0);
    cr_assert_eq(ocelli_session_open(&session, model, NULL, &err), OCELLI_OK);
    cr_assert_eq(ocelli_session_add(session, OCELLI_USER, &part, 1, &err), OCELLI_OK);
    cr_assert_eq(ocelli_session_generate(session, NULL, NULL, NULL, NULL, &err), OCELLI_E_IO);
    cr_assert_not_null(strstr(err.message, "x.gguf"), "%s", err.message);
    ocelli_session_close(session);
    ocelli_model_close(model);
    scratch_close(&folder);
}

/* ---- names ----------------------------------------------------------------------------------- */

Test(gguf, names)
{
    static const size_t blocks[] = {5, 11};
    static const oc_gguf_taps taps = {.blocks = blocks, .count = 2};
    static const char *const pairs[][2] = {
        {"token_embd.weight", "model.language_model.embed_tokens.weight"},
        {"output.weight", "lm_head.weight"},
        {"blk.0.attn_q.weight", "model.language_model.layers.0.self_attn.q_proj.weight"},
        {"blk.35.ffn_down.weight", "model.language_model.layers.35.mlp.down_proj.weight"},
        {"v.blk.26.attn_qkv.bias", "model.visual.blocks.26.attn.qkv.bias"},
        {"mm.2.bias", "model.visual.merger.linear_fc2.bias"},
        {"v.deepstack.11.fc1.weight", "model.visual.deepstack_merger_list.1.linear_fc1.weight"},
        {"v.deepstack.5.norm.bias", "model.visual.deepstack_merger_list.0.norm.bias"},
    };
    static const char *const strangers[] = {"blk.0.attn_q.scale",       "blk.01.attn_q.weight",
                                            "blk..attn_q.weight",       "blk.0.attn_q.weight2",
                                            "v.deepstack.6.norm.bias",  "",
                                            "blk.1234567.attn_q.weight"};
    char name[OC_GGUF_NAME_ROOM];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        cr_assert(oc_gguf_checkpoint_name(pairs[i][0], &taps, name));
        cr_assert_str_eq(name, pairs[i][1]);
        cr_assert(oc_gguf_file_name(pairs[i][1], &taps, name));
        cr_assert_str_eq(name, pairs[i][0]);
    }
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        cr_assert_not(oc_gguf_checkpoint_name(strangers[i], &taps, name), "%s", strangers[i]);
    }
}
