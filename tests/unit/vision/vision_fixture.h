/* vision_fixture.h - what the vision tests share: files, golden arrays, golden JSON. */
#ifndef OC_TESTS_UNIT_VISION_FIXTURE_H
#define OC_TESTS_UNIT_VISION_FIXTURE_H

#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "vision/image.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN OCELLI_TEST_DATA "/golden/qwen3vl/"
#define PICTURES OCELLI_TEST_DATA "/pictures/"

/* The whole file, NUL-ended; oc_free it. */
static inline char *read_whole(const char *path, size_t *size)
{
    char *bytes;
    ocelli_error err = {0};
    ocelli_status status = oc_file_read(&bytes, size, path, (size_t)1 << 30, &err);
    cr_assert_eq(status, OCELLI_OK, "%s", err.message);
    return bytes;
}

static inline char *read_under(const char *folder, const char *name, size_t *size)
{
    char *path = oc_path_join(folder, name);
    char *bytes = read_whole(path, size);
    oc_free(path);
    return bytes;
}

/* cJSON_Delete it. */
static inline cJSON *read_json(const char *folder, const char *name)
{
    size_t size;
    char *text = read_under(folder, name, &size);
    cJSON *tree = cJSON_ParseWithLength(text, size);
    oc_free(text);
    cr_assert_not_null(tree, "%s%s is not JSON", folder, name);
    return tree;
}

static inline double number_at(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    cr_assert(cJSON_IsNumber(item), "no number %s", key);
    return item->valuedouble;
}

static inline const char *text_at(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* The data of a .npy file of version 1 with type descr ("|u1", "<f4"); *count items. file is to be
 * oc_freed. */
static inline const void *read_npy(char **file, const char *folder, const char *name,
                                   const char *descr, size_t item_bytes, size_t *count)
{
    size_t size;
    *file = read_under(folder, name, &size);
    const unsigned char *bytes = (const unsigned char *)*file;
    cr_assert(size > 10 && memcmp(bytes, "\x93NUMPY\x01\x00", 8) == 0, "%s is no .npy", name);
    size_t header = 10 + (size_t)(bytes[8] | bytes[9] << 8); /* a multiple of 64 */
    cr_assert(header <= size);
    char text[512] = "";
    memcpy(text, bytes + 10, header - 10 < sizeof text ? header - 10 : sizeof text - 1);
    cr_assert_not_null(strstr(text, descr), "%s: %s", name, text);
    *count = (size - header) / item_bytes;
    return bytes + header;
}

/* The decoded picture; oc_image_free it. */
static inline ocelli_image *decode_under(const char *folder, const char *name,
                                         const ocelli_image_options *options)
{
    size_t size;
    char *bytes = read_under(folder, name, &size);
    ocelli_image *image;
    ocelli_error err = {0};
    ocelli_status status = oc_image_decode(&image, bytes, size, name, options, &err);
    oc_free(bytes);
    cr_assert_eq(status, OCELLI_OK, "%s: %s", name, err.message);
    return image;
}

static inline size_t pixel_bytes(const ocelli_image *image)
{
    return (size_t)image->width * (size_t)image->height * 3;
}

#endif
