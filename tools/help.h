/* help.h - help on the terminal, made from the two tables. */
#ifndef OCELLI_TOOLS_HELP_H
#define OCELLI_TOOLS_HELP_H

#include "tools/commands.h"

#include <stdbool.h>
#include <stdio.h>

/* What the program is and its commands. */
void help_program(FILE *out);
/* One command: with --help a line for each flag; in full (ocelli help COMMAND) all there is. */
void help_command(FILE *out, const command_spec *command, bool in_full);

#endif
