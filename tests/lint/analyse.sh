#!/bin/sh
# tests/lint/analyse.sh - static analysis for bugs, not taste: cppcheck, and clang-tidy with the checks
# of .clang-tidy. Half a minute on two cores; .ci/run calls it.
# Usage: analyse.sh SOURCE_ROOT BUILD_FOLDER [CLANG_TIDY]   (the build folder has compile_commands.json)
cd "${1:?usage: analyse.sh SOURCE_ROOT BUILD_FOLDER [CLANG_TIDY]}" || exit 2
build=${2:?no build folder}
tidy=${3:-clang-tidy}
bad=0
# uninitvar: this version does not see that a loop fills an array; valgrind and the compilers do.
cppcheck --quiet -j 2 --std=c11 --enable=warning,portability --error-exitcode=1 -I. -Iruntime \
    --suppress=uninitvar --suppress=missingIncludeSystem vision text fusion runtime tools || bad=1
find vision text fusion runtime tools -name '*.c' -type f | LC_ALL=C sort |
    xargs -P 2 -n 8 "$tidy" -p "$build" --quiet 2>/dev/null || bad=1
exit $bad
