/* Pictures and clips that were encoded before: found when all that rows depend on is the same, with
 * the same bits, and not found when any of it is another. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/visual.h"
#include "tests/unit/runtime/talk.h"
#include "tests/unit/weights/scratch.h"
#include "vision/image.h"

#include <sys/stat.h>

static const char CHECKPOINT[] = OCELLI_TEST_DATA "/golden/qwen3vl/models/t1_bf16";
static const char PICTURE[] = OCELLI_SAMPLES "/pictures/picture01.png";
static const char OTHER[] = OCELLI_SAMPLES "/pictures/picture02.png";

typedef struct tower {
    ocelli_vision vision;
    int threads;
    const char *cpu;
} tower;

static ocelli_model *open_tower(const char *path, tower t)
{
    ocelli_error err;
    ocelli_model *model;
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.vision = t.vision;
    options.threads = t.threads;
    options.cpu = t.cpu;
    cr_assert_eq(ocelli_model_open(&model, path, &options, &err), OCELLI_OK, "%s", err.message);
    return model;
}

static ocelli_visual_cache *open_cache(uint64_t memory, const char *directory)
{
    ocelli_error err;
    ocelli_visual_cache *cache;
    ocelli_visual_cache_options options = OCELLI_VISUAL_CACHE_OPTIONS_INIT;
    options.memory_bytes = memory;
    options.directory = directory;
    cr_assert_eq(ocelli_visual_cache_open(&cache, &options, &err), OCELLI_OK, "%s", err.message);
    return cache;
}

static ocelli_visual_cache_info info_of(ocelli_visual_cache *cache)
{
    ocelli_visual_cache_info info = {.struct_size = sizeof info};
    ocelli_visual_cache_describe(cache, &info);
    return info;
}

static ocelli_image *load(const char *path)
{
    ocelli_error err;
    ocelli_image *image;
    cr_assert_eq(ocelli_image_load(&image, path, NULL, &err), OCELLI_OK, "%s", err.message);
    return image;
}

static ocelli_visual *look(ocelli_model *model, const ocelli_image *image,
                           ocelli_visual_cache *cache, uint64_t max_pixels)
{
    ocelli_error err;
    ocelli_visual *visual;
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    options.cache = cache;
    options.max_pixels = max_pixels;
    cr_assert_eq(ocelli_encode_image(&visual, model, image, &options, &err), OCELLI_OK, "%s",
                 err.message);
    return visual;
}

static ocelli_visual_hit hit_of(const ocelli_visual *visual)
{
    ocelli_visual_info info = {.struct_size = sizeof info};
    ocelli_visual_describe(visual, &info);
    cr_assert(info.encoded);
    if (info.hit == OCELLI_HIT_NONE) {
        cr_assert_gt(info.encode_seconds, 0);
    } else {
        cr_assert_eq(info.encode_seconds, 0);
    }
    return info.hit;
}

/* Looks and lets go: where the rows came from. */
static ocelli_visual_hit glance(ocelli_model *model, const ocelli_image *image,
                                ocelli_visual_cache *cache, uint64_t max_pixels)
{
    ocelli_visual *visual = look(model, image, cache, max_pixels);
    ocelli_visual_hit hit = hit_of(visual);
    ocelli_visual_free(visual);
    return hit;
}

static void expect_same(const ocelli_visual *a, const ocelli_visual *b)
{
    const oc_medium *left = &a->medium, *right = &b->medium;
    size_t bytes = a->tokens * left->width * sizeof(float);
    cr_assert_eq(a->tokens, b->tokens);
    cr_assert_eq(left->tap_count, right->tap_count);
    cr_assert_eq(left->tap_stride, right->tap_stride);
    cr_assert_arr_eq(left->rows, right->rows, bytes);
    for (size_t i = 0; i < left->tap_count; i++) {
        cr_assert_arr_eq(left->taps + i * left->tap_stride, right->taps + i * right->tap_stride,
                         bytes);
    }
    cr_assert(oc_hash_equal(left->identity, right->identity));
}

static void say_what(ocelli_model *model, const ocelli_visual *visual, char answer[256])
{
    ocelli_error err;
    ocelli_session *session;
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    options.max_tokens = 12;
    cr_assert_eq(ocelli_session_open(&session, model, NULL, &err), OCELLI_OK);
    say(session, visual, "What is it?");
    cr_assert_eq(ocelli_session_generate(session, &options, NULL, NULL, NULL, &err), OCELLI_OK,
                 "%s", err.message);
    snprintf(answer, 256, "%s", ocelli_session_answer(session));
    ocelli_session_close(session);
}

/* For every form of the tower: without a cache, into it, from memory, and from the disk by another
 * model and another cache, all the same bits and the same answer. */
Test(visual_cache, the_same_bits)
{
    const ocelli_vision forms[] = {OCELLI_VISION_F32, OCELLI_VISION_Q8, OCELLI_VISION_BF16};
    scratch folder = scratch_open();
    ocelli_image *image = load(PICTURE);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const tower t = {.vision = forms[i], .threads = 2};
        char wanted[256], answer[256];
        ocelli_model *model = open_tower(CHECKPOINT, t);
        ocelli_visual *plain = look(model, image, NULL, 0);
        ocelli_visual_cache *cache = open_cache(1 << 26, folder.path);
        say_what(model, plain, wanted);
        cr_assert_gt(strlen(wanted), 0);
        const ocelli_visual_hit hits[] = {OCELLI_HIT_NONE, OCELLI_HIT_MEMORY, OCELLI_HIT_MEMORY,
                                          OCELLI_HIT_DISK, OCELLI_HIT_MEMORY};
        for (size_t k = 0; k < sizeof hits / sizeof *hits; k++) {
            if (k == 3) {
                ocelli_model_close(model);
                ocelli_visual_cache_close(cache);
                model = open_tower(CHECKPOINT, t);
                cache = open_cache(1 << 26, folder.path);
            }
            ocelli_visual *visual = look(model, image, cache, 0);
            cr_assert_eq(hit_of(visual), hits[k], "form %zu, look %zu", i, k);
            expect_same(visual, plain);
            say_what(model, visual, answer);
            cr_assert_str_eq(answer, wanted);
            ocelli_visual_free(visual);
        }
        ocelli_visual_cache_info info = info_of(cache);
        cr_assert_eq(info.memory_hits, 1);
        cr_assert_eq(info.disk_hits, 1);
        cr_assert_eq(info.misses, 0);
        cr_assert_eq(info.memory_entries, 1);
        cr_assert_eq(info.disk_writes, 0);
        cr_assert_eq(info.disk_damaged, 0);
        ocelli_visual_cache_close(cache);
        hit_of(plain); /* a visual outlives the cache, and the model that made it */
        ocelli_model_close(model);
        ocelli_visual_free(plain);
    }
    ocelli_image_free(image);
    scratch_close(&folder);
}

Test(visual_cache, other_pixels_or_sizes_are_not_found)
{
    ocelli_model *model = open_tower(CHECKPOINT, (tower){.threads = 1});
    ocelli_visual_cache *cache = open_cache(1 << 26, NULL);
    ocelli_image *image = load(PICTURE);
    cr_assert_eq(glance(model, image, cache, 64 * 64), OCELLI_HIT_NONE);
    cr_assert_eq(glance(model, image, cache, 64 * 64), OCELLI_HIT_MEMORY);
    cr_assert_eq(glance(model, image, cache, 0), OCELLI_HIT_NONE);
    size_t last = (size_t)image->width * (size_t)image->height * 3 - 1;
    image->rgb[last] ^= 1; /* the last value of the last pixel */
    cr_assert_eq(glance(model, image, cache, 64 * 64), OCELLI_HIT_NONE);
    image->rgb[last] ^= 1;
    cr_assert_eq(glance(model, image, cache, 64 * 64), OCELLI_HIT_MEMORY);
    /* The same bytes as rows of another width. */
    ocelli_image turned = *image;
    turned.width = image->width / 2;
    turned.height = image->height * 2;
    cr_assert_eq(image->width % 2, 0);
    cr_assert_eq(glance(model, &turned, cache, 64 * 64), OCELLI_HIT_NONE);
    cr_assert_eq(info_of(cache).misses, 4);
    /* A plan neither asks nor tells. */
    ocelli_error err;
    ocelli_visual *visual;
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    options.cache = cache;
    options.plan_only = 1;
    ocelli_visual_cache_info before = info_of(cache);
    cr_assert_eq(ocelli_encode_image(&visual, model, image, &options, &err), OCELLI_OK);
    cr_assert_null(ocelli_visual_rows(visual, NULL, NULL));
    ocelli_visual_free(visual);
    ocelli_visual_cache_info after = info_of(cache);
    cr_assert_arr_eq(&before, &after, sizeof before);
    /* Options of a program that was built before there were caches. */
    options.plan_only = 0;
    options.struct_size = offsetof(ocelli_visual_options, cache);
    cr_assert_eq(ocelli_encode_image(&visual, model, image, &options, &err), OCELLI_OK);
    cr_assert_eq(hit_of(visual), OCELLI_HIT_NONE);
    ocelli_visual_free(visual);
    ocelli_image_free(image);
    ocelli_visual_cache_close(cache);
    ocelli_model_close(model);
}

/* A copy of the checkpoint in folder, with one bit of the file's byte at changed. */
static void copy_checkpoint(const scratch *folder, const char *name, long change_at)
{
    char command[1200], path[SCRATCH_PATH];
    snprintf(command, sizeof command, "cp -r '%s' '%s/%s' && chmod -R u+w '%s/%s'", CHECKPOINT,
             folder->path, name, folder->path, name);
    cr_assert_eq(system(command), 0);
    if (change_at == 0) {
        return;
    }
    snprintf(path, sizeof path, "%s/%s/model.safetensors", folder->path, name);
    FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file);
    cr_assert_eq(fseek(file, change_at, SEEK_SET), 0);
    int byte = fgetc(file);
    cr_assert_eq(fseek(file, change_at, SEEK_SET), 0);
    cr_assert_neq(fputc(byte ^ 1, file), EOF);
    cr_assert_eq(fclose(file), 0);
}

/* The offset in the checkpoint's file of a tensor's last byte but one: the low bits of a bfloat16. */
static long find_tensor(const char *name)
{
    ocelli_error err;
    oc_weights *weights;
    oc_tensor tensor;
    uint64_t offset;
    const char *path;
    cr_assert_eq(oc_weights_open(&weights, CHECKPOINT, &err), OCELLI_OK, "%s", err.message);
    cr_assert(oc_weights_find(weights, name, &tensor, NULL), "%s", name);
    cr_assert(oc_weights_locate(weights, name, &path, &offset));
    size_t values = 1;
    for (int i = 0; i < tensor.rank; i++) {
        values *= (size_t)tensor.shape[i];
    }
    oc_weights_close(weights);
    return (long)(offset + 2 * values - 2);
}

/* Rows of another tower, of the same tower held otherwise, or made by other kernels, are others'. A
 * copy of the checkpoint elsewhere is the same tower, and threads do not matter but to float32. */
Test(visual_cache, other_towers_are_not_found)
{
    static const char *const changed[] = {
        "model.visual.patch_embed.proj.weight", "model.visual.pos_embed.weight",
        "model.visual.blocks.0.norm1.bias",     "model.visual.blocks.1.mlp.linear_fc2.weight",
        "model.visual.merger.linear_fc2.bias",  "model.visual.deepstack_merger_list.0.norm.weight"};
    scratch folder = scratch_open(), cached = scratch_open();
    ocelli_visual_cache *cache = open_cache(1 << 26, cached.path);
    ocelli_image *image = load(PICTURE);
    char path[SCRATCH_PATH], name[32], command[700];
    const struct {
        tower t;
        ocelli_visual_hit hit;
    } cases[] = {{{OCELLI_VISION_BF16, 1, NULL}, OCELLI_HIT_NONE},
                 {{OCELLI_VISION_BF16, 2, NULL}, OCELLI_HIT_MEMORY},
                 {{OCELLI_VISION_Q8, 1, NULL}, OCELLI_HIT_NONE},
                 {{OCELLI_VISION_Q8, 2, NULL}, OCELLI_HIT_MEMORY},
                 {{OCELLI_VISION_F32, 1, NULL}, OCELLI_HIT_NONE},
                 {{OCELLI_VISION_F32, 2, NULL}, OCELLI_HIT_NONE},
                 {{OCELLI_VISION_BF16, 1, "scalar"}, OCELLI_HIT_NONE},
                 {{OCELLI_VISION_BF16, 1, "scalar"}, OCELLI_HIT_MEMORY},
                 {{OCELLI_VISION_BF16, 1, NULL}, OCELLI_HIT_MEMORY}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ocelli_model *model = open_tower(CHECKPOINT, cases[i].t);
        cr_assert_eq(glance(model, image, cache, 0), cases[i].hit, "case %zu", i);
        ocelli_model_close(model);
    }
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        snprintf(name, sizeof name, "changed%zu", i);
        copy_checkpoint(&folder, name, find_tensor(changed[i]));
        ocelli_model *model = open_tower(scratch_path(&folder, name, path), (tower){.threads = 1});
        cr_assert_eq(glance(model, image, cache, 0), OCELLI_HIT_NONE, "%s", changed[i]);
        ocelli_model_close(model);
    }
    /* Another decoder is no other tower. */
    copy_checkpoint(&folder, "decoder", find_tensor("model.language_model.norm.weight"));
    ocelli_model *model = open_tower(scratch_path(&folder, "decoder", path), (tower){.threads = 1});
    cr_assert_eq(glance(model, image, cache, 0), OCELLI_HIT_MEMORY);
    ocelli_model_close(model);
    /* A package of the checkpoint holds the same bytes. */
    ocelli_error err;
    ocelli_pack_options options = OCELLI_PACK_OPTIONS_INIT;
    options.quant = OCELLI_QUANT_Q4;
    options.vision = OCELLI_VISION_BF16;
    scratch_path(&folder, "package", path);
    cr_assert_eq(ocelli_pack(CHECKPOINT, path, &options, &err), OCELLI_OK, "%s", err.message);
    model = open_tower(path, (tower){.threads = 1});
    cr_assert_eq(glance(model, image, cache, 0), OCELLI_HIT_MEMORY);
    ocelli_model_close(model);
    ocelli_image_free(image);
    ocelli_visual_cache_close(cache);
    snprintf(command, sizeof command, "rm -rf '%s'", folder.path);
    cr_assert_eq(system(command), 0);
    scratch_close(&cached);
}

/* In memory alone a model's rows are its own; two at one time do not mix. */
Test(visual_cache, models_share_a_cache)
{
    ocelli_visual_cache *cache = open_cache(1 << 26, NULL);
    ocelli_image *image = load(PICTURE);
    ocelli_model *a = open_tower(CHECKPOINT, (tower){.vision = OCELLI_VISION_Q8, .threads = 1});
    ocelli_model *b = open_tower(CHECKPOINT, (tower){.vision = OCELLI_VISION_F32, .threads = 1});
    cr_assert_eq(glance(a, image, cache, 0), OCELLI_HIT_NONE);
    cr_assert_eq(glance(b, image, cache, 0), OCELLI_HIT_NONE);
    cr_assert_eq(glance(a, image, cache, 0), OCELLI_HIT_MEMORY);
    ocelli_visual *from_b = look(b, image, cache, 0), *plain = look(b, image, NULL, 0);
    cr_assert_eq(hit_of(from_b), OCELLI_HIT_MEMORY);
    expect_same(from_b, plain);
    ocelli_visual_free(from_b);
    ocelli_visual_free(plain);
    ocelli_model_close(a);
    for (int i = 0; i < 3; i++) { /* very likely in the same place of memory */
        a = open_tower(CHECKPOINT, (tower){.vision = OCELLI_VISION_BF16, .threads = 1});
        cr_assert_eq(glance(a, image, cache, 0), OCELLI_HIT_NONE);
        ocelli_model_close(a);
    }
    ocelli_model_close(b);
    ocelli_image_free(image);
    ocelli_visual_cache_close(cache);
}

Test(visual_cache, memory_is_bounded)
{
    ocelli_model *model = open_tower(CHECKPOINT, (tower){.threads = 1});
    ocelli_image *image = load(PICTURE);
    ocelli_visual_cache *cache = open_cache(1 << 26, NULL);
    cr_assert_eq(glance(model, image, cache, 64 * 64), OCELLI_HIT_NONE);
    uint64_t one = info_of(cache).memory_bytes;
    ocelli_visual_cache_close(cache);
    cache = open_cache(3 * one, NULL);
    for (unsigned i = 0; i < 3; i++) {
        image->rgb[0] = (uint8_t)i;
        cr_assert_eq(glance(model, image, cache, 64 * 64), OCELLI_HIT_NONE);
    }
    cr_assert_eq(info_of(cache).memory_entries, 3);
    image->rgb[0] = 0; /* used again, so 1 is what was longest unused */
    ocelli_visual *kept = look(model, image, cache, 64 * 64);
    cr_assert_eq(hit_of(kept), OCELLI_HIT_MEMORY);
    image->rgb[0] = 3;
    cr_assert_eq(glance(model, image, cache, 64 * 64), OCELLI_HIT_NONE);
    cr_assert_eq(info_of(cache).memory_entries, 3);
    cr_assert_eq(info_of(cache).memory_bytes, 3 * one);
    const ocelli_visual_hit left[] = {OCELLI_HIT_MEMORY, OCELLI_HIT_NONE};
    for (unsigned i = 0; i < 2; i++) {
        image->rgb[0] = (uint8_t)i;
        cr_assert_eq(glance(model, image, cache, 64 * 64), left[i], "%u", i);
    }
    /* What is larger than the bound is not kept, and nothing goes for it. */
    cr_assert_eq(glance(model, image, cache, 0), OCELLI_HIT_NONE);
    cr_assert_eq(info_of(cache).memory_entries, 3);
    /* No memory at all. */
    ocelli_visual_cache *none = open_cache(0, NULL);
    cr_assert_eq(glance(model, image, none, 64 * 64), OCELLI_HIT_NONE);
    cr_assert_eq(glance(model, image, none, 64 * 64), OCELLI_HIT_NONE);
    cr_assert_eq(info_of(none).memory_entries, 0);
    ocelli_visual_cache_close(none);
    ocelli_visual_cache_close(cache);
    cr_assert_eq(hit_of(kept), OCELLI_HIT_MEMORY); /* its rows are its own */
    ocelli_visual_free(kept);
    ocelli_image_free(image);
    ocelli_model_close(model);
}

static ocelli_visual *watch(ocelli_model *model, const ocelli_image *const *frames,
                            const double *seconds, ocelli_visual_cache *cache)
{
    ocelli_error err;
    ocelli_visual *visual;
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    options.cache = cache;
    cr_assert_eq(ocelli_encode_video(&visual, model, frames, seconds, 3, &options, &err), OCELLI_OK,
                 "%s", err.message);
    return visual;
}

/* A clip is its frames in their order; its times are not in its rows, but still its own. */
Test(visual_cache, clips)
{
    static const char *const models[] = {CHECKPOINT,
                                         OCELLI_TEST_DATA "/golden/siblings/models/q25a_bf16"};
    ocelli_image *a = load(PICTURE), *b = load(OTHER);
    const ocelli_image *frames[3] = {a, b, a}, *turned[3] = {b, a, b};
    const double seconds[3] = {0, 1, 2}, later[3] = {10, 13, 16};
    for (size_t i = 0; i < 2; i++) {
        scratch folder = scratch_open();
        ocelli_model *model = open_tower(models[i], (tower){.threads = 2});
        ocelli_visual *plain = watch(model, frames, later, NULL);
        for (int pass = 0; pass < 2; pass++) {
            ocelli_visual_cache *cache = open_cache(1 << 26, folder.path);
            ocelli_visual *first = watch(model, frames, seconds, cache);
            ocelli_visual *same = watch(model, frames, later, cache);
            ocelli_visual *other = watch(model, turned, seconds, cache);
            ocelli_visual_info info = {.struct_size = sizeof info};
            cr_assert_eq(hit_of(first), pass == 0 ? OCELLI_HIT_NONE : OCELLI_HIT_DISK);
            cr_assert_eq(hit_of(same), OCELLI_HIT_MEMORY);
            cr_assert_eq(hit_of(other), pass == 0 ? OCELLI_HIT_NONE : OCELLI_HIT_DISK);
            expect_same(same, plain);
            ocelli_visual_describe(same, &info);
            cr_assert_eq(info.grid_t, 2);
            cr_assert_eq(info.timestamps[0], 11.5);
            cr_assert_eq(info.timestamps[1], 16);
            ocelli_visual_free(first);
            ocelli_visual_free(same);
            ocelli_visual_free(other);
            ocelli_visual_cache_close(cache);
        }
        ocelli_visual_free(plain);
        ocelli_model_close(model);
        scratch_close(&folder);
    }
    ocelli_image_free(a);
    ocelli_image_free(b);
}
