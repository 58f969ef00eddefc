/* batch_lines.c - see batch_lines.h. Of a line only its place is kept in memory. */
#define _POSIX_C_SOURCE 200809L

#include "tools/batch_lines.h"
#include "tools/cli_options.h"
#include "tools/file_draft.h"
#include "tools/output.h"
#include "tools/report.h"
#include "tools/stable_hash.h"
#include "tools/text_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- keys ---------------------------------------------------------------------------------- */

line_key line_key_make(const char *path, const char *prompt)
{
    line_key key = {STABLE_HASH_START, ~STABLE_HASH_START};
    const char *const parts[] = {path, prompt};
    for (size_t i = 0; i < 2; i++) {
        for (const char *c = parts[i]; *c != '\0'; c++) {
            key.a = stable_hash_byte(key.a, (uint8_t)*c);
            key.b = stable_mix(key.b ^ (uint8_t)*c);
        }
        key.a = stable_hash_byte(key.a, 0);
        key.b = stable_mix(key.b ^ 0xFF00);
    }
    return key;
}

static bool same_key(line_key one, line_key two)
{
    return one.a == two.a && one.b == two.b;
}

/* The slot of key: that of its last entry, or the empty one where it would be. */
static size_t *find_slot(const batch_lines *lines, line_key key)
{
    size_t at = (size_t)key.b & (lines->slot_room - 1);
    while (lines->slots[at] != 0 && !same_key(lines->entries[lines->slots[at] - 1].key, key)) {
        at = (at + 1) & (lines->slot_room - 1);
    }
    return &lines->slots[at];
}

static bool make_room(batch_lines *lines)
{
    if (lines->count == lines->room) {
        size_t more = lines->room == 0 ? 256 : lines->room * 2;
        line_entry *larger = more <= SIZE_MAX / sizeof *larger
                                 ? realloc(lines->entries, more * sizeof *larger)
                                 : NULL;
        if (larger == NULL) {
            return false;
        }
        lines->entries = larger;
        lines->room = more;
    }
    if (lines->count * 2 >= lines->slot_room) {
        size_t *before = lines->slots;
        size_t room = lines->slot_room == 0 ? 1024 : lines->slot_room * 2;
        size_t *slots = calloc(room, sizeof *slots);
        if (slots == NULL) {
            return false;
        }
        lines->slots = slots;
        lines->slot_room = room;
        for (size_t i = 0; i < lines->count; i++) {
            if (lines->entries[i].last) {
                *find_slot(lines, lines->entries[i].key) = i + 1;
            }
        }
        free(before);
    }
    return true;
}

static bool add_entry(batch_lines *lines, line_key key, uint64_t offset, size_t length, bool failed)
{
    if (!make_room(lines)) {
        return false;
    }
    size_t *slot = find_slot(lines, key);
    if (*slot != 0) {
        lines->entries[*slot - 1].last = false;
    }
    lines->entries[lines->count++] = (line_entry){key, offset, length, failed, true};
    *slot = lines->count;
    return true;
}

const line_entry *batch_lines_find(const batch_lines *lines, line_key key)
{
    size_t *slot = lines->count > 0 ? find_slot(lines, key) : NULL;
    return slot == NULL || *slot == 0 ? NULL : &lines->entries[*slot - 1];
}

/* ---- opening ------------------------------------------------------------------------------- */

static bool take_line(void *user, const cJSON *object, uint64_t offset, size_t length, char *why,
                      size_t size)
{
    batch_lines *lines = user;
    const char *path = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "path"));
    const char *hex = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "path_hex"));
    const cJSON *prompt = cJSON_GetObjectItemCaseSensitive(object, "prompt");
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(prompt, "text"));
    const cJSON *caption = cJSON_GetObjectItemCaseSensitive(object, "caption");
    /* A path that is not UTF-8 is written in hexadecimal too. */
    char *bytes = hex != NULL ? text_from_hex(hex) : NULL;
    if (path == NULL || text == NULL || (hex != NULL && bytes == NULL)) {
        free(bytes);
        snprintf(why, size,
                 "'%.300s' holds a line without \"path\" and \"prompt\", so this is not "
                 "a file that 'ocelli caption' wrote",
                 lines->file.path);
        return false;
    }
    line_key key = line_key_make(bytes != NULL ? bytes : path, text);
    free(bytes);
    if (!add_entry(lines, key, offset, length, !cJSON_IsString(caption))) {
        snprintf(why, size, "no memory");
        return false;
    }
    return true;
}

/* A pipe or a device, which takes lines and gives none back. */
static bool is_stream(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

int batch_lines_open(batch_lines *lines, const char *path, bool looking)
{
    char why[700];
    bool busy = false;
    memset(lines, 0, sizeof *lines);
    lines->descriptor = -1;
    lines->file.descriptor = -1;
    if (strcmp(path, "-") == 0) {
        lines->stream = true;
        return EXIT_DONE;
    }
    if (is_stream(path)) {
        lines->stream = true;
        lines->descriptor = looking ? -1 : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        if (!looking && lines->descriptor < 0) {
            report_error("cannot write '%s': %s", path, strerror(errno));
            return EXIT_FAILED;
        }
        return EXIT_DONE;
    }
    if (!line_file_open(&lines->file, path, looking, &busy, why, sizeof why) ||
        !line_file_read(&lines->file, take_line, lines, why, sizeof why)) {
        report_error("--jsonl: %s", why);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

char *batch_lines_caption(const batch_lines *lines, const line_entry *entry)
{
    char *text = line_file_text(&lines->file, entry->offset, entry->length);
    cJSON *object = text != NULL ? cJSON_Parse(text) : NULL;
    const char *caption = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "caption"));
    char *out = caption != NULL ? text_copy(caption) : NULL;
    cJSON_Delete(object);
    free(text);
    return out;
}

/* ---- adding -------------------------------------------------------------------------------- */

static bool write_stream(int descriptor, const char *text, size_t length, char *why, size_t size)
{
    if (descriptor < 0) {
        snprintf(why, size, "cannot write to stdout");
        return output_write(text, length);
    }
    while (length > 0) {
        ssize_t put = write(descriptor, text, length);
        if (put < 0 && errno != EINTR) {
            snprintf(why, size, "cannot write the JSON lines: %s", strerror(errno));
            return false;
        }
        text += put > 0 ? put : 0;
        length -= put > 0 ? (size_t)put : 0;
    }
    return true;
}

bool batch_lines_add(batch_lines *lines, const char *text, const line_key *keys, size_t count,
                     char *why, size_t size)
{
    size_t length = strlen(text);
    if (lines->stream) {
        return write_stream(lines->descriptor, text, length, why, size);
    }
    uint64_t offset = lines->file.end;
    if (!line_file_append(&lines->file, text, length, why, size)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        size_t line = strcspn(text, "\n") + 1;
        bool failed = strstr(text, "\"caption\":null") != NULL &&
                      strstr(text, "\"caption\":null") < text + line;
        if (!add_entry(lines, keys[i], offset, line, failed)) {
            snprintf(why, size, "no memory");
            return false;
        }
        offset += line;
        text += line;
    }
    return true;
}

bool batch_lines_has(const batch_lines *lines, const char *text, const line_key *keys, size_t count)
{
    bool has = true;
    for (size_t i = 0; has && i < count; i++) {
        size_t length = strcspn(text, "\n") + 1;
        const line_entry *entry = batch_lines_find(lines, keys[i]);
        char *there = entry != NULL && entry->length == length
                          ? line_file_text(&lines->file, entry->offset, length)
                          : NULL;
        has = there != NULL && memcmp(there, text, length) == 0;
        free(there);
        text += length;
    }
    return has;
}

/* ---- the order ----------------------------------------------------------------------------- */

/* Entries of the keys, in their order: own [owned]; is_own marks each. False: no memory. */
static bool find_own(const batch_lines *lines, const line_key *keys, size_t count, size_t **own,
                     size_t *owned, bool **is_own)
{
    *owned = 0;
    *own = calloc(count + 1, sizeof **own);
    *is_own = calloc(lines->count + 1, sizeof **is_own);
    for (size_t i = 0; *own != NULL && *is_own != NULL && i < count; i++) {
        const line_entry *entry = batch_lines_find(lines, keys[i]);
        size_t index = entry != NULL ? (size_t)(entry - lines->entries) : 0;
        if (entry != NULL && !(*is_own)[index]) {
            (*is_own)[index] = true;
            (*own)[(*owned)++] = index;
        }
    }
    return *own != NULL && *is_own != NULL;
}

/* An earlier line of one of the keys. */
static bool is_replaced(const batch_lines *lines, size_t index, const bool *is_own)
{
    const line_entry *entry = &lines->entries[index];
    if (entry->last) {
        return false;
    }
    const line_entry *last = batch_lines_find(lines, entry->key);
    return last != NULL && is_own[last - lines->entries];
}

static bool in_order(const batch_lines *lines, const size_t *own, size_t owned, const bool *is_own)
{
    for (size_t i = 1; i < owned; i++) {
        if (own[i] < own[i - 1]) {
            return false;
        }
    }
    for (size_t i = 0; i < lines->count; i++) {
        if (is_replaced(lines, i, is_own)) {
            return false;
        }
    }
    return true;
}

static bool rewrite(const batch_lines *lines, const size_t *own, const bool *is_own, char *why,
                    size_t size)
{
    file_draft draft;
    size_t next = 0;
    bool good = draft_open(&draft, lines->file.path, why, size);
    for (size_t i = 0; good && i < lines->count; i++) {
        if (is_replaced(lines, i, is_own)) {
            continue;
        }
        const line_entry *entry = &lines->entries[is_own[i] ? own[next++] : i];
        char *text = line_file_text(&lines->file, entry->offset, entry->length);
        if (text == NULL) {
            snprintf(why, size, "cannot read '%.300s' again", lines->file.path);
            draft_abandon(&draft);
            return false;
        }
        text[entry->length - 1] = '\n'; /* of a line that had none when it was read */
        good = draft_write(&draft, text, entry->length, why, size);
        free(text);
    }
    return good && draft_commit(&draft, why, size);
}

bool batch_lines_finish(batch_lines *lines, const line_key *keys, size_t count, char *why,
                        size_t size)
{
    size_t *own = NULL;
    size_t owned = 0;
    bool *is_own = NULL;
    bool good = true;
    if (!lines->stream) {
        good = find_own(lines, keys, count, &own, &owned, &is_own);
        if (!good) {
            snprintf(why, size, "no memory to put the JSON lines in order");
        } else if (!in_order(lines, own, owned, is_own)) {
            good = rewrite(lines, own, is_own, why, size);
        }
    }
    free(own);
    free(is_own);
    return good;
}

void batch_lines_close(batch_lines *lines)
{
    /* A file of this run in which nothing came to stand is not left behind. */
    line_file_close(&lines->file, lines->file.made && lines->count == 0);
    if (lines->descriptor >= 0) {
        close(lines->descriptor);
    }
    free(lines->entries);
    free(lines->slots);
    memset(lines, 0, sizeof *lines);
    lines->descriptor = -1;
    lines->file.descriptor = -1;
}
