/* cli_options.h - what the command line asked for, as one struct.
 *
 * Every field is filled by one row of the flag table (flags.h), from the row's default text
 * first and from the command line after that, so that what --help says and what happens cannot
 * differ. Nothing here is owned: strings point into argv or into the table.
 */
#ifndef OCELLI_TOOLS_CLI_OPTIONS_H
#define OCELLI_TOOLS_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes: the program's promise to scripts. */
enum exit_code {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_MISUSE = 2,
    EXIT_PARTIAL = 3,      /* some of many failed or are missing; the others are done */
    EXIT_INTERRUPTED = 130 /* SIGINT, SIGTERM or SIGHUP */
};

/* One per row of the flag table, in the same order. */
typedef enum flag_id {
    FLAG_MODEL,
    FLAG_MMPROJ,
    FLAG_QUANT,
    FLAG_VISION,
    FLAG_CPU,
    FLAG_THREADS,
    FLAG_CONTEXT,
    FLAG_EMBED_BUDGET,
    FLAG_COPY_WEIGHTS,
    FLAG_PROMPT,
    FLAG_SYSTEM,
    FLAG_ESCAPE,
    FLAG_SPECIAL_TOKENS,
    FLAG_VISION_IDS,
    FLAG_MIN_PIXELS,
    FLAG_MAX_PIXELS,
    FLAG_MAX_INPUT_PIXELS,
    FLAG_ALPHA,
    FLAG_BACKGROUND,
    FLAG_FAST_DECODE,
    FLAG_CACHE,
    FLAG_CACHE_SIZE,
    FLAG_FPS,
    FLAG_TIMES,
    FLAG_SAMPLE_FPS,
    FLAG_FRAMES,
    FLAG_MAX_FRAMES,
    FLAG_EVERY,
    FLAG_FOLLOW,
    FLAG_FOLLOW_IDLE,
    FLAG_STRICT,
    FLAG_MAX_TOKENS,
    FLAG_TEMPERATURE,
    FLAG_TOP_K,
    FLAG_TOP_P,
    FLAG_MIN_P,
    FLAG_REPETITION_PENALTY,
    FLAG_PRESENCE_PENALTY,
    FLAG_SEED,
    FLAG_NO_REPETITION_STOP,
    FLAG_EMBED_BF16,
    FLAG_FORCE,
    FLAG_REVISION,
    FLAG_INCLUDE,
    FLAG_PACK,
    FLAG_PICTURE,
    FLAG_LIMIT,
    FLAG_REFERENCE,
    FLAG_CONFIG,
    FLAG_TOKENIZER,
    FLAG_SHARD_SIZE,
    FLAG_HOLLOW,
    FLAG_LAYERS,
    FLAG_QUICK,
    FLAG_ONLY,
    FLAG_RUNS,
    FLAG_PLOT,
    FLAG_SHARD,
    FLAG_EXPECT,
    FLAG_MIXED,
    FLAG_POINTS,
    FLAG_DRAW,
    FLAG_OUT,
    FLAG_WHAT,
    FLAG_PER_TOKEN,
    FLAG_RELATIVE,
    FLAG_FILES_FROM,
    FLAG_NULL,
    FLAG_MODE,
    FLAG_OUT_DIR,
    FLAG_EXT,
    FLAG_JSONL,
    FLAG_SIDECAR,
    FLAG_PROMPT_FILE,
    FLAG_TAGS_EXT,
    FLAG_PREFIX,
    FLAG_RETRY_LENGTH,
    FLAG_BATCH,
    FLAG_DRY_RUN,
    FLAG_JSON,
    FLAG_TIMINGS,
    FLAG_QUIET,
    FLAG_VERBOSE,
    FLAG_HELP,
    FLAG_TOTAL
} flag_id;

typedef struct picture_size {
    uint64_t width, height;
} picture_size;

/* The values of a flag that may be given several times. */
typedef struct text_list {
    const char *items[16];
    size_t count;
} text_list;

typedef struct cli_options {
    const char *command;        /* its name, for messages */
    const char *model;          /* NULL: not named */
    const char *mmproj;         /* NULL: the folder's, if there is one */
    const char *quant, *vision; /* NULL: the library's default */
    const char *cpu;
    uint64_t threads, context; /* 0: the library's own */
    uint64_t embed_budget;     /* bytes; where it is given */
    bool copy_weights;
    text_list prompts;
    const char *system;
    bool escape, special_tokens, vision_ids;
    uint64_t min_pixels, max_pixels; /* 0: the checkpoint's */
    uint64_t max_input_pixels;
    const char *alpha;
    uint64_t background;         /* 0xRRGGBB */
    bool fast_decode;            /* needs max_pixels */
    const char *cache;           /* NULL: OCELLI_CACHE's, or none */
    uint64_t cache_size;         /* bytes */
    double fps, sample_fps;      /* sample_fps 0: keep all */
    uint64_t frames, max_frames; /* 0: not asked */
    const char *times;           /* the file of them; NULL: by fps */
    double every, follow_idle;   /* seconds; 0: not asked */
    bool follow;
    bool strict;
    uint64_t max_tokens, top_k, seed;
    double temperature, top_p, min_p, repetition_penalty, presence_penalty;
    bool no_repetition_stop;
    bool embed_bf16, force;
    const char *revision, *include, *pack; /* of pull; include and pack NULL: not asked */
    picture_size picture;
    uint64_t limit;                 /* 0: all */
    const char *reference;          /* NULL: none */
    const char *config, *tokenizer; /* NULL: none */
    uint64_t shard_size, layers;    /* layers 0: all */
    bool hollow;
    bool quick;
    const char *only, *plot; /* NULL: all, none */
    uint64_t runs;           /* 0: the usual number */
    const char *shard;       /* NULL: what the environment says */
    const char *expect;      /* NULL: not told what there should be */
    bool mixed;
    /* Of locate, embed and look; NULL: not given. */
    const char *draw, *out, *what;
    bool points, per_token, relative;
    /* Of caption over many pictures; NULL: not given. */
    const char *files_from, *mode, *out_dir, *ext, *jsonl, *prompt_file, *tags_ext, *prefix;
    bool null_ends, sidecar;
    uint64_t retry_length, batch; /* retry_length 0: not asked again */
    bool dry_run, json, timings, quiet, verbose, help;

    bool given[FLAG_TOTAL]; /* named on the command line, by flag_id */
    const char **operands;  /* [operand_count] in order */
    size_t operand_count;
} cli_options;

#endif
