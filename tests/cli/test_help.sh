#!/bin/sh
# Help, manual page and completions come from one table: none may lack a command or a flag.
. "${0%/*}/harness.sh"

run --help
expect_code 0
expect_no_err
cp out program
run help
expect_code 0
cmp -s program out || fail "help and --help differ"
run -h
cmp -s program out || fail "-h and --help differ"
commands=$(sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' program)
[ "$(echo "$commands" | wc -l)" -eq 19 ] || fail "the commands are not nineteen: $commands"
longest=$(awk '{ if (length($0) > m) m = length($0) } END { print m }' program)
[ "$longest" -le 100 ] || fail "a line of $longest characters"

run --version
expect_code 0
expect_out_has '^ocelli [0-9]+\.[0-9]+\.[0-9]+$'
[ "$(wc -l <out)" -eq 2 ] || fail "--version is two lines"
run -V
expect_out_has '^ocelli [0-9]'

"$OCELLI" man >page || fail "man"
for shell in bash zsh fish; do
    "$OCELLI" completions $shell >completions.$shell || fail "completions $shell"
done

# Every command's flags by --help are those of its whole help and of its completions, and are in the
# page. flags_in sorts the flags of what is on stdin; every command takes --help.
flags_in() { grep -o -e '--[a-z][a-z0-9-]*' | sort -u; }
head_of() { sed -n 's/^  *\(-[a-z0-9], \)\{0,1\}\(--[a-z0-9-]*\).*/\2/p' | sort -u; }
sed -n 's/^\.It .*Fl \\-\([a-z0-9-]*\).*/--\1/p' page | sort -u >in_page
: >all
for command in $commands; do
    run "$command" --help
    expect_code 0
    expect_no_err
    expect_out_has "^usage: ocelli $command "
    head_of <out >flags
    grep -q -e '^--help$' flags || fail "$command --help does not list --help"
    cat flags >>all
    cp out short
    run "$command" -h
    cmp -s out short || fail "-h and --help differ"
    run help "$command"
    expect_code 0
    expect_no_err
    expect_out_has "^usage: ocelli $command "
    head_of <out | cmp -s - flags || fail "the whole help has other flags"
    [ "$(wc -l <out)" -ge "$(wc -l <short)" ] || fail "the whole help says less"
    sed -n "/^    $command)\$/,/;;/p" completions.bash | flags_in | cmp -s - flags ||
        fail "bash completes other flags of $command"
    sed -n "/^    $command)\$/,/;;/p" completions.zsh | sed "s/\\[.*//" | flags_in | cmp -s - flags ||
        fail "zsh completes other flags of $command"
    sed -n "s/^complete .*_from[^']* $command[ '].* -l \\([a-z0-9-]*\\) .*/--\\1/p" completions.fish |
        sort -u | cmp -s - flags || fail "fish completes other flags of $command"
    grep -q "^\\.It Nm Cm $command" page || fail "the page lacks $command"
    grep -q "^\\.Cm $command\$" page || fail "the page's synopsis lacks $command"
    grep -q -e "-a $command -d" completions.fish || fail "fish lacks $command"
    grep -q "^        '$command:" completions.zsh || fail "zsh lacks $command"
    sed -n '/^    help)$/,/;;/p' completions.bash | grep -q "[ ']$command[ ']" ||
        fail "help does not complete $command"
done
sort -u all | cmp -s - in_page || fail "the page has other flags than the commands together"
[ "$(wc -l <in_page)" -ge 39 ] || fail "flags are missing: $(wc -l <in_page)"

# A flag is where its command is, and nowhere else.
run ask --help
expect_out_lacks '--fps'
expect_out_has '--temperature T'
run video --help
expect_out_has '--fps RATE  *.*\[2\]'
run pack --help
expect_out_lacks '--temperature'
for command in ask pack; do
    run help $command
    expect_out_has '^  ocelli .* --mmproj mmproj\.gguf'
done

if command -v mandoc >/dev/null 2>&1; then
    mandoc -Tlint -Wwarning page >lint 2>&1 || fail "mandoc: $(head -n 3 lint)"
    [ ! -s lint ] || fail "mandoc: $(head -n 3 lint)"
    mandoc -Tutf8 page >/dev/null || fail "mandoc cannot print the page"
fi
if command -v bash >/dev/null 2>&1; then
    bash -n completions.bash || fail "bash does not read its completions"
    bash -c '. ./completions.bash
        COMP_WORDS=(ocelli ca); COMP_CWORD=1; _ocelli; [ "${COMPREPLY[*]}" = caption ] || exit 1
        COMP_WORDS=(ocelli ask --alpha d); COMP_CWORD=3; _ocelli; [ "${COMPREPLY[*]}" = drop ] || exit 2
        COMP_WORDS=(ocelli pack --emb); COMP_CWORD=2; _ocelli; [ "${COMPREPLY[*]}" = --embed-bf16 ] || exit 3
        COMP_WORDS=(ocelli completions f); COMP_CWORD=2; _ocelli; [ "${COMPREPLY[*]}" = fish ] || exit 4' ||
        fail "bash completes wrongly ($?)"
fi
if command -v zsh >/dev/null 2>&1; then
    zsh -n completions.zsh || fail "zsh does not read its completions"
fi
if command -v fish >/dev/null 2>&1; then
    fish -n completions.fish || fail "fish does not read its completions"
fi
exit 0
