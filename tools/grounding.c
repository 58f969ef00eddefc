/* grounding.c - see grounding.h. JSON of Qwen3-VL and Qwen2.5-VL; pairs of Qwen2-VL. */
#include "tools/grounding.h"
#include "tools/text_bytes.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- asking --------------------------------------------------------------------------------- */

char *grounding_question(ocelli_grounding form, bool points, const char *what)
{
    static const char *const boxes[] = {"Locate every object that matches the description \"",
                                        "\" in the image. Report bbox coordinates in JSON format."};
    static const char *const dots[] = {
        "Locate every object that matches the description \"",
        "\" in the image. Output the point coordinates in JSON format. For example: "
        "[{\"point_2d\": [x, y], \"label\": \"point_1\"}]"};
    static const char *const pairs[] = {"Detect the bounding box of \"", "\"."};
    const char *const *around = form == OCELLI_GROUNDING_PAIRS ? pairs : points ? dots : boxes;
    size_t room = strlen(around[0]) + strlen(what) + strlen(around[1]) + 1;
    char *question = malloc(room);
    if (question != NULL) {
        snprintf(question, room, "%s%s%s", around[0], what, around[1]);
    }
    return question;
}

/* ---- what is said --------------------------------------------------------------------------- */

typedef struct reader {
    const grounding_scale *scale;
    const char *what;
    grounding *out;
    char *why;
    size_t size;
} reader;

static bool refuse(const reader *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->why, r->size, format, arguments);
    va_end(arguments);
    return false;
}

void grounding_free(grounding *g)
{
    for (size_t i = 0; i < g->count; i++) {
        free(g->items[i].label);
    }
    free(g->items);
    *g = (grounding){NULL, 0};
}

/* Adds a box or a point with the answer's own numbers, said [2 or 4]. label: the first length bytes;
 * none: what was asked for. */
static bool add(const reader *r, bool is_point, const double *said, const char *label,
                size_t length)
{
    const grounding_scale *s = r->scale;
    bool pixels = s->form == OCELLI_GROUNDING_PIXELS;
    const double most[2] = {pixels ? s->width : 1000, pixels ? s->height : 1000};
    const double source[2] = {s->source_width, s->source_height};
    if (r->out->count == GROUNDING_MOST) {
        return refuse(r, "it names more than %d things", GROUNDING_MOST);
    }
    grounding_item item = {.is_point = is_point, .label = NULL, .at = {0}};
    for (size_t i = 0; i < (is_point ? 2u : 4u); i++) {
        if (!(said[i] >= 0 && said[i] <= most[i % 2])) {
            return refuse(r, "%g is not within 0 and %g, the %s", said[i], most[i % 2],
                          i % 2 == 0 ? "width" : "height");
        }
        item.at[i] = said[i] * source[i % 2] / most[i % 2];
    }
    if (!is_point && !(said[0] < said[2] && said[1] < said[3])) {
        return refuse(r,
                      "the corners %g,%g and %g,%g are no box: the first must be above and left "
                      "of the second",
                      said[0], said[1], said[2], said[3]);
    }
    grounding_item *items = realloc(r->out->items, (r->out->count + 1) * sizeof *items);
    if (items == NULL) {
        return refuse(r, "there is no memory for it");
    }
    r->out->items = items;
    length = label != NULL ? length : 0;
    item.label = length > 0 ? calloc(1, length + 1) : text_copy(r->what);
    if (item.label == NULL) {
        return refuse(r, "there is no memory for it");
    }
    if (length > 0) {
        memcpy(item.label, label, length);
    }
    items[r->out->count++] = item;
    return true;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* count finite numbers, and nothing else. */
static bool read_numbers(const reader *r, const cJSON *list, const char *key, int count,
                         double *out)
{
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) != count) {
        return refuse(r, "%s is not a list of %d numbers", key, count);
    }
    for (int i = 0; i < count; i++) {
        const cJSON *number = cJSON_GetArrayItem(list, i);
        if (!cJSON_IsNumber(number) || !isfinite(number->valuedouble)) {
            return refuse(r, "%s is not a list of %d numbers", key, count);
        }
        out[i] = number->valuedouble;
    }
    return true;
}

/* The member of that name; false if it is there twice, for then nobody knows which is meant. */
static bool find_member(const reader *r, const cJSON *object, const char *key, const cJSON **out)
{
    *out = NULL;
    for (const cJSON *member = object->child; member != NULL; member = member->next) {
        if (strcmp(member->string, key) == 0) {
            if (*out != NULL) {
                return refuse(r, "an object has %s twice", key);
            }
            *out = member;
        }
    }
    return true;
}

static bool read_object(const reader *r, const cJSON *object)
{
    const cJSON *box, *point, *label;
    double said[4] = {0};
    if (!cJSON_IsObject(object)) {
        return refuse(r, "its list holds something that is no object");
    }
    if (!find_member(r, object, "bbox_2d", &box) || !find_member(r, object, "point_2d", &point) ||
        !find_member(r, object, "label", &label)) {
        return false;
    }
    if ((box != NULL) == (point != NULL)) {
        return refuse(r, box != NULL ? "an object has both bbox_2d and point_2d"
                                     : "an object has neither bbox_2d nor point_2d");
    }
    if (label != NULL && !cJSON_IsString(label)) {
        return refuse(r, "a label is no text");
    }
    bool good = box != NULL ? read_numbers(r, box, "bbox_2d", 4, said)
                            : read_numbers(r, point, "point_2d", 2, said);
    const char *text = label != NULL ? label->valuestring : NULL;
    return good && add(r, point != NULL, said, text, text != NULL ? strlen(text) : 0);
}

/* The part of the answer that should be JSON: between the fences, if there are any, else all. */
static bool find_json(const reader *r, const char *answer, const char **begin, const char **end)
{
    const char *fence = strstr(answer, "```");
    *begin = answer;
    *end = answer + strlen(answer);
    if (fence == NULL) {
        return true;
    }
    *begin = fence + 3;
    if (strncmp(*begin, "json", 4) == 0 || strncmp(*begin, "JSON", 4) == 0) {
        *begin += 4;
    }
    *end = strstr(*begin, "```");
    if (*end == NULL) {
        return refuse(r, "its code fence does not end");
    }
    if (strstr(*end + 3, "```") != NULL) {
        return refuse(r, "it has more than one code fence");
    }
    return true;
}

static bool read_json(const reader *r, const char *answer)
{
    const char *begin, *end, *stop = NULL;
    if (!find_json(r, answer, &begin, &end)) {
        return false;
    }
    while (end > begin && isspace((unsigned char)end[-1])) {
        end--;
    }
    cJSON *json = cJSON_ParseWithLengthOpts(begin, (size_t)(end - begin), &stop, 0);
    bool good = false;
    if (json == NULL) {
        refuse(r, "it is not JSON");
    } else if (stop != end) {
        refuse(r, "there is something after its JSON");
    } else if (cJSON_IsArray(json)) {
        good = true;
        for (const cJSON *item = json->child; good && item != NULL; item = item->next) {
            good = read_object(r, item);
        }
    } else if (cJSON_IsObject(json)) {
        good = read_object(r, json);
    } else {
        refuse(r, "its JSON is neither a list nor an object");
    }
    cJSON_Delete(json);
    return good;
}

/* ---- pairs ---------------------------------------------------------------------------------- */

/* Blanks, and the control tokens of this form where they are spelled out. */
static const char *skip_blank(const char *at)
{
    static const char *const tokens[] = {"<|object_ref_start|>", "<|object_ref_end|>",
                                         "<|box_start|>", "<|box_end|>"};
    for (bool more = true; more;) {
        more = false;
        for (; isspace((unsigned char)*at); at++) {
            more = true;
        }
        for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
            size_t length = strlen(tokens[i]);
            if (strncmp(at, tokens[i], length) == 0) {
                at += length;
                more = true;
            }
        }
    }
    return at;
}

/* "(x,y)": digits alone, so that what strtol takes is what is there. */
static bool read_pair(const char **at, double *out)
{
    const char *next = *at;
    for (int i = 0; i < 2; i++) {
        char *end;
        if (*next != "(,"[i]) {
            return false;
        }
        next++;
        next += *next == ' ';
        if (!isdigit((unsigned char)*next)) {
            return false;
        }
        errno = 0;
        long number = strtol(next, &end, 10);
        if (errno != 0) {
            return false;
        }
        out[i] = (double)number;
        next = end;
    }
    if (*next != ')') {
        return false;
    }
    *at = next + 1;
    return true;
}

/* Things one after another, each a label, which may be missing, and a box. */
static bool read_pairs(const reader *r, const char *answer)
{
    const char *at = skip_blank(answer);
    while (*at != '\0') {
        const char *label = at;
        double said[4];
        size_t length = strcspn(at, "(<\n");
        at = skip_blank(at + length);
        while (length > 0 && isspace((unsigned char)label[length - 1])) {
            length--;
        }
        if (!read_pair(&at, said) || *at != ',') {
            return refuse(r, "it is not a name and (x1,y1),(x2,y2)");
        }
        at++;
        if (!read_pair(&at, said + 2)) {
            return refuse(r, "it is not a name and (x1,y1),(x2,y2)");
        }
        if (!add(r, false, said, label, length)) {
            return false;
        }
        at = skip_blank(at);
    }
    return r->out->count > 0 || refuse(r, "it is empty");
}

bool grounding_read(const char *answer, const grounding_scale *scale, const char *what,
                    grounding *out, char *why, size_t size)
{
    const reader r = {scale, what, out, why, size};
    *out = (grounding){NULL, 0};
    bool good =
        scale->form == OCELLI_GROUNDING_PAIRS ? read_pairs(&r, answer) : read_json(&r, answer);
    if (!good) {
        grounding_free(out);
    }
    return good;
}
