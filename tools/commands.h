/* commands.h - the table of commands: names, operands, help texts and the functions that run them.
 *
 * What a command does lives in its cmd_*.c; which flags it takes, in the flag table.
 */
#ifndef OCELLI_TOOLS_COMMANDS_H
#define OCELLI_TOOLS_COMMANDS_H

#include "tools/cli_options.h"

/* Bits, so that a flag can name the commands that take it. */
typedef enum command_id {
    COMMAND_CAPTION = 1 << 0,
    COMMAND_ASK = 1 << 1,
    COMMAND_VIDEO = 1 << 2,
    COMMAND_CHAT = 1 << 3,
    COMMAND_PACK = 1 << 4,
    COMMAND_INFO = 1 << 5,
    COMMAND_VERIFY = 1 << 6,
    COMMAND_EVAL = 1 << 7,
    COMMAND_HELP = 1 << 8,
    COMMAND_MAN = 1 << 9,
    COMMAND_COMPLETIONS = 1 << 10,
    COMMAND_SYNTH = 1 << 11,
    COMMAND_BENCH = 1 << 12,
    COMMAND_PULL = 1 << 13,
    COMMAND_MODELS = 1 << 14,
    COMMAND_MERGE = 1 << 15,
    COMMAND_LOCATE = 1 << 16,
    COMMAND_EMBED = 1 << 17,
    COMMAND_LOOK = 1 << 18
} command_id;

#define COMMAND_TOTAL 19

typedef enum operand_kind { OPERAND_NONE, OPERAND_FILE, OPERAND_FOLDER, OPERAND_WORD } operand_kind;

typedef struct command_spec {
    command_id id;
    const char *name;
    const char *operands;                   /* "IMAGE..."; "" for none */
    size_t operands_least, operands_most;   /* SIZE_MAX: any number */
    operand_kind operand;                   /* what a shell offers */
    const char *words;                      /* OPERAND_WORD: the words; NULL */
    const char *line;                       /* one line, no full stop */
    const char *text;                       /* paragraphs, an empty line between */
    const char *examples;                   /* one command a line; NULL */
    int (*run)(const cli_options *options); /* returns an exit code */
} command_spec;

extern const command_spec command_table[COMMAND_TOTAL];

/* NULL if there is none of that name. */
const command_spec *command_find(const char *name);

int cmd_caption(const cli_options *options);
int cmd_ask(const cli_options *options);
int cmd_video(const cli_options *options);
int cmd_chat(const cli_options *options);
int cmd_pull(const cli_options *options);
int cmd_models(const cli_options *options);
int cmd_merge(const cli_options *options);
int cmd_locate(const cli_options *options);
int cmd_embed(const cli_options *options);
int cmd_look(const cli_options *options);
int cmd_pack(const cli_options *options);
int cmd_info(const cli_options *options);
int cmd_verify(const cli_options *options);
int cmd_eval(const cli_options *options);
int cmd_bench(const cli_options *options);
int cmd_synth(const cli_options *options);
int cmd_help(const cli_options *options);
int cmd_man(const cli_options *options);
int cmd_completions(const cli_options *options);

#endif
