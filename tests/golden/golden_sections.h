/* golden_sections.h - the three kinds of golden data that a folder may hold. Each function finds what
 * is there by reading the folder and reports it; a section that is missing is no case at all. */
#ifndef OC_TESTS_GOLDEN_SECTIONS_H
#define OC_TESTS_GOLDEN_SECTIONS_H

#include "tests/golden/golden_report.h"

/* cases/<id>/case.json: a conversation from media files to greedy tokens. */
void golden_run_cases(report *r, const char *directory, ocelli_quant quant);
/* functions/<kind>.json: one function each. */
void golden_run_functions(report *r, const char *directory);
/* tokenizer/<kind>.json for tokenizer/tokenizer.json or tokenizer.json.gz. */
void golden_run_tokenizer(report *r, const char *directory);

#endif
