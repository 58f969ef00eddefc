/* cmd_merge.c - ocelli merge: joins what the workers of a divided run have written.
 *
 * Two passes: the first finds where every line is (merge_index.h), the second copies the lines in
 * order, byte for byte, into a file that gets its name when it is whole. stdout lists the pictures that
 * are still to be captioned, a path a line, as --files-from takes them; stderr says how many. */
#define _POSIX_C_SOURCE 200809L

#include "tools/batch_list.h"
#include "tools/commands.h"
#include "tools/flags.h"
#include "tools/interrupt.h"
#include "tools/merge_index.h"
#include "tools/output.h"
#include "tools/report.h"
#include "tools/shard.h"
#include "tools/text_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names said on stderr before the rest is only counted. */
enum { MOST_NAMED = 10 };

typedef struct merge {
    const cli_options *options;
    const char *out;          /* OUT */
    const char *const *names; /* [count] of the inputs */
    size_t count;
    merge_index index;
    merge_rank_list expected;
    merge_files files;
    uint64_t captions, failed, missing, unexpected;
} merge;

/* ---- before anything is read --------------------------------------------------------------- */

/* OUT is new, or --force says that it need not be; it is none of the inputs, however it is named. */
static int check_out(const merge *m)
{
    struct stat out, in;
    if (strcmp(m->out, "-") == 0) {
        return flags_misuse("merge", "OUT is a file; stdout lists what is still to do");
    }
    if (stat(m->out, &out) != 0) {
        return EXIT_DONE; /* writing will tell */
    }
    for (size_t i = 0; i < m->count; i++) {
        if (stat(m->names[i], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
            return flags_misuse(
                "merge", "'%.200s' is to be written and read; name a new file first", m->out);
        }
    }
    if (!S_ISREG(out.st_mode)) {
        report_error("'%s' is there and is no regular file", m->out);
        return EXIT_FAILED;
    }
    if (!m->options->force) {
        report_error("'%s' is there already; the first name is the file to write, and --force "
                     "replaces it",
                     m->out);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* The N and K of "K-of-N" in a file's name, as {shard} makes it; false if there is none. */
static bool label_of(const char *name, uint64_t *k, uint64_t *n)
{
    const char *slash = strrchr(name, '/');
    const char *of = strstr(slash != NULL ? slash : name, "-of-");
    if (of == NULL) {
        return false;
    }
    const char *begin = of;
    while (begin > name && begin[-1] >= '0' && begin[-1] <= '9') {
        begin--;
    }
    if (begin == of || of - begin > 7 || of[4] < '1' || of[4] > '9') {
        return false;
    }
    *k = strtoull(begin, NULL, 10);
    *n = strtoull(of + 4, NULL, 10);
    return *k >= 1 && *k <= *n && *n <= SHARD_MOST;
}

/* Files that are all called "K-of-N" should be N: says which K are not there. Returns their number. */
static uint64_t missing_shards(const merge *m)
{
    uint64_t k = 0, n = 0, all = 0, missing = 0;
    for (size_t i = 0; i < m->count; i++) {
        if (!label_of(m->names[i], &k, &n) || (all != 0 && n != all)) {
            return 0;
        }
        all = n;
    }
    bool *there = calloc((size_t)all + 1, sizeof *there);
    if (there == NULL) {
        return 0;
    }
    for (size_t i = 0; i < m->count; i++) {
        if (label_of(m->names[i], &k, &n)) {
            there[k] = true;
        }
    }
    for (k = 1; k <= all; k++) {
        missing += !there[k];
        if (!there[k] && missing <= MOST_NAMED) {
            report_warning("no file of shard %" PRIu64 "/%" PRIu64 " is among them", k, all);
        }
    }
    free(there);
    return missing;
}

/* ---- what there should be ------------------------------------------------------------------ */

/* The paths of --expect, as 'ocelli caption' finds them. */
static int find_expected(merge *m)
{
    batch_list list = {0};
    int code;
    if (m->options->expect == NULL) {
        return EXIT_DONE;
    }
    if (strcmp(m->options->expect, "-") != 0 && access(m->options->expect, R_OK) != 0) {
        report_error("--expect: cannot read '%s': %s", m->options->expect, strerror(errno));
        return EXIT_FAILED;
    }
    if (batch_is_folder(m->options->expect)) {
        code = batch_list_walk(&list, m->options->expect);
    } else {
        cli_options asked = *m->options;
        asked.files_from = m->options->expect;
        asked.operand_count = 0;
        code = batch_list_make(&list, &asked);
    }
    if (code == EXIT_DONE && list.count > 0) {
        m->expected.items = calloc(list.count, sizeof *m->expected.items);
        for (size_t i = 0; m->expected.items != NULL && i < list.count; i++) {
            char *path = text_copy(list.items[i].path);
            if (path == NULL) {
                break;
            }
            m->expected.items[m->expected.count++] = (struct merge_ranked){path, i, false};
        }
        if (m->expected.count < list.count) {
            report_error("no memory for %zu paths", list.count);
            code = EXIT_FAILED;
        }
    }
    batch_list_free(&list);
    return code;
}

/* ---- the result ---------------------------------------------------------------------------- */

/* One line into the file that is being written. */
static bool copy_line(merge *m, const merge_entry *entry, FILE *file)
{
    const char *text = merge_files_line(&m->files, entry->file, entry->offset, entry->length);
    if (text == NULL) {
        return false;
    }
    if (fwrite(text, 1, entry->length, file) != entry->length || putc('\n', file) == EOF) {
        report_error("cannot write '%s': %s", m->out, strerror(errno));
        return false;
    }
    return true;
}

static int write_lines(merge *m, FILE *file)
{
    for (size_t i = 0; i < m->index.count; i++) {
        if (interrupt_pending()) {
            return EXIT_INTERRUPTED;
        }
        if (!copy_line(m, &m->index.entries[i], file)) {
            return EXIT_FAILED;
        }
    }
    if (fflush(file) != 0 || fsync(fileno(file)) != 0) {
        report_error("cannot write '%s': %s", m->out, strerror(errno));
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* Into OUT.partial, renamed when it is whole; a link that stands there is not written through. */
static int write_out(merge *m)
{
    size_t size = strlen(m->out) + sizeof ".partial";
    char *partial = malloc(size);
    if (partial == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    snprintf(partial, size, "%s.partial", m->out);
    unlink(partial); /* of a run that was killed */
    int descriptor = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (file == NULL) {
        report_error("cannot write '%s': %s", partial, strerror(errno));
        if (descriptor >= 0) {
            close(descriptor);
            unlink(partial);
        }
        free(partial);
        return EXIT_FAILED;
    }
    int code = write_lines(m, file);
    if (fclose(file) != 0 && code == EXIT_DONE) {
        report_error("cannot write '%s': %s", m->out, strerror(errno));
        code = EXIT_FAILED;
    }
    if (code == EXIT_DONE && rename(partial, m->out) != 0) {
        report_error("cannot rename '%s' to '%s': %s", partial, m->out, strerror(errno));
        code = EXIT_FAILED;
    }
    if (code != EXIT_DONE) {
        unlink(partial);
    }
    free(partial);
    return code;
}

/* ---- what is still to do ------------------------------------------------------------------- */

static void name_path(const char *path, const char *what, uint64_t number)
{
    output_format("%s\n", path);
    if (number <= MOST_NAMED) {
        report_warning("%s: '%s'", what, path);
    } else if (number == MOST_NAMED + 1) {
        report_warning("%s: and more, listed on stdout", what);
    }
}

/* Pictures with fewer prompts answered than others, or with an error, and those of no line. */
static void tell_missing(merge *m)
{
    const merge_entry *entries = m->index.entries;
    size_t prompts = 0; /* most of any picture */
    for (size_t i = 0, same = 0; i < m->index.count; i++) {
        same = i > 0 && strcmp(entries[i].path, entries[i - 1].path) == 0 ? same + 1 : 1;
        prompts = same > prompts ? same : prompts;
    }
    for (size_t i = 0; i < m->index.count;) {
        size_t end = i, failed = 0;
        for (; end < m->index.count && strcmp(entries[end].path, entries[i].path) == 0; end++) {
            failed += entries[end].failed;
        }
        m->captions += end - i - failed;
        if (failed > 0) {
            name_path(entries[i].path, "failed", ++m->failed);
        } else if (end - i < prompts) {
            name_path(entries[i].path, "a prompt is missing", ++m->missing);
        }
        m->unexpected += m->options->expect != NULL && entries[i].rank == MERGE_NOT_EXPECTED;
        i = end;
    }
    for (size_t i = 0; i < m->expected.count; i++) {
        if (!m->expected.items[i].found) {
            name_path(m->expected.items[i].path, "missing", ++m->missing);
        }
    }
}

static void tell_sum(const merge *m)
{
    report_note("%" PRIu64 " captions in '%s'; %" PRIu64 " pictures failed, %" PRIu64
                " are missing%s",
                m->captions, m->out, m->failed, m->missing,
                m->options->expect == NULL ? " (--expect would tell all)" : "");
    if (m->index.superseded > 0) {
        report_note("%zu lines were there more than once, or gave way to later ones",
                    m->index.superseded);
    }
    if (m->unexpected > 0) {
        report_warning("%" PRIu64 " pictures are not in '%s'; they stand at the end", m->unexpected,
                       m->options->expect);
    }
}

static int merge_all(merge *m)
{
    int code = check_out(m);
    if (code == EXIT_DONE) {
        code = find_expected(m);
    }
    for (size_t i = 0; code == EXIT_DONE && i < m->count; i++) {
        code = merge_index_read(&m->index, m->names[i], (uint32_t)i, m->options->mixed);
    }
    if (code == EXIT_DONE) {
        code = merge_index_settle(&m->index, &m->files);
    }
    if (code == EXIT_DONE) {
        merge_index_rank(&m->index, &m->expected);
        merge_index_sort(&m->index);
        code = write_out(m);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    tell_missing(m);
    uint64_t shards = m->options->expect == NULL || m->missing > 0 ? missing_shards(m) : 0;
    tell_sum(m);
    return shards > 0 || m->failed > 0 || m->missing > 0 ? EXIT_PARTIAL : EXIT_DONE;
}

int cmd_merge(const cli_options *options)
{
    merge m;
    memset(&m, 0, sizeof m);
    m.options = options;
    m.out = options->operands[0];
    m.names = options->operands + 1;
    m.count = options->operand_count - 1;
    merge_files_start(&m.files, m.names);
    int code = merge_all(&m);
    merge_files_end(&m.files);
    merge_index_free(&m.index);
    merge_ranks_free(&m.expected);
    return code;
}
