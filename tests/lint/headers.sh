#!/bin/sh
# tests/lint/headers.sh - every header compiles alone, and twice.
# Usage: headers.sh SOURCE_ROOT COMPILER [FLAG...]   Prints what does not; exits 1 if any.
cd "${1:?usage: headers.sh SOURCE_ROOT COMPILER [FLAG...]}" || exit 2
compiler=${2:?no compiler}
shift 2
bad=0
for header in $(find vision text fusion runtime tools -name '*.h' -type f | LC_ALL=C sort); do
    [ "$header" != "${WITHOUT:-}" ] || continue # the library it needs is not there
    printf '#include "%s"\n#include "%s"\ntypedef int not_empty;\n' "$header" "$header" |
        "$compiler" -std=c11 -fsyntax-only -Wall -Wextra -Wno-unused-function -Werror -I. -Iruntime "$@" -x c - || {
        echo "$header: does not compile alone"
        bad=1
    }
done
exit $bad
