/* ocelli.h - the whole public interface of libocelli.
 *
 * ocelli loads a Qwen-VL checkpoint or package, looks at pictures and answers in text.
 *
 *     ocelli_error  err;
 *     ocelli_model *model = NULL;
 *     if (ocelli_model_open(&model, "Qwen3-VL-2B-Instruct", NULL, &err) != OCELLI_OK ||
 *         ocelli_ask_file(model, "cat.jpg", "What is it doing?", NULL, print_piece, stdout, NULL,
 *                         &err) != OCELLI_OK)
 *         fprintf(stderr, "%s\n", err.message);
 *     ocelli_model_close(model);
 *
 * Four rules hold everywhere below:
 *   errors     A function that can fail returns ocelli_status; ocelli_error is the caller's, may
 *              be NULL, and is written only on failure. On failure every out-parameter is left
 *              NULL or zero.
 *   ownership  _open, _decode, _load and _encode give you an object; its _close or _free takes it
 *              back and accepts NULL. Pointers passed in are borrowed for the call. Strings passed
 *              to a callback live until it returns; strings in a result live as long as the object
 *              that gave them.
 *   threads    A model is read-only after it opens and may be shared; calls on it that compute wait
 *              for one another. A session belongs to one thread at a time.
 *   structs    Options and results begin with struct_size and grow at the end. Start options from
 *              their _INIT macro; NULL options mean the defaults.
 */
#ifndef OCELLI_H
#define OCELLI_H

#include <stddef.h>
#include <stdint.h>

#define OCELLI_VERSION_MAJOR 0
#define OCELLI_VERSION_MINOR 1
#define OCELLI_VERSION_PATCH 0

#if defined(__GNUC__)
#define OCELLI_API __attribute__((visibility("default")))
#define OCELLI_CHECK __attribute__((warn_unused_result))
#else
#define OCELLI_API
#define OCELLI_CHECK
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors -------------------------------------------------------------------------------- */

/* Values never change meaning; gaps are for later codes of the same kind. */
typedef enum ocelli_status {
    OCELLI_OK = 0,
    OCELLI_E_ARGUMENT = 1,     /* the caller broke the contract */
    OCELLI_E_MEMORY = 2,       /* no memory, or it would not fit */
    OCELLI_E_STATE = 3,        /* right call, wrong moment */
    OCELLI_E_IO = 10,          /* could not open, read or write */
    OCELLI_E_FORMAT = 11,      /* read, but damaged or not what it claims */
    OCELLI_E_UNSUPPORTED = 12, /* sound, but not known to this build */
    OCELLI_E_LIMIT = 20,       /* larger than a limit */
    OCELLI_E_CONTEXT = 21,     /* the session's context is too small */
    OCELLI_E_CANCELLED = 30,   /* a callback asked to stop */
    OCELLI_E_INTERNAL = 99     /* a bug in ocelli */
} ocelli_status;

typedef struct ocelli_error {
    ocelli_status status;
    char message[508]; /* one line, UTF-8, names the file, tensor or flag */
} ocelli_error;

OCELLI_API const char *ocelli_status_name(ocelli_status status);
/* "0.1.0" */
OCELLI_API const char *ocelli_version(void);
/* What this build was made with, one line: "blas openblas, unicode utf8proc, pictures png
 * jpeg(libjpeg) bmp pnm gif webp tiff avif heic". */
OCELLI_API const char *ocelli_build_info(void);

/* ---- model --------------------------------------------------------------------------------- */

typedef struct ocelli_model ocelli_model;
typedef struct ocelli_session ocelli_session;
typedef struct ocelli_image ocelli_image;
typedef struct ocelli_visual ocelli_visual; /* one encoded image or clip */

typedef enum ocelli_level {
    OCELLI_LOG_ERROR,
    OCELLI_LOG_WARN,
    OCELLI_LOG_INFO,
    OCELLI_LOG_DEBUG
} ocelli_level;
typedef void (*ocelli_log_fn)(void *user, ocelli_level level, const char *line);

/* Called now and then during long work; done and total are in the same unit (bytes or tokens),
 * total 0: not known. Return nonzero to stop: the call fails with OCELLI_E_CANCELLED. */
typedef int (*ocelli_progress_fn)(void *user, const char *what, uint64_t done, uint64_t total);

/* How the decoder's matrices are held. */
typedef enum ocelli_quant {
    OCELLI_QUANT_DEFAULT = 0, /* a package: as packed; a checkpoint: Q8 */
    OCELLI_QUANT_F32 = 1,     /* the reference path */
    OCELLI_QUANT_F16 = 2,
    OCELLI_QUANT_Q8 = 8, /* int8 in groups, 8.25 bits a weight */
    OCELLI_QUANT_Q4 = 4  /* int4 in groups, 4.5 bits a weight; what makes keys and values, and an
                          * lm_head of its own, Q8. A tied lm_head's best logits are computed again
                          * in float32 from the embedding table */
} ocelli_quant;
/* "q8"; "default" for OCELLI_QUANT_DEFAULT. */
OCELLI_API const char *ocelli_quant_name(ocelli_quant quant);
/* 0 and *out set, or -1 for an unknown name. */
OCELLI_API int ocelli_quant_from_name(const char *name, ocelli_quant *out);

/* How the vision tower's matrices are held. Its norms, biases and position table are float32
 * always. */
typedef enum ocelli_vision {
    OCELLI_VISION_DEFAULT = 0, /* a package: as packed; else BF16, or F32 beside QUANT_F32 */
    OCELLI_VISION_F32 = 1,     /* the reference path */
    OCELLI_VISION_Q8 = 8,      /* int8 in groups, 8.25 bits a weight; the patch embedding is BF16 */
    OCELLI_VISION_BF16 = 16 /* the numbers of a bf16 checkpoint as they are; others are rounded */
} ocelli_vision;
/* "bf16"; "default" for OCELLI_VISION_DEFAULT. */
OCELLI_API const char *ocelli_vision_name(ocelli_vision vision);
/* 0 and *out set, or -1 for an unknown name. */
OCELLI_API int ocelli_vision_from_name(const char *name, ocelli_vision *out);

typedef struct ocelli_model_options {
    size_t struct_size;
    ocelli_quant quant;
    int threads;       /* 0: as many CPUs as this process may use */
    const char *cpu;   /* NULL: best; else the highest kernel tier: "scalar", "avx2", "avx512"... */
    ocelli_log_fn log; /* NULL: silent */
    void *log_user;
    ocelli_progress_fn progress; /* NULL: none; told while weights are packed */
    void *progress_user;
    ocelli_vision vision;
    int plan_only; /* nonzero: sizes, tokens and memory can be asked for, at once; no weight is
                    * read, and nothing can be encoded or answered (OCELLI_E_STATE) */
    uint64_t embed_budget; /* bytes of the embedding table that may be resident in this process: a
                            * larger one's rows are read from the file each time, and none of them
                            * stays. The answer does not depend on it. Models of one process share a
                            * table, and the least of their budgets */
    /* The vision file that belongs to a GGUF text model; NULL: the only one in its folder that
     * belongs to it, else none, and the model only reads text. */
    const char *mmproj;
    int needs_vision; /* nonzero: a model that cannot see is refused at once */
    int copy_weights; /* nonzero: a package's decoder is read into this process's memory, in large pages,
                       * instead of being mapped and shared: decoding is an eighth faster where the
                       * system maps the file in small pages. The answer does not depend on it */
} ocelli_model_options;
#define OCELLI_MODEL_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(ocelli_model_options), OCELLI_QUANT_DEFAULT, 0, NULL, NULL, NULL, NULL, NULL,       \
            OCELLI_VISION_DEFAULT, 0, UINT64_C(64) << 20, NULL, 0, 0                               \
    }

/* Opens a Hugging Face checkpoint directory, a package, a GGUF text model, or a directory that
 * holds one and its vision file. Weights are mapped and used in place where their form allows.
 * OCELLI_E_IO, _FORMAT, _UNSUPPORTED, _MEMORY, _CANCELLED. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_model_open(ocelli_model **out, const char *directory,
                                                        const ocelli_model_options *options,
                                                        ocelli_error *err);
/* Sessions and visuals keep the model alive: the order of closing does not matter. */
OCELLI_API void ocelli_model_close(ocelli_model *model);

typedef enum ocelli_clip_times {
    OCELLI_CLIP_TEXT,   /* the time of each frame pair, as text in the prompt */
    OCELLI_CLIP_ORDER,  /* nothing but their order */
    OCELLI_CLIP_SECONDS /* the seconds between pairs, as positions */
} ocelli_clip_times;

/* How the model says where something is in a picture. */
typedef enum ocelli_grounding {
    OCELLI_GROUNDING_THOUSANDTHS, /* JSON, bbox_2d [x1, y1, x2, y2] and point_2d [x, y], where 1000 is
                                   * the picture's width or height */
    OCELLI_GROUNDING_PIXELS,      /* the same JSON in pixels of the resized picture */
    OCELLI_GROUNDING_PAIRS /* text, "name(x1,y1),(x2,y2)", where 1000 is the width or height */
} ocelli_grounding;

typedef struct ocelli_model_info {
    size_t struct_size;
    const char *family;   /* "qwen3_vl" */
    const char *form;     /* "checkpoint", "package" or "gguf" */
    const char *cpu_tier; /* kernel tier in use: "avx512" */
    ocelli_quant quant;   /* of the decoder's matrices */
    int tied;             /* lm_head and embed_tokens are one tensor */
    int threads;
    uint64_t vocab_size, hidden_size, layers, heads, kv_heads, head_dim, intermediate_size;
    uint64_t experts, experts_per_token; /* 0: dense */
    uint64_t context_tokens;             /* max_position_embeddings */
    /* All 0, and so is what else is told of pictures: a text model without its vision file. */
    uint64_t vision_layers, vision_hidden_size, vision_heads, patch_size, merge_size;
    uint64_t embed_bytes, decoder_bytes, head_bytes, vision_bytes; /* as held in memory or mapped */
    const char *checkpoint_dtype; /* "bf16": the type of most bytes of the text model on disk; of a
                                   * package: of what it was made from */
    const char *embed_dtype;      /* of the embedding table on disk: "f32", "bf16" */
    uint64_t image_min_pixels, image_max_pixels; /* the size rule's bounds, from the checkpoint */
    const char *fingerprint; /* 32 hex digits: which embedding table this is; "" if not computed */
    ocelli_vision vision;    /* of the vision tower's matrices */
    uint64_t sparse_layers;  /* whose MLP is experts */
    uint64_t expert_intermediate_size;
    uint64_t vision_intermediate_size, vision_taps; /* taps: deepstack's mergers */
    uint64_t vision_positions;                      /* rows of the learned position table */
    uint64_t channels, temporal_patch_size;         /* of a patch */
    uint64_t video_min_pixels, video_max_pixels; /* of all frames of a clip together, or of each: */
    int frames_sized_alone;
    uint64_t vision_window;        /* patches along a window's side; 0: the tower has no windows */
    uint64_t vision_window_layers; /* that attend inside windows */
    int vision_gated;              /* its feed-forward has three matrices, not two */
    ocelli_clip_times clip_times;  /* what the decoder is told of a clip's times */
    ocelli_grounding grounding;
} ocelli_model_info;
/* Set info->struct_size first. */
OCELLI_API void ocelli_model_describe(const ocelli_model *model, ocelli_model_info *info);

/* out [count, hidden_size], float32: the rows of the embedding table of ids [count], as the decoder
 * gets them; also of a model that plans only. May be called by several threads at once.
 * OCELLI_E_ARGUMENT: an id outside the vocabulary; OCELLI_E_IO: the file became shorter. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_model_embed(const ocelli_model *model,
                                                         const int32_t *ids, size_t count,
                                                         float *out, ocelli_error *err);

/* For a program that will not encode a picture soon: gives back the resident pages of a tower
 * that is mapped from a package. Another picture maps them again, which costs it some tenths of a
 * second of page faults a gigabyte. A tower in memory of our own, as a checkpoint's is, stays. */
OCELLI_API void ocelli_model_release_vision(ocelli_model *model);

/* Bytes needed beyond the model's own for a context of context_tokens holding one picture of
 * image_tokens: kv cache and the largest scratch of the tower and the decoder. */
typedef struct ocelli_memory {
    size_t struct_size;
    uint64_t weights;     /* mapped or packed, all parts; of the table what embed_budget lets be */
    uint64_t kv_cache;    /* for the whole context */
    uint64_t scratch;     /* largest at one time */
    uint64_t visual_rows; /* encoded rows of the pictures */
    uint64_t total;
} ocelli_memory;
OCELLI_API OCELLI_CHECK ocelli_status ocelli_memory_estimate(const ocelli_model *model,
                                                             uint64_t context_tokens,
                                                             uint64_t image_tokens,
                                                             ocelli_memory *out, ocelli_error *err);

/* ---- the package --------------------------------------------------------------------------- */

typedef struct ocelli_pack_options {
    size_t struct_size;
    ocelli_quant quant; /* DEFAULT: Q8 */
    int threads;
    int embed_bf16; /* nonzero: keep a bf16 checkpoint's table as bf16 (half the disk, same bits) */
    int overwrite;  /* nonzero: replace an existing package at out */
    ocelli_log_fn log;
    void *log_user;
    ocelli_progress_fn progress;
    void *progress_user;
    ocelli_vision vision; /* DEFAULT: BF16, and F32 beside OCELLI_QUANT_F32 */
    const char *mmproj;   /* as in ocelli_model_options; a package is always one that sees */
} ocelli_pack_options;
#define OCELLI_PACK_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(ocelli_pack_options), OCELLI_QUANT_DEFAULT, 0, 0, 0, NULL, NULL, NULL, NULL,        \
            OCELLI_VISION_DEFAULT, NULL                                                            \
    }

/* Writes a package of the checkpoint, or of a GGUF text model and its vision file: into a temporary
 * folder beside directory_out, synced, then renamed, so that a killed or failed run leaves no half
 * package. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_pack(const char *checkpoint, const char *directory_out,
                                                  const ocelli_pack_options *options,
                                                  ocelli_error *err);

/* Recomputes every file's hash and proves that a tied lm_head is the quantisation of the table, and
 * tokenizer.bin the compiled form of tokenizer.json. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_verify(const char *package,
                                                    ocelli_progress_fn progress,
                                                    void *progress_user, ocelli_error *err);

/* ---- pictures ------------------------------------------------------------------------------ */

typedef enum ocelli_alpha {
    OCELLI_ALPHA_WHITE = 0, /* composite on background */
    OCELLI_ALPHA_DROP = 1   /* ignore alpha, as the reference processor does */
} ocelli_alpha;

typedef struct ocelli_image_options {
    size_t struct_size;
    uint64_t max_pixels; /* width x height, refused from the header before any pixel is allocated */
    ocelli_alpha alpha;
    uint8_t background[3]; /* what alpha is composited on */
    /* 0: every picture is decoded whole, to the reference's pixels. Else a JPEG may be decoded at a
     * half, a quarter or an eighth of its sides, which is faster, where that leaves at least twice
     * the sides that a picture of so many pixels has; the tower's answer to the difference is small
     * but not none. ocelli_image_size still tells the whole picture's. */
    uint64_t enough_pixels;
} ocelli_image_options;
#define OCELLI_IMAGE_OPTIONS_INIT                                                                  \
    {                                                                                              \
        sizeof(ocelli_image_options), UINT64_C(100) * 1000 * 1000, OCELLI_ALPHA_WHITE,             \
            {255, 255, 255}, 0                                                                     \
    }

/* What the bytes are by their content: "png", "jpeg", "webp", "avif", "heic", "gif", "bmp", "tiff",
 * "pnm"; also of pictures that this build, or any, cannot decode ("jxl", "psd", "svg"...). The first
 * 64 bytes are enough, fewer may do. NULL: no picture that has a name here. */
OCELLI_API const char *ocelli_image_format(const void *bytes, size_t size);

/* Decodes by content, applies the orientation that the file gives, composites alpha; the result is
 * 8-bit RGB. Of several pictures or frames the first. name is for messages (NULL: "image").
 * OCELLI_E_FORMAT (damaged or no picture), _UNSUPPORTED (a kind that this build does not read),
 * _LIMIT, _MEMORY. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_image_decode(ocelli_image **out, const void *bytes,
                                                          size_t size, const char *name,
                                                          const ocelli_image_options *options,
                                                          ocelli_error *err);
/* Reads a regular file of at most 1 GiB and decodes it. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_image_load(ocelli_image **out, const char *path,
                                                        const ocelli_image_options *options,
                                                        ocelli_error *err);
/* Copies rows of 8-bit RGB; stride is in bytes and at least 3 x width. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_image_from_rgb(ocelli_image **out, const uint8_t *rgb,
                                                            int width, int height, size_t stride,
                                                            ocelli_error *err);
OCELLI_API void ocelli_image_size(const ocelli_image *image, int *width, int *height);
/* Rows of RGB, 3 x width bytes each, no padding; owned by the image. NULL of one that was decoded
 * smaller, as enough_pixels allows: its rows do not have that width. */
OCELLI_API const uint8_t *ocelli_image_pixels(const ocelli_image *image);
OCELLI_API void ocelli_image_free(ocelli_image *image);

/* All frames of an animation (GIF, animated WebP, AVIF sequence), one after another. A picture of
 * any other kind is an animation of one frame. */
typedef struct ocelli_animation ocelli_animation;

/* bytes are borrowed until the animation is closed. options apply to each frame; name is for
 * messages (NULL: "image"). OCELLI_E_ as ocelli_image_decode. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_animation_open(ocelli_animation **out,
                                                            const void *bytes, size_t size,
                                                            const char *name,
                                                            const ocelli_image_options *options,
                                                            ocelli_error *err);
/* The next frame as it is shown: drawn over those before it as their disposal says, then composited
 * on the background. *frame is the caller's; NULL behind the last. *seconds (may be NULL) is when it
 * appears, by the delays before it; a delay of 10 ms or less counts as 100 ms, as in browsers. Behind
 * the last frame it is when that one ends. After a failure the animation gives no more frames. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_animation_next(ocelli_animation *animation,
                                                            ocelli_image **frame, double *seconds,
                                                            ocelli_error *err);
/* How many frames there are; at least 1. */
OCELLI_API size_t ocelli_animation_frames(const ocelli_animation *animation);
OCELLI_API void ocelli_animation_close(ocelli_animation *animation);

/* Visual rows of pictures and clips that were encoded before, in memory and in a directory: what is
 * shown again is not encoded again, and its rows have the same bits. Serves any number of models and
 * threads at once. Rows are found by the decoded pixels, the size they get, the tower's weights as
 * they are held, the kernel tier and this program's version; beside float32 weights also by the
 * number of threads. Other processes may use the directory at the same time, and may be killed. */
typedef struct ocelli_visual_cache ocelli_visual_cache;

typedef struct ocelli_visual_cache_options {
    size_t struct_size;
    uint64_t memory_bytes; /* of rows kept in memory, at most; 0: none */
    const char *directory; /* NULL: none. Made, for its owner alone, if it is not there */
    uint64_t disk_bytes;   /* of this cache's files in it, at most; the longest unused go first */
    ocelli_log_fn log;     /* told of damaged entries (info) and of a failing disk (warning) */
    void *log_user;
} ocelli_visual_cache_options;
#define OCELLI_VISUAL_CACHE_OPTIONS_INIT                                                           \
    {                                                                                              \
        sizeof(ocelli_visual_cache_options), UINT64_C(256) << 20, NULL, UINT64_C(4) << 30, NULL,   \
            NULL                                                                                   \
    }

/* OCELLI_E_IO: the directory is none, cannot be made or read, or anyone may write to it (its
 * entries could not be believed). Entries are checked whole when they are read, and one that is
 * damaged is as good as none; but whoever may write to the directory can make sound ones. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_visual_cache_open(
    ocelli_visual_cache **out, const ocelli_visual_cache_options *options, ocelli_error *err);
/* Not while it is used. Visuals that came from it stay. */
OCELLI_API void ocelli_visual_cache_close(ocelli_visual_cache *cache);

/* What a cache has done since it was opened, and what it holds in memory. */
typedef struct ocelli_visual_cache_info {
    size_t struct_size;
    uint64_t memory_hits, disk_hits, misses;
    uint64_t memory_entries, memory_bytes;
    uint64_t disk_writes;  /* entries written */
    uint64_t disk_damaged; /* entries that were there and not believed */
} ocelli_visual_cache_info;
/* Set info->struct_size first. */
OCELLI_API void ocelli_visual_cache_describe(ocelli_visual_cache *cache,
                                             ocelli_visual_cache_info *info);

/* Where the rows of a visual came from. */
typedef enum ocelli_visual_hit {
    OCELLI_HIT_NONE = 0, /* the tower */
    OCELLI_HIT_MEMORY = 1,
    OCELLI_HIT_DISK = 2
} ocelli_visual_hit;
/* "none", "memory", "disk" */
OCELLI_API const char *ocelli_visual_hit_name(ocelli_visual_hit hit);

typedef struct ocelli_visual_options {
    size_t struct_size;
    uint64_t min_pixels,
        max_pixels; /* of the resized picture (of all frames together for a clip, of
                                      * each where the family sizes frames as pictures); 0: the
                                      * checkpoint's */
    int plan_only;  /* nonzero: sizes, tokens and times only; it cannot be answered about */
    ocelli_progress_fn progress; /* NULL: none; told after every block of the tower. It may cancel:
                                  * the tower stops there */
    void *progress_user;
    double frames_per_second; /* a clip: how many of its frames there are to a second (frames used,
                               * over frames there were, times their rate); for families whose time
                               * axis counts seconds. 0: told from the first time and the last */
    ocelli_visual_cache *cache; /* NULL: none; asked before the tower and told after it. plan_only
                                 * does not touch it */
} ocelli_visual_options;
#define OCELLI_VISUAL_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(ocelli_visual_options), 0, 0, 0, NULL, NULL, 0, NULL                                \
    }

/* Resizes, cuts into patches and runs the vision tower. The result serves any session of the
 * model and is read-only. OCELLI_E_LIMIT when the size rule refuses (aspect above 200). */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_encode_image(ocelli_visual **out, ocelli_model *model,
                                                          const ocelli_image *image,
                                                          const ocelli_visual_options *options,
                                                          ocelli_error *err);
/* The same for count pictures at once: visuals [count]. Those that get the same size share a pass of
 * the tower, which reads its weights once for them; each gets the rows it would get alone. Fails as a
 * whole (visuals all NULL); whether one picture alone would be refused, plan_only tells before. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_encode_images(
    ocelli_visual **visuals, ocelli_model *model, const ocelli_image *const *images, size_t count,
    const ocelli_visual_options *options, ocelli_error *err);
/* frames are in order; seconds[i] is the time of frames[i] in the source. All frames are resized
 * to the size that the rule gives for the first; an odd count repeats the last frame. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_encode_video(ocelli_visual **out, ocelli_model *model,
                                                          const ocelli_image *const *frames,
                                                          const double *seconds, size_t count,
                                                          const ocelli_visual_options *options,
                                                          ocelli_error *err);

typedef struct ocelli_sample_options {
    size_t struct_size;
    double source_fps;    /* rate of the frames there are; must be > 0 */
    double sample_fps;    /* frames per second to keep; 0: keep all (subject to max_frames) */
    uint64_t frame_count; /* keep exactly this many, evenly spaced; 0: by sample_fps */
    uint64_t min_frames;  /* 0: the checkpoint's */
    uint64_t max_frames;  /* 0: the checkpoint's */
} ocelli_sample_options;
#define OCELLI_SAMPLE_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(ocelli_sample_options), 24.0, 0.0, 0, 0, 0                                          \
    }

/* Which frames of total to use, by the reference's rule: writes ascending indices to
 * indices[0 .. *count), *count <= room. room total is always enough. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_sample_frames(const ocelli_model *model, size_t total,
                                                           const ocelli_sample_options *options,
                                                           size_t *indices, size_t room,
                                                           size_t *count, ocelli_error *err);

typedef struct ocelli_visual_info {
    size_t struct_size;
    int is_video, encoded;
    int source_width, source_height; /* as decoded and turned */
    int width, height;               /* resized */
    uint64_t grid_t, grid_h, grid_w; /* in patches; grid_t counts frame pairs */
    uint64_t tokens;                 /* visual rows = pads in the prompt */
    uint64_t frames;                 /* 1 for a picture */
    const double *timestamps;        /* [grid_t] seconds, a clip's; NULL for a picture */
    double encode_seconds;           /* of the tower: 0 for rows from a cache */
    ocelli_visual_hit hit;
    double cache_seconds; /* of asking the cache and telling it; a model's tower is hashed once */
} ocelli_visual_info;
OCELLI_API void ocelli_visual_describe(const ocelli_visual *visual, ocelli_visual_info *info);
/* Rows of float32, [tokens, width], owned by the visual; NULL if plan_only. */
OCELLI_API const float *ocelli_visual_rows(const ocelli_visual *visual, size_t *tokens,
                                           size_t *width);
/* Deepstack rows of tap 0 .. vision_taps - 1 (ocelli_model_info), in the order of the decoder's layers
 * that they are added after: float32 [tokens, width], owned by the visual; NULL if plan_only, or if
 * there is no such tap. tokens and width may be NULL. */
OCELLI_API const float *ocelli_visual_deepstack(const ocelli_visual *visual, size_t tap,
                                                size_t *tokens, size_t *width);
OCELLI_API void ocelli_visual_free(ocelli_visual *visual);

/* ---- conversation -------------------------------------------------------------------------- */

typedef enum ocelli_role { OCELLI_SYSTEM, OCELLI_USER, OCELLI_ASSISTANT } ocelli_role;

/* One piece of a message: text, or a picture or clip, never both. */
typedef struct ocelli_part {
    const char *text;
    const ocelli_visual *visual;
} ocelli_part;

typedef struct ocelli_session_options {
    size_t struct_size;
    uint64_t context_tokens;    /* 0: the model's own; grown as needed, never beyond */
    int special_tokens_in_text; /* nonzero: text such as "<|im_end|>" becomes the control token, as
                                 * in the reference; 0: text stays text */
    int vision_ids;             /* nonzero: "Picture 1: ", "Video 1: " before each medium */
    size_t prefill_chunk; /* rows per prefill step, 0: 512; the answer does not depend on it */
} ocelli_session_options;
#define OCELLI_SESSION_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(ocelli_session_options), 0, 0, 0, 0                                                 \
    }

OCELLI_API OCELLI_CHECK ocelli_status ocelli_session_open(ocelli_session **out, ocelli_model *model,
                                                          const ocelli_session_options *options,
                                                          ocelli_error *err);
OCELLI_API void ocelli_session_close(ocelli_session *session);
/* A second session that begins where this one is: the same messages, and a copy of what its cache
 * holds, so that a long beginning is read once for many: add the system message, generate with
 * max_tokens 0, drop the empty answer, and fork. Each then answers as session would. Not while session
 * is in a batch. OCELLI_E_MEMORY. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_session_fork(ocelli_session **out,
                                                          const ocelli_session *session,
                                                          ocelli_error *err);

/* Appends a message. Text must be UTF-8 (invalid bytes: OCELLI_E_ARGUMENT). Visuals are kept alive
 * by the session. A system message must be the first, and only users' messages hold
 * visuals; of Qwen2-VL and Qwen2.5-VL all may hold them, and system messages stand anywhere. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_session_add(ocelli_session *session, ocelli_role role,
                                                         const ocelli_part *parts, size_t count,
                                                         ocelli_error *err);
/* Forgets all messages; what the cache holds is still reused where the next prompt begins alike. */
OCELLI_API void ocelli_session_reset(ocelli_session *session);
/* Forgets the last message (after a failed or interrupted generate, for a retry). */
OCELLI_API void ocelli_session_drop_last(ocelli_session *session);

/* What the next generate would do. */
typedef struct ocelli_session_plan {
    size_t struct_size;
    uint64_t prompt_tokens;  /* all */
    uint64_t visual_tokens;  /* of them */
    uint64_t reused_tokens;  /* of them, held by the cache */
    uint64_t context_tokens; /* room there is */
    ocelli_memory memory;
} ocelli_session_plan;
/* Set plan->struct_size and plan->memory.struct_size first. max_tokens: room for the answer. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_session_describe(ocelli_session *session,
                                                              size_t max_tokens,
                                                              ocelli_session_plan *plan,
                                                              ocelli_error *err);

/* Receives valid UTF-8, whole characters only. Return nonzero to stop. */
typedef int (*ocelli_piece_fn)(void *user, const char *text, size_t length);

/* Sees the logits, float32 [vocab], of the next token, the end of the answer included, before any
 * penalty; they are valid during the call. Returns the id to take, or a negative number to leave
 * the choice to the options. */
typedef int32_t (*ocelli_choose_fn)(void *user, const float *logits, size_t vocab);

typedef struct ocelli_generate_options {
    size_t struct_size;
    size_t max_tokens;
    float temperature;        /* 0: always the likeliest token, and the next five are not used */
    int top_k;                /* 0: off */
    float top_p;              /* 1: off */
    float min_p;              /* 0: off */
    float repetition_penalty; /* 1: off; divides positive, multiplies negative logits of seen ids */
    float presence_penalty;   /* 0: off; subtracted from logits of generated ids */
    uint64_t seed;
    int stop_repetition;         /* nonzero: end an answer that repeats itself without end */
    ocelli_progress_fn progress; /* told during prefill, in tokens; may cancel */
    void *progress_user;
    int ignore_stop; /* nonzero: the model's stop tokens do not end the answer (measurements) */
    ocelli_choose_fn choose; /* NULL: none; of several sessions it is asked in their order */
    void *choose_user;
} ocelli_generate_options;
#define OCELLI_GENERATE_OPTIONS_INIT                                                               \
    {                                                                                              \
        sizeof(ocelli_generate_options), 512, 0.0f, 0, 1.0f, 0.0f, 1.0f, 0.0f, 0, 1, NULL, NULL,   \
            0, NULL, NULL                                                                          \
    }

typedef enum ocelli_stop {
    OCELLI_STOP_END,       /* the model ended its answer */
    OCELLI_STOP_LENGTH,    /* max_tokens */
    OCELLI_STOP_CONTEXT,   /* the context is full */
    OCELLI_STOP_CALLBACK,  /* on_piece asked to stop */
    OCELLI_STOP_REPETITION /* the answer repeated itself */
} ocelli_stop;
/* "stop", "length", "context", "cancelled", "repetition" */
OCELLI_API const char *ocelli_stop_name(ocelli_stop stop);

typedef struct ocelli_result {
    size_t struct_size;
    ocelli_stop stop;
    uint64_t prompt_tokens, reused_tokens, new_tokens;
    /* Of reading the prompt, the first token included, and of the tokens after it. A step that
     * several sessions share counts for each by its rows, so that their sum is the time spent. */
    double prefill_seconds, decode_seconds;
} ocelli_result;

/* Answers the messages added so far; the answer becomes part of the session. on_piece and result
 * may be NULL; set result->struct_size first. OCELLI_E_CONTEXT names the tokens needed and
 * available, before anything is computed. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_session_generate(
    ocelli_session *session, const ocelli_generate_options *options, ocelli_piece_fn on_piece,
    void *user, ocelli_result *result, ocelli_error *err);
/* Answers count different sessions of one model, decoding them together: each step reads the
 * weights once for all, and every answer has the bits it would have alone. options are shared;
 * on_piece (may be NULL) is told users[i] (users may be NULL) with the pieces of session i; results
 * [count] or NULL, each with its struct_size set. Fails as a whole, before anything is computed, if
 * a prompt does not fit. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_generate_together(
    ocelli_session *const *sessions, size_t count, const ocelli_generate_options *options,
    ocelli_piece_fn on_piece, void *const *users, ocelli_result *results, ocelli_error *err);
/* Answers on their way, decoded together: sessions join and leave between steps, so that long and
 * short answers, early and late ones, share every reading of the weights. Each answer has the bits
 * it would have alone. A batch belongs to one thread at a time. */
typedef struct ocelli_batch ocelli_batch;
/* most: answers at one time, 1 to 4096. OCELLI_E_ARGUMENT; _STATE: the model only plans; _MEMORY. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_batch_open(ocelli_batch **out, ocelli_model *model,
                                                        size_t most, ocelli_error *err);
/* The session answers its messages from the next step on; until it is taken back it is the
 * batch's. options are copied; the strings and users they point to must last as long. user is
 * passed to on_piece (may be NULL) and given back with the session.
 * OCELLI_E_STATE: the batch is full, or has the session already; OCELLI_E_CONTEXT: the prompt does
 * not fit, nothing was computed and the session is the caller's. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_batch_add(ocelli_batch *batch, ocelli_session *session,
                                                       const ocelli_generate_options *options,
                                                       ocelli_piece_fn on_piece, void *user,
                                                       ocelli_error *err);
/* Reads of the prompts that came since as many tokens as a prefill step holds, and gives every answer
 * whose prompt is read its next token. Nothing to do is no error. A failure (OCELLI_E_MEMORY, _IO,
 * _CANCELLED: a progress callback asked to stop) is one of the whole batch: its answers cannot go on,
 * close it. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_batch_step(ocelli_batch *batch, ocelli_error *err);
/* Takes a session whose answer has ended out of the batch: 1, or 0 when there is none. user and
 * result may be NULL; set result->struct_size first. The answer is ocelli_session_answer's. */
OCELLI_API int ocelli_batch_take(ocelli_batch *batch, ocelli_session **session, void **user,
                                 ocelli_result *result);
/* Sessions in the batch: those that answer and those that wait to be taken. */
OCELLI_API size_t ocelli_batch_count(const ocelli_batch *batch);
/* The sessions stay the caller's; answers that have not ended are left as far as they came. */
OCELLI_API void ocelli_batch_close(ocelli_batch *batch);

/* The last answer, whole, NUL-ended; valid until the next call on the session. "" if none. */
OCELLI_API const char *ocelli_session_answer(const ocelli_session *session);

/* ---- what an answer looked at ---------------------------------------------------------------- */

/* One token of the answer: its bytes (a character may be spread over several tokens), the map of the
 * token alone, [tokens of the visual], which sums to 1, and share: of the token's attention, how much
 * went to the visual. Valid during the call. Nonzero ends the work with OCELLI_E_CANCELLED. */
typedef int (*ocelli_look_fn)(void *user, const char *text, size_t length, const float *map,
                              double share);

typedef struct ocelli_look_options {
    size_t struct_size;
    uint64_t first_layer, layers; /* of the decoder; layers 0: all from first_layer on. Both 0: the
                                   * last two thirds, for the first layers look by place more than by
                                   * what is there */
    int relative; /* nonzero: each weight divided by that of a token that asks nothing, the one behind
                   * the picture, plus the mean of those: for models in which a few patches draw
                   * attention whatever is asked */
    ocelli_look_fn on_token; /* NULL: none */
    void *user;
    ocelli_progress_fn progress; /* NULL: none; told in every layer, may cancel */
    void *progress_user;
} ocelli_look_options;
#define OCELLI_LOOK_OPTIONS_INIT                                                                   \
    {                                                                                              \
        sizeof(ocelli_look_options), 0, 0, 0, NULL, NULL, NULL, NULL                               \
    }

/* After an answer: where in visual its tokens looked. map [tokens of the visual], row by row of
 * (grid_h / merge) x (grid_w / merge), a clip's frame pairs one after another; it sums to 1. The
 * tokens' rows are run again over the cache as it is, and the softmax of every head over all keys is
 * averaged over heads, layers and tokens. OCELLI_E_STATE: there is no answer to look at;
 * OCELLI_E_ARGUMENT: the visual is not in the conversation. The session goes on as if nothing had
 * been asked. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_session_look(ocelli_session *session,
                                                          const ocelli_visual *visual,
                                                          const ocelli_look_options *options,
                                                          float *map, ocelli_error *err);

/* ---- the machine --------------------------------------------------------------------------- */

/* What the machine reaches at most, with so many threads: measured by loops that only read memory
 * or only multiply and add in registers. A multiply-add is two operations. */
typedef struct ocelli_machine {
    size_t struct_size;
    const char *cpu_tier; /* whose instructions were used: "avx512" */
    int threads;
    double read_bytes_per_second; /* of memory, in large pages */
    double f32_operations_per_second;
    double bf16_operations_per_second; /* 0: no such instruction */
    double int8_operations_per_second; /* 0: no such instruction */
} ocelli_machine;
/* Takes about a second, and 512 MiB meanwhile. threads and cpu as in ocelli_model_options. Set
 * out->struct_size first. OCELLI_E_ARGUMENT (unknown cpu), _MEMORY. */
OCELLI_API OCELLI_CHECK ocelli_status ocelli_machine_measure(int threads, const char *cpu,
                                                             ocelli_machine *out,
                                                             ocelli_error *err);

/* ---- in one call --------------------------------------------------------------------------- */

OCELLI_API OCELLI_CHECK ocelli_status ocelli_ask_file(ocelli_model *model, const char *image_path,
                                                      const char *question,
                                                      const ocelli_generate_options *options,
                                                      ocelli_piece_fn on_piece, void *user,
                                                      ocelli_result *result, ocelli_error *err);

#ifdef __cplusplus
}
#endif
#endif
