"""say_instead.py MODEL OUT WORD TEXT: a copy of the checkpoint MODEL whose tokenizer spells one token,
" WORD", as TEXT. The model is the same, and where it would say WORD it says TEXT: a trained model for
tests of what is done with an answer that it was never taught to give."""
import json
import os
import shutil
import sys

model, out, word, text = sys.argv[1:5]
shutil.copytree(model, out, copy_function=os.symlink)


def spelled(what):
    """As byte level BPE spells bytes."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    table = {byte: chr(byte) for byte in plain}
    table.update({byte: chr(256 + i) for i, byte in enumerate(others)})
    return "".join(table[byte] for byte in what.encode())


path = os.path.join(out, "tokenizer.json")
with open(path, encoding="utf-8") as file:
    tokenizer = json.load(file)
vocab, merges = tokenizer["model"]["vocab"], tokenizer["model"]["merges"]
old = spelled(" " + word)
vocab[spelled(text)] = vocab.pop(old)
joined = lambda merge: "".join(merge.split(" ") if isinstance(merge, str) else merge)
tokenizer["model"]["merges"] = [merge for merge in merges if joined(merge) != old]
os.remove(path)
with open(path, "w", encoding="utf-8") as file:
    json.dump(tokenizer, file)
