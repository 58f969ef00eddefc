/* main.c - the program's beginning and end: finds the command, reads its flags, runs it, and turns
 * what happened into the exit code. What the commands do is in cmd_*.c. */
#define _POSIX_C_SOURCE 200809L

#include "tools/commands.h"
#include "tools/flags.h"
#include "tools/help.h"
#include "tools/interrupt.h"
#include "tools/output.h"
#include "tools/report.h"

#include <fcntl.h>
#include <ocelli.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A program started without stdin, stdout or stderr would open its model as one of them, and then
 * write the answer into it. Reading from such a descriptor ends at once, writing to it fails. */
static void hold_standard_descriptors(void)
{
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        if (fcntl(descriptor, F_GETFD) < 0) {
            int held = open("/dev/null", descriptor == 2 ? O_WRONLY : O_RDONLY);
            if (held != descriptor) {
                _exit(EXIT_FAILED);
            }
        }
    }
}

static const char *name_of_command(size_t index, void *user)
{
    (void)user;
    return index < COMMAND_TOTAL ? command_table[index].name : NULL;
}

/* What other programs call a command; NULL: nothing known. */
static const char *command_elsewhere(const char *word)
{
    static const char *const names[][2] = {
        {"download", "pull"}, {"list", "models"}, {"run", "ask"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i][0], word) == 0) {
            return names[i][1];
        }
    }
    return NULL;
}

static int unknown_command(const char *word)
{
    if (word[0] == '-') {
        return flags_misuse(NULL,
                            "the command comes first, then its flags, but '%.60s' is no "
                            "command",
                            word);
    }
    const char *nearest = command_elsewhere(word);
    if (nearest == NULL) {
        nearest = flags_nearest(word, name_of_command, NULL);
    }
    if (nearest != NULL) {
        return flags_misuse(NULL, "unknown command '%.60s'; did you mean '%s'?", word, nearest);
    }
    return flags_misuse(NULL, "unknown command '%.60s'", word);
}

static int run_command(const command_spec *command, int argc, char **argv)
{
    cli_options options;
    const char **operands = calloc((size_t)argc + 1, sizeof *operands);
    if (operands == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    int code = flags_parse(command, argc, argv, operands, &options);
    if (code == EXIT_DONE && options.help) {
        help_command(stdout, command, false);
    } else if (code == EXIT_DONE) {
        report_setup(options.quiet, options.verbose);
        code = command->run(&options);
    }
    free(operands);
    return code;
}

int main(int argc, char **argv)
{
    /* Holds the longest page, so that a failed write is met by output_close, which says why. Answers
     * are flushed piece by piece. */
    static char page[1 << 17];
    int code;
    hold_standard_descriptors();
    setvbuf(stdout, page, _IOFBF, sizeof page);
    interrupt_setup();
    if (argc < 2) {
        help_program(stderr);
        return EXIT_MISUSE;
    }
    const char *word = argv[1];
    const command_spec *command = command_find(word);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        help_program(stdout);
        code = EXIT_DONE;
    } else if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        output_format("ocelli %s\n%s\n", ocelli_version(), ocelli_build_info());
        code = EXIT_DONE;
    } else if (command == NULL) {
        code = unknown_command(word);
    } else {
        code = run_command(command, argc - 1, argv + 1);
    }
    return output_close(code);
}
