/* cmd_embed.c - ocelli embed: what the vision tower makes of pictures, as NumPy files. */
#define _POSIX_C_SOURCE 200809L

#include "tools/commands.h"
#include "tools/each_picture.h"
#include "tools/file_replace.h"
#include "tools/flags.h"
#include "tools/npy_write.h"
#include "tools/output.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum what { WHAT_ROWS, WHAT_DEEPSTACK, WHAT_POOLED } what;

typedef struct embed {
    const cli_options *options;
    what kind;
    bool to_stdout;
    batch_list list;
    char **files; /* [list.count] of --out-dir; NULL with --out */
    /* Of pooled pictures that share one --out. */
    float *matrix;      /* [pooled, width] */
    const char **names; /* [pooled] */
    size_t pooled, width;
} embed;

static int no_memory(void)
{
    report_error("no memory");
    return EXIT_FAILED;
}

/* ---- one array ------------------------------------------------------------------------------ */

typedef struct array {
    uint64_t shape[NPY_MOST_DIMS];
    size_t dims;
} array;

static array shape_of(const embed *e, const each_picture *at)
{
    ocelli_model_info info = {.struct_size = sizeof info};
    ocelli_visual_info visual = {.struct_size = sizeof visual};
    ocelli_model_describe(at->r->model, &info);
    ocelli_visual_describe(at->medium->visual, &visual);
    switch (e->kind) {
    case WHAT_ROWS: return (array){{visual.tokens, info.hidden_size}, 2};
    case WHAT_DEEPSTACK: return (array){{info.vision_taps, visual.tokens, info.hidden_size}, 3};
    case WHAT_POOLED: return (array){{info.hidden_size}, 1};
    }
    return (array){{0}, 0};
}

/* out [width]: the mean of rows [tokens, width], divided by its length. */
static void pool_rows(float *out, const float *rows, size_t tokens, size_t width)
{
    double square = 0;
    for (size_t i = 0; i < width; i++) {
        double sum = 0;
        for (size_t t = 0; t < tokens; t++) {
            sum += rows[t * width + i];
        }
        out[i] = (float)(sum / (double)tokens);
        square += (double)out[i] * out[i];
    }
    for (size_t i = 0; i < width && square > 0; i++) {
        out[i] = (float)(out[i] / sqrt(square));
    }
}

static bool write_array(FILE *file, const embed *e, const each_picture *at)
{
    const ocelli_visual *visual = at->medium->visual;
    array a = shape_of(e, at);
    size_t tokens, width;
    const float *rows = ocelli_visual_rows(visual, &tokens, &width);
    bool good = npy_write_header(file, a.shape, a.dims);
    if (e->kind == WHAT_ROWS) {
        return good && npy_write_values(file, rows, tokens * width);
    }
    if (e->kind == WHAT_DEEPSTACK) {
        for (size_t tap = 0; good && tap < a.shape[0]; tap++) {
            rows = ocelli_visual_deepstack(visual, tap, &tokens, &width);
            good = rows != NULL && npy_write_values(file, rows, tokens * width);
        }
        return good;
    }
    float *pooled = malloc(width * sizeof *pooled);
    if (pooled == NULL) {
        errno = ENOMEM;
        return false;
    }
    pool_rows(pooled, rows, tokens, width);
    good = good && npy_write_values(file, pooled, width);
    free(pooled);
    return good;
}

static int write_file(const embed *e, const each_picture *at, const char *path)
{
    file_replace f;
    if (e->to_stdout) {
        bool good = write_array(stdout, e, at);
        output_write("", 0); /* notices what could not be written */
        return good && !output_failed() ? EXIT_DONE : EXIT_FAILED;
    }
    int code = file_replace_begin(&f, path);
    if (code == EXIT_DONE) {
        /* A failed write shows at the end, with its reason. */
        (void)write_array(f.file, e, at);
        code = file_replace_end(&f, true);
    }
    return code;
}

/* ---- one matrix of many --------------------------------------------------------------------- */

static int add_pooled(embed *e, const each_picture *at)
{
    size_t tokens, width;
    const float *rows = ocelli_visual_rows(at->medium->visual, &tokens, &width);
    if (e->matrix == NULL) {
        e->width = width;
        e->matrix = calloc(e->list.count, width * sizeof *e->matrix);
        e->names = calloc(e->list.count, sizeof *e->names);
        if (e->matrix == NULL || e->names == NULL) {
            return no_memory();
        }
    }
    pool_rows(e->matrix + e->pooled * width, rows, tokens, width);
    e->names[e->pooled++] = at->item->path;
    return EXIT_DONE;
}

/* FILE.names: a line for each row. */
static int write_names(const embed *e, const char *path)
{
    file_replace f;
    int code = file_replace_begin(&f, path);
    if (code != EXIT_DONE) {
        return code;
    }
    bool good = true;
    for (size_t i = 0; good && i < e->pooled; i++) {
        size_t room = 4 * strlen(e->names[i]) + 1;
        char *shown = malloc(room);
        good = shown != NULL;
        if (good) {
            text_visible(shown, room, e->names[i]); /* a name cannot make a line of its own */
            fprintf(f.file, "%s\n", shown);
        }
        free(shown);
    }
    if (!good) {
        report_error("no memory");
    }
    return file_replace_end(&f, good);
}

static int write_matrix(const embed *e)
{
    const uint64_t shape[] = {e->pooled, e->width};
    const char *out = e->options->out;
    file_replace f;
    size_t room = strlen(out) + sizeof ".names";
    char *names = malloc(room);
    if (names == NULL) {
        return no_memory();
    }
    snprintf(names, room, "%s.names", out);
    int code = write_names(e, names);
    free(names);
    if (code == EXIT_DONE) {
        code = file_replace_begin(&f, out);
    }
    if (code == EXIT_DONE) {
        (void)(npy_write_header(f.file, shape, 2) &&
               npy_write_values(f.file, e->matrix, e->pooled * e->width));
        code = file_replace_end(&f, true);
    }
    return code;
}

/* ---- the command ---------------------------------------------------------------------------- */

/* "cat.jpg: 64 x 256 float32 in cat.npy", or its JSON. */
static int tell(const embed *e, const each_picture *at, const char *path)
{
    array a = shape_of(e, at);
    char shape[100] = "";
    size_t used = 0, room = 4 * strlen(at->item->path) + 1;
    for (size_t i = 0; i < a.dims; i++) {
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%" PRIu64,
                                 i > 0 ? " x " : "", a.shape[i]);
    }
    if (e->options->json) {
        cJSON *object = cJSON_CreateObject();
        json_text(object, "image", at->item->path);
        json_text(object, "what", e->options->what);
        cJSON *list = cJSON_AddArrayToObject(object, "shape");
        for (size_t i = 0; i < a.dims; i++) {
            cJSON_AddItemToArray(list, cJSON_CreateNumber((double)a.shape[i]));
        }
        json_text(object, "out", path);
        output_json(object);
    } else if (e->options->dry_run) {
        char *shown = malloc(room);
        if (shown == NULL) {
            return no_memory();
        }
        text_visible(shown, room, at->item->path);
        output_format("%s: %s float32\n", shown, shape);
        free(shown);
    } else {
        report_note("%s: %s float32", at->item->path, shape);
    }
    return EXIT_DONE;
}

static int embed_one(void *user, const each_picture *at)
{
    embed *e = user;
    const char *path = e->files != NULL ? e->files[at->index] : e->options->out;
    ocelli_model_info info = {.struct_size = sizeof info};
    int code = EXIT_DONE;
    ocelli_model_describe(at->r->model, &info);
    if (e->kind == WHAT_DEEPSTACK && info.vision_taps == 0) {
        report_error("the models of %s have no deepstack rows", info.family);
        at->r->broken = true; /* it will be so for every picture */
        return EXIT_FAILED;
    }
    if (!e->options->dry_run) {
        bool shared = e->kind == WHAT_POOLED && e->files == NULL && e->list.count > 1;
        code = shared ? add_pooled(e, at) : write_file(e, at, path);
    }
    return code == EXIT_DONE ? tell(e, at, path) : code;
}

static int check_place(embed *e)
{
    const cli_options *options = e->options;
    if ((options->out != NULL) == (options->out_dir != NULL)) {
        return flags_misuse("embed",
                            "--out FILE.npy or --out-dir DIR says where to, and one of them "
                            "is needed");
    }
    if (options->out == NULL) {
        return EXIT_DONE;
    }
    e->to_stdout = strcmp(options->out, "-") == 0;
    if (e->to_stdout && options->json) {
        return flags_misuse("embed", "--out - and --json would both write to stdout");
    }
    if (e->to_stdout && isatty(STDOUT_FILENO)) {
        return flags_misuse("embed", "--out - writes an array to stdout, which is a terminal here");
    }
    return EXIT_DONE;
}

static int check_count(const embed *e)
{
    if (e->list.count > 1 && e->options->out != NULL && e->kind != WHAT_POOLED) {
        return flags_misuse("embed",
                            "--out is one file, and there are %zu pictures; take --out-dir, "
                            "or --what pooled",
                            e->list.count);
    }
    if (e->list.count > 1 && e->to_stdout) {
        return flags_misuse("embed", "--out - is for one picture; FILE.npy.names lists several");
    }
    return EXIT_DONE;
}

static int make_files(embed *e)
{
    const char *folder = e->options->out_dir;
    if (!e->options->dry_run && mkdir(folder, 0777) != 0 && errno != EEXIST) {
        report_error("cannot make the folder '%s': %s", folder, strerror(errno));
        return EXIT_FAILED;
    }
    return each_picture_names(&e->list, folder, ".npy", &e->files);
}

static what kind_of(const char *name)
{
    return strcmp(name, "rows") == 0     ? WHAT_ROWS
           : strcmp(name, "pooled") == 0 ? WHAT_POOLED
                                         : WHAT_DEEPSTACK;
}

int cmd_embed(const cli_options *options)
{
    run r = {.options = options};
    embed e = {.options = options, .kind = kind_of(options->what)};
    int code = check_place(&e);
    if (code == EXIT_DONE) {
        code = each_picture_list(&e.list, options, options->operand_count);
    }
    if (code == EXIT_DONE) {
        code = check_count(&e);
    }
    if (code == EXIT_DONE && options->out_dir != NULL) {
        code = make_files(&e);
    }
    if (code == EXIT_DONE) {
        code = run_init(&r, options);
    }
    if (code == EXIT_DONE) {
        code = each_picture_run(&r, &e.list, embed_one, &e);
    }
    if (e.pooled > 0 && (code == EXIT_DONE || code == EXIT_PARTIAL)) {
        int written = write_matrix(&e);
        code = written == EXIT_DONE ? code : written;
    }
    run_close(&r);
    each_picture_names_free(&e.list, e.files);
    batch_list_free(&e.list);
    free(e.matrix);
    free(e.names);
    return code;
}
