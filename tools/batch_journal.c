/* batch_journal.c - see batch_journal.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/batch_journal.h"
#include "tools/cli_options.h"
#include "tools/output.h"
#include "tools/report.h"
#include "tools/stable_hash.h"
#include "tools/text_bytes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void journal_state(char out[48], const char *bytes, size_t length)
{
    uint64_t hash = STABLE_HASH_START;
    if (bytes == NULL) {
        snprintf(out, 48, "absent");
        return;
    }
    for (size_t i = 0; i < length; i++) {
        hash = stable_hash_byte(hash, (uint8_t)bytes[i]);
    }
    snprintf(out, 48, "%zu-%016" PRIx64, length, hash);
}

/* ---- entries ------------------------------------------------------------------------------- */

static uint64_t key_of(const char *caption)
{
    uint64_t key = stable_mix(stable_hash_text(caption));
    return key != 0 ? key : 1;
}

static journal_entry *find_slot(const batch_journal *journal, uint64_t key)
{
    size_t at = (size_t)key & (journal->room - 1);
    while (journal->entries[at].key != 0 && journal->entries[at].key != key) {
        at = (at + 1) & (journal->room - 1);
    }
    return &journal->entries[at];
}

static void free_entry(journal_entry *entry)
{
    free(entry->before);
    free(entry->text);
    free(entry->lines);
    memset(entry, 0, sizeof *entry);
}

static bool set_entry(batch_journal *journal, uint64_t key, const char *before, const char *text,
                      const char *lines)
{
    if (journal->count * 2 >= journal->room) {
        batch_journal larger = *journal;
        larger.room = journal->room == 0 ? 256 : journal->room * 2;
        larger.entries = calloc(larger.room, sizeof *larger.entries);
        if (larger.entries == NULL) {
            return false;
        }
        for (size_t i = 0; i < journal->room; i++) {
            if (journal->entries[i].key != 0) {
                *find_slot(&larger, journal->entries[i].key) = journal->entries[i];
            }
        }
        free(journal->entries);
        *journal = larger;
    }
    journal_entry *slot = find_slot(journal, key);
    journal->count += slot->key == 0;
    free_entry(slot);
    *slot = (journal_entry){key, text_copy(before), text_copy(text), text_copy(lines)};
    return slot->before != NULL && slot->text != NULL && slot->lines != NULL;
}

const journal_entry *journal_find(const batch_journal *journal, const char *caption)
{
    if (journal->room == 0) {
        return NULL;
    }
    const journal_entry *slot = find_slot(journal, key_of(caption));
    return slot->key != 0 ? slot : NULL;
}

static void forget(batch_journal *journal)
{
    for (size_t i = 0; i < journal->room; i++) {
        free_entry(&journal->entries[i]);
    }
    free(journal->entries);
    free(journal->mode);
    free(journal->settings);
    journal->entries = NULL;
    journal->mode = NULL;
    journal->settings = NULL;
    journal->count = 0;
    journal->room = 0;
    journal->over = false;
}

/* ---- lines --------------------------------------------------------------------------------- */

static bool take_line(void *user, const cJSON *object, uint64_t offset, size_t length, char *why,
                      size_t size)
{
    batch_journal *journal = user;
    const char *texts[6];
    static const char *const names[] = {"key", "before", "text", "lines", "mode", "settings"};
    (void)offset;
    (void)length;
    for (size_t i = 0; i < 6; i++) {
        texts[i] = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, names[i]));
    }
    bool good = true;
    if (texts[4] != NULL && texts[5] != NULL && journal->mode == NULL) {
        journal->mode = text_copy(texts[4]);
        journal->settings = text_copy(texts[5]);
        good = journal->mode != NULL && journal->settings != NULL;
    } else if (texts[0] != NULL && texts[1] != NULL && texts[2] != NULL && texts[3] != NULL) {
        uint64_t key = strtoull(texts[0], NULL, 16);
        good = set_entry(journal, key != 0 ? key : 1, texts[1], texts[2], texts[3]);
        journal->over = false;
    } else if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, "over"))) {
        journal->over = true;
    } else {
        snprintf(why, size, "'%.300s' is not as ocelli wrote it; remove it", journal->file.path);
        return false;
    }
    if (!good) {
        snprintf(why, size, "no memory");
    }
    return good;
}

static bool append_object(batch_journal *journal, cJSON *object, char *why, size_t size)
{
    char *text = object != NULL ? cJSON_PrintUnformatted(object) : NULL;
    bool good = text != NULL;
    cJSON_Delete(object);
    if (!good) {
        snprintf(why, size, "no memory");
        return false;
    }
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of the NUL: the length is given */
    good = line_file_append(&journal->file, text, length + 1, why, size);
    cJSON_free(text);
    return good;
}

static bool begin(batch_journal *journal, const char *mode, const char *settings, char *why,
                  size_t size)
{
    cJSON *object = cJSON_CreateObject();
    json_text(object, "mode", mode);
    json_text(object, "settings", settings);
    journal->mode = text_copy(mode);
    journal->settings = text_copy(settings);
    return append_object(journal, object, why, size) && journal->mode != NULL &&
           journal->settings != NULL;
}

bool journal_add(batch_journal *journal, const char *caption, const char *before, const char *text,
                 const char *lines, char *why, size_t size)
{
    char key[24];
    if (!journal->open || strcmp(journal->mode, "skip") == 0) {
        return true;
    }
    snprintf(key, sizeof key, "%016" PRIx64, key_of(caption));
    cJSON *object = cJSON_CreateObject();
    json_text(object, "key", key);
    json_text(object, "before", before);
    json_text(object, "text", text);
    json_text(object, "lines", lines);
    if (!append_object(journal, object, why, size)) {
        return false;
    }
    journal->count++; /* the table is for what an earlier run left */
    return true;
}

bool journal_end(batch_journal *journal, char *why, size_t size)
{
    cJSON *object = cJSON_CreateObject();
    if (!journal->open || strcmp(journal->mode, "skip") == 0) {
        cJSON_Delete(object);
        return true;
    }
    cJSON_AddTrueToObject(object, "over");
    return append_object(journal, object, why, size);
}

/* ---- opening ------------------------------------------------------------------------------- */

/* What another run left is no concern of this one: it only replaced, or it has tried everything. */
static bool may_forget(const batch_journal *journal)
{
    return journal->mode == NULL || journal->over || journal->count == 0 ||
           strcmp(journal->mode, "overwrite") == 0;
}

static bool is_same(const batch_journal *journal, const char *mode, const char *settings)
{
    return journal->mode != NULL && strcmp(journal->mode, mode) == 0 &&
           strcmp(journal->settings, settings) == 0;
}

int journal_open(batch_journal *journal, const char *path, const char *mode, const char *settings,
                 bool looking, bool *denied)
{
    char why[700];
    bool busy = false;
    memset(journal, 0, sizeof *journal);
    journal->file.descriptor = -1;
    *denied = false;
    errno = 0;
    if (!line_file_open(&journal->file, path, looking, &busy, why, sizeof why)) {
        *denied = !busy && (errno == EACCES || errno == EROFS || errno == EPERM);
        if (!*denied) {
            report_error("%s", why);
        }
        return EXIT_FAILED;
    }
    journal->open = true;
    if (!line_file_read(&journal->file, take_line, journal, why, sizeof why)) {
        report_error("%s", why);
        return EXIT_FAILED;
    }
    if (is_same(journal, mode, settings)) {
        return EXIT_DONE;
    }
    if (!may_forget(journal)) {
        report_error("a run with --mode %s and other prompts or settings was not finished here; "
                     "finish it with its own command, or remove '%s'",
                     journal->mode, path);
        return EXIT_FAILED;
    }
    forget(journal);
    if (looking) {
        return EXIT_DONE;
    }
    if (ftruncate(journal->file.descriptor, 0) != 0) {
        report_error("cannot write '%s': %s", path, strerror(errno));
        return EXIT_FAILED;
    }
    journal->file.end = 0;
    if (strcmp(mode, "skip") == 0) {
        journal->mode = text_copy(mode);
        return journal->mode != NULL ? EXIT_DONE : EXIT_FAILED;
    }
    if (!begin(journal, mode, settings, why, sizeof why)) {
        report_error("%s", why);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

void journal_close(batch_journal *journal, bool finished)
{
    line_file_close(&journal->file, finished || (journal->open && journal->count == 0));
    forget(journal);
    memset(journal, 0, sizeof *journal);
    journal->file.descriptor = -1;
}
