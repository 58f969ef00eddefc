#!/bin/sh
# tests/lint/selftest.sh - the lints find what they are for, and nothing in comments and strings.
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 2
mkdir -p vision text fusion runtime/base runtime/weights tools
bad=0

expect() { # expect COUNT TEXT COMMAND...: it prints COUNT lines that hold TEXT and fails if COUNT > 0
    want=$1 text=$2
    shift 2
    out=$("$@" 2>/dev/null)
    code=$?
    got=$(printf '%s\n' "$out" | grep -cF -e "$text")
    if [ "$got" != "$want" ] || { [ "$want" != 0 ] && [ $code = 0 ]; }; then
        echo "$*: $got lines with '$text' (exit code $code), expected $want; it said:"
        printf '%s\n' "$out"
        bad=1
    fi
}

cat > vision/first.h <<'END'
#ifndef WRONG_H
#define WRONG_H
#include "text/second.h"
/* atoi(x) and qwen in a comment,
 * strcpy(x, y) on its second line */
static inline int f(char *s) { sprintf(s, "atoi("); return atoi(s); } // exit(1)
static const char *name = "qwen3";
#endif
END
printf '#ifndef OC_TEXT_SECOND_H\n#define OC_TEXT_SECOND_H\n#endif\n' > text/second.h
printf 'void y(void)\n{\n    snprintf(0, 0, "");\n    oc_exit(1);\n    exit(1);\n}\n/* %s */\n' 'TO''DO' > text/twice.c
cp text/twice.c fusion/twice.c
printf '#include "runtime/weights/up.h"\n#include "../x.h"\n#include "ocelli.h"\n' > runtime/base/up.c
printf '#include "runtime/base/x.h"\nint main(void) { return system("ls"); }\n' > tools/past.c
seq 1 1200 | sed 's/.*/int a&;/' > runtime/base/long.c
{ echo '/* Generated. */'; seq 1 1200 | sed 's/.*/int a&;/'; } > text/made_tables.c
printf '# see %s\n' '../sha''red' > tools/notes.txt

expect 1 'banned function' "$here/style.sh" . banned
expect 2 'not in library code' "$here/style.sh" . banned
expect 1 'runs a shell' "$here/style.sh" . banned
expect 1 'include guard' "$here/style.sh" . guards
expect 1 'a family by name' "$here/style.sh" . family
expect 2 'twice.c' "$here/style.sh" . unfinished
expect 1 'twice.c: more than one' "$here/style.sh" . names
expect 1 'long.c: 1200 lines' "$here/style.sh" . length
expect 0 'made_tables' "$here/style.sh" . length
expect 1 'notes.txt' "$here/style.sh" . paths
expect 1 'crosses between vision and text' "$here/layers.sh" .
expect 1 'points up' "$here/layers.sh" .
expect 1 'climbs with ..' "$here/layers.sh" .
expect 1 'reaches past the public header' "$here/layers.sh" .
expect 0 '"ocelli.h"' "$here/layers.sh" .

# Variables at file scope, among constants that hold addresses.
cat > state.c <<'END'
static int counter;
int next(void) { static int kept = 3; return counter++ + kept++; }
static const char *const names[] = {"a", "b"};
const char *name_of(int i) { return names[i]; }
END
if cc -fPIC -c state.c -o state.o && ar rc libstate.a state.o; then
    expect 1 'counter' "$here/globals.sh" libstate.a
    expect 1 'kept' "$here/globals.sh" libstate.a
    expect 0 'names' "$here/globals.sh" libstate.a
fi
exit $bad
