/* shard_flag.c - see shard_flag.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/shard_flag.h"
#include "tools/flags.h"
#include "tools/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *variable(void *user, const char *name)
{
    (void)user;
    return getenv(name);
}

int shard_choose(const cli_options *options, shard *out)
{
    char why[400];
    if (!shard_find(options->shard, variable, NULL, out, why, sizeof why)) {
        return options->given[FLAG_SHARD]
                   ? flags_misuse(options->command, "--shard: %s", why)
                   : flags_misuse(
                         options->command,
                         "cannot tell which shard this is: %s; say --shard K/N, or --shard "
                         "none for all of the work",
                         why);
    }
    if (out->count > 1 && out->from[0] != '\0') {
        if (isatty(STDIN_FILENO)) {
            report_warning("shard %" PRIu64 "/%" PRIu64 " only, by %s of this shell; --shard none "
                           "does all of the work",
                           out->index + 1, out->count, out->from);
        } else {
            report_note("shard %" PRIu64 "/%" PRIu64 ", by %s; --shard none would do all of the "
                        "work",
                        out->index + 1, out->count, out->from);
        }
    }
    return EXIT_DONE;
}

int shard_file_name(const cli_options *options, const shard *s, const char *flag, const char *name,
                    char **out)
{
    bool placed = false;
    *out = shard_expand(s, name, &placed);
    if (*out == NULL) {
        report_error("no memory");
        return EXIT_FAILED;
    }
    if (s->count > 1 && !placed) {
        free(*out);
        *out = NULL;
        return flags_misuse(options->command,
                            "%" PRIu64
                            " shards must not write one file; put {shard} into the name, "
                            "as in %s out-{shard}.jsonl, not '%.60s'",
                            s->count, flag, name);
    }
    return EXIT_DONE;
}
