#!/bin/sh
# Which model is used: the flag, OCELLI_MODEL, the sample.
. "${0%/*}/harness.sh"
picture=$PICTURES/picture01.png

# The sample, found beside the program, and announced in one line.
run caption "$picture" -p "Describe it."
expect_answer "A pineapple on a red background."
[ "$(wc -l <err)" -eq 1 ] || fail "more than one line"
expect_err_has "sample model, which knows only simple pictures"
run caption "$picture" -p "Describe it." --quiet
expect_answer "A pineapple on a red background."
expect_no_err

# The environment names one; an empty name is none; the flag goes before it.
OCELLI_MODEL=nowhere "$OCELLI" caption "$picture" >out 2>err
code=$?
expect_refusal nowhere
OCELLI_MODEL= "$OCELLI" caption "$picture" -p "Describe it." >out 2>err
code=$?
expect_answer "A pineapple on a red background."
OCELLI_MODEL=nowhere "$OCELLI" caption "$picture" -p "Describe it." -m "$MODEL" >out 2>err
code=$?
expect_answer "A pineapple on a red background."
expect_no_err
OCELLI_MODEL=$MODEL "$OCELLI" info --json >out 2>err
code=$?
expect_code 0
expect_no_err
expect_json 'o[0]["model"].endswith("samples/model")'

# No model at all is told once, whatever the number of pictures.
run caption "$picture" "$picture" -m nowhere
expect_refusal nowhere
[ "$(wc -l <err)" -eq 1 ] || fail "told more than once"
# Where it was looked for and how to get it; a folder that never was a model.
expect_err_has "no such folder or .gguf file, and the model folder has none.*'ocelli models'"
run info -m Qwen3-VL-2B-Instruct
expect_refusal "'ocelli pull Qwen/Qwen3-VL-2B-Instruct' gets one"
run info -m Owner/Name
expect_refusal "'ocelli pull Owner/Name' gets one"
run info -m Name
expect_refusal "'ocelli pull OWNER/Name' gets one"
for path in ./Name Name.gguf a/b/c /Owner/Name; do
    run info -m "$path"
    expect_refusal "^ocelli: $path: no such folder or .gguf file"
    expect_err_lacks 'pull'
done
run verify nothing
expect_refusal '^ocelli: nothing: no such folder'
mkdir texts
echo a >texts/a.txt
for command in info verify; do
    run $command texts
    expect_refusal '^ocelli: texts: no model is in this folder'
done
mkdir halved
cp "$MODEL"/*.safetensors halved/
run info halved
expect_refusal 'halved/config.json: missing.*download it again'
run caption "$picture" -m "$picture"
expect_refusal picture01.png

# A tier that there is not.
run caption "$picture" -m "$MODEL" --cpu mmx
expect_refusal 'mmx.*scalar|scalar.*mmx'
run caption "$picture" -m "$MODEL" --cpu scalar -p "Describe it."
expect_answer "A pineapple on a red background."

# Moved as a whole, a program finds PREFIX/share/ocelli/model, and no longer the source tree's.
mkdir -p prefix/bin prefix/share/ocelli
cp "$OCELLI" prefix/bin/ocelli
library=$(ldd "$OCELLI" 2>/dev/null | sed -n 's/.*libocelli[^ ]* => \([^ ]*\) .*/\1/p')
LD_LIBRARY_PATH=${library%/*}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
prefix/bin/ocelli caption "$picture" >out 2>err
code=$?
expect_refusal "no model: name one with -m MODEL or OCELLI_MODEL"
cp -r "$MODEL" prefix/share/ocelli/model
prefix/bin/ocelli caption "$picture" -p "Describe it." >out 2>err
code=$?
expect_answer "A pineapple on a red background."
exit 0
