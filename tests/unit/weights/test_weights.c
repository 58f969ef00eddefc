/* test_weights.c - checkpoint directories: one file, shards with an index, and what is wrong with
 * them. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/weights/weights.h"

#include "tests/unit/weights/scratch.h"

#define MODELS OCELLI_TEST_DATA "/golden/qwen3vl/models/"

static const char index_name[] = "model.safetensors.index.json";

/* One U8 tensor of two bytes called name. */
static void write_shard(const scratch *folder, const char *file, const char *name)
{
    char header[160];
    snprintf(header, sizeof header,
             "{\"%s\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}", name);
    scratch_write_safetensors(folder, file, strlen(header), header, strlen(header), "ab", 2);
}

static void write_index(const scratch *folder, const char *map)
{
    char text[1024];
    snprintf(text, sizeof text, "{\"metadata\":{\"total_size\":4},\"weight_map\":%s}", map);
    scratch_write(folder, index_name, text, strlen(text));
}

static void expect_failure(const char *directory, ocelli_status status, const char *words)
{
    oc_weights *weights = (oc_weights *)&status; /* must become NULL */
    ocelli_error err = {0};
    ocelli_status got = oc_weights_open(&weights, directory, &err);
    cr_assert_eq(got, status, "%s", err.message);
    cr_assert_not_null(strstr(err.message, words), "\"%s\" does not say \"%s\"", err.message,
                       words);
    cr_assert_null(weights);
}

Test(weights, one_file)
{
    oc_weights *weights;
    ocelli_error err = {0};
    oc_tensor tensor;
    const char *file;
    cr_assert_eq(oc_weights_open(&weights, MODELS "t1_bf16", &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(oc_weights_count(weights), 145);
    cr_assert(oc_weights_find(weights, "model.visual.patch_embed.proj.weight", &tensor, &file));
    cr_assert_eq(tensor.dtype, OC_BF16);
    cr_assert_eq(tensor.rank, 5);
    cr_assert_eq(tensor.shape[4], 16);
    cr_assert_eq(tensor.bytes, 48 * 1536 * 2);
    cr_assert_str_eq(file, MODELS "t1_bf16/model.safetensors");
    cr_assert_not(oc_weights_find(weights, "lm_head.weight", &tensor, NULL));
    const char *path;
    uint64_t offset;
    uint64_t first_offset;
    const char *name;
    cr_assert(oc_weights_at(weights, 0, &name, &tensor));
    cr_assert_str_eq(name, "model.language_model.embed_tokens.weight");
    cr_assert(oc_weights_locate(weights, name, &path, &first_offset));
    cr_assert(oc_weights_locate(weights, "model.visual.patch_embed.proj.weight", &path, &offset));
    cr_assert_eq(offset - first_offset, 509568); /* its data_offsets */
    cr_assert_eq(first_offset % 64, 16);
    cr_assert_not(oc_weights_locate(weights, "x", &path, &offset));
    cr_assert_not(oc_weights_at(weights, 145, &name, &tensor));
    cr_assert_str_eq(oc_weights_metadata(weights, "format"), "pt");
    cr_assert_null(oc_weights_metadata(weights, "x"));
    oc_weights_close(weights);
    cr_assert_eq(oc_weights_open_file(&weights, MODELS "t1_f32/model.safetensors", &err),
                 OCELLI_OK);
    cr_assert_eq(oc_weights_count(weights), 145);
    oc_weights_close(weights);
    oc_weights_close(NULL);
}

/* The two forms of t1 hold the same numbers: widening the one must give the other, bit by bit. */
Test(weights, bf16_and_f32_agree)
{
    oc_weights *narrow;
    oc_weights *wide;
    ocelli_error err = {0};
    cr_assert_eq(oc_weights_open(&narrow, MODELS "t1_bf16", &err), OCELLI_OK);
    cr_assert_eq(oc_weights_open(&wide, MODELS "t1_f32", &err), OCELLI_OK);
    const char *name;
    oc_tensor a;
    oc_tensor b;
    size_t elements = 0;
    for (size_t i = 0; oc_weights_at(narrow, i, &name, &a); i++) {
        cr_assert_eq(oc_weights_get(wide, name, a.rank, a.shape, &b, &err), OCELLI_OK, "%s",
                     err.message);
        size_t count = a.bytes / 2;
        float *widened = malloc(count * sizeof *widened);
        oc_tensor_widen(&a, 0, count, widened);
        cr_assert_eq(b.bytes, count * sizeof *widened);
        cr_assert_eq(memcmp(widened, b.data, b.bytes), 0, "%s", name);
        free(widened);
        oc_weights_release(narrow, &a);
        elements += count;
    }
    cr_assert_gt(elements, 500000);
    oc_weights_close(narrow);
    oc_weights_close(wide);
}

Test(weights, shards)
{
    oc_weights *weights;
    ocelli_error err = {0};
    cr_assert_eq(oc_weights_open(&weights, MODELS "t2_sharded_bf16", &err), OCELLI_OK, "%s",
                 err.message);
    cr_assert_eq(oc_weights_count(weights), 122);
    oc_tensor tensor;
    const char *file;
    int64_t shape[2] = {544, 96};
    cr_assert_eq(oc_weights_get(weights, "lm_head.weight", 2, shape, &tensor, &err), OCELLI_OK);
    cr_assert(oc_weights_find(weights, "lm_head.weight", &tensor, &file));
    cr_assert_str_eq(file, MODELS "t2_sharded_bf16/model-00001-of-00003.safetensors");
    /* Every tensor once, each found under its name, in whichever file it is; and its pages can be
     * given back and read again. */
    const char *name;
    const char *last = NULL;
    size_t changes = 0;
    for (size_t i = 0; i < 122; i++) {
        oc_tensor listed;
        cr_assert(oc_weights_at(weights, i, &name, &listed));
        cr_assert(oc_weights_find(weights, name, &tensor, &file));
        cr_assert_eq(tensor.data, listed.data);
        unsigned char byte = *(const unsigned char *)tensor.data;
        oc_weights_release(weights, &tensor);
        cr_assert_eq(*(const unsigned char *)tensor.data, byte);
        changes += file != last;
        last = file;
    }
    cr_assert_eq(changes, 3);
    /* With several files a key that is no tensor's has no file to look in. */
    cr_assert_null(oc_weights_metadata(weights, "format"));
    oc_weights_close(weights);
}

Test(weights, get_says_what_is_wrong)
{
    static const struct {
        const char *name;
        int rank;
        int64_t shape[3];
        const char *words;
    } asks[] = {
        {"model.missing", 1, {4}, "no tensor \"model.missing\""},
        {"model.language_model.norm.weight",
         1,
         {65},
         "is [64], but the configuration asks for [65]"},
        {"model.language_model.norm.weight",
         2,
         {64, 1},
         "is [64], but the configuration asks for "
         "[64, 1]"},
        {"model.language_model.norm.weight", 0, {0}, "asks for []"},
    };
    oc_weights *weights;
    ocelli_error err = {0};
    oc_tensor tensor;
    int64_t any[2] = {-1, 64};
    cr_assert_eq(oc_weights_open(&weights, MODELS "t1_f32", &err), OCELLI_OK);
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        cr_assert_eq(
            oc_weights_get(weights, asks[i].name, asks[i].rank, asks[i].shape, &tensor, &err),
            OCELLI_E_FORMAT);
        cr_assert_not_null(strstr(err.message, asks[i].words), "%s", err.message);
        cr_assert_not_null(strstr(err.message, "t1_f32"), "%s", err.message);
        cr_assert_null(tensor.data);
    }
    cr_assert_eq(
        oc_weights_get(weights, "model.language_model.embed_tokens.weight", 2, any, &tensor, &err),
        OCELLI_OK);
    cr_assert_eq(tensor.shape[0], 512);
    oc_weights_close(weights);
    scratch folder = scratch_open();
    int64_t two[1] = {2};
    write_shard(&folder, "model.safetensors", "counts");
    cr_assert_eq(oc_weights_open(&weights, folder.path, &err), OCELLI_OK);
    cr_assert_eq(oc_weights_get(weights, "counts", 1, two, &tensor, &err), OCELLI_E_FORMAT);
    cr_assert_not_null(strstr(err.message, "is u8, but weights must be f32, f16 or bf16"), "%s",
                       err.message);
    oc_weights_close(weights);
    scratch_close(&folder);
}

Test(weights, nothing_to_load)
{
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    expect_failure(scratch_path(&folder, "absent", path), OCELLI_E_IO, "No such file");
    expect_failure(folder.path, OCELLI_E_IO,
                   "no model.safetensors.index.json or model.safetensors in this folder");
    scratch_write(&folder, "tokenizer.bin", "x", 1);
    scratch_write(&folder, "pytorch_model.bin", "x", 1);
    expect_failure(folder.path, OCELLI_E_IO,
                   "only pytorch_model.bin; weights are read from "
                   "safetensors");
    unlink(scratch_path(&folder, "pytorch_model.bin", path));
    unlink(scratch_path(&folder, "tokenizer.bin", path));
    scratch_write(&folder, "qwen3-vl-q4_k_m.gguf", "x", 1);
    expect_failure(folder.path, OCELLI_E_IO,
                   "only qwen3-vl-q4_k_m.gguf; weights are read from "
                   "safetensors");
    scratch_write(&folder, "decoder.safetensors", "x", 1);
    expect_failure(folder.path, OCELLI_E_IO, "there is a decoder.safetensors");
    scratch_write(&folder, "model-00001-of-00002.safetensors", "x", 1);
    expect_failure(folder.path, OCELLI_E_IO, "but no model.safetensors.index.json");
    scratch_write(&folder, "model.safetensors.incomplete", "x", 1);
    expect_failure(folder.path, OCELLI_E_IO, "unfinished download: model.safetensors.incomplete");
    scratch_write(&folder, "model.safetensors", "x", 1);
    expect_failure(folder.path, OCELLI_E_FORMAT, "model.safetensors: 1 bytes");
    expect_failure(scratch_path(&folder, "model.safetensors", path), OCELLI_E_IO,
                   "give the folder");
    scratch_close(&folder);
}

Test(weights, index_is_checked)
{
    static const struct {
        const char *map, *words;
    } cases[] = {
        {"[\"a\"]", "weight_map must be an object"},
        {"{}", "weight_map must be an object"},
        {"null", "weight_map must be an object"},
        {"{\"a\":null}", "the file of \"a\" must be a string"},
        {"{\"a\":{}}", "the file of \"a\" must be a string"},
        {"{\"a\":\"../../../../etc/passwd\"}", "not the plain name"},
        {"{\"a\":\"sub/../../model.safetensors\"}", "not the plain name"},
        {"{\"a\":\"/etc/passwd\"}", "not the plain name"},
        {"{\"a\":\"/dev/zero\"}", "not the plain name"},
        {"{\"a\":\"..\\\\..\\\\x.safetensors\"}", "not the plain name"},
        {"{\"a\":\"file:///x.safetensors\"}", "not the plain name"},
        {"{\"a\":\"\"}", "not the plain name"},
        {"{\"a\":\".\"}", "not the plain name"},
        {"{\"a\":\"..\"}", "not the plain name"},
        {"{\"a\":\"config.json\"}", "not the plain name"},
        {"{\"a\":\"model.safetensors.index.json\"}", "not the plain name"},
        {"{\"a\":\"one.safetensors\\u0000/../x\"}", "holds a NUL"},
        {"{\"a\":\"three.safetensors\"}",
         "three.safetensors: missing, but the index "
         "model.safetensors.index.json names it; download it again"},
        {"{\"a\":\"s1.safetensors\",\"b\":\"s2.safetensors\",\"c\":\"s3.safetensors\","
         "\"d\":\"one.safetensors\"}",
         "s1.safetensors: missing (and 2 more of the 4 files)"},
        {"{\"a\":\"part.safetensors\"}", "only an unfinished download (part.safetensors.part)"},
        {"{\"a\":\"one.safetensors\",\"c\":\"one.safetensors\"}",
         "one.safetensors: the index lists tensor \"c\" here, but it is not"},
        {"{\"a\":\"two.safetensors\",\"b\":\"one.safetensors\"}", "lists tensor"},
        {"{\"a\":\"one.safetensors\",\"b\":\"again.safetensors\"}",
         "again.safetensors: tensor \"a\" is in one.safetensors too"},
    };
    scratch folder = scratch_open();
    write_shard(&folder, "one.safetensors", "a");
    write_shard(&folder, "two.safetensors", "b");
    write_shard(&folder, "again.safetensors", "a");
    scratch_write(&folder, "part.safetensors.part", "x", 1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_index(&folder, cases[i].map);
        expect_failure(folder.path,
                       strstr(cases[i].words, "missing") != NULL ||
                               strstr(cases[i].words, "unfinished") != NULL
                           ? OCELLI_E_IO
                           : OCELLI_E_FORMAT,
                       cases[i].words);
    }
    char text[6000];
    memset(text, 's', sizeof text);
    memcpy(text, "{\"weight_map\":{\"a\":\"", 20);
    memcpy(text + 5900, ".safetensors\"}}", 15);
    scratch_write(&folder, index_name, text, 5915);
    expect_failure(folder.path, OCELLI_E_FORMAT, "is not the plain name");
    scratch_write(&folder, index_name, text, 500);
    expect_failure(folder.path, OCELLI_E_FORMAT, "not valid JSON");
    scratch_write(&folder, index_name, "", 0);
    expect_failure(folder.path, OCELLI_E_FORMAT, "not valid JSON");
    scratch_write(&folder, index_name, "{}", 2);
    expect_failure(folder.path, OCELLI_E_FORMAT, "weight_map must be an object");
    /* Hundreds of thousands of files: refused without looking for one of them. */
    enum { MANY = 100000, ENTRY = 40 };
    char *many = malloc((size_t)MANY * ENTRY + 64);
    cr_assert_not_null(many);
    size_t used = (size_t)snprintf(many, ENTRY, "{\"weight_map\":{");
    for (int i = 0; i < MANY; i++) {
        used += (size_t)snprintf(many + used, ENTRY, "%s\"t%d\":\"m-%d.safetensors\"",
                                 i > 0 ? "," : "", i, i);
    }
    memcpy(many + used, "}}", 2);
    scratch_write(&folder, index_name, many, used + 2);
    free(many);
    expect_failure(folder.path, OCELLI_E_LIMIT,
                   "model.safetensors.index.json names 100000 files, more than the 4096");
    scratch_write(&folder, index_name,
                  "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1519\n", 69);
    expect_failure(folder.path, OCELLI_E_FORMAT, "Git LFS pointer, not the file: run git lfs pull");
    /* A sound one, which lists a tensor twice but alike, and leaves one out that its shard has. */
    write_index(&folder, "{\"a\":\"one.safetensors\",\"b\":\"two.safetensors\","
                         "\"a\":\"one.safetensors\"}");
    oc_weights *weights;
    ocelli_error err = {0};
    oc_tensor tensor;
    cr_assert_eq(oc_weights_open(&weights, folder.path, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(oc_weights_count(weights), 2);
    cr_assert(oc_weights_find(weights, "b", &tensor, NULL));
    cr_assert_eq(memcmp(tensor.data, "ab", 2), 0);
    oc_weights_close(weights);
    scratch_close(&folder);
}
