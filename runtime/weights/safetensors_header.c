/* safetensors_header.c - see safetensors_header.h. */
#include "runtime/weights/safetensors_header.h"

#include "runtime/base/memory.h"
#include "runtime/base/json_scan.h"

#include <string.h>

typedef struct header_reader {
    oc_json_scan scan;
    const unsigned char *start;
    oc_safetensors *file;
    size_t text_used;  /* of file->text: names and metadata kept so far */
    size_t entry_room; /* of file->entries */
    size_t note_room;
} header_reader;

static ocelli_status not_json(const header_reader *reader, ocelli_error *err)
{
    return oc_fail(err, OCELLI_E_FORMAT, "%s: the header is not valid JSON near its byte %zu",
                   reader->file->path, (size_t)(reader->scan.at - reader->start));
}

/* Makes room for one more item of size bytes; doubles, so n items cost n copies in all. */
static bool has_room(void **items, size_t *room, size_t count, size_t size)
{
    if (count < *room) {
        return true;
    }
    size_t wanted = *room == 0 ? 64 : *room * 2;
    void *grown = oc_grow(*items, count, wanted, size);
    if (grown == NULL) {
        return false;
    }
    *items = grown;
    *room = wanted;
    return true;
}

/* A string that is kept in file->text. */
static bool read_text(header_reader *reader, const char **out)
{
    size_t length;
    char *text = reader->file->text + reader->text_used;
    if (!oc_scan_string(&reader->scan, text, &length)) {
        return false;
    }
    reader->text_used += length + 1;
    *out = text;
    return true;
}

/* The fields of one entry as they come; which have been seen. */
typedef struct entry_fields {
    const char *name;
    const char *dtype;
    oc_tensor tensor;
    uint64_t begin, end;
    bool has_dtype, has_shape, has_offsets;
} entry_fields;

static ocelli_status bad_entry(const header_reader *reader, const char *name, const char *what,
                               ocelli_error *err)
{
    char label[OC_LABEL_ROOM];
    return oc_fail(err, OCELLI_E_FORMAT, "%s: tensor \"%s\": %s", reader->file->path,
                   oc_name_label(name, label), what);
}

static ocelli_status read_shape(header_reader *reader, entry_fields *fields, ocelli_error *err)
{
    static const char rule[] = "shape must be a list of whole numbers from 0 to 2^63-1";
    if (!oc_scan_byte(&reader->scan, '[')) {
        return bad_entry(reader, fields->name, rule, err);
    }
    if (oc_scan_byte(&reader->scan, ']')) {
        return OCELLI_OK; /* a scalar */
    }
    do {
        uint64_t extent;
        if (!oc_scan_whole(&reader->scan, SIZE_MAX / 2, &extent)) {
            return bad_entry(reader, fields->name, rule, err);
        }
        if (fields->tensor.rank == OC_TENSOR_RANK) {
            return bad_entry(reader, fields->name, "shape has more than 8 axes", err);
        }
        fields->tensor.shape[fields->tensor.rank++] = (int64_t)extent;
    } while (oc_scan_byte(&reader->scan, ','));
    if (!oc_scan_byte(&reader->scan, ']')) {
        return bad_entry(reader, fields->name, rule, err);
    }
    return OCELLI_OK;
}

static ocelli_status read_field(header_reader *reader, entry_fields *fields, ocelli_error *err)
{
    /* The key, and the dtype's name, are put where the next kept text will overwrite them. */
    size_t keep = reader->text_used;
    const char *key;
    if (!read_text(reader, &key) || !oc_scan_byte(&reader->scan, ':')) {
        return not_json(reader, err);
    }
    bool is_dtype = strcmp(key, "dtype") == 0;
    bool is_shape = strcmp(key, "shape") == 0;
    bool is_offsets = strcmp(key, "data_offsets") == 0;
    reader->text_used = keep;
    if ((is_dtype && fields->has_dtype) || (is_shape && fields->has_shape) ||
        (is_offsets && fields->has_offsets)) {
        return bad_entry(reader, fields->name, "a field is given twice", err);
    }
    if (is_dtype) {
        fields->has_dtype = true;
        if (!read_text(reader, &fields->dtype)) {
            return bad_entry(reader, fields->name, "dtype must be a string", err);
        }
        return OCELLI_OK; /* kept until the entry is whole */
    }
    if (is_shape) {
        fields->has_shape = true;
        return read_shape(reader, fields, err);
    }
    if (is_offsets) {
        fields->has_offsets = true;
        if (!oc_scan_byte(&reader->scan, '[') ||
            !oc_scan_whole(&reader->scan, SIZE_MAX, &fields->begin) ||
            !oc_scan_byte(&reader->scan, ',') ||
            !oc_scan_whole(&reader->scan, SIZE_MAX, &fields->end) ||
            !oc_scan_byte(&reader->scan, ']')) {
            return bad_entry(reader, fields->name,
                             "data_offsets must be two whole numbers below 2^64", err);
        }
        return OCELLI_OK;
    }
    return oc_scan_skip(&reader->scan) ? OCELLI_OK : not_json(reader, err);
}

/* shape x dtype in bytes; false when it does not fit. An axis of 0 does not excuse the others: code
 * that multiplies any of them later must not wrap either. */
static bool shape_bytes(const oc_tensor *tensor, size_t *out)
{
    size_t product = oc_dtype_size(tensor->dtype);
    bool empty = false;
    for (int i = 0; i < tensor->rank; i++) {
        size_t extent = (size_t)tensor->shape[i];
        empty = empty || extent == 0;
        if (extent != 0 && !oc_size_mul(product, extent, &product)) {
            return false;
        }
    }
    *out = empty ? 0 : product;
    return true;
}

static ocelli_status check_entry(const header_reader *reader, entry_fields *fields,
                                 ocelli_error *err)
{
    char label[OC_LABEL_ROOM];
    char dtype[OC_LABEL_ROOM];
    char shape[128];
    const char *path = reader->file->path;
    if (!fields->has_dtype || !fields->has_shape || !fields->has_offsets) {
        return bad_entry(reader, fields->name,
                         !fields->has_dtype   ? "dtype is missing"
                         : !fields->has_shape ? "shape is missing"
                                              : "data_offsets is missing",
                         err);
    }
    oc_name_label(fields->name, label);
    if (fields->begin > fields->end) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: tensor \"%s\": data_offsets [%llu, %llu] end before they begin", path,
                       label, (unsigned long long)fields->begin, (unsigned long long)fields->end);
    }
    if (!oc_dtype_from_name(fields->dtype, &fields->tensor.dtype)) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED, "%s: tensor \"%s\": unknown dtype \"%s\"", path,
                       label, oc_name_label(fields->dtype, dtype));
    }
    oc_tensor_shape_text(&fields->tensor, shape, sizeof shape);
    size_t bytes;
    if (!shape_bytes(&fields->tensor, &bytes)) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: tensor \"%s\": shape %s is larger than any file",
                       path, label, shape);
    }
    if (bytes != fields->end - fields->begin) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: tensor \"%s\": shape %s of %s is %zu bytes, but data_offsets [%llu, "
                       "%llu] span %llu",
                       path, label, shape, oc_dtype_label(fields->tensor.dtype), bytes,
                       (unsigned long long)fields->begin, (unsigned long long)fields->end,
                       (unsigned long long)(fields->end - fields->begin));
    }
    fields->tensor.bytes = bytes;
    return OCELLI_OK;
}

static ocelli_status read_entry(header_reader *reader, const char *name, ocelli_error *err)
{
    entry_fields fields = {.name = name, .tensor = {.shape = {1, 1, 1, 1, 1, 1, 1, 1}}};
    oc_safetensors *file = reader->file;
    size_t keep = reader->text_used;
    if (!oc_scan_byte(&reader->scan, '{')) {
        return bad_entry(reader, name, "its entry in the header must be an object", err);
    }
    if (!oc_scan_byte(&reader->scan, '}')) {
        do {
            OC_TRY(read_field(reader, &fields, err));
        } while (oc_scan_byte(&reader->scan, ','));
        if (!oc_scan_byte(&reader->scan, '}')) {
            return not_json(reader, err);
        }
    }
    OC_TRY(check_entry(reader, &fields, err));
    reader->text_used = keep;
    void *entries = file->entries;
    if (!has_room(&entries, &reader->entry_room, file->count, sizeof *file->entries)) {
        return oc_fail_memory(err, file->path);
    }
    file->entries = entries;
    file->entries[file->count++] = (oc_safetensors_entry){
        .name = name, .tensor = fields.tensor, .begin = (size_t)fields.begin};
    return OCELLI_OK;
}

static ocelli_status read_metadata(header_reader *reader, ocelli_error *err)
{
    oc_safetensors *file = reader->file;
    if (!oc_scan_byte(&reader->scan, '{')) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: __metadata__ must be an object of strings",
                       file->path);
    }
    if (oc_scan_byte(&reader->scan, '}')) {
        return OCELLI_OK;
    }
    do {
        oc_safetensors_note note;
        if (!read_text(reader, &note.key) || !oc_scan_byte(&reader->scan, ':')) {
            return not_json(reader, err);
        }
        if (!oc_scan_next_is(&reader->scan, '"')) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: __metadata__ must be an object of strings",
                           file->path);
        }
        if (!read_text(reader, &note.value)) {
            return not_json(reader, err);
        }
        void *notes = file->notes;
        if (!has_room(&notes, &reader->note_room, file->note_count, sizeof *file->notes)) {
            return oc_fail_memory(err, file->path);
        }
        file->notes = notes;
        file->notes[file->note_count++] = note;
    } while (oc_scan_byte(&reader->scan, ','));
    return oc_scan_byte(&reader->scan, '}') ? OCELLI_OK : not_json(reader, err);
}

ocelli_status oc_safetensors_read_header(oc_safetensors *file, const unsigned char *header,
                                         size_t length, ocelli_error *err)
{
    header_reader reader = {
        .scan = {.at = header, .end = header + length}, .start = header, .file = file};
    bool seen_metadata = false;
    if (!oc_scan_byte(&reader.scan, '{')) {
        return not_json(&reader, err);
    }
    if (!oc_scan_byte(&reader.scan, '}')) {
        do {
            const char *name;
            if (!read_text(&reader, &name) || !oc_scan_byte(&reader.scan, ':')) {
                return not_json(&reader, err);
            }
            if (strcmp(name, "__metadata__") != 0) {
                OC_TRY(read_entry(&reader, name, err));
            } else if (!seen_metadata) {
                seen_metadata = true;
                OC_TRY(read_metadata(&reader, err));
            } else {
                return oc_fail(err, OCELLI_E_FORMAT, "%s: __metadata__ is given twice", file->path);
            }
        } while (oc_scan_byte(&reader.scan, ','));
        if (!oc_scan_byte(&reader.scan, '}')) {
            return not_json(&reader, err);
        }
    }
    return oc_scan_is_end(&reader.scan) ? OCELLI_OK : not_json(&reader, err);
}
