/* flags.c - reads a command line by the flag table, over getopt_long.
 *
 * getopt_long finds flags, values and operands; this file says what is wrong with them. Two of its
 * habits are undone: shortened names are refused, because a flag added later would change what they
 * mean, and POSIXLY_CORRECT does not stop flags from following operands (the leading '-' of the
 * short options sees to that), because a script must not depend on who runs it.
 */
#define _POSIX_C_SOURCE 200809L

#include "tools/flags.h"
#include "tools/report.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Values that getopt_long returns for long flags: above every letter. */
#define LONG_BASE 1000

int flags_misuse(const char *command, const char *format, ...)
{
    char message[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (command != NULL) {
        report_error("%s: %s; try 'ocelli help %s'", command, message, command);
    } else {
        report_error("%s; try 'ocelli help'", message);
    }
    return EXIT_MISUSE;
}

/* ---- the nearest name ---------------------------------------------------------------------- */

#define LONGEST_NAME 40

/* Edit distance with neighbours swapped as one step; words longer than LONGEST_NAME are far. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][LONGEST_NAME + 1]; /* [two before, before, now][columns] */
    size_t a_length = strlen(a);
    size_t b_length = strlen(b);
    if (a_length > LONGEST_NAME || b_length > LONGEST_NAME) {
        return LONGEST_NAME;
    }
    for (size_t j = 0; j <= b_length; j++) {
        rows[1][j] = j;
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        rows[2][0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t best = rows[1][j - 1] + (a[i - 1] != b[j - 1]);
            if (rows[1][j] + 1 < best) {
                best = rows[1][j] + 1;
            }
            if (rows[2][j - 1] + 1 < best) {
                best = rows[2][j - 1] + 1;
            }
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                rows[0][j - 2] + 1 < best) {
                best = rows[0][j - 2] + 1;
            }
            rows[2][j] = best;
        }
        memcpy(rows[0], rows[1], sizeof rows[0]);
        memcpy(rows[1], rows[2], sizeof rows[1]);
    }
    return rows[1][b_length];
}

const char *flags_nearest(const char *word, const char *(*next)(size_t index, void *user),
                          void *user)
{
    const char *nearest = NULL;
    size_t length = strlen(word);
    size_t least = (length < 5 ? 1 : length < 9 ? 2 : 3) + 1;
    const char *name;
    for (size_t i = 0; (name = next(i, user)) != NULL; i++) {
        if (*name == '\0') {
            continue;
        }
        /* A shortened name is near, however much is missing. */
        size_t distance =
            length >= 3 && strncmp(name, word, length) == 0 ? 1 : edit_distance(word, name);
        if (distance < least) {
            least = distance;
            nearest = name;
        }
    }
    return nearest;
}

/* Gives the flags that a command takes; others as an empty name, which is near to nothing. */
static const char *flag_of_command(size_t index, void *user)
{
    const command_spec *command = user;
    if (index >= FLAG_TOTAL) {
        return NULL;
    }
    return (flag_at(index)->commands & (unsigned)command->id) ? flag_at(index)->name : "";
}

/* argument is as written: "--max-tokns=5". */
static int unknown_flag(const command_spec *command, const char *argument)
{
    char word[LONGEST_NAME * 2];
    size_t length = strcspn(argument, "=");
    if (strncmp(argument, "--", 2) != 0) {
        return flags_misuse(command->name,
                            "unknown flag '%.40s' (put -- before an operand that begins with a "
                            "dash)",
                            argument);
    }
    snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length - 2 : 58), argument + 2);
    for (size_t i = 0; i < FLAG_TOTAL; i++) {
        if (strcmp(flag_at(i)->name, word) == 0) {
            return flags_misuse(command->name, "--%s is not a flag of this command", word);
        }
    }
    const char *nearest = flags_nearest(word, flag_of_command, (void *)(uintptr_t)command);
    if (nearest != NULL) {
        return flags_misuse(command->name, "unknown flag '--%s'; did you mean --%s?", word,
                            nearest);
    }
    return flags_misuse(command->name, "unknown flag '--%s'", word);
}

/* ---- values -------------------------------------------------------------------------------- */

static int bad_value(const char *command, const flag_spec *flag, const char *value)
{
    switch (flag->kind) {
    case KIND_COUNT:
        return flags_misuse(
            command, "--%s needs a whole number from %" PRIu64 " to %" PRIu64 ", not '%.60s'",
            flag->name, flag->low, flag->high, value);
    case KIND_BYTES:
        return flags_misuse(command,
                            "--%s needs a size such as 0, 512K, 64M, 64MiB or 2G, not '%.60s'",
                            flag->name, value);
    case KIND_REAL:
        return flags_misuse(command, "--%s needs a number %s %g %s %g, not '%.60s'", flag->name,
                            flag->above_low ? "above" : "from", flag->real_low,
                            flag->above_low ? "and up to" : "to", flag->real_high, value);
    case KIND_DURATION:
        return flags_misuse(command,
                            "--%s needs a time such as 10s, 500ms, 2m or 1h30m, from %g to %g "
                            "seconds, not '%.60s'",
                            flag->name, flag->real_low, flag->real_high, value);
    case KIND_CHOICE:
        return flags_misuse(command, "--%s needs one of: %s; not '%.60s'", flag->name,
                            flag->choices, value);
    case KIND_COLOUR:
        return flags_misuse(command,
                            "--%s needs six hexadecimal digits such as ff8000, not '%.60s'",
                            flag->name, value);
    case KIND_SIZE:
        return flags_misuse(command,
                            "--%s needs a size such as 1280x720, each side from 1 to %" PRIu64
                            ", not '%.60s'",
                            flag->name, flag->high, value);
    case KIND_TEXTS:
        if (*value != '\0') {
            return flags_misuse(command, "--%s is there too often: 16 times are the most",
                                flag->name);
        }
        return flags_misuse(command, "--%s needs a value that is not empty", flag->name);
    default: return flags_misuse(command, "--%s needs a value that is not empty", flag->name);
    }
}

/* Digits only, no sign, no space; *end is set past them. */
static bool read_count(const char *text, uint64_t *out, const char **end)
{
    uint64_t value = 0;
    if (*text < '0' || *text > '9') {
        return false;
    }
    for (; *text >= '0' && *text <= '9'; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *out = value;
    *end = text;
    return true;
}

/* A count, and K, M or G (large or small) where it is of 1024, 1024^2 or 1024^3 bytes; "64M",
 * "64MB" and "64MiB" are the same. */
static bool read_bytes(const char *text, uint64_t *out)
{
    static const char letters[] = "KMGkmg";
    const char *end = text;
    if (!read_count(text, out, &end)) {
        return false;
    }
    const char *letter = *end != '\0' ? strchr(letters, *end) : NULL;
    if (letter == NULL) {
        return *end == '\0';
    }
    unsigned shift = 10 * (unsigned)((letter - letters) % 3 + 1);
    bool ends = end[1] == '\0' || strcasecmp(end + 1, "B") == 0 || strcasecmp(end + 1, "iB") == 0;
    if (!ends || *out > UINT64_MAX >> shift) {
        return false;
    }
    *out <<= shift;
    return true;
}

bool flags_read_real(const char *text, double *out)
{
    if (*text == '\0' || strspn(text, "0123456789+-.eE") != strlen(text)) {
        return false;
    }
    char *end = NULL;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value)) {
        return false;
    }
    *out = value;
    return true;
}

/* "1h30m", "10s", "1.5s", "500ms": numbers with units, each unit smaller than the one before; in
 * seconds. A number alone is none: frames would be meant as easily. */
static bool read_duration(const char *text, double *out)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"h", 3600}, {"ms", 0.001}, {"m", 60}, {"s", 1}};
    double smallest = HUGE_VAL;
    *out = 0;
    do {
        char number[32];
        double value = 0;
        size_t unit = 0;
        size_t length = strspn(text, "0123456789.");
        if (length >= sizeof number) {
            return false;
        }
        memcpy(number, text, length);
        number[length] = '\0';
        text += length;
        while (unit < sizeof units / sizeof units[0] &&
               strncmp(text, units[unit].name, strlen(units[unit].name)) != 0) {
            unit++;
        }
        if (unit == sizeof units / sizeof units[0] || units[unit].seconds >= smallest ||
            !flags_read_real(number, &value)) {
            return false;
        }
        smallest = units[unit].seconds;
        text += strlen(units[unit].name);
        *out += smallest == 0.001 ? value / 1000 : value * smallest;
    } while (*text != '\0');
    return true;
}

static bool is_choice(const char *choices, const char *value)
{
    size_t length = strlen(value);
    while (*choices != '\0') {
        size_t word = strcspn(choices, " ");
        if (word == length && strncmp(choices, value, word) == 0) {
            return true;
        }
        choices += word;
        choices += strspn(choices, " ");
    }
    return false;
}

/* Parses value into the flag's field; false if it is not one. */
static bool store_value(const flag_spec *flag, const char *value, cli_options *options)
{
    char *field = (char *)options + flag->offset;
    uint64_t count = 0;
    double real = 0;
    const char *end = value;
    switch (flag->kind) {
    case KIND_SWITCH: {
        bool on = true;
        memcpy(field, &on, sizeof on);
        return true;
    }
    case KIND_COUNT:
        if (!read_count(value, &count, &end) || *end != '\0' || count < flag->low ||
            count > flag->high) {
            return false;
        }
        memcpy(field, &count, sizeof count);
        return true;
    case KIND_BYTES:
        if (!read_bytes(value, &count)) {
            return false;
        }
        memcpy(field, &count, sizeof count);
        return true;
    case KIND_REAL:
        if (!flags_read_real(value, &real) || real < flag->real_low || real > flag->real_high ||
            (flag->above_low && real <= flag->real_low)) {
            return false;
        }
        memcpy(field, &real, sizeof real);
        return true;
    case KIND_DURATION:
        if (!read_duration(value, &real) || real < flag->real_low || real > flag->real_high) {
            return false;
        }
        memcpy(field, &real, sizeof real);
        return true;
    case KIND_TEXT:
        if (flag->low > 0 && *value == '\0') {
            return false;
        }
        memcpy(field, &value, sizeof value);
        return true;
    case KIND_TEXTS: {
        text_list list;
        memcpy(&list, field, sizeof list);
        if (*value == '\0' || list.count == sizeof list.items / sizeof list.items[0]) {
            return false;
        }
        list.items[list.count++] = value;
        memcpy(field, &list, sizeof list);
        return true;
    }
    case KIND_CHOICE:
        if (!is_choice(flag->choices, value)) {
            return false;
        }
        memcpy(field, &value, sizeof value);
        return true;
    case KIND_COLOUR:
        if (*value == '#') {
            value++;
        }
        if (strlen(value) != 6 || strspn(value, "0123456789abcdefABCDEF") != 6) {
            return false;
        }
        count = strtoull(value, NULL, 16);
        memcpy(field, &count, sizeof count);
        return true;
    case KIND_SIZE: {
        picture_size size = {0, 0};
        if (!read_count(value, &size.width, &end) || (*end != 'x' && *end != 'X') ||
            !read_count(end + 1, &size.height, &end) || *end != '\0' || size.width < 1 ||
            size.height < 1 || size.width > flag->high || size.height > flag->high) {
            return false;
        }
        memcpy(field, &size, sizeof size);
        return true;
    }
    }
    return false;
}

/* ---- the command line ---------------------------------------------------------------------- */

/* Fills the arrays that getopt_long reads with the flags of one command. */
static void list_flags(const command_spec *command, char *letters, struct option *longs)
{
    size_t count = 0;
    *letters++ = '-'; /* operands are returned in order, as 1 */
    *letters++ = ':'; /* a missing value is told apart from an unknown flag */
    for (size_t i = 0; i < FLAG_TOTAL; i++) {
        const flag_spec *flag = flag_at(i);
        if ((flag->commands & (unsigned)command->id) == 0) {
            continue;
        }
        int takes = flag->kind == KIND_SWITCH ? no_argument : required_argument;
        longs[count++] = (struct option){flag->name, takes, NULL, LONG_BASE + (int)i};
        if (flag->letter != 0) {
            *letters++ = flag->letter;
            if (takes == required_argument) {
                *letters++ = ':';
            }
        }
    }
    *letters = '\0';
    longs[count] = (struct option){NULL, 0, NULL, 0};
}

static const flag_spec *flag_by_code(const command_spec *command, int code)
{
    if (code >= LONG_BASE && code < LONG_BASE + FLAG_TOTAL) {
        return flag_at((size_t)(code - LONG_BASE));
    }
    for (size_t i = 0; i < FLAG_TOTAL; i++) {
        if (code != 0 && flag_at(i)->letter == code &&
            (flag_at(i)->commands & (unsigned)command->id) != 0) {
            return flag_at(i);
        }
    }
    return NULL;
}

/* getopt_long takes shortened names; this program does not. argument is as written. */
static bool is_shortened(const flag_spec *flag, const char *argument)
{
    size_t length = strcspn(argument, "=");
    return strncmp(argument, "--", 2) == 0 &&
           (length - 2 != strlen(flag->name) || strncmp(argument + 2, flag->name, length - 2) != 0);
}

static int check_together(const command_spec *command, const cli_options *options)
{
    if (options->given[FLAG_MIN_PIXELS] && options->given[FLAG_MAX_PIXELS] &&
        options->min_pixels > options->max_pixels) {
        return flags_misuse(command->name,
                            "--min-pixels %" PRIu64 " is above --max-pixels %" PRIu64,
                            options->min_pixels, options->max_pixels);
    }
    if (options->given[FLAG_FAST_DECODE] && !options->given[FLAG_MAX_PIXELS]) {
        return flags_misuse(command->name, "--fast-decode needs --max-pixels: it says how small a "
                                           "picture may become");
    }
    if (options->given[FLAG_FRAMES] && options->given[FLAG_SAMPLE_FPS]) {
        return flags_misuse(command->name, "--frames and --sample-fps both say how many frames to "
                                           "use; give one of them");
    }
    if (options->given[FLAG_FRAMES] && options->given[FLAG_MAX_FRAMES] &&
        options->frames > options->max_frames) {
        return flags_misuse(command->name, "--frames %" PRIu64 " is above --max-frames %" PRIu64,
                            options->frames, options->max_frames);
    }
    if (options->follow && options->every == 0) {
        return flags_misuse(command->name, "--follow needs --every: it tells a segment when that "
                                           "is full");
    }
    if (options->given[FLAG_FOLLOW_IDLE] && !options->follow) {
        return flags_misuse(command->name, "--follow-idle goes with --follow");
    }
    if (options->follow && options->times != NULL) {
        return flags_misuse(command->name, "--times and --follow exclude each other: the times of "
                                           "frames to come are not known; --fps says their rate");
    }
    if (options->given[FLAG_TIMES] && options->given[FLAG_FPS]) {
        return flags_misuse(command->name, "--times and --fps both say when the frames were; give "
                                           "one of them");
    }
    if (options->quiet && options->verbose) {
        return flags_misuse(command->name, "--quiet and --verbose exclude each other");
    }
    if (options->operand_count < command->operands_least && !options->given[FLAG_FILES_FROM]) {
        return flags_misuse(command->name, "%s needs %s", command->name, command->operands);
    }
    if (options->operand_count > command->operands_most) {
        return flags_misuse(command->name, "'%.60s' is one operand too many",
                            options->operands[command->operands_most]);
    }
    return EXIT_DONE;
}

int flags_parse(const command_spec *command, int argc, char **argv, const char **operands,
                cli_options *options)
{
    struct option longs[FLAG_TOTAL + 1];
    char letters[3 + 2 * FLAG_TOTAL];

    memset(options, 0, sizeof *options);
    options->command = command->name;
    options->operands = operands;
    for (size_t i = 0; i < FLAG_TOTAL; i++) {
        if (flag_at(i)->default_value != NULL) {
            store_value(flag_at(i), flag_at(i)->default_value, options);
        }
    }
    list_flags(command, letters, longs);
    opterr = 0;
    optind = 1;
    for (;;) {
        /* The element being read: between letters of one element optind stays where it is. */
        int before = optind < argc ? optind : argc;
        int code = getopt_long(argc, argv, letters, longs, NULL);
        if (code == -1) {
            break;
        }
        if (code == 1) {
            operands[options->operand_count++] = optarg;
            continue;
        }
        if (code == '?') {
            /* optopt is a long flag's code when a switch was given a value, else a letter or 0. */
            const flag_spec *flag = optopt >= LONG_BASE ? flag_by_code(command, optopt) : NULL;
            if (flag != NULL) {
                return flags_misuse(command->name, "--%s takes no value", flag->name);
            }
            return unknown_flag(command, argv[before]);
        }
        const flag_spec *flag = flag_by_code(command, code == ':' ? optopt : code);
        if (flag == NULL || is_shortened(flag, argv[before])) {
            return unknown_flag(command, argv[before]);
        }
        if (code == ':') {
            return flags_misuse(command->name, "--%s needs a value: %s", flag->name,
                                flag->value_name);
        }
        if (flag->kind == KIND_TEXTS && !options->given[flag->id]) {
            memset((char *)options + flag->offset, 0, sizeof(text_list)); /* not the default */
        }
        if (!store_value(flag, optarg, options)) {
            return bad_value(command->name, flag, optarg);
        }
        options->given[flag->id] = true;
    }
    while (optind < argc) {
        operands[options->operand_count++] = argv[optind++];
    }
    if (options->help) {
        return EXIT_DONE;
    }
    return check_together(command, options);
}
