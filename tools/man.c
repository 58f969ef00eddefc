/* man.c - ocelli man: the manual page in mdoc, made from the two tables. */
#include "tools/commands.h"
#include "tools/flags.h"

#include <ocelli.h>
#include <stdio.h>
#include <string.h>

/* Of the last change to what the page says. */
#define PAGE_DATE "November 29, 2026"

#define LINE_WIDTH 78

static void print_character(char c)
{
    if (c == '\\') {
        fputs("\\e", stdout);
    } else if (c == '-') {
        fputs("\\-", stdout);
    } else {
        fputc(c, stdout);
    }
}

/* Prints text as roff input: sentences begin lines, as mdoc asks, lines are short, an empty line is
 * a paragraph, and what roff would take as its own is escaped. */
static void print_text(const char *text)
{
    size_t column = 0;
    while (*text != '\0') {
        size_t word = strcspn(text, " \n");
        if (column == 0 && (*text == '.' || *text == '\'')) {
            fputs("\\&", stdout);
        }
        for (size_t i = 0; i < word; i++) {
            column += text[i] == '\\' || text[i] == '-' ? 2 : 1;
            print_character(text[i]);
        }
        bool ends_sentence = word > 1 && text[word - 1] == '.';
        text += word;
        if (*text == '\n') {
            fputs(text[1] == '\n' ? "\n.Pp\n" : "\n", stdout);
            text += text[1] == '\n' ? 2 : 1;
            column = 0;
        } else if (*text == ' ') {
            text++;
            size_t next = strcspn(text, " \n");
            bool breaks =
                (ends_sentence && *text >= 'A' && *text <= 'Z') || column + 1 + next > LINE_WIDTH;
            fputc(breaks ? '\n' : ' ', stdout);
            column = breaks ? 0 : column + 1;
        }
    }
    fputc('\n', stdout);
}

/* An argument of a macro: in quotes, so that spaces, dots and words such as "No" are plain. */
static void print_argument(const char *text)
{
    fputc('"', stdout);
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            fputs("\\(dq", stdout);
        } else if (*text == '\\') {
            fputs("\\e", stdout);
        } else {
            fputc(*text, stdout);
        }
    }
    fputc('"', stdout);
}

static void print_commands_of(const flag_spec *flag)
{
    char text[200];
    size_t used = 0;
    if (flag->commands == ~0u) {
        print_text("Every command takes it.");
        return;
    }
    for (size_t i = 0; i < COMMAND_TOTAL; i++) {
        if ((flag->commands & (unsigned)command_table[i].id) && used < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     used == 0 ? "Taken by " : ", ", command_table[i].name);
        }
    }
    snprintf(text + (used < sizeof text ? used : sizeof text - 1),
             sizeof text - (used < sizeof text ? used : sizeof text - 1), ".");
    print_text(text);
}

static void print_flag(const flag_spec *flag)
{
    printf(".It ");
    if (flag->letter != 0) {
        printf("Fl %c , ", flag->letter);
    }
    printf("Fl \\-%s", flag->name);
    if (flag->value_name != NULL) {
        printf(" Ar ");
        print_argument(flag->value_name);
    }
    fputc('\n', stdout);
    char line[400];
    const char *defaults = flag->default_value != NULL ? flag->default_value : flag->default_note;
    snprintf(line, sizeof line, "%c%s.",
             flag->line[0] >= 'a' && flag->line[0] <= 'z' ? flag->line[0] - 'a' + 'A'
                                                          : flag->line[0],
             flag->line + 1);
    print_text(line);
    if (flag->choices != NULL) {
        snprintf(line, sizeof line, "One of: %s.", flag->choices);
        print_text(line);
    }
    if (flag->paragraph != NULL) {
        print_text(flag->paragraph);
    }
    if (defaults != NULL) {
        snprintf(line, sizeof line, "Default: %s%s", defaults,
                 defaults[strlen(defaults) - 1] == '.' ? "" : ".");
        print_text(line);
    }
    print_commands_of(flag);
}

static void print_command(const command_spec *command)
{
    printf(".It Nm Cm %s", command->name);
    if (*command->operands != '\0') {
        printf(" Ar ");
        print_argument(command->operands);
    }
    fputc('\n', stdout);
    print_text(command->text);
}

static void print_examples(void)
{
    printf(".Sh EXAMPLES\n");
    for (size_t i = 0; i < COMMAND_TOTAL; i++) {
        if (command_table[i].examples == NULL) {
            continue;
        }
        for (const char *line = command_table[i].examples; *line != '\0';) {
            size_t length = strcspn(line, "\n");
            printf(".Dl ");
            for (size_t k = 0; k < length; k++) {
                if (line[k] == '\\') {
                    fputs("\\e", stdout);
                } else if (line[k] == '"') {
                    fputs("\\(dq", stdout);
                } else if (line[k] == '\'') {
                    fputs("\\(aq", stdout);
                } else if (line[k] == '-') {
                    fputs("\\-", stdout);
                } else if (line[k] == '|') {
                    fputs("\\(ba", stdout);
                } else if (line[k] == '~') {
                    fputs("\\(ti", stdout);
                } else {
                    fputc(line[k], stdout);
                }
            }
            fputc('\n', stdout);
            line += length;
            line += *line == '\n';
        }
    }
}

int cmd_man(const cli_options *options)
{
    (void)options;
    printf(".Dd %s\n.Dt OCELLI 1\n.Os\n", PAGE_DATE);
    printf(".Sh NAME\n.Nm ocelli\n.Nd answers questions about pictures on the CPU\n");
    printf(".Sh SYNOPSIS\n");
    for (size_t i = 0; i < COMMAND_TOTAL; i++) {
        printf(".Nm\n.Cm %s\n.Op Ar flag ...\n", command_table[i].name);
        if (*command_table[i].operands != '\0') {
            printf(".Ar ");
            print_argument(command_table[i].operands);
            fputc('\n', stdout);
        }
    }
    printf(".Sh DESCRIPTION\n.Nm\n");
    print_text("loads a Qwen vision-language model and answers in text about pictures and clips. "
               "It needs no accelerator, and no network but to get a model.\n\n"
               "Flags may stand before or after operands, after the command; -- ends them. Names "
               "of flags are not shortened. Answers go to stdout, and everything else to stderr. "
               "Progress is drawn, and colour used, only where stderr is a terminal.\n\n"
               "The commands are:");
    printf(".Bl -tag -width Ds\n");
    for (size_t i = 0; i < COMMAND_TOTAL; i++) {
        print_command(&command_table[i]);
    }
    printf(".El\n.Sh OPTIONS\n");
    for (flag_group group = 0; group < GROUP_TOTAL; group++) {
        printf(".Ss %s\n.Bl -tag -width Ds\n", flag_group_titles[group]);
        for (size_t i = 0; i < FLAG_TOTAL; i++) {
            if (flag_at(i)->group == group) {
                print_flag(flag_at(i));
            }
        }
        printf(".El\n");
    }
    printf(".Sh ENVIRONMENT\n.Bl -tag -width Ds\n");
    printf(".It Ev OCELLI_MODEL\nThe model, where\n.Fl m\ndoes not name one.\n");
    printf(".It Ev OCELLI_CPU\nThe highest kernel tier, where\n.Fl \\-cpu\ndoes not name one.\n");
    printf(".It Ev OCELLI_HOME\nThe model folder; without it\n"
           ".Pa $XDG_DATA_HOME/ocelli/models\nor\n.Pa ~/.local/share/ocelli/models .\n");
    printf(
        ".It Ev OCELLI_CACHE\nThe folder of encoded pictures, where\n.Fl \\-cache\ndoes not name "
        "one.\n");
    printf(".It Ev HF_ENDPOINT , HF_TOKEN , HF_HUB_OFFLINE\nFor\n.Cm pull :\nthe hub, the token "
           "sent to it, and, where it is 1, no network.\n");
    printf(".It Ev HTTPS_PROXY , HTTP_PROXY , NO_PROXY\nProxies for\n.Cm pull .\n");
    printf(".It Ev CURL_CA_BUNDLE , SSL_CERT_FILE\nThe authorities whose certificates\n.Cm pull\n"
           "trusts, in place of the system's.\n");
    printf(".It Ev NO_COLOR\nIf it is set and not empty, no colour is used.\n.El\n");
    printf(".Sh EXIT STATUS\n.Bl -tag -width Ds\n");
    printf(".It 0\nAll is done.\n");
    printf(".It 1\nSomething failed; stderr says what.\n");
    printf(".It 2\nThe command line is wrong; nothing was done.\n");
    printf(".It 3\nSome of many failed; the others are done.\n");
    printf(".It 130\nInterrupted by a signal.\n.El\n");
    print_examples();
    return EXIT_DONE;
}
