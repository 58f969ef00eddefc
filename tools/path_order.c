/* path_order.c - see path_order.h. */
#include "tools/path_order.h"
#include "tools/frames_folder.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* No file system has longer names; what is longer is compared by its bytes. */
#define LONGEST_NAME 4096

static int compare_names(const char *a, size_t a_length, const char *b, size_t b_length)
{
    char a_name[LONGEST_NAME], b_name[LONGEST_NAME];
    if (a_length < sizeof a_name && b_length < sizeof b_name) {
        memcpy(a_name, a, a_length);
        a_name[a_length] = '\0';
        memcpy(b_name, b, b_length);
        b_name[b_length] = '\0';
        return natural_compare(a_name, b_name);
    }
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order != 0 ? order : a_length < b_length ? -1 : a_length > b_length;
}

int path_order(const char *a, const char *b)
{
    for (;;) {
        size_t a_length = strcspn(a, "/");
        size_t b_length = strcspn(b, "/");
        bool a_last = a[a_length] == '\0';
        bool b_last = b[b_length] == '\0';
        if (a_last != b_last) {
            return a_last ? -1 : 1;
        }
        if (a_length != b_length || memcmp(a, b, a_length) != 0) {
            return compare_names(a, a_length, b, b_length);
        }
        if (a_last) {
            return 0;
        }
        a += a_length + 1;
        b += b_length + 1;
    }
}
