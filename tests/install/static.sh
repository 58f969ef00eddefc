#!/bin/sh
# tests/install/static.sh - builds a static library in a scratch folder, then runs install.sh on it.
# Usage: static.sh SOURCE CMAKE CC CXX
set -eu
source=${1:?usage: static.sh SOURCE CMAKE CC CXX}
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$2" -S "$source" -B "$scratch/build" -DBUILD_SHARED_LIBS=OFF -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_COMPILER="$3" -DCMAKE_C_FLAGS=-O1 > "$scratch/log" 2>&1 &&
    "$2" --build "$scratch/build" --parallel 2 >> "$scratch/log" 2>&1 || {
    tail -n 40 "$scratch/log"
    exit 1
}
"$here/install.sh" "$source" "$scratch/build" "$2" "$3" "$4" static
