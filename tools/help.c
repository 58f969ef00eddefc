/* help.c - see help.h. */
#include "tools/help.h"
#include "tools/flags.h"

#include <string.h>

#define LINE_WIDTH 79
#define FLAG_WIDTH 30 /* where a flag's text begins */

/* Prints text filled to LINE_WIDTH, every line indented; column is where the first line stands. An
 * empty line in text stays one. */
static void fill(FILE *out, const char *text, size_t indent, size_t column)
{
    bool fresh = column <= indent; /* nothing on this line yet */
    while (*text != '\0') {
        if (*text == '\n') {
            fputs(text[1] == '\n' ? "\n\n" : "\n", out);
            text += text[1] == '\n' ? 2 : 1;
            column = 0;
            fresh = true;
            continue;
        }
        size_t word = strcspn(text, " \n");
        if (!fresh && column + 1 + word > LINE_WIDTH) {
            fputc('\n', out);
            column = 0;
            fresh = true;
        }
        if (fresh) {
            for (; column < indent; column++) {
                fputc(' ', out);
            }
        } else {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, word, out);
        column += word;
        fresh = false;
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

void help_program(FILE *out)
{
    fputs("ocelli answers questions about pictures on the CPU.\n\n"
          "usage: ocelli COMMAND [FLAG...] [OPERAND...]\n\n",
          out);
    for (size_t i = 0; i < COMMAND_TOTAL; i++) {
        char head[FLAG_WIDTH + 16];
        snprintf(head, sizeof head, "%s %s", command_table[i].name, command_table[i].operands);
        fprintf(out, "  %-*s  %s\n", FLAG_WIDTH - 3, head, command_table[i].line);
    }
    fputs("\n  --help, --version\n\n"
          "'ocelli help COMMAND' explains a command and its flags. Answers go to stdout, all else\n"
          "to stderr. Exit codes: 0 done, 1 failed, 2 misuse, 3 some of many failed\n"
          "or are missing, 130 interrupted.\n",
          out);
}

static void print_choices(FILE *out, const char *choices)
{
    for (const char *c = choices; *c != '\0'; c++) {
        if (*c == ' ') {
            fputs(", ", out);
        } else {
            fputc(*c, out);
        }
    }
}

static void print_flag(FILE *out, const flag_spec *flag, bool in_full)
{
    char head[64];
    char text[400];
    const char *value = flag->value_name != NULL ? flag->value_name : "";
    const char *defaults = flag->default_value != NULL ? flag->default_value : flag->default_note;
    if (flag->letter != 0) {
        snprintf(head, sizeof head, "  -%c, --%s %s", flag->letter, flag->name, value);
    } else {
        snprintf(head, sizeof head, "      --%s %s", flag->name, value);
    }
    if (defaults != NULL) {
        snprintf(text, sizeof text, "%s [%s]", flag->line, defaults);
    } else {
        snprintf(text, sizeof text, "%s", flag->line);
    }
    fputs(head, out);
    size_t column = strlen(head);
    if (column + 2 > FLAG_WIDTH) {
        fputc('\n', out);
        column = 0;
    } else {
        for (; column < FLAG_WIDTH - 1; column++) {
            fputc(' ', out);
        }
        fputc(' ', out);
        column++;
    }
    fill(out, text, FLAG_WIDTH, column);
    if (in_full && flag->choices != NULL) {
        fprintf(out, "%*sOne of ", FLAG_WIDTH, "");
        print_choices(out, flag->choices);
        fputs(".\n", out);
    }
    if (in_full && flag->paragraph != NULL) {
        fill(out, flag->paragraph, FLAG_WIDTH, 0);
    }
}

void help_command(FILE *out, const command_spec *command, bool in_full)
{
    fprintf(out, "ocelli %s - %s\n\nusage: ocelli %s [FLAG...]%s%s\n", command->name, command->line,
            command->name, *command->operands != '\0' ? " " : "", command->operands);
    if (in_full) {
        fputc('\n', out);
        fill(out, command->text, 0, 0);
    }
    for (flag_group group = 0; group < GROUP_TOTAL; group++) {
        bool titled = false;
        for (size_t i = 0; i < FLAG_TOTAL; i++) {
            const flag_spec *flag = flag_at(i);
            if (flag->group != group || (flag->commands & (unsigned)command->id) == 0) {
                continue;
            }
            if (!titled) {
                fprintf(out, "\n%s\n", flag_group_titles[group]);
                titled = true;
            }
            print_flag(out, flag, in_full);
        }
    }
    if (in_full && command->examples != NULL) {
        fputs("\nExamples\n", out);
        for (const char *line = command->examples; *line != '\0';) {
            size_t length = strcspn(line, "\n");
            fprintf(out, "  %.*s\n", (int)length, line);
            line += length;
            line += *line == '\n';
        }
    }
    if (!in_full) {
        fprintf(out, "\n'ocelli help %s' says more.\n", command->name);
    }
}

int cmd_help(const cli_options *options)
{
    if (options->operand_count == 0) {
        help_program(stdout);
        return EXIT_DONE;
    }
    const command_spec *command = command_find(options->operands[0]);
    if (command == NULL) {
        return flags_misuse(NULL, "there is no command '%.60s'", options->operands[0]);
    }
    help_command(stdout, command, true);
    return EXIT_DONE;
}
