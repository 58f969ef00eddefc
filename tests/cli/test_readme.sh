#!/bin/sh
# readme: what the README shows is what happens. Its commands are those of the samples; every example
# that begins "    + build/ocelli" or "    $ build/ocelli" is run and its output compared, and its C
# program is samples/caption.c's twin, compiled as it stands.
. "${0%/*}/harness.sh"

ROOT=$DATA/..
ln -s "$SAMPLES" samples
examples=0
# One example: its command line, then its output up to a line that is not indented or another command.
awk '/^    [+$] build\/ocelli / { n++; file = "example" n; sub(/^    [+$] build\/ocelli /, ""); print > (file ".command"); next }
     /^    / && file != "" { sub(/^    /, ""); print > (file ".wanted"); next }
     { file = "" }' "$ROOT/README.md"
for command in example*.command; do
    example=${command%.command}
    eval "set -- $(cat "$command")" # as a shell reads it: a question is in quotes
    run "$@"
    expect_code 0
    # Memory depends on how the program was built.
    grep -v '^memory ' out >shown
    grep -v '^memory ' "$example.wanted" >wanted
    cmp -s shown wanted || fail "the README shows another output of: $(cat "$command")"
    examples=$((examples + 1))
done
[ "$examples" -ge 4 ] || fail "$examples examples in the README"

awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$ROOT/README.md" >example.c
cc -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$ROOT/runtime" example.c ||
    fail "the README's C program does not compile"
