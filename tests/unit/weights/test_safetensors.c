/* test_safetensors.c - one safetensors file: what is accepted, what is refused, and in which
 * words. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/weights/safetensors.h"

#include "tests/unit/weights/safetensors_cases.h"
#include "tests/unit/weights/scratch.h"

/* ' in a header written here stands for ". */
static char *with_quotes(const char *header, size_t size)
{
    char *copy = malloc(size + 1);
    cr_assert_not_null(copy);
    for (size_t i = 0; i < size; i++) {
        copy[i] = header[i] == '\'' ? '"' : header[i];
    }
    copy[size] = '\0';
    return copy;
}

static ocelli_status open_header(oc_safetensors *file, const scratch *folder, uint64_t length,
                                 const char *header, size_t size, size_t data_size,
                                 ocelli_error *err)
{
    char path[SCRATCH_PATH];
    char *quoted = with_quotes(header, size);
    unsigned char *data = calloc(data_size + 1, 1);
    scratch_write_safetensors(folder, "x.safetensors", length, quoted, size, data, data_size);
    free(quoted);
    free(data);
    return oc_safetensors_open(file, scratch_path(folder, "x.safetensors", path), err);
}

/* Refused as damaged, with these words in the message. */
static void expect_words(const char *header, size_t data_size, ocelli_status status,
                         const char *words)
{
    scratch folder = scratch_open();
    oc_safetensors file;
    ocelli_error err = {0};
    ocelli_status got =
        open_header(&file, &folder, strlen(header), header, strlen(header), data_size, &err);
    scratch_close(&folder);
    cr_assert_eq(got, status, "%s: %s", header, err.message);
    cr_assert_not_null(strstr(err.message, words), "\"%s\" does not say \"%s\"", err.message,
                       words);
    cr_assert_not_null(strstr(err.message, "x.safetensors"));
    cr_assert_null(strchr(err.message, '\n'));
    cr_assert_null(file.map.bytes);
    cr_assert_null(file.entries);
}

static void describe(const oc_safetensors *file, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < file->count; i++) {
        const oc_safetensors_entry *entry = &file->entries[i];
        char shape[96];
        oc_tensor_shape_text(&entry->tensor, shape, sizeof shape);
        used += (size_t)snprintf(text + used, room - used, "%s %s %s %td %zu;", entry->name,
                                 oc_dtype_name(entry->tensor.dtype), shape,
                                 (const unsigned char *)entry->tensor.data - file->map.bytes,
                                 entry->tensor.bytes);
        cr_assert_lt(used, room);
    }
}

Test(safetensors, cases)
{
    scratch folder = scratch_open();
    size_t accepted = 0;
    for (size_t i = 0; i < sizeof safetensors_cases / sizeof safetensors_cases[0]; i++) {
        const safetensors_case *c = &safetensors_cases[i];
        oc_safetensors file;
        ocelli_error err = {0};
        ocelli_status status =
            open_header(&file, &folder, c->length, c->header, c->header_size, c->data_size, &err);
        if (c->expect == ACCEPT) {
            char text[512];
            cr_assert_eq(status, OCELLI_OK, "%s: %s", c->what, err.message);
            describe(&file, text, sizeof text);
            if (c->tensors != NULL) {
                cr_assert_str_eq(text, c->tensors, "%s", c->what);
            }
            for (size_t k = 0; k < file.count; k++) {
                cr_assert_eq(oc_safetensors_find(&file, file.entries[k].name), &file.entries[k]);
            }
            accepted++;
        } else {
            cr_assert_eq(
                status, strncmp(c->what, "dtype_", 6) == 0 ? OCELLI_E_UNSUPPORTED : OCELLI_E_FORMAT,
                "%s: %s", c->what, err.message);
            cr_assert_eq(err.status, status);
            cr_assert_not_null(strstr(err.message, "x.safetensors: "), "%s", c->what);
            cr_assert_null(file.map.bytes);
        }
        oc_safetensors_close(&file);
    }
    cr_assert_eq(accepted, 13);
    scratch_close(&folder);
}

/* A download that broke off anywhere is refused, and once the header is whole it says both
 * sizes. */
Test(safetensors, truncated_anywhere)
{
    static const char header[] = "{'a':{'dtype':'F32','shape':[2,2],'data_offsets':[0,16]},"
                                 "'b':{'dtype':'F16','shape':[4],'data_offsets':[16,24]}}";
    enum { HEADER = sizeof header - 1, WHOLE = 8 + HEADER + 24 };
    unsigned char bytes[WHOLE] = {HEADER};
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    char words[96];
    char *quoted = with_quotes(header, HEADER);
    memcpy(bytes + 8, quoted, HEADER);
    free(quoted);
    for (size_t size = 0; size <= WHOLE; size++) {
        oc_safetensors file;
        ocelli_error err = {0};
        scratch_write(&folder, "cut.safetensors", bytes, size);
        ocelli_status status =
            oc_safetensors_open(&file, scratch_path(&folder, "cut.safetensors", path), &err);
        if (size == WHOLE) {
            cr_assert_eq(status, OCELLI_OK);
            oc_safetensors_close(&file);
            continue;
        }
        cr_assert_eq(status, OCELLI_E_FORMAT, "%zu: %s", size, err.message);
        cr_assert_not_null(strstr(err.message, "truncated"), "%zu: %s", size, err.message);
        if (size >= 8 + HEADER) {
            snprintf(words, sizeof words, "%d bytes expected, the file has %zu", WHOLE, size);
            cr_assert_not_null(strstr(err.message, words), "%s", err.message);
        }
    }
    scratch_close(&folder);
}

Test(safetensors, says_what_is_wrong)
{
    expect_words("{'a':{'dtype':'F32','shape':[4],'data_offsets':[0,16]}}", 20, OCELLI_E_FORMAT,
                 "4 bytes after the last tensor: 79 bytes expected, the file has 83");
    expect_words("{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8]},"
                 "'b':{'dtype':'F32','shape':[3],'data_offsets':[12,24]}}",
                 24, OCELLI_E_FORMAT, "a gap of 4 unused bytes before tensor \"b\"");
    expect_words("{'a':{'dtype':'F32','shape':[4],'data_offsets':[0,16]},"
                 "'b':{'dtype':'F32','shape':[4],'data_offsets':[8,24]}}",
                 24, OCELLI_E_FORMAT, "tensors \"a\" and \"b\" overlap");
    expect_words("{'a':{'dtype':'U8','shape':[4],'data_offsets':[0,4]},"
                 "'\\u0061':{'dtype':'U8','shape':[4],'data_offsets':[4,8]}}",
                 8, OCELLI_E_FORMAT, "names tensor \"a\" twice");
    expect_words("{'a':{'dtype':'F128','shape':[1],'data_offsets':[0,16]}}", 16,
                 OCELLI_E_UNSUPPORTED, "tensor \"a\": unknown dtype \"F128\"");
    /* An unknown dtype does not excuse offsets that cannot be. */
    expect_words("{'a':{'dtype':'F128','shape':[1],'data_offsets':[16,0]}}", 16, OCELLI_E_FORMAT,
                 "data_offsets [16, 0] end before they begin");
    expect_words("{'a':{'dtype':'F32','shape':[2,3],'data_offsets':[0,16]}}", 16, OCELLI_E_FORMAT,
                 "shape [2, 3] of f32 is 24 bytes, but data_offsets [0, 16] span 16");
    expect_words("{'a':{'dtype':'F32','shape':[2],'data_offsets':[0,8],'shape':[2]}}", 8,
                 OCELLI_E_FORMAT, "given twice");
    expect_words("{'a':{'dtype':'U8','shape':[1,1,1,1,1,1,1,1,1],'data_offsets':[0,1]}}", 1,
                 OCELLI_E_FORMAT, "more than 8 axes");
    /* Neither the sum of the axes nor that of the offsets may wrap. */
    expect_words("{'a':{'dtype':'F32','shape':[0,4611686018427387904,4],'data_offsets':[0,0]}}", 0,
                 OCELLI_E_FORMAT, "larger than any file");
    expect_words("{'a':{'dtype':'U8','shape':[9223372036854775807],'data_offsets':"
                 "[0,9223372036854775807]},"
                 "'b':{'dtype':'U8','shape':[9223372036854775807],'data_offsets':"
                 "[9223372036854775807,18446744073709551614]}}",
                 4, OCELLI_E_FORMAT, "reach beyond any file");
    expect_words("{'__metadata__':{'k':'1','k':'2'}}", 0, OCELLI_E_FORMAT, "the key \"k\" twice");
    expect_words("{'__metadata__':{},'__metadata__':{}}", 0, OCELLI_E_FORMAT, "given twice");
    expect_words("{'__metadata__':{'k':3}}", 0, OCELLI_E_FORMAT, "an object of strings");
    expect_words("{'a':[]}", 0, OCELLI_E_FORMAT, "must be an object");
    expect_words("{'a\nb':{}}", 0, OCELLI_E_FORMAT, "not valid JSON near its byte 3");
    /* A name with control characters keeps the message one line. */
    expect_words("{'a\\nb':{'dtype':'U8','shape':[1],'data_offsets':[1,0]}}", 1, OCELLI_E_FORMAT,
                 "tensor \"a?b\"");
}

Test(safetensors, other_files)
{
    static const struct {
        const char *bytes, *words;
    } kinds[] = {
        {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4255140312\n",
         "is a Git LFS pointer, not the file: run git lfs pull"},
        {"GGUF\3\0\0\0", "a GGUF file"},
        {"PK\3\4\24\0\10\10", "a PyTorch archive"},
        {"<!DOCTYPE html><html>", "a web page"},
        {"Entry not found", "not a safetensors file"},
        {"short", "truncated"},
    };
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        oc_safetensors file;
        ocelli_error err = {0};
        scratch_write(&folder, "x.safetensors", kinds[i].bytes, strlen(kinds[i].bytes));
        cr_assert_eq(oc_safetensors_open(&file, scratch_path(&folder, "x.safetensors", path), &err),
                     OCELLI_E_FORMAT);
        cr_assert_not_null(strstr(err.message, kinds[i].words), "%s", err.message);
    }
    oc_safetensors file;
    ocelli_error err = {0};
    cr_assert_eq(oc_safetensors_open(&file, folder.path, &err), OCELLI_E_IO);
    cr_assert_not_null(strstr(err.message, "folder"), "%s", err.message);
    cr_assert_eq(oc_safetensors_open(&file, "/nonexistent/x.safetensors", &err), OCELLI_E_IO);
    scratch_close(&folder);
}

/* 3,500 open brackets, objects 600 deep, a rank of 1000: refused without using the stack for it. */
Test(safetensors, nesting_and_rank)
{
    enum { DEEP = 3500, ROOM = 8192 };
    char *header = malloc(ROOM);
    memset(header, '[', DEEP);
    memcpy(header, "{'a':", 5);
    header[DEEP] = '\0';
    expect_words(header, 0, OCELLI_E_FORMAT, "must be an object");
    memset(header, '[', DEEP);
    memcpy(header, "{'a':{'x':", 10);
    expect_words(header, 0, OCELLI_E_FORMAT, "not valid JSON");
    size_t used = 0;
    for (int i = 0; i < 600; i++) {
        used += (size_t)snprintf(header + used, ROOM - used, "{'a':");
    }
    memset(header + used, '}', 600);
    header[used + 600] = '\0';
    expect_words(header, 0, OCELLI_E_FORMAT, "not valid JSON");
    used = (size_t)snprintf(header, ROOM, "{'a':{'dtype':'U8','shape':[1");
    for (int i = 1; i < 1000; i++) {
        used += (size_t)snprintf(header + used, ROOM - used, ",1");
    }
    snprintf(header + used, ROOM - used, "],'data_offsets':[0,1]}}");
    expect_words(header, 1, OCELLI_E_FORMAT, "more than 8 axes");
    free(header);
}

/* Fields that are not known are skipped whole, whatever they hold; what is no JSON is not. */
Test(safetensors, unknown_fields)
{
    static const struct {
        const char *value;
        bool sound;
    } values[] = {
        {"1", true},
        {"-0.5e+3", true},
        {"null", true},
        {"true", true},
        {"'t\\u00e9'", true},
        {"[]", true},
        {"{}", true},
        {"[[],{},[1,2,{'k':[]}]]", true},
        {"{'a':{'b':[1]},'c':2}", true},
        {"01", false},
        {"1.", false},
        {".5", false},
        {"+1", false},
        {"1e", false},
        {"nul", false},
        {"[1,]", false},
        {"[1 2]", false},
        {"{1:2}", false},
        {"{'a'}", false},
        {"{'a':1,}", false},
        {"[}", false},
        {"{]", false},
        {"'\\x'", false},
        {"", false},
    };
    scratch folder = scratch_open();
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char header[256];
        snprintf(header, sizeof header,
                 "{'a':{'dtype':'U8','x':%s,'shape':[1],'data_offsets':[0,1]}}", values[i].value);
        oc_safetensors file;
        ocelli_error err = {0};
        ocelli_status status =
            open_header(&file, &folder, strlen(header), header, strlen(header), 1, &err);
        cr_assert_eq(status, values[i].sound ? OCELLI_OK : OCELLI_E_FORMAT, "%s: %s",
                     values[i].value, err.message);
        oc_safetensors_close(&file);
    }
    scratch_close(&folder);
}

Test(safetensors, names)
{
    static const char start[] = "{'__metadata__':{'k\\n':'\\ud83d\\ude00 \\\"\\/'},'";
    static const char end[] = "':{'dtype':'U8','shape':[2],'data_offsets':[0,2]}}";
    char name[2001];
    char header[2200];
    scratch folder = scratch_open();
    memset(name, 'n', 2000);
    name[2000] = '\0';
    snprintf(header, sizeof header, "%s%s%s", start, name, end);
    oc_safetensors file;
    ocelli_error err = {0};
    cr_assert_eq(open_header(&file, &folder, strlen(header), header, strlen(header), 2, &err),
                 OCELLI_OK, "%s", err.message);
    cr_assert_eq(file.count, 1);
    cr_assert_not_null(oc_safetensors_find(&file, name));
    cr_assert_null(oc_safetensors_find(&file, "n"));
    cr_assert_str_eq(oc_safetensors_metadata(&file, "k\n"), "\xf0\x9f\x98\x80 \"/");
    cr_assert_null(oc_safetensors_metadata(&file, "k"));
    oc_safetensors_close(&file);
    /* A long name leaves room in the message for what is wrong. */
    snprintf(header, sizeof header, "{'%s':{'dtype':'U9','shape':[2],'data_offsets':[0,2]}}", name);
    expect_words(header, 2, OCELLI_E_UNSUPPORTED, "...\": unknown dtype \"U9\"");
    scratch_close(&folder);
}

/* 20,000 tensors, written in an order that is neither that of the names nor that of the data. */
Test(safetensors, many)
{
    enum { COUNT = 20000 };
    size_t room = (size_t)COUNT * 96;
    char *header = malloc(room);
    size_t used = (size_t)snprintf(header, room, "{");
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned k = i * 7919u % COUNT;
        used += (size_t)snprintf(header + used, room - used,
                                 "%s'layer.%u':{'dtype':'U8','shape':[2],'data_offsets':[%u,%u]}",
                                 i == 0 ? "" : ",", k, 2 * k, 2 * k + 2);
    }
    used += (size_t)snprintf(header + used, room - used, "}");
    scratch folder = scratch_open();
    oc_safetensors file;
    ocelli_error err = {0};
    cr_assert_eq(open_header(&file, &folder, used, header, used, (size_t)2 * COUNT, &err),
                 OCELLI_OK, "%s", err.message);
    cr_assert_eq(file.count, COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "layer.%u", i);
        const oc_safetensors_entry *entry = oc_safetensors_find(&file, name);
        cr_assert_eq(entry, &file.entries[i]);
        cr_assert_eq(entry->begin, 2 * i);
    }
    oc_safetensors_close(&file);
    free(header);
    scratch_close(&folder);
}

/* Bytes flipped, removed and doubled at random places of a sound file: never a crash, and whatever
 * is accepted lies within the file. */
Test(safetensors, mutations)
{
    const safetensors_case *base = &safetensors_cases[1];
    char *header = with_quotes(base->header, base->header_size);
    size_t size = 8 + base->header_size + base->data_size;
    unsigned char *whole = calloc(size + 8, 1);
    unsigned char *bytes = calloc(size + 8, 1);
    whole[0] = (unsigned char)base->header_size;
    memcpy(whole + 8, header, base->header_size);
    scratch folder = scratch_open();
    char path[SCRATCH_PATH];
    scratch_path(&folder, "x.safetensors", path);
    uint32_t seed = 20240607;
    size_t accepted = 0;
    for (int round = 0; round < 800; round++) {
        size_t length = size;
        memcpy(bytes, whole, size);
        for (int edits = 0; edits < 1 + round % 3; edits++) {
            static const char alphabet[] = "\"{}[],:0129-.eE \\u\x80\xff";
            seed = seed * 1664525u + 1013904223u;
            size_t at = (seed >> 8) % length;
            unsigned kind = (seed >> 4) % 4;
            seed = seed * 1664525u + 1013904223u;
            if (kind == 0) {
                bytes[at] ^= (unsigned char)(1u << (seed >> 9) % 8);
            } else if (kind == 1) {
                bytes[at] = (unsigned char)alphabet[(seed >> 9) % (sizeof alphabet - 1)];
            } else if (kind == 2 && length > 1) {
                memmove(bytes + at, bytes + at + 1, --length - at);
            } else if (length < size + 8) {
                memmove(bytes + at + 1, bytes + at, length++ - at);
            }
        }
        scratch_write(&folder, "x.safetensors", bytes, length);
        oc_safetensors file;
        if (oc_safetensors_open(&file, path, NULL) == OCELLI_OK) {
            accepted++;
            for (size_t i = 0; i < file.count; i++) {
                const oc_tensor *tensor = &file.entries[i].tensor;
                const unsigned char *data = tensor->data;
                cr_assert_geq((uintptr_t)data, (uintptr_t)file.map.bytes);
                cr_assert_leq((size_t)(data - file.map.bytes), file.map.size);
                cr_assert_leq(tensor->bytes, file.map.size - (size_t)(data - file.map.bytes));
            }
            oc_safetensors_close(&file);
        }
    }
    cr_assert_gt(accepted, 0);
    free(header);
    free(whole);
    free(bytes);
    scratch_close(&folder);
}
