/* completions.c - ocelli completions: scripts for bash, zsh and fish, made from the two tables. */
#include "tools/commands.h"
#include "tools/flags.h"

#include <stdio.h>
#include <string.h>

static bool takes(const command_spec *command, const flag_spec *flag)
{
    return (flag->commands & (unsigned)command->id) != 0;
}

/* The words that flags_of_kind completes in the same way, for a case pattern: "--model|-m". */
static void print_pattern(const flag_spec *flag)
{
    printf("--%s", flag->name);
    if (flag->letter != 0) {
        printf("|-%c", flag->letter);
    }
}

/* ---- bash ---------------------------------------------------------------------------------- */

static void print_bash_values(void)
{
    printf("    case \"$previous\" in\n");
    for (size_t i = 0; i < FLAG_TOTAL; i++) {
        const flag_spec *flag = flag_at(i);
        if (flag->kind == KIND_SWITCH) {
            continue;
        }
        printf("    ");
        print_pattern(flag);
        if (flag->completes == COMPLETE_CHOICE) {
            printf(") COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n", flag->choices);
        } else if (flag->completes == COMPLETE_FOLDER) {
            printf(") COMPREPLY=($(compgen -d -- \"$word\")); return ;;\n");
        } else if (flag->completes == COMPLETE_FILE) {
            printf(") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n");
        } else {
            printf(") COMPREPLY=(); return ;;\n");
        }
    }
    printf("    esac\n");
}

static void print_bash(void)
{
    printf("# bash completion for ocelli; made by 'ocelli completions bash'\n"
           "_ocelli() {\n"
           "    local word=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
           "    local command=\"${COMP_WORDS[1]}\"\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        COMPREPLY=($(compgen -W '");
    for (size_t i = 0; i < COMMAND_TOTAL; i++) {
        printf("%s ", command_table[i].name);
    }
    printf("--help --version' -- \"$word\"))\n        return\n    fi\n");
    print_bash_values();
    printf("    case \"$command\" in\n");
    for (size_t c = 0; c < COMMAND_TOTAL; c++) {
        const command_spec *command = &command_table[c];
        printf("    %s)\n        if [[ \"$word\" == -* ]]; then\n"
               "            COMPREPLY=($(compgen -W '",
               command->name);
        for (size_t i = 0; i < FLAG_TOTAL; i++) {
            if (takes(command, flag_at(i))) {
                printf("--%s ", flag_at(i)->name);
            }
        }
        printf("' -- \"$word\"))\n        else\n            ");
        if (command->operand == OPERAND_WORD) {
            printf("COMPREPLY=($(compgen -W '%s' -- \"$word\"))\n", command->words);
        } else if (command->operand == OPERAND_FILE) {
            printf("COMPREPLY=($(compgen -f -- \"$word\"))\n");
        } else if (command->operand == OPERAND_FOLDER) {
            printf("COMPREPLY=($(compgen -d -- \"$word\"))\n");
        } else {
            printf("COMPREPLY=()\n");
        }
        printf("        fi ;;\n");
    }
    printf("    esac\n}\ncomplete -o filenames -F _ocelli ocelli\n");
}

/* ---- zsh ----------------------------------------------------------------------------------- */

/* The text inside single quotes and a [] description of _arguments. */
static void print_zsh_text(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            fputs("'\\''", stdout);
        } else if (strchr("[]:\\", *text) != NULL) {
            printf("\\%c", *text);
        } else {
            fputc(*text, stdout);
        }
    }
}

static void print_zsh_flag(const flag_spec *flag)
{
    printf("            ");
    if (flag->letter != 0) {
        printf("'(-%c --%s)'{-%c,--%s}'[", flag->letter, flag->name, flag->letter, flag->name);
    } else {
        printf("'--%s[", flag->name);
    }
    print_zsh_text(flag->line);
    printf("]");
    if (flag->kind != KIND_SWITCH) {
        printf(":%s:", flag->value_name);
        if (flag->completes == COMPLETE_CHOICE) {
            printf("(%s)", flag->choices);
        } else if (flag->completes == COMPLETE_FOLDER) {
            printf("_files -/");
        } else if (flag->completes == COMPLETE_FILE) {
            printf("_files");
        }
    }
    printf("' \\\n");
}

static void print_zsh(void)
{
    printf("#compdef ocelli\n# zsh completion for ocelli; made by 'ocelli completions zsh'\n"
           "_ocelli() {\n    local -a commands\n    commands=(\n");
    for (size_t i = 0; i < COMMAND_TOTAL; i++) {
        printf("        '%s:", command_table[i].name);
        print_zsh_text(command_table[i].line);
        printf("'\n");
    }
    printf("    )\n    if (( CURRENT == 2 )); then\n"
           "        _describe command commands\n        return\n    fi\n"
           "    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
           "    case $command in\n");
    for (size_t c = 0; c < COMMAND_TOTAL; c++) {
        const command_spec *command = &command_table[c];
        printf("    %s)\n        _arguments \\\n", command->name);
        for (size_t i = 0; i < FLAG_TOTAL; i++) {
            if (takes(command, flag_at(i))) {
                print_zsh_flag(flag_at(i));
            }
        }
        if (command->operand == OPERAND_WORD) {
            printf("            '*::(%s)' ;;\n", command->words);
        } else if (command->operand == OPERAND_FOLDER) {
            printf("            '*:folder:_files -/' ;;\n");
        } else if (command->operand == OPERAND_FILE) {
            printf("            '*:file:_files' ;;\n");
        } else {
            printf("            ;;\n");
        }
    }
    printf("    esac\n}\n_ocelli \"$@\"\n");
}

/* ---- fish ---------------------------------------------------------------------------------- */

static void print_fish_text(const char *text)
{
    fputc('\'', stdout);
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\') {
            fputc('\\', stdout);
        }
        fputc(*text, stdout);
    }
    fputc('\'', stdout);
}

static void print_fish_flag(const flag_spec *flag)
{
    printf("complete -c ocelli -n '__fish_seen_subcommand_from");
    for (size_t i = 0; i < COMMAND_TOTAL; i++) {
        if (takes(&command_table[i], flag)) {
            printf(" %s", command_table[i].name);
        }
    }
    printf("' -l %s", flag->name);
    if (flag->letter != 0) {
        printf(" -s %c", flag->letter);
    }
    if (flag->kind != KIND_SWITCH) {
        printf(" -r");
        if (flag->completes == COMPLETE_CHOICE) {
            printf(" -f -a '%s'", flag->choices);
        } else if (flag->completes == COMPLETE_FOLDER) {
            printf(" -f -a '(__fish_complete_directories)'");
        } else if (flag->completes == COMPLETE_NONE) {
            printf(" -f");
        }
    }
    printf(" -d ");
    print_fish_text(flag->line);
    fputc('\n', stdout);
}

static void print_fish(void)
{
    printf("# fish completion for ocelli; made by 'ocelli completions fish'\n"
           "complete -c ocelli -n __fish_use_subcommand -f -l version -d 'print the version'\n");
    for (size_t i = 0; i < COMMAND_TOTAL; i++) {
        const command_spec *command = &command_table[i];
        printf("complete -c ocelli -n __fish_use_subcommand -f -a %s -d ", command->name);
        print_fish_text(command->line);
        fputc('\n', stdout);
        if (command->operand == OPERAND_WORD || command->operand == OPERAND_NONE) {
            printf("complete -c ocelli -n '__fish_seen_subcommand_from %s' -f", command->name);
            if (command->words != NULL) {
                printf(" -a '%s'", command->words);
            }
            fputc('\n', stdout);
        }
    }
    for (size_t i = 0; i < FLAG_TOTAL; i++) {
        print_fish_flag(flag_at(i));
    }
}

int cmd_completions(const cli_options *options)
{
    const char *shell = options->operands[0];
    if (strcmp(shell, "bash") == 0) {
        print_bash();
    } else if (strcmp(shell, "zsh") == 0) {
        print_zsh();
    } else if (strcmp(shell, "fish") == 0) {
        print_fish();
    } else {
        return flags_misuse("completions", "SHELL is one of bash, zsh, fish; not '%.40s'", shell);
    }
    return EXIT_DONE;
}
