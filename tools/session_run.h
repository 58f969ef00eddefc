/* session_run.h - a model, its session, and one answer at a time: what the commands share.
 *
 * Functions return an exit code and have said why unless it is EXIT_DONE or EXIT_INTERRUPTED.
 */
#ifndef OCELLI_TOOLS_SESSION_RUN_H
#define OCELLI_TOOLS_SESSION_RUN_H

#include "tools/cli_options.h"

#include <cjson/cJSON.h>
#include <ocelli.h>

/* A picture or a clip of the prompt. */
typedef struct medium {
    char *name; /* as given: a path, a folder, "-" */
    bool is_video;
    ocelli_visual *visual;
    /* Of a clip: */
    double fps;            /* of the folder */
    bool fps_assumed;      /* nobody said it */
    bool fps_mean;         /* what comes of times of their own */
    size_t frames_found;   /* in the folder */
    double used_fps;       /* frames used to a second */
    size_t frame_count;    /* used */
    char **frame_names;    /* [frame_count] */
    double *frame_seconds; /* [frame_count] times in the source */
} medium;

typedef struct run {
    const cli_options *options;
    char *model_path;
    ocelli_model *model;     /* NULL until run_open */
    ocelli_session *session; /* NULL until run_open */
    char *system;            /* the system message, NULL: none */
    bool begun;              /* a message has been added */
    bool broken;             /* run_open failed, and would again */
    double load_seconds;
    ocelli_visual_cache *cache; /* of what is encoded; NULL with --dry-run */
    ocelli_choose_fn choose;    /* of every answer; NULL: none */
    void *choose_user;
} run;

typedef struct answer {
    ocelli_result result;
    double encode_seconds, cache_seconds; /* of the media of this answer */
    uint64_t image_tokens;
    size_t media, from_memory, from_disk; /* how many there are, and those the cache had */
} answer;

int run_init(run *r, const cli_options *options);
/* Opens the model and the session, once. After a failure it fails again, without a word. */
int run_open(run *r);
void run_close(run *r);

/* Another session of the run's model, and the options of its answers, as the flags ask for them: for
 * those who answer several at a time. The session is the caller's. */
ocelli_status run_session_open(const run *r, ocelli_session **out, ocelli_error *err);
void run_generate_options(const cli_options *options, ocelli_generate_options *out);

/* Forgets the conversation. */
void run_restart(run *r);

/* Adds the system message if the conversation is new, then a user message: the media in order,
 * then the text. */
int run_add(run *r, const medium *media, size_t count, const char *text);

/* No picture or clip will follow: what the tower's weights take is given back. */
void run_last_medium(run *r);

/* What the next run_answer would do. */
int run_plan(run *r, ocelli_session_plan *plan);

/* Answers. Unless --json (or silent) the text goes to stdout as it comes, after prefix and with a
 * newline at the end. The answer's text is ocelli_session_answer(r->session). */
int run_answer(run *r, const char *prefix, bool silent, const medium *media, size_t count,
               answer *out);

/* The JSON object of an answer, without the members that name its media. */
cJSON *run_answer_json(const run *r, const char *question, const answer *a);

/* --timings: one answer's lines on stderr. */
void run_timings(const run *r, const answer *a);

/* The text of a flag or operand, checked and unescaped as the flags ask; *out is a new string.
 * what names it in messages: "the question". */
int prompt_text(const char *command, const char *what, const char *text, bool escape, char **out);

#endif
