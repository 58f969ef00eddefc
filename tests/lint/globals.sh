#!/bin/sh
# tests/lint/globals.sh - the library has no variables at file scope, but for one list.
# Usage: globals.sh ARCHIVE   Prints each variable that may change; exits 1 if any is not allowed.
# Constants with addresses in them (.data.rel.ro) do not change after loading and are fine.
archive=${1:?usage: globals.sh ARCHIVE}
# The process-wide list of mapped embedding tables and its lock: see text/embed_table.h.
allowed='^embed_table\.c\.o '
found=$(LC_ALL=C objdump -t "$archive" | awk '
    / file format / { split($1, part, ":"); object = part[1]; next }
    / O / || /\*COM\*/ {
        for (i = 1; i <= NF; i++) {
            if ($i ~ /^(\.data|\.bss|\.tdata|\.tbss)/ && $i !~ /^\.data\.rel\.ro/ || $i == "*COM*") {
                print object " " $i " " $NF
            }
        }
    }' | grep -v "$allowed")
if [ -n "$found" ]; then
    printf '%s\n' "variables at file scope:" "$found"
    exit 1
fi
# The search must be able to find something: the allowed list itself.
LC_ALL=C objdump -t "$archive" | grep -qE '\.(bss|data)[ 	]' || {
    echo "no variable found at all: is this the library?"
    exit 1
}
