/* eval_items.h - the questions of an evaluation folder, read from its items.json. */
#ifndef OCELLI_TOOLS_EVAL_ITEMS_H
#define OCELLI_TOOLS_EVAL_ITEMS_H

#include <cjson/cJSON.h>
#include <stddef.h>

/* One question. Strings belong to the JSON document that eval_items holds. */
typedef struct eval_item {
    const char *id, *task;
    const char *kind; /* the "kind" member, else the id without the digits at its end */
    const char *question, *expected;
    const char *model_answer; /* what the reference answered; NULL: not recorded */
    const cJSON *media;       /* an array, each { "type", "path" or "frames", "fps" } */
} eval_item;

typedef struct eval_items {
    cJSON *document;
    char **kinds;     /* [count] owned; an item's kind points here */
    eval_item *items; /* [count] */
    size_t count;
} eval_items;

/* Reads FOLDER/items.json and checks every item. Returns EXIT_DONE, or EXIT_FAILED after a message
 * that names the file and the item. */
int eval_items_read(const char *folder, eval_items *out);
void eval_items_free(eval_items *items);

#endif
