/* synth_write.h - writes the weights: shard after shard, each by several threads,
 * none held whole. */
#ifndef OCELLI_TOOLS_SYNTH_WRITE_H
#define OCELLI_TOOLS_SYNTH_WRITE_H

#include "tools/synth_tensors.h"

/* Writes model-00001-of-0000n.safetensors and on, and model.safetensors.index.json. Every thread
 * holds a few megabytes. hollow: the weights are holes in the files, which read as zeros. Returns
 * an exit code; it has said why unless EXIT_DONE or EXIT_INTERRUPTED. */
int synth_write(const char *folder, const synth_tensors *tensors, uint64_t seed, size_t threads,
                bool hollow);

#endif
