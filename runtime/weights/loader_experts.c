/* loader_experts.c - oc_loader_expert of loader.h: one expert's matrices out of the fused tensors.
 *
 *     gate_up  input-major   [E, hidden, 2*inter]: column j of expert e is gate row j (j < inter),
 *                            else up row j - inter
 *              output-major  [E, 2*inter, hidden]: the rows themselves
 *     down     input-major   [E, inter, hidden]: column j is row j
 *              output-major  [E, hidden, inter]
 *
 * or, of a GGUF file, of three tensors, all output-major: <gate_up>.gate and <gate_up>.up [E,
 * inter, hidden], down [E, hidden, inter]. */
#include "runtime/base/memory.h"
#include "runtime/weights/loader_internal.h"

#include <stdio.h>
#include <string.h>

/* "<name>.<expert><suffix>"; NULL: no memory. Free with oc_free. */
static char *part_name(const char *name, size_t expert, const char *suffix)
{
    size_t room = strlen(name) + strlen(suffix) + 24; /* 20 digits, dot and NUL */
    char *text = oc_alloc(room, 1);
    if (text != NULL) {
        snprintf(text, room, "%s.%zu%s", name, expert, suffix);
    }
    return text;
}

/* What follows a fused name, or the name of its expert. */
#define GATE ".gate"
#define UP ".up"

/* "<name><suffix>", likewise. */
static char *joined_name(const char *name, const char *suffix)
{
    size_t room = strlen(name) + strlen(suffix) + 1;
    char *text = oc_alloc(room, 1);
    if (text != NULL) {
        snprintf(text, room, "%s%s", name, suffix);
    }
    return text;
}

typedef enum orientation { NEITHER, INPUT_MAJOR, OUTPUT_MAJOR, EITHER } orientation;

/* inputs and outputs: of one expert's product. */
static orientation orientation_of(const oc_tensor *tensor, size_t experts, size_t inputs,
                                  size_t outputs)
{
    const int64_t *shape = tensor->shape;
    if (tensor->rank != 3 || (uint64_t)shape[0] != experts) {
        return NEITHER;
    }
    bool input_major = (uint64_t)shape[1] == inputs && (uint64_t)shape[2] == outputs;
    bool output_major = (uint64_t)shape[1] == outputs && (uint64_t)shape[2] == inputs;
    return input_major && output_major ? EITHER
           : input_major               ? INPUT_MAJOR
           : output_major              ? OUTPUT_MAJOR
                                       : NEITHER;
}

/* Finds a fused tensor and tells how it lies; one that is missing, of another shape or dtype fails
 * with the usual words, which name the input-major shape. */
static ocelli_status find_fused(const oc_loader *loader, const char *name, size_t experts,
                                size_t inputs, size_t outputs, oc_tensor *tensor,
                                orientation *found, ocelli_error *err)
{
    const oc_weights *weights = oc_loader_weights(loader);
    int64_t shape[3] = {(int64_t)experts, (int64_t)inputs, (int64_t)outputs};
    *found = NEITHER;
    if (oc_weights_find(weights, name, tensor, NULL)) {
        *found = orientation_of(tensor, experts, inputs, outputs);
    }
    if (*found == OUTPUT_MAJOR) {
        shape[1] = (int64_t)outputs;
        shape[2] = (int64_t)inputs;
    }
    return oc_weights_get(weights, name, 3, shape, tensor, err);
}

/* The rows [first, first + rows) of one expert's matrix [all_rows, cols]. */
static oc_pack_source part_of(const oc_tensor *tensor, orientation lies, size_t expert,
                              size_t all_rows, size_t first, size_t rows, size_t cols)
{
    size_t begin = expert * all_rows * cols; /* within a mapped tensor: cannot wrap */
    oc_pack_source source = {.tensor = *tensor, .rows = rows, .cols = cols};
    if (lies == OUTPUT_MAJOR) {
        source.first = begin + first * cols;
        source.row_step = cols;
        source.col_step = 1;
    } else {
        source.first = begin + first;
        source.row_step = 1;
        source.col_step = all_rows;
    }
    return source;
}

static ocelli_status take_part(oc_loader *loader, const char *name, size_t expert,
                               const char *suffix, const oc_pack_source *source, oc_matrix *out,
                               ocelli_error *err)
{
    char *text = part_name(name, expert, suffix);
    if (text == NULL) {
        return oc_fail_memory(err, name);
    }
    ocelli_status status = oc_loader_take(loader, text, source, oc_loader_format(loader), out, err);
    oc_free(text);
    return status;
}

/* Gives back the pages of one expert once all its matrices are packed. */
static void release_expert(const oc_loader *loader, const oc_tensor *tensor, size_t experts,
                           size_t expert)
{
    oc_tensor part = *tensor;
    part.bytes = tensor->bytes / experts;
    part.data = (const unsigned char *)tensor->data + expert * part.bytes;
    oc_weights_release(oc_loader_weights(loader), &part);
}

static ocelli_status take_fused(oc_loader *loader, const char *gate_up_name, const char *down_name,
                                size_t expert, size_t experts, size_t hidden, size_t inter,
                                oc_expert *out, ocelli_error *err)
{
    oc_tensor gate_up;
    oc_tensor down;
    orientation gate_up_lies;
    orientation down_lies;
    OC_TRY(
        find_fused(loader, gate_up_name, experts, hidden, 2 * inter, &gate_up, &gate_up_lies, err));
    OC_TRY(find_fused(loader, down_name, experts, inter, hidden, &down, &down_lies, err));
    /* Both were written by the same program: where the shape of one says nothing, the other's
     * does. */
    if (gate_up_lies == EITHER) {
        gate_up_lies = down_lies;
    }
    if (down_lies == EITHER) {
        down_lies = gate_up_lies;
    }
    oc_pack_source gate = part_of(&gate_up, gate_up_lies, expert, 2 * inter, 0, inter, hidden);
    oc_pack_source up = part_of(&gate_up, gate_up_lies, expert, 2 * inter, inter, inter, hidden);
    oc_pack_source rows = part_of(&down, down_lies, expert, hidden, 0, hidden, inter);
    OC_TRY(take_part(loader, gate_up_name, expert, GATE, &gate, &out->gate, err));
    OC_TRY(take_part(loader, gate_up_name, expert, UP, &up, &out->up, err));
    OC_TRY(take_part(loader, down_name, expert, "", &rows, &out->down, err));
    if (!oc_loader_is_announcing(loader) && gate_up_lies == INPUT_MAJOR) {
        release_expert(loader, &gate_up, experts, expert);
    }
    if (!oc_loader_is_announcing(loader) && down_lies == INPUT_MAJOR) {
        release_expert(loader, &down, experts, expert);
    }
    return OCELLI_OK;
}

/* One matrix of all experts' [experts, rows, cols]. */
static ocelli_status take_of_all(oc_loader *loader, const char *all_name, const char *name,
                                 size_t expert, size_t experts, const char *suffix, size_t rows,
                                 size_t cols, oc_matrix *out, ocelli_error *err)
{
    oc_tensor tensor;
    const int64_t shape[3] = {(int64_t)experts, (int64_t)rows, (int64_t)cols};
    OC_TRY(oc_weights_get(oc_loader_weights(loader), all_name, 3, shape, &tensor, err));
    oc_pack_source source = part_of(&tensor, OUTPUT_MAJOR, expert, rows, 0, rows, cols);
    return take_part(loader, name, expert, suffix, &source, out, err);
}

/* From a GGUF file: gate and up of all experts are tensors of their own. */
static ocelli_status take_halves(oc_loader *loader, const char *all_gates, const char *gate_up_name,
                                 const char *down_name, size_t expert, size_t experts,
                                 size_t hidden, size_t inter, oc_expert *out, ocelli_error *err)
{
    OC_TRY(take_of_all(loader, all_gates, gate_up_name, expert, experts, GATE, inter, hidden,
                       &out->gate, err));
    OC_TRY(take_of_all(loader, down_name, down_name, expert, experts, "", hidden, inter, &out->down,
                       err));
    char *all_ups = joined_name(gate_up_name, UP);
    if (all_ups == NULL) {
        return oc_fail_memory(err, gate_up_name);
    }
    ocelli_status status = take_of_all(loader, all_ups, gate_up_name, expert, experts, UP, inter,
                                       hidden, &out->up, err);
    oc_free(all_ups);
    return status;
}

/* From a package: three tensors with names of their own. */
static ocelli_status take_apart(oc_loader *loader, const char *gate_name, const char *gate_up_name,
                                const char *down_name, size_t expert, size_t hidden, size_t inter,
                                oc_expert *out, ocelli_error *err)
{
    char *up = part_name(gate_up_name, expert, UP);
    char *down = part_name(down_name, expert, "");
    ocelli_status status = up == NULL || down == NULL ? oc_fail_memory(err, gate_name) : OCELLI_OK;
    if (status == OCELLI_OK) {
        status = oc_loader_matrix(loader, gate_name, inter, hidden, &out->gate, err);
    }
    if (status == OCELLI_OK) {
        status = oc_loader_matrix(loader, up, inter, hidden, &out->up, err);
    }
    if (status == OCELLI_OK) {
        status = oc_loader_matrix(loader, down, hidden, inter, &out->down, err);
    }
    oc_free(up);
    oc_free(down);
    return status;
}

ocelli_status oc_loader_expert(oc_loader *loader, const char *gate_up_name, const char *down_name,
                               size_t expert, size_t experts, size_t hidden, size_t inter,
                               oc_expert *out, ocelli_error *err)
{
    oc_tensor tensor;
    *out = (oc_expert){0};
    if (expert >= experts || inter > SIZE_MAX / 2) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "expert %zu of %zu of %zu neurons", expert, experts,
                       inter);
    }
    char *gate = part_name(gate_up_name, expert, GATE);
    char *all_gates = joined_name(gate_up_name, GATE);
    const oc_weights *weights = oc_loader_weights(loader);
    oc_expert taken = {0};
    ocelli_status status;
    if (gate == NULL || all_gates == NULL) {
        status = oc_fail_memory(err, gate_up_name);
    } else if (oc_weights_find(weights, gate, &tensor, NULL)) {
        status =
            take_apart(loader, gate, gate_up_name, down_name, expert, hidden, inter, &taken, err);
    } else if (oc_weights_find(weights, all_gates, &tensor, NULL)) {
        status = take_halves(loader, all_gates, gate_up_name, down_name, expert, experts, hidden,
                             inter, &taken, err);
    } else {
        status = take_fused(loader, gate_up_name, down_name, expert, experts, hidden, inter, &taken,
                            err);
    }
    oc_free(gate);
    oc_free(all_gates);
    if (status == OCELLI_OK) {
        *out = taken;
    }
    return status;
}
