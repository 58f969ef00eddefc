#!/bin/sh
# tests/lint/format.sh - the formatter would change nothing.
# Usage: format.sh SOURCE_ROOT CLANG_FORMAT
cd "${1:?usage: format.sh SOURCE_ROOT CLANG_FORMAT}" || exit 2
find vision text fusion runtime tools samples tests -name '*.[ch]' -type f | LC_ALL=C sort |
    xargs "${2:-clang-format}" --dry-run -Werror
