/* golden_gguf.h - golden data of GGUF files: whole runs and blocks. As in golden_sections.h, what
 * is not there is no case. */
#ifndef OC_TESTS_GOLDEN_GGUF_H
#define OC_TESTS_GOLDEN_GGUF_H

#include "tests/golden/golden_report.h"

/* Of a float32 computation, against another's: the reference is numpy. */
#define TOLERANCE_GGUF_LOGITS 1e-3

/* runs/<id>.json: a prompt on a GGUF model or its checkpoint, to logits and greedy tokens, or texts
 * and their ids. */
void golden_run_gguf(report *r, const char *directory, ocelli_quant quant);
/* blocks/index.json: codes of every tensor type and the bits that they stand for. */
void golden_run_blocks(report *r, const char *directory);

#endif
