#!/usr/bin/env bash
# long.sh PROGRAM MODEL TOKENS PICTURE... - golden_long on a copy of the tiny MODEL whose config.json says the
# context of the real ones.
set -euo pipefail
program=$1 model=$2
shift 2
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp "$model"/* "$copy"
chmod u+w "$copy"/*
sed -i 's/"max_position_embeddings": *[0-9]*/"max_position_embeddings": 262144/' "$copy/config.json"
"$program" "$copy" "$@"
