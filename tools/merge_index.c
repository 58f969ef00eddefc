/* merge_index.c - see merge_index.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/merge_index.h"
#include "tools/cli_options.h"
#include "tools/interrupt.h"
#include "tools/path_order.h"
#include "tools/report.h"
#include "tools/stable_hash.h"
#include "tools/text_bytes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Paths of entries lie one after another in blocks that are never moved. */
struct merge_block {
    struct merge_block *next;
    size_t used, room;
    char bytes[];
};

#define BLOCK_BYTES ((size_t)1 << 20)

static int no_memory(const merge_index *index)
{
    report_error("no memory for more than %zu lines", index->count);
    return EXIT_FAILED;
}

/* A copy of path in the blocks; that of the line before is shared. NULL: no memory. */
static const char *keep_path(merge_index *index, const char *path)
{
    size_t size = strlen(path) + 1;
    struct merge_block *block = index->blocks;
    if (index->count > 0 && strcmp(index->entries[index->count - 1].path, path) == 0) {
        return index->entries[index->count - 1].path;
    }
    if (block == NULL || block->room - block->used < size) {
        size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        block = malloc(sizeof *block + room);
        if (block == NULL) {
            return NULL;
        }
        *block = (struct merge_block){index->blocks, 0, room};
        index->blocks = block;
    }
    char *copy = block->bytes + block->used;
    memcpy(copy, path, size);
    block->used += size;
    return copy;
}

static bool add(merge_index *index, const merge_entry *entry, const char *path)
{
    if (index->count == index->room) {
        size_t more = index->room == 0 ? 1024 : index->room + index->room / 2;
        merge_entry *larger = more <= SIZE_MAX / sizeof *larger
                                  ? realloc(index->entries, more * sizeof *larger)
                                  : NULL;
        if (larger == NULL) {
            return false;
        }
        index->entries = larger;
        index->room = more;
    }
    const char *kept = keep_path(index, path);
    if (kept == NULL) {
        return false;
    }
    index->entries[index->count] = *entry;
    index->entries[index->count++].path = kept;
    return true;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* One run is of one model. */
static int check_model(merge_index *index, const merge_line *line, const merge_reader *reader)
{
    if (index->model == NULL) {
        index->model = text_copy(line->model);
        index->model_file = reader->name;
        index->model_number = reader->number;
        return index->model != NULL ? EXIT_DONE : no_memory(index);
    }
    if (strcmp(index->model, line->model) != 0) {
        report_error("%s:%" PRIu64 " is of model %.80s, but %s:%" PRIu64
                     " of %.80s; --mixed takes both",
                     reader->name, reader->number, line->model, index->model_file,
                     index->model_number, index->model);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* What one file asks at one place of a picture's prompts. */
typedef struct file_prompt {
    char *text; /* the first */
    size_t count;
    bool varies; /* {name} and the like: another text for each picture */
} file_prompt;

static int note_prompt(const merge_index *index, const merge_line *line, file_prompt *prompts)
{
    file_prompt *prompt = &prompts[line->index];
    if (prompt->text == NULL) {
        prompt->text = text_copy(line->prompt);
        if (prompt->text == NULL) {
            return no_memory(index);
        }
    }
    prompt->varies = prompt->varies || strcmp(prompt->text, line->prompt) != 0;
    prompt->count++;
    return EXIT_DONE;
}

/* Two workers whose prompts do not vary ask the same. Of one or two pictures nobody knows whether
 * their prompt varies. */
static int check_prompts(merge_index *index, const char *name, file_prompt *prompts)
{
    for (size_t i = 0; i < MERGE_MOST_PROMPTS; i++) {
        struct merge_asked *asked = &index->asked[i];
        if (prompts[i].count < 3 || prompts[i].varies) {
            continue;
        }
        if (asked->text == NULL) {
            asked->text = prompts[i].text;
            asked->file = name;
            prompts[i].text = NULL;
        } else if (strcmp(asked->text, prompts[i].text) != 0) {
            report_error("'%s' asks '%.100s', but '%s' asks '%.100s'; --mixed takes both", name,
                         prompts[i].text, asked->file, asked->text);
            return EXIT_FAILED;
        }
    }
    return EXIT_DONE;
}

static int read_line(merge_index *index, const merge_reader *reader, const merge_text *text,
                     merge_entry *entry, bool mixed, file_prompt *prompts)
{
    char why[160];
    merge_line line;
    if (!merge_line_parse(text, &line, why, sizeof why)) {
        if (text->torn) {
            report_warning("%s:%" PRIu64 ": the last line is torn, and left out", reader->name,
                           reader->number);
            return EXIT_DONE;
        }
        report_error("%s:%" PRIu64 ": %s", reader->name, reader->number, why);
        return EXIT_FAILED;
    }
    entry->offset = text->offset;
    entry->prompt = stable_hash_text(line.prompt);
    entry->order = line.index;
    entry->length = (uint32_t)text->length; /* at most MERGE_LONGEST_LINE */
    entry->failed = line.failed;
    int code = mixed ? EXIT_DONE : check_model(index, &line, reader);
    if (code == EXIT_DONE) {
        code = note_prompt(index, &line, prompts);
    }
    if (code == EXIT_DONE && !add(index, entry, line.path)) {
        code = no_memory(index);
    }
    merge_line_free(&line);
    return code;
}

int merge_index_read(merge_index *index, const char *name, uint32_t file, bool mixed)
{
    merge_reader reader;
    merge_text text;
    merge_result result;
    merge_entry entry = {.rank = MERGE_NOT_EXPECTED, .file = file};
    file_prompt prompts[MERGE_MOST_PROMPTS] = {{0}};
    int code = EXIT_DONE;
    if (!merge_reader_open(&reader, name)) {
        return EXIT_FAILED;
    }
    do {
        result = merge_reader_next(&reader, &text);
        if (result == MERGE_READ) {
            code = read_line(index, &reader, &text, &entry, mixed, prompts);
        } else if (result == MERGE_FAILED) {
            code = EXIT_FAILED;
        }
        if (code == EXIT_DONE && interrupt_pending()) {
            code = EXIT_INTERRUPTED;
        }
    } while (code == EXIT_DONE && result == MERGE_READ);
    merge_reader_close(&reader);
    if (code == EXIT_DONE && !mixed) {
        code = check_prompts(index, name, prompts);
    }
    for (size_t i = 0; i < MERGE_MOST_PROMPTS; i++) {
        free(prompts[i].text);
    }
    return code;
}

/* ---- one line for each --------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_keys(const merge_entry *a, const merge_entry *b)
{
    int order = a->path == b->path ? 0 : strcmp(a->path, b->path);
    return order != 0 ? order : compare_numbers(a->prompt, b->prompt);
}

static int by_key(const void *left, const void *right)
{
    const merge_entry *a = left;
    const merge_entry *b = right;
    int order = compare_keys(a, b);
    if (order == 0) {
        order = compare_numbers(a->file, b->file);
    }
    return order != 0 ? order : compare_numbers(a->offset, b->offset);
}

/* What stays the same from run to run of an entry's line, for cJSON_free; NULL after a message. */
static char *lasting_text(merge_files *files, const merge_entry *entry)
{
    char why[160];
    merge_line line;
    const char *bytes = merge_files_line(files, entry->file, entry->offset, entry->length);
    merge_text text = {bytes, entry->length, entry->offset, false};
    if (bytes == NULL) {
        return NULL;
    }
    if (!merge_line_parse(&text, &line, why, sizeof why)) {
        report_error("'%s' has changed while it was read", files->names[entry->file]);
        return NULL;
    }
    char *lasting = merge_line_lasting(&line);
    merge_line_free(&line);
    if (lasting == NULL) {
        report_error("no memory for a line of '%s'", files->names[entry->file]);
    }
    return lasting;
}

/* Two files' captions of one picture. */
static int compare_captions(merge_files *files, const merge_entry *a, const merge_entry *b)
{
    int code = EXIT_FAILED;
    char *a_text = lasting_text(files, a);
    char *b_text = a_text != NULL ? lasting_text(files, b) : NULL;
    if (b_text != NULL && strcmp(a_text, b_text) == 0) {
        code = EXIT_DONE;
    } else if (b_text != NULL) {
        report_error("%s:%" PRIu64 " and %s:%" PRIu64
                     " differ about '%.200s'; leave one of the files or lines out",
                     files->names[a->file], merge_files_number(files, a->file, a->offset),
                     files->names[b->file], merge_files_number(files, b->file, b->offset), a->path);
    }
    cJSON_free(a_text);
    cJSON_free(b_text);
    return code;
}

/* The one of group [count], all of one picture and prompt, by file and then by offset. */
static int settle_group(const merge_entry *group, size_t count, merge_files *files,
                        merge_entry *out)
{
    const merge_entry *caption = NULL; /* of the first file that has one */
    const merge_entry *latest = NULL;  /* caption of the file being looked at */
    for (size_t i = 0; i < count; i++) {
        if (!group[i].failed) {
            latest = &group[i];
        }
        bool file_ends = i + 1 == count || group[i + 1].file != group[i].file;
        if (file_ends && latest != NULL) {
            if (caption == NULL) {
                caption = latest;
            } else if (compare_captions(files, caption, latest) != EXIT_DONE) {
                return EXIT_FAILED;
            }
            latest = NULL;
        }
    }
    *out = caption != NULL ? *caption : group[count - 1];
    return EXIT_DONE;
}

int merge_index_settle(merge_index *index, merge_files *files)
{
    size_t kept = 0;
    int code = EXIT_DONE;
    if (index->count > 1) {
        qsort(index->entries, index->count, sizeof index->entries[0], by_key);
    }
    for (size_t i = 0; code == EXIT_DONE && i < index->count;) {
        size_t end = i + 1;
        while (end < index->count && compare_keys(&index->entries[i], &index->entries[end]) == 0) {
            end++;
        }
        merge_entry one;
        code = settle_group(&index->entries[i], end - i, files, &one);
        if (code == EXIT_DONE) {
            index->superseded += end - i - 1;
            index->entries[kept++] = one;
        }
        i = end;
        if (code == EXIT_DONE && interrupt_pending()) {
            code = EXIT_INTERRUPTED;
        }
    }
    index->count = kept;
    return code;
}

/* ---- order --------------------------------------------------------------------------------- */

static int by_place(const void *left, const void *right)
{
    const merge_entry *a = left;
    const merge_entry *b = right;
    int order = compare_numbers(a->rank, b->rank);
    if (order == 0 && a->path != b->path) {
        order = path_order(a->path, b->path);
    }
    return order != 0 ? order : compare_numbers(a->order, b->order);
}

void merge_index_sort(merge_index *index)
{
    if (index->count > 1) {
        qsort(index->entries, index->count, sizeof index->entries[0], by_place);
    }
}

static int by_bytes(const void *left, const void *right)
{
    const struct merge_ranked *a = left;
    const struct merge_ranked *b = right;
    int order = strcmp(a->path, b->path);
    return order != 0 ? order : compare_numbers(a->rank, b->rank);
}

static int by_rank(const void *left, const void *right)
{
    const struct merge_ranked *a = left;
    const struct merge_ranked *b = right;
    return compare_numbers(a->rank, b->rank);
}

/* By path, each once: that of the least rank. */
static void make_unique(merge_rank_list *expected)
{
    size_t kept = 0;
    qsort(expected->items, expected->count, sizeof expected->items[0], by_bytes);
    for (size_t i = 0; i < expected->count; i++) {
        if (kept > 0 && strcmp(expected->items[kept - 1].path, expected->items[i].path) == 0) {
            free(expected->items[i].path);
        } else {
            expected->items[kept++] = expected->items[i];
        }
    }
    expected->count = kept;
}

void merge_index_rank(merge_index *index, merge_rank_list *expected)
{
    if (expected->count == 0) {
        return;
    }
    make_unique(expected);
    for (size_t i = 0; i < index->count; i++) {
        merge_entry *entry = &index->entries[i];
        size_t low = 0, high = expected->count; /* the first that is not before the path */
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (strcmp(expected->items[middle].path, entry->path) < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low < expected->count && strcmp(expected->items[low].path, entry->path) == 0) {
            entry->rank = expected->items[low].rank;
            expected->items[low].found = true;
        }
    }
    qsort(expected->items, expected->count, sizeof expected->items[0], by_rank);
}

void merge_ranks_free(merge_rank_list *expected)
{
    for (size_t i = 0; i < expected->count; i++) {
        free(expected->items[i].path);
    }
    free(expected->items);
    memset(expected, 0, sizeof *expected);
}

void merge_index_free(merge_index *index)
{
    while (index->blocks != NULL) {
        struct merge_block *next = index->blocks->next;
        free(index->blocks);
        index->blocks = next;
    }
    for (size_t i = 0; i < MERGE_MOST_PROMPTS; i++) {
        free(index->asked[i].text);
    }
    free(index->entries);
    free(index->model);
    memset(index, 0, sizeof *index);
}
