/* What is taken from an answer as a place, in source pixels, and what is refused: anything that is
 * not wholly in the family's form. */
#include "tools/grounding.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a picture of 640 x 200 that the model saw as 320 x 128. */
static const grounding_scale thousandths = {OCELLI_GROUNDING_THOUSANDTHS, 320, 128, 640, 200};
static const grounding_scale pixels = {OCELLI_GROUNDING_PIXELS, 320, 128, 640, 200};
static const grounding_scale pairs = {OCELLI_GROUNDING_PAIRS, 320, 128, 640, 200};

/* "LABEL X,Y,X,Y; LABEL X,Y", or "refused: WHY". */
static const char *found(const grounding_scale *scale, const char *answer)
{
    static char text[2000];
    char why[300] = "";
    grounding g;
    if (!grounding_read(answer, scale, "asked", &g, why, sizeof why)) {
        cr_assert_eq(g.count, 0);
        cr_assert_null(g.items);
        cr_assert(strlen(why) > 0);
        snprintf(text, sizeof text, "refused: %s", why);
        return text;
    }
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < g.count; i++) {
        const grounding_item *item = &g.items[i];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %g,%g", i > 0 ? "; " : "",
                                 item->label, item->at[0], item->at[1]);
        if (!item->is_point) {
            used += (size_t)snprintf(text + used, sizeof text - used, ",%g,%g", item->at[2],
                                     item->at[3]);
        }
    }
    grounding_free(&g);
    return text;
}

#define FOUND(scale, answer, wanted) cr_assert_str_eq(found(scale, answer), wanted)
#define REFUSED(scale, answer, part)                                                               \
    do {                                                                                           \
        const char *text = found(scale, answer);                                                   \
        cr_assert(strncmp(text, "refused: ", 9) == 0 && strstr(text, part) != NULL, "%s: %s",      \
                  answer, text);                                                                   \
    } while (0)

#define BOX "{\"bbox_2d\": [100, 200, 300, 500], \"label\": \"red car\"}"

Test(grounding, boxes_and_points_in_source_pixels)
{
    FOUND(&thousandths, "[" BOX "]", "red car 64,40,192,100");
    FOUND(&thousandths, " \n[" BOX "," BOX "]\n ", "red car 64,40,192,100; red car 64,40,192,100");
    FOUND(&thousandths, BOX, "red car 64,40,192,100"); /* one object without its list */
    FOUND(&thousandths, "[{\"point_2d\": [500, 1000], \"label\": \"x\"}]", "x 320,200");
    FOUND(&thousandths, "[{\"bbox_2d\": [0, 0, 1000, 1000]}]", "asked 0,0,640,200");
    FOUND(&thousandths, "[{\"bbox_2d\": [0.5, 1e1, 12.5, 20], \"label\": \"\"}]",
          "asked 0.32,2,8,4");
    FOUND(&thousandths, "[{\"label\": \"a\", \"bbox_2d\": [1, 2, 3, 4], \"role\": [1, 2, 3]}]",
          "a 0.64,0.4,1.92,0.8");
    FOUND(&thousandths, "[" BOX ",{\"point_2d\":[0,0]}]", "red car 64,40,192,100; asked 0,0");
    FOUND(&thousandths, "[{\"bbox_2d\":[0,0,1,1],\"label\":\"\\u732b \\\"a\\\"\"}]",
          "\xe7\x8c\xab \"a\" 0,0,0.64,0.2");
}

Test(grounding, an_empty_list_is_an_answer)
{
    FOUND(&thousandths, "[]", "");
    FOUND(&thousandths, "```json\n[]\n```", "");
    FOUND(&pixels, " [ ] ", "");
}

Test(grounding, one_fence_may_have_text_around)
{
    FOUND(&thousandths, "```json\n[" BOX "]\n```", "red car 64,40,192,100");
    FOUND(&thousandths, "```\n" BOX "```", "red car 64,40,192,100");
    FOUND(&thousandths, "Here it is:\n```json\n[" BOX "]\n```\nThat is all.",
          "red car 64,40,192,100");
    REFUSED(&thousandths, "Here it is: [" BOX "]", "not JSON");
    REFUSED(&thousandths, "[" BOX "] That is all.", "after its JSON");
    REFUSED(&thousandths, "```json\n[" BOX "]\n", "does not end");
    REFUSED(&thousandths, "```json\n[" BOX "] and more\n```", "after its JSON");
    REFUSED(&thousandths, "```json\n[]\n```\n```json\n[" BOX "]\n```", "more than one");
    REFUSED(&thousandths, "``````", "not JSON");
}

Test(grounding, what_is_no_json)
{
    static const char *const answers[] = {
        "",
        "There is no red car.",
        "[" BOX,
        "[" BOX ",",
        "[{\"bbox_2d\": [100, 200, 300, 5",
        "[{\"bbox_2d\": [NaN, 200, 300, 500]}]",
        "[{\"bbox_2d\": [100, 200, 300, Infinity]}]",
        "[{'bbox_2d': [100, 200, 300, 500]}]",
        "[{\"bbox_2d\": [100 200 300 500]}]",
        "[{\"bbox_2d\": [100, 200, 300, 500],}]",
        "<box>(100,200),(300,500)</box>",
        "bbox_2d: [100, 200, 300, 500]",
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        REFUSED(&thousandths, answers[i], "not JSON");
        REFUSED(&pixels, answers[i], "not JSON");
    }
    REFUSED(&thousandths, "[" BOX "]]", "after its JSON");
    REFUSED(&thousandths, "[" BOX "][" BOX "]", "after its JSON");
    REFUSED(&thousandths, "null", "neither a list nor an object");
    REFUSED(&thousandths, "\"[]\"", "neither a list nor an object");
    REFUSED(&thousandths, "12", "neither a list nor an object");
}

Test(grounding, what_is_no_box)
{
    /* Corners that are swapped, or one. */
    REFUSED(&thousandths, "[{\"bbox_2d\": [300, 200, 100, 500]}]", "no box");
    REFUSED(&thousandths, "[{\"bbox_2d\": [100, 500, 300, 200]}]", "no box");
    REFUSED(&thousandths, "[{\"bbox_2d\": [100, 200, 100, 500]}]", "no box");
    REFUSED(&thousandths, "[{\"bbox_2d\": [0, 0, 0, 0]}]", "no box");
    /* Outside. */
    REFUSED(&thousandths, "[{\"bbox_2d\": [100, 200, 1001, 500]}]", "not within 0 and 1000");
    REFUSED(&thousandths, "[{\"bbox_2d\": [-1, 200, 300, 500]}]", "not within");
    REFUSED(&thousandths, "[{\"bbox_2d\": [100, 200, 300, 1e300]}]", "not within");
    REFUSED(&thousandths, "[{\"bbox_2d\": [100, 200, 300, 1e999]}]", "list of 4 numbers");
    REFUSED(&thousandths, "[{\"point_2d\": [1000.5, 0]}]", "not within");
    /* Not four numbers. */
    REFUSED(&thousandths, "[{\"bbox_2d\": [100, 200, 300]}]", "list of 4 numbers");
    REFUSED(&thousandths, "[{\"bbox_2d\": [100, 200, 300, 500, 600]}]", "list of 4 numbers");
    REFUSED(&thousandths, "[{\"bbox_2d\": []}]", "list of 4 numbers");
    REFUSED(&thousandths, "[{\"bbox_2d\": [\"100\", 200, 300, 500]}]", "list of 4 numbers");
    REFUSED(&thousandths, "[{\"bbox_2d\": [100, null, 300, 500]}]", "list of 4 numbers");
    REFUSED(&thousandths, "[{\"bbox_2d\": [true, 200, 300, 500]}]", "list of 4 numbers");
    REFUSED(&thousandths, "[{\"bbox_2d\": [[100, 200], [300, 500]]}]", "list of 4 numbers");
    REFUSED(&thousandths, "[{\"bbox_2d\": \"100, 200, 300, 500\"}]", "list of 4 numbers");
    REFUSED(&thousandths, "[{\"bbox_2d\": null}]", "list of 4 numbers");
    REFUSED(&thousandths, "[{\"point_2d\": [100, 200, 300, 500]}]", "list of 2 numbers");
    /* Not said what it is, or said twice. Another program's "box_2d" begins with y. */
    REFUSED(&thousandths, "[{\"box_2d\": [100, 200, 300, 500]}]", "neither");
    REFUSED(&thousandths, "[{\"bbox\": [100, 200, 300, 500]}]", "neither");
    REFUSED(&thousandths, "[{}]", "neither");
    REFUSED(&thousandths, "{}", "neither");
    REFUSED(&thousandths, "[{\"bbox_2d\": [1, 2, 3, 4], \"point_2d\": [1, 2]}]", "both");
    REFUSED(&thousandths, "[{\"bbox_2d\": [1, 2, 3, 4], \"bbox_2d\": [5, 6, 7, 8]}]", "twice");
    REFUSED(&thousandths, "[{\"bbox_2d\": [1, 2, 3, 4], \"label\": 5}]", "label");
    REFUSED(&thousandths, "[[100, 200, 300, 500]]", "no object");
    REFUSED(&thousandths, "[\"red car\"]", "no object");
    /* One bad thing spoils the list. */
    REFUSED(&thousandths, "[" BOX ",{\"bbox_2d\": [300, 200, 100, 500]}]", "no box");
}

Test(grounding, pixels_of_the_resized_picture)
{
    FOUND(&pixels, "[{\"bbox_2d\": [32, 64, 320, 128], \"label\": \"car\"}]", "car 64,100,640,200");
    FOUND(&pixels, "[{\"point_2d\": [160, 32]}]", "asked 320,50");
    REFUSED(&pixels, "[{\"bbox_2d\": [32, 64, 321, 128]}]", "not within 0 and 320, the width");
    REFUSED(&pixels, "[{\"bbox_2d\": [32, 64, 320, 129]}]", "not within 0 and 128, the height");
}

Test(grounding, pairs_of_thousandths)
{
    FOUND(&pairs, "the red car(100,200),(300,500)", "the red car 64,40,192,100");
    FOUND(&pairs, "(100,200),(300,500)\n", "asked 64,40,192,100");
    FOUND(&pairs, "a(0,0),(1,1)b (2,2),(1000, 1000)", "a 0,0,0.64,0.2; b 1.28,0.4,640,200");
    FOUND(&pairs,
          "<|object_ref_start|>a<|object_ref_end|><|box_start|>(100,200),(300,500)<|box_end|>",
          "a 64,40,192,100");
    static const char *const wrong[] = {"",
                                        "There is none.",
                                        "(100,200)",
                                        "(100,200),(300,500",
                                        "(100,200),(300)",
                                        "(100,200),(300,500),(1,1)",
                                        "(100,200),(300,500).",
                                        "(-1,200),(300,500)",
                                        "(+1,200),(300,500)",
                                        "(1.5,200),(300,500)",
                                        "(,200),(300,500)",
                                        "(99999999999999999999,200),(300,500)",
                                        "[" BOX "]"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        REFUSED(&pairs, wrong[i], "");
    }
    REFUSED(&pairs, "(300,200),(100,500)", "no box");
    REFUSED(&pairs, "(100,200),(300,1001)", "not within");
}

Test(grounding, more_things_than_any_answer)
{
    size_t room = (size_t)(GROUNDING_MOST + 2) * 32;
    char *answer = malloc(room);
    for (int extra = 0; extra < 2; extra++) {
        char why[300];
        grounding g;
        size_t used = (size_t)snprintf(answer, room, "[");
        for (int i = 0; i < GROUNDING_MOST + extra; i++) {
            used += (size_t)snprintf(answer + used, room - used, "%s{\"point_2d\":[1,2]}",
                                     i > 0 ? "," : "");
        }
        snprintf(answer + used, room - used, "]");
        bool good = grounding_read(answer, &thousandths, "asked", &g, why, sizeof why);
        cr_assert_eq(good, extra == 0);
        cr_assert_eq(g.count, extra == 0 ? GROUNDING_MOST : 0);
        grounding_free(&g);
    }
    free(answer);
}

Test(grounding, nesting_without_end)
{
    static char deep[100001];
    memset(deep, '[', sizeof deep - 1);
    REFUSED(&thousandths, deep, "not JSON");
}

Test(grounding, every_cut_of_a_list_is_refused)
{
    static const char whole[] = "[" BOX ", {\"point_2d\": [1, 2], \"label\": \"b\"}]";
    char cut[sizeof whole];
    for (size_t length = 0; length + 1 < sizeof whole; length++) {
        memcpy(cut, whole, length);
        cut[length] = '\0';
        REFUSED(&thousandths, cut, "");
    }
    FOUND(&thousandths, whole, "red car 64,40,192,100; b 0.64,0.4");
}

Test(grounding, questions)
{
    char *question = grounding_question(OCELLI_GROUNDING_THOUSANDTHS, false, "the red car");
    cr_assert_str_eq(question,
                     "Locate every object that matches the description \"the red car\" in "
                     "the image. Report bbox coordinates in JSON format.");
    free(question);
    question = grounding_question(OCELLI_GROUNDING_PIXELS, true, "it");
    cr_assert_not_null(strstr(question, "\"it\""));
    cr_assert_not_null(strstr(question, "{\"point_2d\": [x, y], \"label\": \"point_1\"}"));
    free(question);
    question = grounding_question(OCELLI_GROUNDING_PAIRS, false, "it");
    cr_assert_str_eq(question, "Detect the bounding box of \"it\".");
    free(question);
}
