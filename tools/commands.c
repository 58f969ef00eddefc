/* commands.c - every command of the program, once. */
#include "tools/commands.h"
#include "tools/synth_shapes.h"

#include <string.h>

const command_spec command_table[COMMAND_TOTAL] = {
    {COMMAND_CAPTION, "caption", "IMAGE|DIR...", 1, SIZE_MAX, OPERAND_FILE, NULL,
     "describe pictures, one or a folder of them",
     "Describes each IMAGE by itself on stdout. With one picture the answer stands alone; with "
     "several each begins with the picture's name and a colon. A picture that fails is reported, "
     "the others are described, and the exit code is 1. An IMAGE of - is read from stdin. "
     "Addresses such as https:// are not fetched.\n\n"
     "A DIR, a pattern in quotes, --files-from or any other flag of the group Folders makes it a "
     "batch: a folder is walked with its sub folders, in natural order, without hidden files; what "
     "is no picture is ignored. Each picture's caption goes into a text file beside it (photo.jpg, "
     "photo.txt), into the folders of --out-dir, or as a JSON line into --jsonl, and nothing to "
     "stdout. What has a caption is left as it is, so that the same command goes on where an "
     "earlier one was stopped, by Ctrl-C or a power cut. Where a.jpg and a.png lie in one folder, "
     "their captions are a.jpg.txt and a.png.txt.\n\n"
     "A picture that fails is reported and, with --jsonl, has a line with the error; the run goes "
     "on, its exit code is 3, and the next one tries the picture again. Several pictures are "
     "answered together, which changes no caption.\n\n"
     "A run may keep .ocelli-caption.journal in the folder of the captions while it lasts (with "
     "--jsonl alone FILE.ocelli-journal): it keeps a second run out, and lets append, prepend and "
     "overwrite go on after a kill.",
     "ocelli caption cat.jpg\n"
     "ocelli caption --json *.png\n"
     "curl -s https://example.org/cat.jpg | ocelli caption -\n"
     "ocelli caption photos\n"
     "ocelli caption photos --dry-run\n"
     "ocelli caption photos --jsonl captions.jsonl -n 100 --retry-length 300\n"
     "ocelli caption photos --mode append --prompt 'List the colors.'\n"
     "ocelli caption photos --prompt-file prompt.txt --prefix 'photo of sks, '\n"
     "find photos -newer last -print0 | ocelli caption --files-from - -0 --out-dir captions\n"
     "ocelli caption photos --shard 1/4 --jsonl 'captions-{shard}.jsonl'",
     cmd_caption},
    {COMMAND_ASK, "ask", "[IMAGE...] QUESTION", 1, SIZE_MAX, OPERAND_FILE, NULL,
     "ask a question about pictures",
     "The last operand is the question, all before it are pictures, in the order in which the "
     "model "
     "sees them. Without a picture the question is asked alone.\n\n"
     "An IMAGE of - is read from stdin. Use -- before a question that begins with a dash.",
     "ocelli ask cat.jpg \"What is it doing?\"\n"
     "ocelli ask before.png after.png \"What has changed?\"\n"
     "ocelli ask page.png \"What does it say?\" --max-tokens 2000\n"
     "ocelli ask -m TEXT.gguf --mmproj mmproj.gguf cat.jpg \"What is it doing?\"",
     cmd_ask},
    {COMMAND_VIDEO, "video", "CLIP... [QUESTION]", 1, SIZE_MAX, OPERAND_FILE, NULL,
     "ask about clips: folders of frames, video files",
     "A CLIP is a folder of frames, a video file, or an animated GIF or WebP. The last of several "
     "operands is the QUESTION unless it is a file or folder; without one the clip is "
     "described.\n\n"
     "Of a folder the pictures are taken in natural order (frame_2 before frame_10), all of them, "
     "at --fps or at the times that --times names. Hidden "
     "files, sub folders and files that are no pictures are ignored; a damaged picture is reported "
     "and left out, and --strict makes it an error.\n\n"
     "A video file (mp4, mkv, webm, mov, avi and others) is read by the programs ffprobe and "
     "ffmpeg, which must be installed, and turned as it asks. Of it and of an animation 2 frames a "
     "second are used, at least 4 and at most 768, with "
     "the times that they have in the file, the first frame being at 0; --sample-fps, --frames and "
     "--max-frames choose others. Addresses are not fetched.\n\n"
     "--dry-run prints the frames in order and the times that the model is told.",
     "ocelli video clip.mp4 \"What happens?\"\n"
     "ocelli video frames/ --fps 8 --sample-fps 2\n"
     "ocelli video before.mp4 after.mp4 \"What has changed?\"\n"
     "ocelli video camera/ --times times.txt --every 1m --json\n"
     "ocelli video camera/ --fps 2 --every 10s --follow",
     cmd_video},
    {COMMAND_CHAT, "chat", "[IMAGE...]", 0, SIZE_MAX, OPERAND_FILE, NULL,
     "hold a conversation about pictures",
     "Reads a message a line from stdin and answers each on stdout. Pictures and clips wait for "
     "the "
     "next message. Lines that begin with a slash are commands:\n\n"
     "/image PATH adds a picture; /video FOLDER [RATE] adds a clip; /system TEXT sets the system "
     "message and begins anew; /reset begins anew; /help lists the commands; /quit ends, as the "
     "end "
     "of the input does. Two slashes begin a message with one.\n\n"
     "Ctrl-C ends the answer being given; at the prompt it ends the program.",
     "ocelli chat cat.jpg\n"
     "printf '/image cat.jpg\\nWhat is it?\\nWhat color?\\n' | ocelli chat --quiet",
     cmd_chat},
    {COMMAND_LOCATE, "locate", "IMAGE... WHAT", 2, SIZE_MAX, OPERAND_FILE, NULL,
     "find things in pictures, as boxes or points",
     "The last operand says what is looked for, all before it are pictures, each asked by itself. "
     "Prints a line for each thing: its label and x1,y1,x2,y2, in pixels of the picture as it is "
     "shown (with an EXIF turn taken), from its top left corner; with --points x,y. --json prints "
     "one object for each picture: image, width, height, query, boxes and points. Nothing found is "
     "an empty list.\n\n"
     "The model is asked in the form that its family was taught. Its answer must be a JSON list of "
     "objects with bbox_2d (or point_2d) and perhaps a label, or one such object: either alone or "
     "in a code fence, which other text may surround. Whatever else it says, corners that are "
     "swapped or outside the picture, or an answer that was cut short, is an error (exit code 1) "
     "that shows what it said, and never a box.",
     "ocelli locate street.jpg \"the red car\"\n"
     "ocelli locate street.jpg \"every wheel\" --draw wheels.png\n"
     "ocelli locate screen.png \"the search button\" --points --json\n"
     "ocelli locate *.jpg \"a face\" --json --draw drawn/ >faces.jsonl",
     cmd_locate},
    {COMMAND_EMBED, "embed", "IMAGE...", 1, SIZE_MAX, OPERAND_FILE, NULL,
     "write what the vision tower makes of pictures",
     "Writes arrays of float32 as NumPy files (.npy): for an index of pictures, or for looking "
     "into "
     "the model. --what chooses rows, deepstack rows, or one vector a picture.\n\n"
     "With --out-dir each IMAGE has a file of its name and .npy in DIR. With --what pooled several "
     "pictures go into one --out FILE.npy, [pictures, hidden], and FILE.names beside it lists the "
     "pictures, a line each, in the order of the rows. --json prints an object for each picture.",
     "ocelli embed cat.jpg --out cat.npy\n"
     "ocelli embed *.jpg --what pooled --out photos.npy\n"
     "ocelli embed *.jpg --out-dir rows/\n"
     "ocelli embed cat.jpg --what deepstack --out - | python3 -c 'import numpy, sys, io; "
     "print(numpy.load(io.BytesIO(sys.stdin.buffer.read())).shape)'",
     cmd_embed},
    {COMMAND_LOOK, "look", "IMAGE QUESTION", 2, 2, OPERAND_FILE, NULL,
     "answer, and show where in the picture the answer looked",
     "Answers QUESTION about IMAGE, then traces the attention of the answer's tokens to the "
     "picture: the mean over heads, the last two thirds of the decoder's layers, and tokens. With "
     "--draw it is laid over the picture as a heat map. --json gives the grid of weights, which "
     "sum "
     "to 1: a number for each token of the picture (2 x 2 patches), row by row; share says how "
     "much "
     "of all attention went to the picture at all. Without either the grid is printed below the "
     "answer as characters, . for the least and @ for the most.\n\n"
     "Attention is a trace of the computation, not a reason: a model may look at what it does not "
     "use.",
     "ocelli look cat.jpg \"What is on the table?\" --draw map.png\n"
     "ocelli look cat.jpg \"What is on the table?\" --json --per-token",
     cmd_look},
    {COMMAND_PULL, "pull", "REPO [DIR]", 1, 2, OPERAND_FOLDER, NULL, "get a model from a hub",
     "Fetches the model REPO (owner/name, or its page's address) of the Hugging Face hub into DIR, "
     "or into its place in "
     "the "
     "model folder, where -m finds it by its name: the configuration, the tokenizer and the "
     "weights "
     "(safetensors, else GGUF with its vision tower), and nothing else. The folder's path is "
     "printed.\n\n"
     "Each file is written to NAME.partial, its hash (SHA-256, or git's for small files) compared "
     "with the repository's, and renamed when it is right. The same command goes on where an "
     "earlier one was stopped, and fetches nothing again that is whole. Cut connections and busy "
     "servers are tried again.\n\n"
     "HF_ENDPOINT names another hub, HF_TOKEN the token for repositories that need one; it is sent "
     "to the hub and to no other host. HTTPS_PROXY, HTTP_PROXY and NO_PROXY are obeyed. With "
     "HF_HUB_OFFLINE=1 nothing is fetched.",
     "ocelli pull Qwen/Qwen3-VL-2B-Instruct\n"
     "ocelli pull Qwen/Qwen3-VL-2B-Instruct --pack q4\n"
     "ocelli pull Qwen/Qwen3-VL-2B-Instruct-GGUF --include '*Q4_K_M*'\n"
     "ocelli pull Qwen/Qwen3-VL-4B-Instruct 4b --dry-run",
     cmd_pull},
    {COMMAND_MODELS, "models", "", 0, 0, OPERAND_NONE, NULL, "list the models of the model folder",
     "Lists what -m finds by name: each model's name, family, number of weights, form and types, "
     "and its bytes on disk. What 'ocelli pull' has not finished is listed as incomplete.\n\n"
     "The model folder is that of the environment variable OCELLI_HOME; without it "
     "$XDG_DATA_HOME/ocelli/models or ~/.local/share/ocelli/models.",
     "ocelli models\n"
     "ocelli models --json",
     cmd_models},
    {COMMAND_MERGE, "merge", "OUT SHARD...", 2, SIZE_MAX, OPERAND_FILE, NULL,
     "join the JSON lines of several workers",
     "Writes the lines of all SHARD files, as 'ocelli caption --jsonl' made them, to the new file "
     "OUT: in natural order of the paths (2 before 10), once each. Equal lines are kept "
     "once; so are lines that differ in their seconds alone. An error gives way to a caption of "
     "the same picture. Two captions of one picture that differ are refused, and so are lines of "
     "different models.\n\n"
     "The last line of a worker that was killed may be torn; it is reported and left out. What "
     "failed or, with --expect, is missing is printed, a path a line, as --files-from of 'ocelli "
     "caption' takes it, and the exit code is 3.",
     "ocelli merge all.jsonl out-*-of-4.jsonl --expect photos\n"
     "ocelli merge all.jsonl out-*.jsonl --expect list.txt --force",
     cmd_merge},
    {COMMAND_PACK, "pack", "CHECKPOINT OUT", 2, 2, OPERAND_FOLDER, NULL,
     "quantise a checkpoint into a package",
     "Writes a package of the checkpoint to the new folder OUT: it loads at once, because what is "
     "on "
     "disk is what the kernels read. It is written beside OUT and renamed when whole, so that an "
     "interrupted run leaves nothing behind.",
     "ocelli pack Qwen3-VL-2B-Instruct qwen3-vl-2b-q8 --quant q8\n"
     "ocelli pack Qwen3-VL-2B-Instruct qwen3-vl-2b-q4 --quant q4 --embed-bf16\n"
     "ocelli pack TEXT.gguf out --mmproj mmproj.gguf --quant q4",
     cmd_pack},
    {COMMAND_INFO, "info", "[MODEL]", 0, 1, OPERAND_FOLDER, NULL, "tell what a model is and needs",
     "Prints the family, sizes and types of MODEL, the bytes of its parts, and the memory that it "
     "will need for --context tokens with one --picture. Without MODEL it is chosen as for the "
     "other commands.",
     "ocelli info qwen3-vl-2b-q8 --context 8192 --picture 1920x1080", cmd_info},
    {COMMAND_VERIFY, "verify", "PACKAGE", 1, 1, OPERAND_FOLDER, NULL, "check a package",
     "Recomputes the hash of every file of the package and proves that a tied output head is the "
     "quantisation of the embedding table.",
     "ocelli verify qwen3-vl-2b-q8", cmd_verify},
    {COMMAND_EVAL, "eval", "DIR", 1, 1, OPERAND_FOLDER, NULL,
     "measure a model on questions with known answers",
     "Asks the questions of DIR/items.json, taking the likeliest token always, and prints how many "
     "answers are as expected, by task and in all, and how many equal the recorded answers of the "
     "reference. --verbose shows each answer that is not as recorded.",
     "ocelli eval tests/eval -m samples/model", cmd_eval},
    {COMMAND_BENCH, "bench", "", 0, 0, OPERAND_NONE, NULL, "measure speed, and the machine's limit",
     "Measures loading, encoding pictures, reading prompts, decoding, decoding for several "
     "sessions together, a caption of 64 tokens, and memory: medians of several runs. Beside "
     "each figure stands the limit of this machine, measured in the same run with the same "
     "threads, and the share of it that is reached.\n\n"
     "The limit is the time for what cannot be avoided: matrices, attention, weights and cache "
     "read once, at the peak of an instruction that does nothing else and the bandwidth of a "
     "loop that only reads; the longer of computing and reading. Matrices held as q8 or q4 "
     "count at the int8 peak, others and attention at the best of bf16 and f32, all of an f32 "
     "model at that of f32. What a machine gives changes while others use it: it is measured "
     "before and after each group, and a figure is held against the measurement nearest to it "
     "in time, which --json tells; the best is printed above. A model so small that it stays "
     "in the caches can pass the limit.\n\n"
     "Groups for --only: load, encode, prefill, decode, together, caption, folder, sizes, embed, "
     "memory. folder, which only this flag chooses, is pictures "
     "an hour, captioned one at a time and sixteen together. Memory is that of one caption of a "
     "640x480 picture, as the command makes it. sizes, which "
     "only this flag chooses, is cost over size: pictures of 256 to 4096 pixels a side, prompts of "
     "512 to 32768 tokens and answers after them, once each without --runs, with the memory that "
     "each took at most and what was told beforehand, as --dry-run does. embed, which only this "
     "flag chooses too, is the embedding table under random ids: what a row costs, warm and from "
     "the disk, and what of the table stays in memory, of one process and of each of four, within "
     "--embed-budget and without one. Answers do not end early: stop tokens are ignored.",
     "ocelli bench -m qwen3-vl-2b-q4\n"
     "ocelli bench -m qwen3-vl-2b-q8 --only decode,together --runs 5\n"
     "ocelli bench -m qwen3-vl-2b-q8 --only sizes\n"
     "ocelli bench -m qwen3-vl-2b-q8 --only embed --embed-budget 16M\n"
     "ocelli bench -m qwen3-vl-2b-q8 --json --plot bench.svg >bench.json",
     cmd_bench},
    {COMMAND_SYNTH, "synth", "[SHAPE] OUT", 1, 2, OPERAND_WORD, SYNTH_SHAPE_WORDS,
     "write a checkpoint of random weights",
     "Writes a checkpoint in the Hugging Face layout to the new folder OUT, of a published "
     "SHAPE or of the sizes in --config: for measuring and testing what needs the size of a "
     "model and not its knowledge. It answers in nonsense. Shapes: " SYNTH_SHAPE_TEXT
     "or that of --config.\n\n"
     "The weights come from a counter-based generator, so that any program can make the same "
     "ones, or any part of them. All integers have 64 bits and wrap. Value i of a tensor: key "
     "is FNV-1a(name) xor seed; word is mix(key + (i / 2 + 1) * 0x9E3779B97F4A7C15), where mix "
     "is the output function of splitmix64; level is the sum of the lower four bytes of word "
     "where i is even, of the upper four where it is odd; the value is mean + (level - 510) * "
     "(deviation / sqrt(21845)), in float64, rounded to float32 and then to bfloat16.\n\n"
     "mean and deviation are 0 and gain / sqrt(columns) for matrices, where gain is 1, but 1 / "
     "sqrt(2 * layers) for those that write to the residual stream (o_proj, down_proj, the "
     "blocks' attn.proj and linear_fc2), and 1/2 for the mergers' linear_fc2; 1 and 0.05 for "
     "norms; 0 and 0.02 for biases; 0 and 0.01 for embed_tokens and lm_head; 0 and 0.05 for "
     "pos_embed.",
     "ocelli synth qwen3-vl-2b 2b\n"
     "ocelli synth qwen3-vl-8b 8b --tokenizer Qwen3-VL-8B-Instruct\n"
     "ocelli synth --config config.json out --layers 2",
     cmd_synth},
    {COMMAND_HELP, "help", "[COMMAND]", 0, 1, OPERAND_WORD,
     "caption ask video chat locate embed look pull models merge pack info verify eval bench synth "
     "help man "
     "completions",
     "explain a command", "Prints what the program or one of its commands does, with every flag.",
     NULL, cmd_help},
    {COMMAND_MAN, "man", "", 0, 0, OPERAND_NONE, NULL, "print the manual page",
     "Prints the manual page in mdoc, for man -l or mandoc.", "ocelli man | mandoc -a", cmd_man},
    {COMMAND_COMPLETIONS, "completions", "SHELL", 1, 1, OPERAND_WORD, "bash zsh fish",
     "print completions for a shell", "SHELL is bash, zsh or fish.",
     "ocelli completions bash > ~/.local/share/bash-completion/completions/ocelli",
     cmd_completions},
};

const command_spec *command_find(const char *name)
{
    for (size_t i = 0; i < COMMAND_TOTAL; i++) {
        if (strcmp(command_table[i].name, name) == 0) {
            return &command_table[i];
        }
    }
    return NULL;
}
