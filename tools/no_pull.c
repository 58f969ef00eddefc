/* no_pull.c - ocelli pull in a program that was built without libcurl or libcrypto: says how to get
 * it. Where they are, cmd_pull.c and pull_*.c stand in its place (CMakeLists.txt). */
#include "tools/commands.h"
#include "tools/report.h"

int cmd_pull(const cli_options *options)
{
    (void)options;
    report_error("this program was built without libcurl, so it cannot fetch; install "
                 "libcurl4-openssl-dev and libssl-dev and build again, or download with 'hf "
                 "download %s'",
                 options->operands[0]);
    return EXIT_FAILED;
}
