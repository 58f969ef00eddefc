#!/bin/sh
# tests/lint/style.sh - the rules of the house that a text search can prove.
# Usage: style.sh SOURCE_ROOT [RULE...]   Prints one line per breach; exits 1 if any.
# Rules: length banned guards family unfinished names paths (all of them by default).
here=$(cd "$(dirname "$0")" && pwd)
root=${1:?usage: style.sh SOURCE_ROOT [RULE...]}
shift
cd "$root" || exit 2
[ $# -gt 0 ] || set -- length banned guards family unfinished names paths

library="vision text fusion runtime"
everything="$library tools samples tests"

files() { # files FOLDER...: the C files in them that are there
    for folder in "$@"; do
        [ -d "$folder" ] && find "$folder" -name '*.[ch]' -type f
    done | LC_ALL=C sort
}

# code FOLDER...: their code, FILE:LINE:TEXT, without comments (and strings, unless KEEP=1)
code() {
    files "$@" | xargs -r awk -v keep_strings="${KEEP:-0}" -f "$here/code.awk"
}

# Over 600 lines is worth a thought, over 1000 is too long. Generated tables say so at their top.
rule_length() {
    for file in $(files $everything | xargs -r awk '
        FNR <= 3 && tolower($0) ~ /generated/ { made[FILENAME] = 1 }
        FNR == 601 && !made[FILENAME] { print FILENAME }'); do
        lines=$(wc -l < "$file")
        if [ "$lines" -gt 1000 ]; then
            echo "$file: $lines lines, more than 1000"
        else
            echo "note: $file: $lines lines: one job?" >&2
        fi
    done
}

call='(^|[^A-Za-z0-9_>.])'
rule_banned() {
    code $everything |
        grep -E "$call(sprintf|vsprintf|strcpy|strcat|stpcpy|atoi|atol|atof|alloca|gets|strtok|tmpnam|mktemp)[ ]*\(" |
        sed 's/$/   <- banned function/'
    code $library tools samples | grep -E "$call(system|popen)[ ]*\(" |
        sed 's/$/   <- runs a shell/'
    code $library |
        grep -E "$call(printf|vprintf|fprintf|vfprintf|puts|fputs|putchar|perror|exit|_exit|quick_exit|abort|assert|getenv|setlocale|signal|fork)[ ]*\(" |
        grep -vE '^runtime/kernels/dispatch\.c:[0-9]+:.*getenv' |
        sed 's/$/   <- not in library code/'
}

# OC_<PATH>_H, where runtime/base/x.h is OC_BASE_X_H and runtime/x.h is OC_X_H.
rule_guards() {
    files $library | grep '\.h$' | xargs -r awk '
        function finish() {
            if (file == "") { return }
            want = file
            sub(/^runtime\//, "", want)
            want = "OC_" toupper(want)
            gsub(/[\/.]/, "_", want)
            if (file == "runtime/ocelli.h") { want = "OCELLI_H" }
            if (first != want || second != want) {
                print file ": include guard is \"" first "\", expected " want
            }
        }
        FNR == 1 { finish(); file = FILENAME; first = second = "" }
        first == "" && $1 == "#ifndef" { first = $2 }
        second == "" && $1 == "#define" { second = $2 }
        END { finish() }'
}

# Names of families stand in one table, in the chat template and in the towers' own files.
rule_family() {
    KEEP=1 code $library | grep -i 'qwen' | grep -vE '^[^:]*:[0-9]+:[ ]*#[ ]*include' |
        grep -vE '^(runtime/family\.c|text/chat_qwen\.c|text/chat_template\.c|text/(decoder|bpe)[a-z_]*\.[ch]|vision/vit[a-z_]*\.[ch]):' |
        sed 's/$/   <- a family by name/'
}

rule_unfinished() {
    words='TO''DO|FIX''ME|XX''X'
    grep -rnwE "$words" $(for f in $everything; do [ -d "$f" ] && echo "$f"; done) \
        --include='*.[ch]' --include='*.sh' --include='*.cmake' --include='*.txt' 2>/dev/null
}

# Two files of one name are two places to look.
rule_names() {
    files $everything | sed 's|.*/||' | LC_ALL=C sort | uniq -d |
        sed 's/$/: more than one file of this name/'
}

# Places of one machine have no business in the tree.
rule_paths() {
    pattern='[.][.]/sha''red|/wor''k/'
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git grep -nIE "$pattern" -- . | cut -c1-200
    else
        grep -rnIE "$pattern" --exclude-dir='build*' . | cut -c1-200
    fi
}

# Every rule prints its breaches, and nothing else, to stdout.
bad=0
for rule in "$@"; do
    found=$("rule_$rule")
    if [ -n "$found" ]; then
        printf '%s\n' "$found"
        bad=1
    fi
done
exit $bad
