/* How the vision tower is held: each form from a checkpoint and out of a package, what the default is,
 * and what is refused. A package's rows are compared bit for bit with the checkpoint's in that form. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/base/memory.h"
#include "runtime/model.h"
#include "runtime/package.h"
#include "runtime/weights/weights_write.h"
#include "tests/unit/weights/scratch.h"
#include "tests/unit/weights/smaps.h"
#include "vision/vit_weights.h"

#include <math.h>

#define CHECKPOINT OCELLI_SAMPLES "/model"
#define PICTURE OCELLI_SAMPLES "/pictures/picture01.png"

static const ocelli_vision FORMS[] = {OCELLI_VISION_F32, OCELLI_VISION_BF16, OCELLI_VISION_Q8};
enum { FORM_COUNT = sizeof FORMS / sizeof *FORMS };

static ocelli_model_options options_of(ocelli_quant quant, ocelli_vision vision)
{
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.quant = quant;
    options.vision = vision;
    options.threads = 2;
    return options;
}

static ocelli_model *open_model(const char *directory, ocelli_quant quant, ocelli_vision vision)
{
    ocelli_error err = {.message = ""};
    ocelli_model *model;
    ocelli_model_options options = options_of(quant, vision);
    cr_assert_eq(ocelli_model_open(&model, directory, &options, &err), OCELLI_OK, "%s",
                 err.message);
    return model;
}

static void expect_refused(const char *directory, ocelli_quant quant, ocelli_vision vision,
                           ocelli_status wanted, const char *says)
{
    ocelli_error err = {.message = ""};
    ocelli_model *model;
    ocelli_model_options options = options_of(quant, vision);
    cr_assert_eq(ocelli_model_open(&model, directory, &options, &err), wanted, "%s", err.message);
    cr_assert_null(model);
    cr_assert_not_null(strstr(err.message, says), "%s", err.message);
}

static ocelli_vision held_as(const ocelli_model *model)
{
    ocelli_model_info info = {.struct_size = sizeof info};
    ocelli_model_describe(model, &info);
    return info.vision;
}

/* A package in a folder that goes away with it. */
typedef struct packed {
    scratch around, folder;
} packed;

static packed pack_sample(ocelli_quant quant, ocelli_vision vision)
{
    packed made = {.around = scratch_open()};
    ocelli_error err = {.message = ""};
    ocelli_pack_options options = OCELLI_PACK_OPTIONS_INIT;
    options.quant = quant;
    options.vision = vision;
    options.threads = 2;
    snprintf(made.folder.path, sizeof made.folder.path, "%.240s/package", made.around.path);
    cr_assert_eq(ocelli_pack(CHECKPOINT, made.folder.path, &options, &err), OCELLI_OK, "%s",
                 err.message);
    return made;
}

static void packed_close(packed *package)
{
    scratch_close(&package->folder);
    scratch_close(&package->around);
}

static ocelli_visual *encode(ocelli_model *model)
{
    ocelli_error err = {.message = ""};
    ocelli_image *image;
    ocelli_visual *visual;
    cr_assert_eq(ocelli_image_load(&image, PICTURE, NULL, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(ocelli_encode_image(&visual, model, image, NULL, &err), OCELLI_OK, "%s",
                 err.message);
    ocelli_image_free(image);
    return visual;
}

/* The largest distance of a row's values from another's, over the largest of them. */
static double distance(const ocelli_visual *a, const ocelli_visual *b)
{
    size_t tokens, width, other_tokens, other_width;
    const float *x = ocelli_visual_rows(a, &tokens, &width);
    const float *y = ocelli_visual_rows(b, &other_tokens, &other_width);
    double most = 0, off = 0;
    cr_assert_eq(tokens, other_tokens);
    cr_assert_eq(width, other_width);
    for (size_t i = 0; i < tokens * width; i++) {
        most = fmax(most, fabs((double)x[i]));
        off = fmax(off, fabs((double)x[i] - (double)y[i]));
    }
    cr_assert_gt(most, 0.1);
    return off / most;
}

/* Every form: the matrices are of it, a package of it opens as it and without work, its rows are the
 * checkpoint's, and they are near the reference's in the order of the forms. */
Test(vision_forms, a_package_sees_as_its_checkpoint_does)
{
    static const oc_format formats[FORM_COUNT] = {OC_FORMAT_F32, OC_FORMAT_BF16, OC_FORMAT_Q8};
    static const double most_off[FORM_COUNT] = {0, 0.03, 0.15};
    ocelli_model *reference = open_model(CHECKPOINT, OCELLI_QUANT_F32, OCELLI_VISION_DEFAULT);
    ocelli_visual *wanted = encode(reference);
    uint64_t bytes[FORM_COUNT];
    for (size_t i = 0; i < FORM_COUNT; i++) {
        packed package = pack_sample(OCELLI_QUANT_Q4, FORMS[i]);
        ocelli_model *source = open_model(CHECKPOINT, OCELLI_QUANT_Q4, FORMS[i]);
        ocelli_model *model = open_model(package.folder.path, OCELLI_QUANT_Q4, FORMS[i]);
        cr_assert_eq(held_as(source), FORMS[i]);
        cr_assert_eq(held_as(model), FORMS[i]);
        for (int which = 0; which < 2; which++) {
            const oc_vit *vit = which == 0 ? source->vit : model->vit;
            cr_assert_eq(vit->blocks[0].qkv.format, formats[i]);
            cr_assert_eq(vit->blocks[0].fc2.format, formats[i]);
            cr_assert_eq(vit->merger.fc1.format, formats[i]);
            cr_assert_eq(vit->tap_mergers[0].fc2.format, formats[i]);
            cr_assert_eq(vit->positions.format, OC_FORMAT_F32);
            cr_assert_eq(vit->patch_embed.format, i == 0 ? OC_FORMAT_F32 : OC_FORMAT_BF16);
        }
        cr_assert_eq(oc_loader_owned_bytes(model->vision_loader), 0, "the package is mapped");
        bytes[i] = oc_loader_bytes(model->vision_loader);
        cr_assert_eq(bytes[i], oc_loader_bytes(source->vision_loader));

        ocelli_visual *theirs = encode(source), *ours = encode(model);
        cr_assert_eq(distance(theirs, ours), 0.0, "%s", ocelli_vision_name(FORMS[i]));
        double off = distance(wanted, ours);
        cr_assert_leq(off, most_off[i], "%s: %g", ocelli_vision_name(FORMS[i]), off);
        cr_assert(i == 0 || off > 0);
        ocelli_visual_free(theirs);
        ocelli_visual_free(ours);
        ocelli_model_close(source);
        ocelli_model_close(model);
        packed_close(&package);
    }
    cr_assert_lt(bytes[1], bytes[0] * 6 / 10);
    cr_assert_lt(bytes[2], bytes[1] * 6 / 10);
    ocelli_visual_free(wanted);
    ocelli_model_close(reference);
}

/* bf16, but the reference path is exact everywhere; a package: as packed. */
Test(vision_forms, defaults)
{
    static const struct {
        ocelli_quant quant;
        ocelli_vision asked, held;
    } cases[] = {
        {OCELLI_QUANT_DEFAULT, OCELLI_VISION_DEFAULT, OCELLI_VISION_BF16},
        {OCELLI_QUANT_Q4, OCELLI_VISION_DEFAULT, OCELLI_VISION_BF16},
        {OCELLI_QUANT_F32, OCELLI_VISION_DEFAULT, OCELLI_VISION_F32},
        {OCELLI_QUANT_F32, OCELLI_VISION_Q8, OCELLI_VISION_Q8},
        {OCELLI_QUANT_Q8, OCELLI_VISION_F32, OCELLI_VISION_F32},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ocelli_model *model = open_model(CHECKPOINT, cases[i].quant, cases[i].asked);
        cr_assert_eq(held_as(model), cases[i].held, "%zu", i);
        ocelli_model_close(model);
        packed package = pack_sample(cases[i].quant, cases[i].asked);
        model = open_model(package.folder.path, OCELLI_QUANT_DEFAULT, OCELLI_VISION_DEFAULT);
        cr_assert_eq(held_as(model), cases[i].held, "%zu", i);
        ocelli_model_close(model);
        packed_close(&package);
    }
}

Test(vision_forms, names)
{
    ocelli_vision found;
    for (size_t i = 0; i < FORM_COUNT; i++) {
        cr_assert_eq(ocelli_vision_from_name(ocelli_vision_name(FORMS[i]), &found), 0);
        cr_assert_eq(found, FORMS[i]);
    }
    cr_assert_str_eq(ocelli_vision_name(OCELLI_VISION_DEFAULT), "default");
    cr_assert_str_eq(ocelli_vision_name((ocelli_vision)77), "unknown");
    cr_assert_eq(ocelli_vision_from_name("q4", &found), -1);
    cr_assert_eq(ocelli_vision_from_name("", &found), -1);
}

Test(vision_forms, what_cannot_be_is_refused)
{
    ocelli_error err = {.message = ""};
    expect_refused(CHECKPOINT, OCELLI_QUANT_Q4, (ocelli_vision)4, OCELLI_E_ARGUMENT,
                   "vision: 4 is not one of default, f32, bf16, q8");
    ocelli_pack_options options = OCELLI_PACK_OPTIONS_INIT;
    options.vision = (ocelli_vision)4;
    cr_assert_eq(ocelli_pack(CHECKPOINT, "nowhere/at/all", &options, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "vision: 4 is not known"), "%s", err.message);

    packed package = pack_sample(OCELLI_QUANT_Q4, OCELLI_VISION_Q8);
    const char *path = package.folder.path;
    expect_refused(path, OCELLI_QUANT_DEFAULT, OCELLI_VISION_BF16, OCELLI_E_ARGUMENT,
                   "its vision tower is packed as q8, so it cannot be opened as bf16");
    expect_refused(path, OCELLI_QUANT_F32, OCELLI_VISION_DEFAULT, OCELLI_E_ARGUMENT,
                   "packed as q4, so it cannot be opened as f32");

    /* A manifest that says something else than the file. */
    oc_manifest manifest;
    cr_assert_eq(oc_manifest_read(&manifest, path, &err), OCELLI_OK, "%s", err.message);
    manifest.vision = OCELLI_VISION_BF16;
    cr_assert_eq(oc_manifest_write(&manifest, path, &err), OCELLI_OK);
    expect_refused(path, OCELLI_QUANT_DEFAULT, OCELLI_VISION_DEFAULT, OCELLI_E_FORMAT,
                   "manifest.json says bf16, but vision.safetensors holds \"q8 576 192\"");
    cr_assert_eq(ocelli_verify(path, NULL, NULL, &err), OCELLI_E_FORMAT);
    cr_assert_not_null(strstr(err.message, "says bf16"), "%s", err.message);
    packed_close(&package);
}

/* Replaces the first occurrence of a text of the manifest by another of the same length. */
static void edit_manifest(const packed *package, const char *from, const char *to)
{
    char path[SCRATCH_PATH];
    char *text;
    size_t size;
    scratch_path(&package->folder, OC_PACKAGE_MANIFEST, path);
    cr_assert_eq(oc_file_read(&text, &size, path, 1 << 20, NULL), OCELLI_OK);
    char *at = strstr(text, from);
    cr_assert_not_null(at);
    cr_assert_eq(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
    scratch_write(&package->folder, OC_PACKAGE_MANIFEST, text, size);
    oc_free(text);
}

/* Writes a tensor of zeros as a package holds it; on the second pass, its bytes. */
static void put_zeros(oc_weights_writer *writer, int pass, const char *name, oc_format format,
                      size_t rows, size_t cols)
{
    static const unsigned char zeros[1 << 20];
    ocelli_error err = {.message = ""};
    size_t bytes = cols * sizeof(float);
    char note[64];
    cr_assert(rows == 0 || oc_matrix_bytes(format, rows, cols, &bytes));
    cr_assert_leq(bytes, sizeof zeros);
    const int64_t count[1] = {rows == 0 ? (int64_t)cols : (int64_t)bytes};
    ocelli_status status = OCELLI_OK;
    if (pass == 1) {
        status = oc_weights_writer_data(writer, name, zeros, bytes, &err);
    } else if (rows == 0) {
        status = oc_weights_writer_announce(writer, name, OC_F32, 1, count, &err);
    } else {
        snprintf(note, sizeof note, "%s %zu %zu", oc_format_name(format), rows, cols);
        cr_assert_eq(oc_weights_writer_metadata(writer, name, note, &err), OCELLI_OK);
        status = oc_weights_writer_announce(writer, name, OC_U8, 1, count, &err);
    }
    cr_assert_eq(status, OCELLI_OK, "%s", err.message);
}

/* The position table is read as floats: a package that holds it in another form, sound in itself, is
 * refused before anyone reads beyond its end. */
Test(vision_forms, positions_in_another_form)
{
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    ocelli_error err = {.message = ""};
    oc_weights_writer *writer;
    oc_weights *weights;
    oc_loader *loader;
    oc_vit *vit;
    uint64_t size;
    oc_hash hash;
    ocelli_model *model = open_model(CHECKPOINT, OCELLI_QUANT_Q4, OCELLI_VISION_BF16);
    const oc_vit_config *config = &model->config.vit;
    scratch_path(&folder, "vision.safetensors", path);
    cr_assert_eq(oc_weights_writer_open(&writer, path, &err), OCELLI_OK);
    for (int pass = 0; pass < 2; pass++) {
        put_zeros(writer, pass, OC_VIT_PREFIX "patch_embed.proj.weight", OC_FORMAT_BF16,
                  config->hidden, oc_vit_patch_values(config));
        put_zeros(writer, pass, OC_VIT_PREFIX "patch_embed.proj.bias", OC_FORMAT_F32, 0,
                  config->hidden);
        put_zeros(writer, pass, OC_VIT_PREFIX "pos_embed.weight", OC_FORMAT_Q8,
                  config->position_side * config->position_side, config->hidden);
    }
    cr_assert_eq(oc_weights_writer_finish(writer, &size, &hash, &err), OCELLI_OK);
    oc_weights_writer_close(writer);
    cr_assert_eq(oc_weights_open_file(&weights, path, &err), OCELLI_OK, "%s", err.message);
    oc_loader_options options = {.weights = weights, .format = OC_FORMAT_BF16};
    cr_assert_eq(oc_loader_open(&loader, &options, &err), OCELLI_OK);
    cr_assert_eq(oc_vit_load(&vit, config, loader, &err), OCELLI_E_FORMAT);
    cr_assert_null(vit);
    cr_assert_not_null(strstr(err.message, "pos_embed.weight\" is held as q8 and must be f32"),
                       "%s", err.message);
    oc_loader_close(loader);
    oc_weights_close(weights);
    ocelli_model_close(model);
    scratch_close(&folder);
}

/* A package of before says what to do, and so does one that names a form of the future. */
Test(vision_forms, other_versions)
{
    packed package = pack_sample(OCELLI_QUANT_Q4, OCELLI_VISION_BF16);
    const char *path = package.folder.path;
    edit_manifest(&package, "\"version\":\t2", "\"version\":\t1");
    expect_refused(path, OCELLI_QUANT_DEFAULT, OCELLI_VISION_DEFAULT, OCELLI_E_UNSUPPORTED,
                   "package version 1; this program reads version 2: pack the checkpoint again");
    edit_manifest(&package, "\"version\":\t1", "\"version\":\t2");
    edit_manifest(&package, "\"vision\":\t\"bf16\"", "\"vision\":\t\"bf17\"");
    expect_refused(path, OCELLI_QUANT_DEFAULT, OCELLI_VISION_DEFAULT, OCELLI_E_FORMAT,
                   "vision \"bf17\" is not known");
    packed_close(&package);
}

/* ---- giving the tower's memory back --------------------------------------------------------- */

Test(vision_forms, released_and_seen_again)
{
    packed package = pack_sample(OCELLI_QUANT_Q4, OCELLI_VISION_BF16);
    ocelli_model *model = open_model(package.folder.path, OCELLI_QUANT_Q4, OCELLI_VISION_BF16);
    const oc_matrix *matrix = &model->vit->blocks[0].fc1;
    smaps memory;
    ocelli_visual *first = encode(model);
    if (smaps_read(matrix->data, &memory)) {
        cr_assert_gt(memory.rss, 8000, "%lu KiB", memory.rss); /* of 11 MB */
        ocelli_model_release_vision(model);
        cr_assert(smaps_read(matrix->data, &memory));
        cr_assert_lt(memory.rss, 2000, "%lu KiB", memory.rss);
    }
    ocelli_model_release_vision(model);
    ocelli_visual *second = encode(model);
    cr_assert_eq(distance(first, second), 0.0);
    ocelli_visual_free(first);
    ocelli_visual_free(second);
    ocelli_model_close(model);
    ocelli_model_release_vision(NULL);

    /* Weights in memory of our own stay what they are. */
    model = open_model(CHECKPOINT, OCELLI_QUANT_Q4, OCELLI_VISION_BF16);
    first = encode(model);
    ocelli_model_release_vision(model);
    second = encode(model);
    cr_assert_eq(distance(first, second), 0.0);
    ocelli_visual_free(first);
    ocelli_visual_free(second);
    ocelli_model_close(model);
    packed_close(&package);
}

/* Pictures and answers take their scratch from the model, which keeps it. */
Test(vision_forms, scratch_is_kept)
{
    ocelli_error err = {.message = ""};
    ocelli_model *model = open_model(CHECKPOINT, OCELLI_QUANT_Q4, OCELLI_VISION_BF16);
    ocelli_session *session;
    const ocelli_part part = {.text = "What is it?"};
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    options.max_tokens = 2;
    cr_assert_null(model->scratch.base);
    const unsigned char *kept = NULL;
    for (int i = 0; i < 3; i++) {
        ocelli_visual_free(encode(model));
        cr_assert_eq(ocelli_session_open(&session, model, NULL, &err), OCELLI_OK);
        cr_assert_eq(ocelli_session_add(session, OCELLI_USER, &part, 1, &err), OCELLI_OK);
        cr_assert_eq(ocelli_session_generate(session, &options, NULL, NULL, NULL, &err), OCELLI_OK,
                     "%s", err.message);
        ocelli_session_close(session);
        cr_assert_not_null(model->scratch.base);
        cr_assert(i == 0 || model->scratch.base == kept);
        kept = model->scratch.base;
    }
    ocelli_model_close(model);
}

/* ---- progress ------------------------------------------------------------------------------ */

typedef struct told {
    uint64_t step;                        /* pairs of frames that go through a block together */
    uint64_t calls, last, total, stop_at; /* stop_at 0: never */
} told;

static int hear(void *user, const char *what, uint64_t done, uint64_t total)
{
    told *t = user;
    cr_assert_str_eq(what, "looking");
    cr_assert_eq(done, t->last + t->step);
    t->calls++;
    t->last = done;
    t->total = total;
    return done == t->stop_at;
}

/* Told of each of six blocks, which the three pairs of a small clip pass together; stopped after any
 * block, no other is begun. */
Test(vision_forms, progress_of_looking)
{
    enum { BLOCKS = 6, FRAMES = 5 };
    ocelli_error err = {.message = ""};
    ocelli_model *model = open_model(CHECKPOINT, OCELLI_QUANT_Q4, OCELLI_VISION_BF16);
    ocelli_image *image;
    ocelli_visual *visual;
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    const double seconds[FRAMES] = {0, 1, 2, 3, 4};
    told t = {.step = 1};
    options.progress = hear;
    options.progress_user = &t;
    cr_assert_eq(ocelli_image_load(&image, PICTURE, NULL, &err), OCELLI_OK, "%s", err.message);
    const ocelli_image *const frames[FRAMES] = {image, image, image, image, image};
    cr_assert_eq(ocelli_encode_image(&visual, model, image, &options, &err), OCELLI_OK);
    cr_assert_eq(t.calls, BLOCKS);
    cr_assert_eq(t.total, BLOCKS);
    ocelli_visual_free(visual);

    t = (told){.step = 3};
    cr_assert_eq(ocelli_encode_video(&visual, model, frames, seconds, FRAMES, &options, &err),
                 OCELLI_OK, "%s", err.message);
    cr_assert_eq(t.calls, BLOCKS);
    cr_assert_eq(t.last, 3 * BLOCKS);
    cr_assert_eq(t.total, 3 * BLOCKS);
    ocelli_visual_free(visual);

    t = (told){.step = 3, .stop_at = 3 * 2};
    cr_assert_eq(ocelli_encode_video(&visual, model, frames, seconds, FRAMES, &options, &err),
                 OCELLI_E_CANCELLED);
    cr_assert_null(visual);
    cr_assert_eq(t.calls, 2);
    cr_assert_str_eq(err.message, "stopped while looking at a clip");
    for (uint64_t block = 1; block <= BLOCKS; block++) {
        t = (told){.step = 1, .stop_at = block};
        cr_assert_eq(ocelli_encode_image(&visual, model, image, &options, &err),
                     OCELLI_E_CANCELLED);
        cr_assert_null(visual);
        cr_assert_eq(t.calls, block);
        cr_assert_str_eq(err.message, "stopped while looking at a picture");
    }
    ocelli_image_free(image);
    ocelli_model_close(model);
}

/* ---- plans ---------------------------------------------------------------------------------- */

static ocelli_session_plan plan_of(ocelli_model *model, int plan_only, ocelli_session **session,
                                   ocelli_visual **visual)
{
    ocelli_error err = {.message = ""};
    ocelli_image *image;
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    ocelli_session_plan plan = {.struct_size = sizeof plan,
                                .memory = {.struct_size = sizeof plan.memory}};
    options.plan_only = plan_only;
    cr_assert_eq(ocelli_image_load(&image, PICTURE, NULL, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(ocelli_encode_image(visual, model, image, &options, &err), OCELLI_OK, "%s",
                 err.message);
    ocelli_image_free(image);
    const ocelli_part parts[2] = {{.visual = *visual}, {.text = "What is it?"}};
    cr_assert_eq(ocelli_session_open(session, model, NULL, &err), OCELLI_OK);
    cr_assert_eq(ocelli_session_add(*session, OCELLI_USER, parts, 2, &err), OCELLI_OK, "%s",
                 err.message);
    cr_assert_eq(ocelli_session_describe(*session, 100, &plan, &err), OCELLI_OK, "%s", err.message);
    return plan;
}

static int never(void *user, const char *what, uint64_t done, uint64_t total)
{
    (void)user;
    (void)done;
    (void)total;
    cr_assert_fail("told of %s", what);
    return 1;
}

/* A model that only plans tells what a whole one tells, reads no weight, and computes nothing. */
Test(vision_forms, plan_only)
{
    packed package = pack_sample(OCELLI_QUANT_Q4, OCELLI_VISION_Q8);
    const char *const places[] = {CHECKPOINT, package.folder.path};
    for (size_t i = 0; i < 2; i++) {
        ocelli_error err = {.message = ""};
        ocelli_model *planner;
        ocelli_session *sessions[2];
        ocelli_visual *visuals[2], *encoded;
        ocelli_image *image;
        ocelli_model_info info[2] = {{.struct_size = sizeof info[0]},
                                     {.struct_size = sizeof info[1]}};
        ocelli_model_options options = options_of(OCELLI_QUANT_Q4, OCELLI_VISION_DEFAULT);
        options.plan_only = 1;
        options.progress = never;
        cr_assert_eq(ocelli_model_open(&planner, places[i], &options, &err), OCELLI_OK, "%s",
                     err.message);
        ocelli_model *whole = open_model(places[i], OCELLI_QUANT_Q4, OCELLI_VISION_DEFAULT);
        ocelli_session_plan wanted = plan_of(whole, 0, &sessions[0], &visuals[0]);
        ocelli_session_plan plan = plan_of(planner, 1, &sessions[1], &visuals[1]);
        cr_assert_gt(plan.memory.weights, 0);
        cr_assert_eq(memcmp(&plan, &wanted, sizeof plan), 0);
        ocelli_model_describe(whole, &info[0]);
        ocelli_model_describe(planner, &info[1]);
        cr_assert_eq(info[0].head_bytes, info[1].head_bytes);
        cr_assert_eq(info[0].vision_bytes, info[1].vision_bytes);
        cr_assert_eq(info[0].decoder_bytes, info[1].decoder_bytes);
        cr_assert_eq(oc_loader_owned_bytes(planner->vision_loader), 0);
        cr_assert_eq(oc_loader_owned_bytes(planner->decoder_loader), 0);

        cr_assert_eq(ocelli_image_load(&image, PICTURE, NULL, &err), OCELLI_OK);
        cr_assert_eq(ocelli_encode_image(&encoded, planner, image, NULL, &err), OCELLI_E_STATE);
        cr_assert_not_null(strstr(err.message, "plan_only"), "%s", err.message);
        cr_assert_null(encoded);
        cr_assert_eq(ocelli_session_generate(sessions[1], NULL, NULL, NULL, NULL, &err),
                     OCELLI_E_STATE);
        cr_assert_eq(ocelli_generate_together(&sessions[1], 1, NULL, NULL, NULL, NULL, &err),
                     OCELLI_E_STATE);
        ocelli_image_free(image);
        for (size_t k = 0; k < 2; k++) {
            ocelli_session_close(sessions[k]);
            ocelli_visual_free(visuals[k]);
        }
        ocelli_model_close(whole);
        ocelli_model_close(planner);
    }
    packed_close(&package);
}
