/* golden_data.c - see golden_data.h. POSIX. */
#define _POSIX_C_SOURCE 200809L
#include "tests/golden/golden_data.h"

#include "runtime/base/file.h"
#include "runtime/base/json.h"
#include "runtime/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char NO_CHARACTER[] = "\xef\xb7\x90"; /* U+FDD0 */

bool golden_path(char path[GOLDEN_PATH], const char *directory, const char *name)
{
    int wanted = snprintf(path, GOLDEN_PATH, "%s/%s", directory, name);
    return wanted > 0 && wanted < GOLDEN_PATH;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

ocelli_status golden_list(golden_names *out, const char *directory, ocelli_error *err)
{
    *out = (golden_names){0};
    DIR *folder = opendir(directory);
    if (folder == NULL) {
        return errno == ENOENT ? OCELLI_OK
                               : oc_fail(err, OCELLI_E_IO, "%s: %s", directory, strerror(errno));
    }
    size_t capacity = 0;
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (out->count == capacity) {
            char **names = oc_grow(out->names, capacity, capacity * 2 + 16, sizeof *names);
            if (names == NULL) {
                break;
            }
            out->names = names;
            capacity = capacity * 2 + 16;
        }
        out->names[out->count] = oc_strdup(entry->d_name);
        if (out->names[out->count] == NULL) {
            break;
        }
        out->count++;
    }
    closedir(folder);
    if (entry != NULL) {
        golden_names_close(out);
        return oc_fail_memory(err, directory);
    }
    if (out->count > 0) {
        qsort(out->names, out->count, sizeof *out->names, by_text);
    }
    return OCELLI_OK;
}

void golden_names_close(golden_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        oc_free(names->names[i]);
    }
    oc_free(names->names);
    *names = (golden_names){0};
}

ocelli_status golden_json(cJSON **out, const char *path, ocelli_error *err)
{
    char *bytes;
    size_t size;
    *out = NULL;
    OC_TRY(oc_file_read(&bytes, &size, path, OC_JSON_LIMIT, err));
    for (size_t i = 0; i + 1 < size; i++) {
        if (bytes[i] != '\\') {
            continue;
        }
        if (size - i >= 6 && memcmp(bytes + i + 1, "u0000", 5) == 0) {
            memcpy(bytes + i + 1, "ufdd0", 5);
        }
        i++; /* the escaped character: it may be a backslash */
    }
    *out = cJSON_ParseWithLength(bytes, size);
    oc_free(bytes);
    return *out != NULL ? OCELLI_OK : oc_fail(err, OCELLI_E_FORMAT, "%s: not valid JSON", path);
}

const cJSON *golden_get(const cJSON *object, const char *key)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNull(found) ? NULL : found;
}

const char *golden_string(const cJSON *object, const char *key)
{
    const cJSON *found = golden_get(object, key);
    return cJSON_IsString(found) ? found->valuestring : NULL;
}

double golden_number(const cJSON *object, const char *key, double fallback)
{
    const cJSON *found = golden_get(object, key);
    return cJSON_IsNumber(found) ? found->valuedouble : fallback;
}

bool golden_flag(const cJSON *object, const char *key, bool fallback)
{
    const cJSON *found = golden_get(object, key);
    return cJSON_IsBool(found) ? cJSON_IsTrue(found) != 0 : fallback;
}

char *golden_text(const cJSON *string, size_t *length)
{
    const char *from = cJSON_IsString(string) ? string->valuestring : "";
    char *text = oc_strdup(from);
    char *to = text;
    *length = 0;
    for (; text != NULL && *from != '\0'; to++) {
        if (strncmp(from, NO_CHARACTER, 3) == 0) {
            *to = '\0';
            from += 3;
        } else {
            *to = *from++;
        }
    }
    *length = text != NULL ? (size_t)(to - text) : 0;
    return text;
}

static int hex_digit(char digit)
{
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}

unsigned char *golden_hex(const cJSON *string, size_t *length)
{
    const char *text = cJSON_IsString(string) ? string->valuestring : "";
    unsigned char *bytes = oc_alloc(strlen(text) / 2, 1);
    *length = 0;
    while (bytes != NULL && hex_digit(text[0]) >= 0 && hex_digit(text[1]) >= 0) {
        bytes[(*length)++] = (unsigned char)(hex_digit(text[0]) * 16 + hex_digit(text[1]));
        text += 2;
    }
    return bytes;
}

static size_t count_numbers(const cJSON *list, int depth)
{
    if (cJSON_IsNumber(list)) {
        return 1;
    }
    size_t count = 0;
    for (const cJSON *item = cJSON_IsArray(list) && depth < 4 ? list->child : NULL; item != NULL;
         item = item->next) {
        count += count_numbers(item, depth + 1);
    }
    return count;
}

static void copy_numbers(int64_t **to, const cJSON *list, int depth)
{
    if (cJSON_IsNumber(list)) {
        double value = list->valuedouble;
        *(*to)++ = value > -9e15 && value < 9e15 ? (int64_t)value : INT64_MIN;
        return;
    }
    for (const cJSON *item = cJSON_IsArray(list) && depth < 4 ? list->child : NULL; item != NULL;
         item = item->next) {
        copy_numbers(to, item, depth + 1);
    }
}

int64_t *golden_integers(const cJSON *list, size_t *count)
{
    *count = count_numbers(list, 0);
    int64_t *numbers = cJSON_IsArray(list) ? oc_alloc(*count, sizeof *numbers) : NULL;
    if (numbers == NULL) {
        *count = 0;
        return NULL;
    }
    int64_t *to = numbers;
    copy_numbers(&to, list, 0);
    return numbers;
}

ocelli_status golden_gunzip(const char *path, const char *target, ocelli_error *err)
{
    char name[] = "gzip", option[] = "-dc", separator[] = "--";
    char *file = oc_strdup(path);
    char *arguments[] = {name, option, separator, file, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int wait_status = -1;
    if (file == NULL || posix_spawn_file_actions_init(&actions) != 0) {
        oc_free(file);
        return oc_fail_memory(err, path);
    }
    int failed = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, target,
                                                  O_WRONLY | O_CREAT | O_EXCL, 0600);
    failed = failed != 0 ? failed : posix_spawnp(&child, name, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    oc_free(file);
    if (failed != 0) {
        return oc_fail(err, OCELLI_E_IO, "%s: cannot run gzip: %s", path, strerror(failed));
    }
    while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR) {
    }
    return wait_status == 0 ? OCELLI_OK
                            : oc_fail(err, OCELLI_E_FORMAT, "%s: gzip could not unpack it", path);
}
