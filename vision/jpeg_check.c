/* jpeg_check.c - see jpeg_check.h. */
#include "vision/jpeg_check.h"

#include <string.h>

enum {
    MARKER_SOF_BASELINE = 0xC0,
    MARKER_SOF_EXTENDED = 0xC1,
    MARKER_SOF_PROGRESSIVE = 0xC2,
    MARKER_DHT = 0xC4,
    MARKER_DAC = 0xCC,
    MARKER_RST0 = 0xD0,
    MARKER_RST7 = 0xD7,
    MARKER_EOI = 0xD9,
    MARKER_SOS = 0xDA,
    MARKER_DQT = 0xDB,
    MARKER_DNL = 0xDC,
    MARKER_DRI = 0xDD,
    MARKER_APP0 = 0xE0,
    MARKER_APP14 = 0xEE,
    MARKER_APP15 = 0xEF,
    MARKER_COM = 0xFE
};

/* A picture of any size may have MOST_SCANS_ANYWHERE scans (encoders make 10 or so); more only while
 * scans x pixels, the decoder's work, stays within bounds. */
enum { MOST_SCANS_ANYWHERE = 30, MOST_SCANS = 500 };
static const uint64_t MOST_SCANNED_PIXELS = UINT64_C(3000000000);

typedef struct component {
    int id, quant_table;
    bool scanned;
} component;

typedef struct walker {
    const oc_decode_input *in;
    oc_jpeg *jpeg;
    size_t at;
    component components[4];
    unsigned quant_tables, dc_tables, ac_tables; /* bit i: table i is defined */
    int adobe_transform;                         /* -1: none said */
    bool has_jfif, has_frame, ended;
} walker;

static ocelli_status fail_damaged(const walker *walk, const char *what, ocelli_error *err)
{
    return oc_decode_damaged(walk->in, "JPEG", what, err);
}

static unsigned read16(const unsigned char *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

static ocelli_status read_quant_tables(walker *walk, const unsigned char *data, size_t length,
                                       ocelli_error *err)
{
    while (length > 0) {
        unsigned precision = data[0] >> 4, table = data[0] & 15u;
        size_t bytes = precision == 0 ? 65 : 129;
        if (precision > 1 || table > 3 || length < bytes) {
            return fail_damaged(walk, "a quantisation table is not valid", err);
        }
        walk->quant_tables |= 1u << table;
        data += bytes;
        length -= bytes;
    }
    return OCELLI_OK;
}

static ocelli_status read_huffman_tables(walker *walk, const unsigned char *data, size_t length,
                                         ocelli_error *err)
{
    while (length > 0) {
        if (length < 17) {
            return fail_damaged(walk, "a Huffman table is cut short", err);
        }
        unsigned kind = data[0] >> 4, table = data[0] & 15u;
        size_t symbols = 0;
        for (int i = 1; i <= 16; i++) {
            symbols += data[i];
        }
        if (kind > 1 || table > 3 || symbols > 256 || length < 17 + symbols) {
            return fail_damaged(walk, "a Huffman table is not valid", err);
        }
        *(kind == 0 ? &walk->dc_tables : &walk->ac_tables) |= 1u << table;
        data += 17 + symbols;
        length -= 17 + symbols;
    }
    return OCELLI_OK;
}

static ocelli_status read_frame(walker *walk, int marker, const unsigned char *data, size_t length,
                                ocelli_error *err)
{
    if (length < 6 || data[5] == 0 || length != 6 + 3u * data[5]) {
        return fail_damaged(walk, "its frame header has a wrong length", err);
    }
    if (data[0] != 8) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: this build cannot decode JPEG pictures with %d bits a sample; convert "
                       "it to 8 bits",
                       walk->in->name, data[0]);
    }
    oc_jpeg *jpeg = walk->jpeg;
    jpeg->height = (int)read16(data + 1);
    jpeg->width = (int)read16(data + 3);
    jpeg->components = data[5];
    jpeg->progressive = marker == MARKER_SOF_PROGRESSIVE;
    OC_TRY(oc_decode_check_size(walk->in, (uint64_t)jpeg->width, (uint64_t)jpeg->height, err));
    if (jpeg->components != 1 && jpeg->components != 3 && jpeg->components != 4) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: the JPEG picture is damaged: it claims %d components, not 1, 3 or 4",
                       walk->in->name, jpeg->components);
    }
    for (int i = 0; i < jpeg->components; i++) {
        const unsigned char *entry = data + 6 + 3 * i;
        unsigned across = entry[1] >> 4, down = entry[1] & 15u;
        if (across < 1 || across > 4 || down < 1 || down > 4 || entry[2] > 3) {
            return fail_damaged(walk, "a component's sampling factor or table is not valid", err);
        }
        walk->components[i] = (component){.id = entry[0], .quant_table = entry[2]};
    }
    walk->has_frame = true;
    return OCELLI_OK;
}

static component *find_component(walker *walk, int id)
{
    for (int i = 0; i < walk->jpeg->components; i++) {
        if (walk->components[i].id == id) {
            return &walk->components[i];
        }
    }
    return NULL;
}

static ocelli_status check_scan_count(const walker *walk, ocelli_error *err)
{
    const oc_jpeg *jpeg = walk->jpeg;
    uint64_t work = (uint64_t)jpeg->scans * (uint64_t)jpeg->width * (uint64_t)jpeg->height;
    if (jpeg->scans > MOST_SCANS ||
        (jpeg->scans > MOST_SCANS_ANYWHERE && work > MOST_SCANNED_PIXELS)) {
        return oc_fail(err, OCELLI_E_LIMIT,
                       "%s: the JPEG picture of %d x %d pixels has more than %d scans: no encoder "
                       "makes so many; save it again",
                       walk->in->name, jpeg->width, jpeg->height, jpeg->scans - 1);
    }
    return OCELLI_OK;
}

/* Every table that the decoder will look into must have been defined. */
static ocelli_status read_scan(walker *walk, const unsigned char *data, size_t length,
                               ocelli_error *err)
{
    size_t count = length > 0 ? data[0] : 0;
    if (!walk->has_frame || count < 1 || count > 4 || length != 4 + 2 * count) {
        return fail_damaged(walk, "a scan header is not valid", err);
    }
    unsigned first = data[1 + 2 * count], approximation = data[3 + 2 * count];
    bool progressive = walk->jpeg->progressive;
    bool uses_dc = !progressive || (first == 0 && approximation >> 4 == 0);
    bool uses_ac = !progressive || first > 0;
    for (size_t i = 0; i < count; i++) {
        component *scanned = find_component(walk, data[1 + 2 * i]);
        unsigned tables = data[2 + 2 * i];
        if (scanned == NULL || tables >> 4 > 3 || (tables & 15u) > 3) {
            return fail_damaged(walk, "a scan names an unknown component or table", err);
        }
        if ((uses_dc && (walk->dc_tables >> (tables >> 4) & 1u) == 0) ||
            (uses_ac && (walk->ac_tables >> (tables & 15u) & 1u) == 0) ||
            (walk->quant_tables >> scanned->quant_table & 1u) == 0) {
            return fail_damaged(walk, "a scan uses a table that was not defined", err);
        }
        scanned->scanned = true;
    }
    walk->jpeg->scans++;
    return check_scan_count(walk, err);
}

/* The two segments that tell how colours are meant. */
static void read_application(walker *walk, int marker, const unsigned char *data, size_t length)
{
    if (marker == MARKER_APP0 && length >= 14 && memcmp(data, "JFIF\0", 5) == 0) {
        walk->has_jfif = true;
    } else if (marker == MARKER_APP14 && length >= 12 && memcmp(data, "Adobe", 5) == 0) {
        walk->adobe_transform = data[11];
    }
}

static oc_jpeg_colour find_colour(const walker *walk)
{
    const component *parts = walk->components;
    switch (walk->jpeg->components) {
    case 1: return OC_JPEG_GREY;
    case 4: return walk->adobe_transform > 0 ? OC_JPEG_YCCK : OC_JPEG_CMYK;
    default: break;
    }
    if (walk->has_jfif || walk->adobe_transform > 0) {
        return OC_JPEG_YCC;
    }
    bool named_rgb = parts[0].id == 'R' && parts[1].id == 'G' && parts[2].id == 'B';
    return walk->adobe_transform == 0 || named_rgb ? OC_JPEG_RGB : OC_JPEG_YCC;
}

static const char *name_frame(int marker)
{
    switch (marker) {
    case 0xC3:
    case 0xC7:
    case 0xCB:
    case 0xCF: return "coded without loss";
    case 0xC5:
    case 0xC6:
    case 0xCD:
    case 0xCE: return "coded hierarchically";
    default: return "coded arithmetically";
    }
}

static bool is_other_frame(int marker)
{
    return marker > MARKER_SOF_PROGRESSIVE && marker <= 0xCF && marker != MARKER_DHT;
}

static ocelli_status read_segment(walker *walk, int marker, const unsigned char *data,
                                  size_t length, ocelli_error *err)
{
    switch (marker) {
    case MARKER_SOF_BASELINE:
    case MARKER_SOF_EXTENDED:
    case MARKER_SOF_PROGRESSIVE:
        return walk->has_frame ? fail_damaged(walk, "it has two frame headers", err)
                               : read_frame(walk, marker, data, length, err);
    case MARKER_DQT: return read_quant_tables(walk, data, length, err);
    case MARKER_DHT: return read_huffman_tables(walk, data, length, err);
    case MARKER_SOS: return read_scan(walk, data, length, err);
    case MARKER_DRI:
    case MARKER_DNL:
        return length == 2 ? OCELLI_OK
                           : fail_damaged(walk, "a marker segment has a wrong length", err);
    default: break;
    }
    if ((marker >= MARKER_APP0 && marker <= MARKER_APP15) || marker == MARKER_COM) {
        if (walk->jpeg->scans == 0) {
            read_application(walk, marker, data, length);
        }
        return OCELLI_OK;
    }
    return fail_damaged(walk, "a marker is not known", err);
}

/* Takes the next marker; entropy-coded data, padding and restarts in front of it are passed over
 * only where they may stand. NO_MARKER: something else stands there; END_OF_FILE: nothing does. */
enum { NO_MARKER = -1, END_OF_FILE = -2 };

static int next_marker(walker *walk, bool may_skip)
{
    const unsigned char *bytes = walk->in->bytes;
    size_t size = walk->in->size;
    while (walk->at < size) {
        const unsigned char *found = memchr(bytes + walk->at, 0xFF, size - walk->at);
        if (!may_skip && found != bytes + walk->at) {
            return NO_MARKER;
        }
        if (found == NULL) {
            break;
        }
        walk->at = (size_t)(found - bytes);
        while (walk->at < size && bytes[walk->at] == 0xFF) {
            walk->at++;
        }
        if (walk->at == size) {
            break;
        }
        int marker = bytes[walk->at++];
        bool counts = marker != 0 && (marker < MARKER_RST0 || marker > MARKER_RST7);
        if (counts || !may_skip) {
            return counts ? marker : NO_MARKER;
        }
    }
    walk->at = size;
    return END_OF_FILE;
}

static ocelli_status walk_segment(walker *walk, int marker, ocelli_error *err)
{
    const oc_decode_input *in = walk->in;
    if (is_other_frame(marker)) {
        return oc_decode_unsupported(in, "JPEG", name_frame(marker), err);
    }
    if (in->size - walk->at < 2) {
        return oc_decode_cut_off(in, "JPEG", err);
    }
    size_t length = read16(in->bytes + walk->at);
    if (length < 2) {
        return fail_damaged(walk, "a marker segment has a wrong length", err);
    }
    if (length > in->size - walk->at) {
        /* Behind a scan this may as well be a damaged byte that looks like a marker. */
        return walk->jpeg->scans > 0
                   ? fail_damaged(walk, "a marker segment reaches behind the end of the file", err)
                   : oc_decode_cut_off(in, "JPEG", err);
    }
    OC_TRY(read_segment(walk, marker, in->bytes + walk->at + 2, length - 2, err));
    walk->at += length;
    return OCELLI_OK;
}

static ocelli_status check_whole(const walker *walk, ocelli_error *err)
{
    const oc_jpeg *jpeg = walk->jpeg;
    if (!walk->ended) {
        return oc_decode_cut_off(walk->in, "JPEG", err);
    }
    if (!walk->has_frame) {
        return fail_damaged(walk, "it ends before its frame header", err);
    }
    for (int i = 0; i < jpeg->components; i++) {
        if (!walk->components[i].scanned) {
            return fail_damaged(walk, "a colour component has no scan", err);
        }
    }
    walk->jpeg->colour = find_colour(walk);
    return OCELLI_OK;
}

ocelli_status oc_jpeg_check(oc_jpeg *out, const oc_decode_input *in, ocelli_error *err)
{
    *out = (oc_jpeg){0};
    walker walk = {.in = in, .jpeg = out, .at = 2, .adobe_transform = -1};
    bool may_skip = false; /* right behind the start marker there must be another */
    for (;;) {
        int marker = next_marker(&walk, may_skip);
        if (marker == NO_MARKER) {
            return fail_damaged(&walk, "a marker is missing", err);
        }
        if (marker == MARKER_EOI || marker == END_OF_FILE) {
            walk.ended = marker == MARKER_EOI;
            break;
        }
        OC_TRY(walk_segment(&walk, marker, err));
        /* In front of the frame header, and behind a scan header. */
        may_skip = !walk.has_frame || marker == MARKER_SOS;
    }
    return check_whole(&walk, err);
}
