/* flag_table.h - what the two files of the flag table share;
 * everyone else asks flag_at (flags.h). */
#ifndef OCELLI_TOOLS_FLAG_TABLE_H
#define OCELLI_TOOLS_FLAG_TABLE_H

#include "tools/flags.h"

#include <stddef.h>

/* The first flag of the second file; the rows of both stand in the order of flag_id. */
#define FLAG_FIRST_OF_COMMANDS FLAG_EMBED_BF16

#define TALKING                                                                                    \
    (COMMAND_CAPTION | COMMAND_ASK | COMMAND_VIDEO | COMMAND_CHAT | COMMAND_LOCATE | COMMAND_LOOK)
#define RUNNING (TALKING | COMMAND_EVAL)
#define SEEING (TALKING | COMMAND_EMBED)
#define FIELD(name) offsetof(cli_options, name)

/* Far above any real context or answer, and small enough that products stay in 64 bits. */
#define MOST_TOKENS UINT64_C(1000000000)

extern const flag_spec flag_table_commands[FLAG_TOTAL - FLAG_FIRST_OF_COMMANDS];

#endif
