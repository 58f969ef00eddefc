/* shard_flag.h - --shard as a command meets it: which shard, said on stderr; files with its name. */
#ifndef OCELLI_TOOLS_SHARD_FLAG_H
#define OCELLI_TOOLS_SHARD_FLAG_H

#include "tools/cli_options.h"
#include "tools/shard.h"

/* The shard of options->shard and the environment. Where the environment made it a part, a note says
 * which and why, so that nobody wonders where the rest is; a warning where stdin is a terminal, since
 * a launcher's variables that somebody's shell has inherited are hardly meant. Returns EXIT_DONE, or
 * EXIT_MISUSE after a message. */
int shard_choose(const cli_options *options, shard *out);

/* The name of this shard's own file for what was given to flag ("--jsonl"): name with {shard} replaced
 * (out-{shard}.jsonl is out-2-of-4.jsonl). Two shards must not write one file: a name without {shard}
 * is misuse where there are several. *out is a new string, NULL unless EXIT_DONE. */
int shard_file_name(const cli_options *options, const shard *s, const char *flag, const char *name,
                    char **out);

#endif
