/* visual_entry.c - see visual_entry.h. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/visual_entry.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char MAGIC[8] = {'o', 'c', 'e', 'l', 'l', 'i', 'v', 'r'};
static const uint64_t ORDER = UINT64_C(0x0102030405060708);
static const char ENDING[] = ".rows", PART_ENDING[] = ".part";
enum { HASH_DIGITS = 32 };

static oc_hash hash_header(const oc_visual_entry *entry)
{
    return oc_hash_bytes(entry, offsetof(oc_visual_entry, itself));
}

void oc_visual_entry_make(oc_visual_entry *out, const oc_visual_key *key, const void *rows,
                          size_t bytes)
{
    memset(out, 0, sizeof *out);
    memcpy(out->magic, MAGIC, sizeof MAGIC);
    out->order = ORDER;
    out->version = OC_VISUAL_ENTRY_VERSION;
    out->key = *key;
    out->bytes = bytes;
    out->rows = oc_hash_bytes(rows, bytes);
    out->itself = hash_header(out);
}

bool oc_visual_entry_check(const oc_visual_entry *entry, const oc_visual_key *key, size_t bytes,
                           const char **why)
{
    *why = NULL;
    if (memcmp(entry->magic, MAGIC, sizeof MAGIC) != 0 || entry->order != ORDER ||
        entry->version != OC_VISUAL_ENTRY_VERSION) {
        *why = "is not of this program's form";
    } else if (!oc_hash_equal(entry->itself, hash_header(entry))) {
        *why = "has a damaged header";
    } else if (!oc_visual_key_equal(&entry->key, key) || entry->bytes != bytes) {
        *why = "is of another picture";
    }
    return *why == NULL;
}

bool oc_visual_entry_check_rows(const oc_visual_entry *entry, const void *rows, size_t bytes)
{
    return oc_hash_equal(entry->rows, oc_hash_bytes(rows, bytes));
}

void oc_visual_entry_name(char name[OC_VISUAL_ENTRY_NAME], const oc_visual_key *key)
{
    char digits[33];
    oc_hash_format(oc_hash_bytes(key, sizeof *key), digits);
    snprintf(name, OC_VISUAL_ENTRY_NAME, "%s%s", digits, ENDING);
}

void oc_visual_entry_part_name(char name[OC_VISUAL_ENTRY_NAME], const oc_visual_key *key,
                               unsigned number)
{
    char digits[33];
    oc_hash_format(oc_hash_bytes(key, sizeof *key), digits);
    snprintf(name, OC_VISUAL_ENTRY_NAME, "%s.%ld.%u%s", digits, (long)getpid(), number,
             PART_ENDING);
}

bool oc_visual_entry_is_name(const char *name, bool *part)
{
    size_t length = strlen(name);
    *part = false;
    if (strspn(name, "0123456789abcdef") != HASH_DIGITS) {
        return false;
    }
    const char *rest = name + HASH_DIGITS;
    if (strcmp(rest, ENDING) == 0) {
        return true;
    }
    size_t process = rest[0] == '.' ? strspn(rest + 1, "0123456789") : 0;
    const char *number = rest + 1 + process;
    if (process == 0 || number[0] != '.') {
        return false;
    }
    size_t digits = strspn(number + 1, "0123456789");
    *part = digits > 0 && strcmp(number + 1 + digits, PART_ENDING) == 0 &&
            length < OC_VISUAL_ENTRY_NAME;
    return *part;
}
