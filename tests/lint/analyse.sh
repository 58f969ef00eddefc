#!/bin/sh
# tests/lint/analyse.sh - clang-tidy with the checks of .clang-tidy: bugs, not taste.
# Usage: analyse.sh SOURCE_ROOT BUILD_FOLDER [CLANG_TIDY]   (the build folder has compile_commands.json)
cd "${1:?usage: analyse.sh SOURCE_ROOT BUILD_FOLDER [CLANG_TIDY]}" || exit 2
build=${2:?no build folder}
tidy=${3:-clang-tidy}
find vision text fusion runtime tools -name '*.c' -type f | grep -v '/kernels_' | LC_ALL=C sort |
    xargs -P 2 -n 8 "$tidy" -p "$build" --quiet --warnings-as-errors='*' 2>/dev/null
