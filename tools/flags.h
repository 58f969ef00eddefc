/* flags.h - the flag table's row, and the parser that reads a command line by it.
 *
 * The table is the only definition of a flag: the parser, --help, the man page and the shell
 * completions are all made from it, and tests/cli checks that none of them lacks a row.
 */
#ifndef OCELLI_TOOLS_FLAGS_H
#define OCELLI_TOOLS_FLAGS_H

#include "tools/commands.h"
#include "tools/cli_options.h"

typedef enum flag_kind {
    KIND_SWITCH,   /* bool, takes no value */
    KIND_COUNT,    /* uint64_t, low..high */
    KIND_BYTES,    /* uint64_t, a number of bytes, or of K, M or G of 1024: "64M", "64MiB" */
    KIND_REAL,     /* double, real_low..real_high */
    KIND_DURATION, /* double, seconds, real_low..real_high: "10s", "500ms", "1m30s" */
    KIND_TEXT,     /* const char *, any bytes; not empty where low is 1 */
    KIND_TEXTS,    /* text_list, one for each time the flag is given */
    KIND_CHOICE,   /* const char *, one word of choices */
    KIND_COLOUR,   /* uint64_t, six hexadecimal digits */
    KIND_SIZE      /* picture_size, WIDTHxHEIGHT, each 1..high */
} flag_kind;

/* What a shell offers as the value. */
typedef enum completion_kind {
    COMPLETE_NONE,
    COMPLETE_FILE,
    COMPLETE_FOLDER,
    COMPLETE_CHOICE
} completion_kind;

typedef enum flag_group {
    GROUP_MODEL,
    GROUP_PROMPT,
    GROUP_PICTURES,
    GROUP_FRAMES,
    GROUP_ANSWER,
    GROUP_BATCH,
    GROUP_COMMAND,
    GROUP_OUTPUT,
    GROUP_TOTAL
} flag_group;

typedef struct flag_spec {
    flag_id id;
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    flag_kind kind;
    size_t offset;             /* of its field in cli_options */
    const char *value_name;    /* "N"; NULL for a switch */
    const char *default_value; /* parsed at the start; NULL: the field stays zero */
    const char *default_note;  /* said in help where there is no default_value; may be NULL */
    const char *choices;       /* words with a space between; NULL */
    uint64_t low, high;
    double real_low, real_high;
    bool above_low; /* real_low itself is refused */
    flag_group group;
    completion_kind completes;
    unsigned commands;     /* bits of command_id */
    const char *line;      /* one line of --help, no full stop */
    const char *paragraph; /* more, for 'ocelli help COMMAND' and the man page; NULL */
} flag_spec;

/* The row of a flag_id, 0 .. FLAG_TOTAL - 1. */
const flag_spec *flag_at(size_t index);

extern const char *const flag_group_titles[GROUP_TOTAL];

/* Fills *options from the defaults and from argv[0 .. argc), argv[0] being the command's name.
 * Flags and operands may come in any order; "--" ends the flags. operands must have room for argc
 * pointers. Returns EXIT_DONE, or EXIT_MISUSE after a message on stderr. */
int flags_parse(const command_spec *command, int argc, char **argv, const char **operands,
                cli_options *options);

/* Prints "ocelli COMMAND: MESSAGE; try 'ocelli help COMMAND'" and returns EXIT_MISUSE. */
int flags_misuse(const char *command, const char *format, ...);

/* An ordinary decimal number, finite; no hexadecimal, no "inf", no space. False: text is none. */
bool flags_read_real(const char *text, double *out);

/* The nearest of the names by edit distance, or NULL when none is near. next gives the i-th name,
 * NULL at the end. */
const char *flags_nearest(const char *word, const char *(*next)(size_t index, void *user),
                          void *user);

#endif
