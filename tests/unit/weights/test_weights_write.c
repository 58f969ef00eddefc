/* test_weights_write.c - the written file read by our reader, its bytes, its hash, and full
 * disks. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/weights/weights_write.h"

#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "runtime/weights/safetensors.h"
#include "runtime/weights/weights.h"
#include "tests/unit/weights/scratch.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static oc_weights_writer *open_writer(const scratch *folder, const char *name,
                                      char path[SCRATCH_PATH])
{
    oc_weights_writer *writer;
    ocelli_error err = {0};
    cr_assert_eq(oc_weights_writer_open(&writer, scratch_path(folder, name, path), &err), OCELLI_OK,
                 "%s", err.message);
    return writer;
}

static void announce(oc_weights_writer *writer, const char *name, oc_dtype dtype, int rank,
                     const int64_t *shape)
{
    ocelli_error err = {0};
    cr_assert_eq(oc_weights_writer_announce(writer, name, dtype, rank, shape, &err), OCELLI_OK,
                 "%s", err.message);
}

static void put(oc_weights_writer *writer, const char *name, const void *data, size_t bytes)
{
    ocelli_error err = {0};
    cr_assert_eq(oc_weights_writer_data(writer, name, data, bytes, &err), OCELLI_OK, "%s",
                 err.message);
}

/* Every dtype, several shapes, random bytes: what is read is what was written, each on a
 * boundary. */
Test(weights_write, round_trip)
{
    enum { COUNT = 60 };
    static unsigned char bytes[4096];
    uint32_t seed = 7;
    for (size_t i = 0; i < sizeof bytes; i++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(seed >> 24);
    }
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    oc_weights_writer *writer = open_writer(&folder, "out.safetensors", path);
    ocelli_error err = {0};
    char name[COUNT][48];
    size_t size[COUNT];
    int64_t shape[COUNT][3];
    int rank[COUNT];
    for (int i = 0; i < COUNT; i++) {
        oc_dtype dtype = (oc_dtype)(i % 15);
        size[i] = oc_dtype_size(dtype);
        rank[i] = i % 4;
        for (int k = 0; k < rank[i]; k++) {
            seed = seed * 1664525u + 1013904223u;
            shape[i][k] = (int64_t)(seed >> 16) % 8; /* 0 too */
            size[i] *= (size_t)shape[i][k];
        }
        snprintf(name[i], sizeof name[i], "t%d.\"quoted\"\\\n\xc3\xa9", i);
        announce(writer, name[i], dtype, rank[i], shape[i]);
        cr_assert_eq(oc_weights_writer_metadata(writer, name[i], "q8 \"1\"\t2", &err), OCELLI_OK);
    }
    for (int i = 0; i < COUNT; i++) {
        put(writer, name[i], bytes + i, size[i]);
    }
    uint64_t file_size;
    oc_hash hash;
    cr_assert_eq(oc_weights_writer_finish(writer, &file_size, &hash, &err), OCELLI_OK, "%s",
                 err.message);
    oc_weights_writer_close(writer);

    char *whole;
    size_t whole_size;
    cr_assert_eq(oc_file_read(&whole, &whole_size, path, 1 << 20, &err), OCELLI_OK);
    cr_assert_eq(whole_size, file_size);
    cr_assert(oc_hash_equal(hash, oc_hash_bytes(whole, whole_size)));
    oc_free(whole);
    oc_safetensors file;
    cr_assert_eq(oc_safetensors_open(&file, path, &err), OCELLI_OK, "%s", err.message);
    for (int i = 0; i < COUNT; i++) {
        const oc_safetensors_entry *entry = oc_safetensors_find(&file, name[i]);
        cr_assert_not_null(entry);
        cr_assert_eq(entry->tensor.dtype, (oc_dtype)(i % 15));
        cr_assert_eq(entry->tensor.rank, rank[i]);
        for (int k = 0; k < rank[i]; k++) {
            cr_assert_eq(entry->tensor.shape[k], shape[i][k]);
        }
        cr_assert_eq(entry->tensor.bytes, size[i]);
        cr_assert_eq(memcmp(entry->tensor.data, bytes + i, size[i]), 0);
        cr_assert_eq((uintptr_t)entry->tensor.data % OC_ALIGNMENT, 0);
        cr_assert_str_eq(oc_safetensors_metadata(&file, name[i]), "q8 \"1\"\t2");
    }
    oc_safetensors_close(&file);
    scratch_close(&folder);
}

/* The bytes themselves, and the header as another JSON parser sees it: no holes, pads named. */
Test(weights_write, layout)
{
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    oc_weights_writer *writer = open_writer(&folder, "out.safetensors", path);
    ocelli_error err = {0};
    int64_t five[1] = {5};
    int64_t two[2] = {2, 1};
    announce(writer, "a", OC_U8, 1, five);
    announce(writer, "b", OC_F32, 2, two);
    float b[2] = {1.0f, -2.0f};
    put(writer, "a", "hello", 5);
    put(writer, "b", b, sizeof b);
    uint64_t size;
    oc_hash hash;
    cr_assert_eq(oc_weights_writer_finish(writer, &size, &hash, &err), OCELLI_OK);
    oc_weights_writer_close(writer);

    char *bytes;
    size_t read_size;
    cr_assert_eq(oc_file_read(&bytes, &read_size, path, 4096, &err), OCELLI_OK);
    size_t header = (unsigned char)bytes[0] + 256u * (unsigned char)bytes[1];
    cr_assert_eq((8 + header) % 64, 0);
    cr_assert_eq(read_size, 8 + header + 64 + 8);
    static const char expected[] =
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[0,5]},"
        "\"__pad_0\":{\"dtype\":\"U8\",\"shape\":[59],\"data_offsets\":[5,64]},"
        "\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[64,72]}}";
    cr_assert_eq(memcmp(bytes + 8, expected, sizeof expected - 1), 0);
    for (size_t i = sizeof expected - 1; i < header; i++) {
        cr_assert_eq(bytes[8 + i], ' ');
    }
    cJSON *tree = cJSON_ParseWithLength(bytes + 8, header);
    cr_assert_not_null(tree);
    cr_assert_eq(cJSON_GetArraySize(tree), 3);
    cJSON_Delete(tree);
    cr_assert_eq(memcmp(bytes + 8 + header, "hello\0\0", 7), 0);
    cr_assert_eq(memcmp(bytes + 8 + header + 64, b, sizeof b), 0);
    oc_free(bytes);
    scratch_close(&folder);
}

Test(weights_write, nothing_in_it)
{
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    oc_weights_writer *writer = open_writer(&folder, "out.safetensors", path);
    ocelli_error err = {0};
    uint64_t size;
    oc_hash hash;
    cr_assert_eq(oc_weights_writer_finish(writer, &size, &hash, &err), OCELLI_OK);
    cr_assert_eq(size, 64);
    cr_assert_eq(oc_weights_writer_finish(writer, &size, &hash, &err), OCELLI_E_STATE);
    cr_assert_eq(size, 0);
    oc_weights_writer_close(writer);
    oc_weights *weights;
    cr_assert_eq(oc_weights_open_file(&weights, path, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(oc_weights_count(weights), 0);
    oc_weights_close(weights);
    scratch_close(&folder);
}

Test(weights_write, misuse)
{
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    ocelli_error err = {0};
    int64_t two[1] = {2};
    int64_t negative[1] = {-1};
    int64_t huge[2] = {INT64_MAX, 8};
    uint64_t size = 1;
    oc_hash hash;
    oc_weights_writer *writer = open_writer(&folder, "out.safetensors", path);
    cr_assert_eq(oc_weights_writer_announce(writer, "n", OC_U8, 1, negative, &err),
                 OCELLI_E_ARGUMENT);
    cr_assert_eq(oc_weights_writer_announce(writer, "h", OC_U8, 2, huge, &err), OCELLI_E_ARGUMENT);
    cr_assert_eq(oc_weights_writer_announce(writer, "__metadata__", OC_U8, 1, two, &err),
                 OCELLI_E_ARGUMENT);
    cr_assert_eq(oc_weights_writer_announce(writer, "__pad_0", OC_U8, 1, two, &err),
                 OCELLI_E_ARGUMENT);
    announce(writer, "a", OC_U8, 1, two);
    announce(writer, "b", OC_U8, 1, two);
    cr_assert_eq(oc_weights_writer_data(writer, "b", "xy", 2, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "2 bytes of tensor \"b\", but 2 of \"a\" come next"));
    cr_assert_eq(oc_weights_writer_data(writer, "a", "xyz", 3, &err), OCELLI_E_ARGUMENT);
    put(writer, "a", "xy", 2);
    cr_assert_eq(oc_weights_writer_announce(writer, "c", OC_U8, 1, two, &err), OCELLI_E_STATE);
    cr_assert_eq(oc_weights_writer_metadata(writer, "k", "v", &err), OCELLI_E_STATE);
    cr_assert_eq(oc_weights_writer_finish(writer, &size, &hash, &err), OCELLI_E_STATE);
    cr_assert_not_null(strstr(err.message, "the data of tensor \"b\" are missing"));
    cr_assert_eq(size, 0);
    put(writer, "b", "xy", 2);
    cr_assert_eq(oc_weights_writer_data(writer, "b", "xy", 2, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "was not announced"));
    cr_assert_eq(oc_weights_writer_finish(writer, &size, &hash, &err), OCELLI_OK);
    oc_weights_writer_close(writer);

    writer = open_writer(&folder, "twins.safetensors", path);
    announce(writer, "a", OC_U8, 1, two);
    announce(writer, "a", OC_U8, 1, two);
    cr_assert_eq(oc_weights_writer_data(writer, "a", "xy", 2, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "\"a\" is announced twice"), "%s", err.message);
    oc_weights_writer_close(writer);
    oc_weights_writer_close(NULL);

    writer = (oc_weights_writer *)&size;
    cr_assert_eq(oc_weights_writer_open(&writer, "/nonexistent/x", &err), OCELLI_E_IO);
    cr_assert_null(writer);
    cr_assert_not_null(strstr(err.message, "/nonexistent/x: cannot create"));
    scratch_close(&folder);
}

/* The old file may be mapped by a running model: it must keep its bytes. */
Test(weights_write, leaves_a_mapped_file_alone)
{
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    ocelli_error err = {0};
    scratch_write(&folder, "out.safetensors", "old bytes", 9);
    oc_map map;
    cr_assert_eq(oc_map_open(&map, scratch_path(&folder, "out.safetensors", path), NULL, &err),
                 OCELLI_OK);
    oc_weights_writer *writer = open_writer(&folder, "out.safetensors", path);
    uint64_t size;
    oc_hash hash;
    cr_assert_eq(oc_weights_writer_finish(writer, &size, &hash, &err), OCELLI_OK);
    oc_weights_writer_close(writer);
    cr_assert_eq(memcmp(map.bytes, "old bytes", 9), 0);
    oc_map_close(&map);
    scratch_close(&folder);
}

Test(weights_write, full_disk)
{
    ocelli_error err = {0};
    enum { MANY = 3 << 20 }; /* more than is held back */
    int64_t many[1] = {MANY};
    oc_weights_writer *writer;
    unsigned char *data = calloc(MANY, 1);
    if (oc_file_exists("/dev/full")) {
        cr_assert_eq(oc_weights_writer_open(&writer, "/dev/full", &err), OCELLI_OK);
        announce(writer, "a", OC_U8, 1, many);
        cr_assert_eq(oc_weights_writer_data(writer, "a", data, MANY, &err), OCELLI_E_IO);
        cr_assert_not_null(strstr(err.message, "/dev/full: could not write"), "%s", err.message);
        cr_assert_not_null(strstr(err.message, "No space left"), "%s", err.message);
        cr_assert_eq(oc_weights_writer_data(writer, "a", data, MANY, &err), OCELLI_E_STATE);
        uint64_t size;
        oc_hash hash;
        cr_assert_eq(oc_weights_writer_finish(writer, &size, &hash, &err), OCELLI_E_STATE);
        oc_weights_writer_close(writer);
        cr_assert(oc_file_exists("/dev/full"));
    }
    /* A write that is cut short: the limit allows the header and some of the data. */
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {100000, 100000};
    writer = open_writer(&folder, "out.safetensors", path);
    announce(writer, "a", OC_U8, 1, many);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(oc_weights_writer_data(writer, "a", data, MANY, &err), OCELLI_E_IO);
    char words[64];
    snprintf(words, sizeof words, "could not write %d bytes after the first 100000 of %d",
             MANY + 128 - 100000, MANY + 128);
    cr_assert_not_null(strstr(err.message, words), "\"%s\": %s", words, err.message);
    cr_assert_not_null(strstr(err.message, "out.safetensors"));
    oc_weights_writer_close(writer);
    free(data);
    scratch_close(&folder);
}

/* Sizes beyond 32 bits: a tensor of 10 GB, which is a hole in the file. */
Test(weights_write, beyond_four_gigabytes)
{
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    ocelli_error err = {0};
    int64_t big[2] = {5, (int64_t)1 << 30};
    int64_t two[1] = {2};
    oc_weights_writer *writer = open_writer(&folder, "out.safetensors", path);
    announce(writer, "small", OC_U8, 1, two);
    announce(writer, "big", OC_F16, 2, big);
    announce(writer, "last", OC_U8, 1, two);
    put(writer, "small", "xy", 2);
    oc_weights_writer_close(writer); /* unfinished: the header is there */
    struct stat status;
    cr_assert_eq(stat(path, &status), 0);
    cr_assert_eq(truncate(path, status.st_size - 2 + 64 + ((off_t)10 << 30) + 2), 0);
    oc_safetensors file;
    cr_assert_eq(oc_safetensors_open(&file, path, &err), OCELLI_OK, "%s", err.message);
    const oc_safetensors_entry *last = oc_safetensors_find(&file, "last");
    cr_assert_not_null(last);
    cr_assert_eq(last->begin, 64 + ((size_t)10 << 30));
    cr_assert_eq(oc_safetensors_find(&file, "big")->tensor.bytes, (size_t)10 << 30);
    oc_safetensors_close(&file);
    cr_assert_eq(truncate(path, status.st_size + ((off_t)5 << 30)), 0);
    cr_assert_eq(oc_safetensors_open(&file, path, &err), OCELLI_E_FORMAT);
    cr_assert_not_null(strstr(err.message, "truncated: 107374"), "%s", err.message);
    scratch_close(&folder);
}
