#!/bin/sh
# tests/lint/exports.sh - the shared library gives what ocelli.h promises, and nothing else.
# Usage: exports.sh LIBRARY HEADER
library=${1:?usage: exports.sh LIBRARY HEADER}
header=${2:?no header}
bad=0
given=$(LC_ALL=C nm -D --defined-only "$library" | awk '$2 ~ /[A-Za-z]/ && $NF !~ /^(_init|_fini)$/ { print $NF }' | LC_ALL=C sort -u)
promised=$(tr '\n' ' ' < "$header" | grep -oE 'OCELLI_API[^;{]*\(' | grep -oE 'ocelli_[a-z0-9_]+ *\(' |
    tr -d ' (' | LC_ALL=C sort -u)
for name in $given; do
    case "$name" in
    ocelli_*) ;;
    *) echo "$name: exported, but not ours"; bad=1 ;;
    esac
    printf '%s\n' "$promised" | grep -qx "$name" || { echo "$name: exported, but not in the header"; bad=1; }
done
for name in $promised; do
    printf '%s\n' "$given" | grep -qx "$name" || { echo "$name: in the header, but not exported"; bad=1; }
done
[ -n "$promised" ] || { echo "no function found in $header"; bad=1; }
exit $bad
