#!/bin/sh
# Misuse: exit code 2, nothing on stdout, and a message that names the mistake and the way out.
. "${0%/*}/harness.sh"
cp "$PICTURES/picture01.png" a.png

# check PATTERN ARGUMENT...
check() {
    pattern=$1
    shift
    run "$@"
    expect_misuse "$pattern"
}

# The program alone.
run
expect_code 2
expect_no_out
expect_err_has '^usage: ocelli COMMAND'
check "unknown command 'captoin'; did you mean 'caption'\?" captoin a.png
check "unknown command 'downlod'" downlod
check "unknown command 'pul'; did you mean 'pull'\?" pul a/b
check "unknown command 'download'; did you mean 'pull'\?" download a/b
check "unknown command 'list'; did you mean 'models'\?" list
check "unknown command 'run'; did you mean 'ask'\?" run a.png
check "unknown command 'zzz'" zzz
check "the command comes first" --quiet caption a.png

# Flags.
check "unknown flag '--max-tokns'; did you mean --max-tokens\?" caption a.png --max-tokns 5
check "unknown flag '--max-tokns'; did you mean --max-tokens\?" caption a.png --max-tokns=5
check "unknown flag '--qzqzqzqz'" caption a.png --qzqzqzqz
check "unknown flag '-Z'" caption a.png -Z
check "unknown flag '-jZ'" caption a.png -jZ
check "put -- before" ask a.png "-5 degrees?"
check "--fps is not a flag of this command" ask a.png "What?" --fps 2
check "--json takes no value" caption a.png --json=yes
check "--quiet and --verbose" caption a.png --quiet --verbose
check "--frames and --sample-fps" video . --frames 4 --sample-fps 1
check "--frames 9 is above --max-frames 4" video . --frames 9 --max-frames 4

# A shortened name is refused, so that a new flag cannot change what a script says.
check "unknown flag '--max-t'" caption a.png --max-t 5
check "unknown flag '--vers'" caption a.png --vers
check "unknown flag '--timing'; did you mean --timings\?" caption a.png --timing

# Missing values.
check "--max-tokens needs a value: N" caption a.png --max-tokens
check "--model needs a value: MODEL" caption a.png -m
check "--prompt needs a value that is not empty" caption a.png --prompt ""
check "--model needs a value that is not empty" caption a.png --model=

# Numbers.
for value in "" abc -5 0 1.5 1e3 0x10 "5 " " 5" +5 5x 99999999999999999999 1000000001; do
    check "--max-tokens needs a whole number from 1 to 1000000000, not '" caption a.png --max-tokens "$value"
done
for value in "" abc -5 0 99999999999999999999 18446744073709551616; do
    check "--max-pixels needs a whole number from 1 to" ask a.png "What?" --max-pixels "$value"
    check "--min-pixels needs a whole number from 1 to" ask a.png "What?" "--min-pixels=$value"
done
check "--seed needs a whole number from 0 to 18446744073709551615" caption a.png --seed 18446744073709551616
check "--min-pixels 90000 is above --max-pixels 4096" ask a.png "What?" --min-pixels 90000 --max-pixels 4096
for value in "" abc -1 nan inf 1e999 0x1p3 "1 " 101 1,5; do
    check "--temperature needs a number from 0 to 100, not '" caption a.png --temperature "$value"
done
for value in 0 -1 1.1 nan; do
    check "--top-p needs a number above 0 and up to 1" caption a.png --top-p $value
done
for value in 0 -2 nan inf abc; do
    check "--fps needs a number above 0" video . --fps $value
done
check "--threads needs a whole number from 1 to 1024" caption a.png --threads 0
check "--picture needs a size such as 1280x720" info --picture 640
check "--picture needs a size" info --picture 0x5
check "--picture needs a size" info --picture 99999999x5
for value in "" abc -1 1.5M 64B 64iB 64Mi 64MBB 64MiBs 64TiB "1 M" 18446744073709551616 17179869184G 1T; do
    check "--embed-budget needs a size such as 0, 512K, 64M, 64MiB or 2G, not '" caption a.png --embed-budget "$value"
done
check "--background needs six hexadecimal digits" caption a.png --background red
check "--background needs six hexadecimal digits" caption a.png --background fffffff

# Choices.
check "--alpha needs one of: white drop; not 'purple-ish'" caption a.png --alpha purple-ish
check "--alpha needs one of: white drop; not ''" caption a.png --alpha ""
check "--quant needs one of: f32 f16 q8 q4; not 'q5'" pack a b --quant q5
check "--vision needs one of: bf16 q8 f32; not 'f16'" caption a.png --vision f16
check "--vision needs one of: bf16 q8 f32; not 'q4'" pack a b --vision q4
check "one of bash, zsh, fish; not 'csh'" completions csh
check "there is no command 'captoin'" help captoin

# Operands.
check "caption needs IMAGE" caption
check "ask needs .*QUESTION" ask
check "the question about 'a.png' is missing" ask a.png
check "the question about '-' is missing" ask -
check "the question is empty" ask a.png ""
check "video needs CLIP" video
check "pack needs CHECKPOINT OUT" pack a
check "'c' is one operand too many" pack a b c
check "verify needs PACKAGE" verify
check "eval needs DIR" eval
check "'a' is one operand too many" man a
check "'-' is there 2 times" caption - -
check "stdin is the conversation" chat -

# A question without quotes: its second word is taken for a picture; a mistyped first picture is not.
run ask a.png What is it?
expect_refusal "cannot open picture 'What': .*put the question in quotes"
run ask b.png "What is it?"
expect_refusal "cannot open picture 'b.png'"
expect_err_lacks 'quotes'

# Texts that are not UTF-8.
check "the question is not UTF-8: byte 5 is 0xff" ask a.png "$(printf 'What\377?')"
check "the question is not UTF-8" ask a.png "$(printf '\355\240\200')"
check "the question is not UTF-8" ask a.png "$(printf '\300\200')"
check "--prompt is not UTF-8" caption a.png --prompt "$(printf 'a\200')"
check "--system is not UTF-8" caption a.png --system "$(printf 'a\200')"

# A hostile value does not reach the terminal as it is.
check "not 'a\\\\nb\\\\x1b\[0m'" caption a.png --max-tokens "$(printf 'a\nb\033[0m')"
exit 0
