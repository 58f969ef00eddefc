/* test_bpe_image.c - a compiled tokenizer against recorded ids, and images that are damaged: each is
 * refused with a sentence or gives a tokenizer that stays inside its tables. */
#define _POSIX_C_SOURCE 200809L
#include "text/bpe_image.h"

#include "tests/unit/text/text_fixture.h"
#include "text/bpe_tables.h"

#define IMAGE "tokenizer.bin"

static const char *const models[] = {"t1_f32", "t1_bf16", "t2_sharded_bf16", "t3_bf16"};

static oc_bpe *open_model(const char *name)
{
    char path[FILE_PATH];
    oc_bpe *bpe;
    ocelli_error err;
    snprintf(path, sizeof path, GOLDEN "/models/%s", name);
    ocelli_status status = oc_bpe_open(&bpe, path, 2048, &err);
    cr_assert_eq(status, OCELLI_OK, "%s", status != OCELLI_OK ? err.message : "");
    return bpe;
}

static void path_of(const folder *where, char path[FILE_PATH])
{
    snprintf(path, FILE_PATH, "%s/" IMAGE, where->path);
}

static void folder_done(const folder *where)
{
    char path[FILE_PATH];
    path_of(where, path);
    remove(path);
    folder_close(where);
}

/* Writes the image of a tokenizer and opens it again. */
static oc_bpe *through_file(const oc_bpe *bpe, size_t id_limit)
{
    folder where = folder_open();
    char path[FILE_PATH];
    size_t size;
    oc_bpe *opened;
    ocelli_error err;
    const void *image = oc_bpe_image(bpe, &size);
    folder_write(&where, IMAGE, image, size);
    path_of(&where, path);
    ocelli_status status = oc_bpe_open_image(&opened, path, id_limit, &err);
    folder_done(&where); /* the mapping stays */
    cr_assert_eq(status, OCELLI_OK, "%s", status != OCELLI_OK ? err.message : "");
    return opened;
}

static void expect_same_tokens(const oc_bpe *a, const oc_bpe *b)
{
    cr_assert_eq(oc_bpe_size(a), oc_bpe_size(b));
    for (int32_t id = -1; id <= (int32_t)oc_bpe_size(a); id++) {
        size_t a_length, b_length;
        const char *a_bytes = oc_bpe_bytes(a, id, &a_length);
        const char *b_bytes = oc_bpe_bytes(b, id, &b_length);
        cr_assert(a_length == b_length && memcmp(a_bytes, b_bytes, a_length) == 0, "%d", (int)id);
        cr_assert_eq(oc_bpe_is_special(a, id), oc_bpe_is_special(b, id), "%d", (int)id);
    }
    size_t a_size, b_size;
    const void *a_image = oc_bpe_image(a, &a_size);
    const void *b_image = oc_bpe_image(b, &b_size);
    cr_assert(a_size == b_size && memcmp(a_image, b_image, a_size) == 0);
}

/* ---- the same tokenizer --------------------------------------------------------------------- */

#ifdef OCELLI_HAVE_UTF8PROC

Test(bpe_image, the_real_one_gives_the_recorded_ids_and_bytes)
{
    oc_bpe *bpe = open_real_tokenizer();
    oc_bpe *image = through_file(bpe, 151936);
    expect_same_tokens(bpe, image);
    oc_bpe_close(bpe);
    cr_assert_eq(oc_bpe_find_added(image, "<|image_pad|>"), 151655);
    cr_assert_eq(oc_bpe_find_added(image, " world"), 1879);
    cr_assert(oc_bpe_is_special(image, 151645) && !oc_bpe_is_special(image, 151668));
    cJSON *cases = read_golden("tokenizer/encode.json");
    size_t count = 0;
    for (const cJSON *entry = cases->child; entry != NULL; entry = entry->next, count++) {
        const char *decoded = field(entry, "decoded_utf8_hex")->valuestring;
        oc_buffer text = {0};
        oc_ids ids = {0};
        unhex(decoded, &text);
        if (text.length == 0 || memchr(text.data, '\0', text.length) == NULL) {
            oc_buffer_clear(&text);
            cr_assert_eq(oc_buffer_append_text(&text, field(entry, "text")->valuestring, NULL),
                         OCELLI_OK);
        } /* else cJSON's strings end at the NUL: what it decodes to encodes to the same */
        encode_one(image, text.data, text.length, true, &ids);
        expect_ids(&ids, field(entry, "ids"), text.data);
        oc_buffer_clear(&text);
        decode_all(image, ids.ids, ids.count, false, &text);
        expect_bytes(&text, decoded, "decoded");
        oc_buffer_clear(&text);
        decode_all(image, ids.ids, ids.count, true, &text);
        expect_bytes(&text, field(entry, "decoded_skip_special_utf8_hex")->valuestring, "skipping");
        oc_buffer_close(&text);
        oc_ids_close(&ids);
    }
    cr_assert_eq(count, 259);
    cJSON_Delete(cases);
    oc_bpe_close(image);
}

#endif

Test(bpe_image, every_model_comes_back_the_same)
{
    static const char text[] = "<|im_start|>user\nthe thing in there, is it the end?<|im_end|>";
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char path[FILE_PATH];
        size_t size;
        oc_bpe *bpe = open_model(models[i]);
        oc_bpe *image = through_file(bpe, oc_bpe_size(bpe));
        expect_same_tokens(bpe, image);
        oc_ids a = {0}, b = {0};
        encode_one(bpe, text, sizeof text - 1, true, &a);
        encode_one(image, text, sizeof text - 1, true, &b);
        cr_assert(a.count > 2 && a.count == b.count);
        cr_assert_eq(memcmp(a.ids, b.ids, a.count * sizeof *a.ids), 0);
        oc_ids_close(&a);
        oc_ids_close(&b);
        /* It says what it was made from. */
        snprintf(path, sizeof path, GOLDEN "/models/%s/tokenizer.json", models[i]);
        char *json = read_whole(path, &size);
        cr_assert(oc_hash_equal(oc_bpe_source(image), oc_hash_bytes(json, size)));
        free(json);
        oc_bpe_close(bpe);
        oc_bpe_close(image);
    }
}

/* ---- refusals ------------------------------------------------------------------------------- */

/* An image of exactly its size, so that AddressSanitizer sees one byte too far. */
typedef struct damage {
    unsigned char *bytes; /* [size] */
    size_t size;
    oc_bpe tables; /* offsets of the arrays: theirs minus tables.image */
} damage;

static damage damage_open(const oc_bpe *bpe)
{
    damage made = {.tables = *bpe};
    const void *image = oc_bpe_image(bpe, &made.size);
    made.bytes = malloc(made.size);
    cr_assert_not_null(made.bytes);
    memcpy(made.bytes, image, made.size);
    return made;
}

/* Where entry index of an array stands in the copy. */
static unsigned char *place_of(const damage *copy, const void *array, size_t index, size_t width)
{
    size_t offset =
        (size_t)((const unsigned char *)array - (const unsigned char *)copy->tables.image);
    cr_assert_lt(offset + (index + 1) * width, copy->size + 1);
    return copy->bytes + offset + index * width;
}

static void put32(unsigned char *place, uint32_t value)
{
    memcpy(place, &value, sizeof value);
}

static void break_magic(damage *d)
{
    d->bytes[0] ^= 1;
}

static void break_order(damage *d)
{
    put32(d->bytes + offsetof(oc_bpe_image_header, byte_order), 0x04030201);
}

static void break_version(damage *d)
{
    put32(d->bytes + offsetof(oc_bpe_image_header, version), 77);
}

static void break_size(damage *d)
{
    put32(d->bytes + offsetof(oc_bpe_image_header, size), 2049);
}

static void break_no_ids(damage *d)
{
    put32(d->bytes + offsetof(oc_bpe_image_header, size), 0);
}

static void break_slots(damage *d)
{
    put32(d->bytes + offsetof(oc_bpe_image_header, merge_slots),
          (uint32_t)d->tables.merge_slots - 1);
}

static void break_slots_huge(damage *d)
{
    const uint64_t slots = UINT64_C(1) << 63;
    memcpy(d->bytes + offsetof(oc_bpe_image_header, merge_slots), &slots, sizeof slots);
}

static void break_slots_double(damage *d)
{
    put32(d->bytes + offsetof(oc_bpe_image_header, merge_slots),
          (uint32_t)d->tables.merge_slots * 2);
}

static void break_added_count(damage *d)
{
    put32(d->bytes + offsetof(oc_bpe_image_header, added_count), UINT32_MAX);
}

static void break_token(damage *d)
{
    put32(place_of(d, d->tables.begin, 300, 4), (uint32_t)d->tables.bytes_size);
}

static void break_token_length(damage *d)
{
    put32(place_of(d, d->tables.length, 300, 4), UINT32_MAX);
}

static void break_byte(damage *d)
{
    put32(place_of(d, d->tables.byte_id, 'x', 4), (uint32_t)d->tables.size);
}

static void break_byte_negative(damage *d)
{
    put32(place_of(d, d->tables.byte_id, 'x', 4), UINT32_MAX);
}

static void break_added_id(damage *d)
{
    put32(place_of(d, d->tables.added, 1, 4), (uint32_t)d->tables.size);
}

static void break_added_order(damage *d)
{
    put32(place_of(d, d->tables.added, 0, 4), (uint32_t)d->tables.added[1]);
    put32(place_of(d, d->tables.added, 1, 4), (uint32_t)d->tables.added[0]);
}

static void break_added_text(damage *d)
{
    size_t id = (size_t)d->tables.added[0];
    *place_of(d, d->tables.bytes, d->tables.begin[id] + 1, 1) = 0xff;
}

static void break_special(damage *d)
{
    *place_of(d, d->tables.special, 5, 1) = 1;
}

static void break_special_value(damage *d)
{
    for (size_t id = 0; id < d->tables.size; id++) {
        if (d->tables.special[id] == 1) {
            *place_of(d, d->tables.special, id, 1) = 2;
        }
    }
}

/* The first slot in use, or the first free one. */
static size_t find_slot(const damage *d, bool used)
{
    size_t at = 0;
    while ((d->tables.merges[at].pair != UINT64_MAX) != used) {
        at++;
    }
    return at;
}

static void break_merge_id(damage *d)
{
    unsigned char *slot = place_of(d, d->tables.merges, find_slot(d, true), sizeof(oc_bpe_merge));
    put32(slot + offsetof(oc_bpe_merge, id), UINT32_MAX);
}

static void break_merge_pair(damage *d)
{
    unsigned char *slot = place_of(d, d->tables.merges, find_slot(d, true), sizeof(oc_bpe_merge));
    put32(slot + offsetof(oc_bpe_merge, pair), (uint32_t)d->tables.size);
}

/* A merge put behind a free slot that is not where it belongs. */
static void break_merge_place(damage *d)
{
    size_t slots = d->tables.merge_slots;
    size_t from = find_slot(d, true);
    for (size_t at = 0; at < slots; at++) {
        size_t before = (at - 1) & (slots - 1);
        if (d->tables.merges[at].pair == UINT64_MAX &&
            d->tables.merges[before].pair == UINT64_MAX &&
            oc_bpe_merge_home(d->tables.merges[from].pair, slots) != at) {
            memcpy(place_of(d, d->tables.merges, at, sizeof(oc_bpe_merge)), &d->tables.merges[from],
                   sizeof(oc_bpe_merge));
            return;
        }
    }
    cr_assert_fail("no two free slots");
}

/* Without a free slot a search would never end. */
static void break_merge_full(damage *d)
{
    for (size_t at = 0; at < d->tables.merge_slots; at++) {
        memset(place_of(d, d->tables.merges, at, sizeof(oc_bpe_merge)), 0, sizeof(oc_bpe_merge));
    }
}

Test(bpe_image, each_kind_of_damage_is_refused_by_name)
{
    static const struct {
        void (*damage)(damage *d);
        ocelli_status status;
        const char *says;
    } cases[] = {
        {break_magic, OCELLI_E_FORMAT, "not a compiled tokenizer"},
        {break_order, OCELLI_E_UNSUPPORTED, "byte order"},
        {break_version, OCELLI_E_UNSUPPORTED, "version 77"},
        {break_size, OCELLI_E_FORMAT, "2049 ids"},
        {break_no_ids, OCELLI_E_FORMAT, "0 ids"},
        {break_slots, OCELLI_E_FORMAT, "counts"},
        {break_slots_huge, OCELLI_E_FORMAT, "counts"},
        {break_slots_double, OCELLI_E_FORMAT, "need"},
        {break_added_count, OCELLI_E_FORMAT, "counts"},
        {break_token, OCELLI_E_FORMAT, "outside"},
        {break_token_length, OCELLI_E_FORMAT, "outside"},
        {break_byte, OCELLI_E_FORMAT, "byte has no token"},
        {break_byte_negative, OCELLI_E_FORMAT, "byte has no token"},
        {break_added_id, OCELLI_E_FORMAT, "added token"},
        {break_added_order, OCELLI_E_FORMAT, "not in order"},
        {break_added_text, OCELLI_E_FORMAT, "not UTF-8"},
        {break_special, OCELLI_E_FORMAT, "special"},
        {break_special_value, OCELLI_E_FORMAT, "special"},
        {break_merge_id, OCELLI_E_FORMAT, "id that no token has"},
        {break_merge_pair, OCELLI_E_FORMAT, "id that no token has"},
        {break_merge_place, OCELLI_E_FORMAT, "nothing would find it"},
        {break_merge_full, OCELLI_E_FORMAT, "too full"},
    };
    oc_bpe *bpe = open_model("t1_f32");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        damage copy = damage_open(bpe);
        ocelli_error err = {.message = ""};
        oc_bpe *opened = bpe;
        cases[i].damage(&copy);
        ocelli_status status =
            oc_bpe_image_use(&opened, "some/" IMAGE, copy.bytes, copy.size, 2048, &err);
        cr_assert_eq(status, cases[i].status, "case %zu: %d %s", i, (int)status, err.message);
        cr_assert_null(opened, "case %zu", i);
        cr_assert_not_null(strstr(err.message, cases[i].says), "case %zu: %s", i, err.message);
        cr_assert_not_null(strstr(err.message, "some/" IMAGE ": "), "case %zu: %s", i, err.message);
        free(copy.bytes);
    }
    oc_bpe_close(bpe);
}

Test(bpe_image, more_ids_than_the_model_has_are_refused)
{
    oc_bpe *bpe = open_model("t1_f32");
    oc_bpe *opened = bpe;
    size_t size;
    ocelli_error err;
    const void *image = oc_bpe_image(bpe, &size);
    size_t limit = oc_bpe_size(bpe) - 1;
    cr_assert_eq(oc_bpe_image_use(&opened, IMAGE, image, size, limit, &err), OCELLI_E_FORMAT);
    cr_assert_null(opened);
    cr_assert_not_null(strstr(err.message, "ids"), "%s", err.message);
    oc_bpe_close(bpe);
}

/* Through the file, since its size is what counts. */
Test(bpe_image, cut_and_grown_files_are_refused)
{
    folder where = folder_open();
    char path[FILE_PATH];
    oc_bpe *bpe = open_model("t1_f32");
    size_t size;
    oc_bpe *opened = bpe;
    ocelli_error err;
    const char *image = oc_bpe_image(bpe, &size);
    path_of(&where, path);
    cr_assert_eq(oc_bpe_open_image(&opened, path, 2048, &err), OCELLI_E_IO);
    cr_assert_null(opened);
    for (size_t cut = 0; cut < size; cut += cut < 80 ? 1 : 131) {
        folder_write(&where, IMAGE, image, cut);
        opened = bpe;
        cr_assert_eq(oc_bpe_open_image(&opened, path, 2048, &err), OCELLI_E_FORMAT, "%zu", cut);
        cr_assert_null(opened);
        cr_assert_not_null(strstr(err.message, path), "%s", err.message);
    }
    char *grown = calloc(size + 64, 1);
    cr_assert_not_null(grown);
    memcpy(grown, image, size);
    folder_write(&where, IMAGE, grown, size + 64);
    cr_assert_eq(oc_bpe_open_image(&opened, path, 2048, &err), OCELLI_E_FORMAT);
    free(grown);
    oc_bpe_close(bpe);
    folder_done(&where);
}

/* ---- random damage -------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state) /* xorshift64 */
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Everything that a tokenizer does; ids must be below id_limit, and bytes inside the image. */
static void exercise(const oc_bpe *bpe, const damage *copy, size_t id_limit)
{
    static const char text[] = "<|im_start|>user\nthe thing <|vision_start|><|image_pad|> is it? "
                               "\t12 <tool_call> x\r\n\n  and the end<|im_end|><|";
    oc_ids ids = {0};
    ocelli_error err;
    oc_text_run run = {.text = text, .length = sizeof text - 1, .special = true};
    cr_assert_eq(oc_bpe_encode(bpe, &run, 1, &ids, &err), OCELLI_OK);
    cr_assert_gt(ids.count, 0);
    for (size_t i = 0; i < ids.count; i++) {
        cr_assert(ids.ids[i] >= 0 && (size_t)ids.ids[i] < id_limit);
    }
    for (int32_t id = -1; id < (int32_t)id_limit; id++) {
        size_t length;
        const char *bytes = oc_bpe_bytes(bpe, id, &length);
        if (length > 0) {
            const unsigned char *first = (const unsigned char *)bytes;
            cr_assert(first >= copy->bytes && length <= copy->size &&
                      (size_t)(first - copy->bytes) <= copy->size - length);
        }
        (void)oc_bpe_is_special(bpe, id);
    }
    (void)oc_bpe_find_added(bpe, "<|im_end|>");
    oc_ids_close(&ids);
}

Test(bpe_image, random_damage_stays_inside)
{
    enum { ROUNDS = 6000 };
    static const uint32_t words[] = {0, 1, 255, 256, 0x7fffffff, 0x80000000, UINT32_MAX};
    oc_bpe *bpe = open_model("t1_f32");
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    size_t refused = 0, opened_count = 0;
    damage copy = damage_open(bpe);
    const unsigned char *image = bpe->image;
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(copy.bytes, image, copy.size);
        for (uint64_t edits = 1 + next_random(&state) % 3; edits > 0; edits--) {
            /* A third in the header, a third in the small tables, a third anywhere. */
            size_t begin = round % 3 == 1 ? (size_t)((const unsigned char *)bpe->begin - image) : 0;
            size_t end = round % 3 == 0 ? sizeof(oc_bpe_image_header) : copy.size;
            size_t at = begin + (size_t)(next_random(&state) % (end - begin));
            uint64_t kind = next_random(&state);
            if (kind % 2 == 0) {
                copy.bytes[at] ^= (unsigned char)(1u << (kind >> 8) % 8);
            } else {
                put32(copy.bytes + (at & ~(size_t)3),
                      words[(kind >> 8) % (sizeof words / sizeof *words)]);
            }
        }
        ocelli_error err = {.message = ""};
        oc_bpe *opened = bpe;
        if (oc_bpe_image_use(&opened, IMAGE, copy.bytes, copy.size, 2048, &err) == OCELLI_OK) {
            exercise(opened, &copy, 2048);
            oc_bpe_close(opened);
            opened_count++;
        } else {
            cr_assert_null(opened);
            cr_assert_eq(strncmp(err.message, IMAGE ": ", sizeof IMAGE + 1), 0, "%s", err.message);
            cr_assert_null(strchr(err.message, '\n'));
            refused++;
        }
    }
    cr_assert(refused > ROUNDS / 4 && opened_count > ROUNDS / 20, "%zu refused, %zu opened",
              refused, opened_count);
    free(copy.bytes);
    oc_bpe_close(bpe);
}
