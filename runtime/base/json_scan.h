/* json_scan.h - a strict scanner of JSON bytes, for what programs write: the header of a safetensors
 * file, the tables of a tokenizer.
 *
 * cJSON reads what people write by hand; this reads what a program wrote and
 * is stricter: whole numbers are exact to 64 bits (cJSON has doubles), "04", a NUL, a byte order
 * mark, bad UTF-8 or an escaped NUL are refused, nothing is allocated, and nesting costs no stack.
 * On false, at stands near the byte that is wrong. */
#ifndef OC_BASE_JSON_SCAN_H
#define OC_BASE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct oc_json_scan {
    const unsigned char *at, *end;
} oc_json_scan;

/* Skips white space, then the given byte. */
bool oc_scan_byte(oc_json_scan *scan, char byte);
/* True, and nothing consumed but white space, if the given byte comes next. */
bool oc_scan_next_is(oc_json_scan *scan, char byte);
/* Only white space is left. */
bool oc_scan_is_end(oc_json_scan *scan);
/* A string, decoded into text and NUL-ended. What is written, the NUL included, is at least one
 * byte shorter than what is consumed: text needs no more room than the header has bytes. */
bool oc_scan_string(oc_json_scan *scan, char *text, size_t *length);
/* A whole number from 0 to most. */
bool oc_scan_whole(oc_json_scan *scan, uint64_t most, uint64_t *out);
/* Any value, nested at most 64 deep. */
bool oc_scan_skip(oc_json_scan *scan);

#endif
