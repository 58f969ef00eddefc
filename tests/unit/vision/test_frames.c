/* test_frames.c - which frames the reference takes, and the times it prints. */
#include "tests/unit/vision/vision_fixture.h"

#include "vision/frames.h"

#include <math.h>
#include <stdio.h>

enum { ROOM = 100000 };

static void check_text(double time, const cJSON *expected)
{
    char text[64];
    snprintf(text, sizeof text, "<%.1f seconds>", time);
    cr_assert_str_eq(text, expected->valuestring);
}

/* texts: what the prompt says of each pair; of long clips, of the first and the last. */
static void check_texts(const double *times, size_t count, const cJSON *texts)
{
    size_t listed = (size_t)cJSON_GetArraySize(texts);
    cr_assert_leq(listed, count);
    for (size_t i = 0; i < listed; i++) {
        bool from_end = listed < count && i >= listed / 2;
        check_text(times[from_end ? count - listed + i : i], cJSON_GetArrayItem(texts, (int)i));
    }
}

static void check_list(const size_t *indices, const cJSON *expected)
{
    size_t i = 0;
    const cJSON *index;
    cJSON_ArrayForEach(index, expected)
    {
        cr_assert_eq(indices[i], (size_t)index->valueint, "number %zu: %zu, not %d", i, indices[i],
                     index->valueint);
        i++;
    }
}

/* expected: all indices, or of a long clip their count, sum, first and last ones. */
static void check_indices(const size_t *indices, size_t count, const cJSON *expected)
{
    if (cJSON_IsArray(expected)) {
        cr_assert_eq(count, (size_t)cJSON_GetArraySize(expected));
        check_list(indices, expected);
        return;
    }
    cr_assert_eq(count, (size_t)number_at(expected, "count"));
    const cJSON *last = cJSON_GetObjectItemCaseSensitive(expected, "last");
    check_list(indices, cJSON_GetObjectItemCaseSensitive(expected, "first"));
    check_list(indices + count - (size_t)cJSON_GetArraySize(last), last);
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += indices[i];
    }
    cr_assert_eq(sum, (size_t)number_at(expected, "sum"));
}

Test(frames, samples_of_the_reference)
{
    cJSON *list = read_json(GOLDEN "functions/", "sample_frames.json");
    static size_t indices[ROOM];
    static double seconds[ROOM], times[ROOM];
    const cJSON *entry;
    int cases = 0;
    cJSON_ArrayForEach(entry, list)
    {
        oc_frame_rule rule = {.source_fps = number_at(entry, "source_fps"),
                              .sample_fps = number_at(entry, "fps"),
                              .min_frames = (uint64_t)number_at(entry, "min_frames"),
                              .max_frames = (uint64_t)number_at(entry, "max_frames")};
        size_t total = (size_t)number_at(entry, "total_frames"), count;
        cr_assert_leq(total, ROOM);
        ocelli_error err = {0};
        cr_assert_eq(oc_frames_sample(&rule, total, indices, &count, &err), OCELLI_OK, "%s",
                     err.message);
        check_indices(indices, count, cJSON_GetObjectItemCaseSensitive(entry, "indices"));
        for (size_t i = 0; i < count; i++) {
            seconds[i] = (double)indices[i] / rule.source_fps;
        }
        oc_frames_timestamps(seconds, count, times);
        check_texts(times, (count + 1) / 2,
                    cJSON_GetObjectItemCaseSensitive(entry, "timestamp_text"));
        cases++;
    }
    cr_assert_gt(cases, 30);
    cJSON_Delete(list);
}

Test(frames, times_of_the_reference)
{
    cJSON *list = read_json(GOLDEN "functions/", "timestamps.json");
    static double seconds[ROOM], times[ROOM];
    const cJSON *entry;
    int cases = 0;
    cJSON_ArrayForEach(entry, list)
    {
        double fps = number_at(entry, "fps");
        size_t count = 0;
        const cJSON *index;
        cJSON_ArrayForEach(index, cJSON_GetObjectItemCaseSensitive(entry, "indices"))
        {
            seconds[count++] = index->valuedouble / fps;
        }
        oc_frames_timestamps(seconds, count, times);
        const cJSON *expected = cJSON_GetObjectItemCaseSensitive(entry, "seconds");
        cr_assert_eq((count + 1) / 2, (size_t)cJSON_GetArraySize(expected));
        for (size_t i = 0; i < (count + 1) / 2; i++) {
            cr_assert_eq(times[i], cJSON_GetArrayItem(expected, (int)i)->valuedouble);
        }
        check_texts(times, (count + 1) / 2, cJSON_GetObjectItemCaseSensitive(entry, "text"));
        cases++;
    }
    cr_assert_gt(cases, 4);
    cJSON_Delete(list);
}

static void expect_indices(const oc_frame_rule *rule, size_t total, const size_t *expected,
                           size_t expected_count)
{
    size_t indices[64], count;
    ocelli_error err = {0};
    cr_assert_leq(total, 64);
    cr_assert_eq(oc_frames_sample(rule, total, indices, &count, &err), OCELLI_OK, "%s",
                 err.message);
    cr_assert_eq(count, expected_count);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(indices[i], expected[i], "number %zu: %zu", i, indices[i]);
    }
}

Test(frames, all_or_evenly_spaced)
{
    oc_frame_rule rule = {.source_fps = 2, .min_frames = 4, .max_frames = 5};
    expect_indices(&rule, 3, (size_t[]){0, 1, 2}, 3);
    expect_indices(&rule, 5, (size_t[]){0, 1, 2, 3, 4}, 5);
    /* 0, 1.5, 3, 4.5, 6: halves go to the even number. */
    expect_indices(&rule, 7, (size_t[]){0, 2, 3, 4, 6}, 5);
    rule.max_frames = 1;
    expect_indices(&rule, 7, (size_t[]){0}, 1);
}

Test(frames, exactly_so_many)
{
    oc_frame_rule rule = {.source_fps = 2, .sample_fps = 1, .frame_count = 3, .max_frames = 2};
    expect_indices(&rule, 10, (size_t[]){0, 4, 9}, 3);
    rule.frame_count = 1;
    expect_indices(&rule, 10, (size_t[]){0}, 1);
    rule.frame_count = 11;
    size_t indices[10], count = 9;
    ocelli_error err = {0};
    cr_assert_eq(oc_frames_sample(&rule, 10, indices, &count, &err), OCELLI_E_ARGUMENT);
    cr_assert_eq(count, 0);
    cr_assert_not_null(strstr(err.message, "11"));
}

/* Qwen2-VL's rule: an even number, cut off where it lies between two frames. The numbers of clips
 * that are sampled are golden_siblings' matter. */
Test(frames, an_even_number)
{
    oc_frame_rule rule = {
        .source_fps = 5, .sample_fps = 2, .min_frames = 4, .max_frames = 768, .even = true};
    expect_indices(&rule, 13, (size_t[]){0, 3, 6, 9}, 4);
    expect_indices(&rule, 1, (size_t[]){0}, 1);
    expect_indices(&rule, 2, (size_t[]){0, 1}, 2);
    expect_indices(&rule, 3, (size_t[]){0, 1}, 2);
    rule.frame_count = 3;
    expect_indices(&rule, 10, (size_t[]){0, 3, 6}, 3);
    rule.frame_count = 0;
    rule.sample_fps = 0;
    expect_indices(&rule, 3, (size_t[]){0, 1, 2}, 3);
    rule.max_frames = 5;
    expect_indices(&rule, 7, (size_t[]){0, 1, 3, 5}, 4);
    rule.max_frames = 1;
    expect_indices(&rule, 7, (size_t[]){0}, 1);
    /* Fast sampling of a slow clip, and the other way round. */
    rule =
        (oc_frame_rule){.source_fps = 1e-300, .sample_fps = 1e300, .max_frames = 768, .even = true};
    expect_indices(&rule, 4, (size_t[]){0, 1, 2, 3}, 4);
    rule =
        (oc_frame_rule){.source_fps = 1e300, .sample_fps = 1e-300, .max_frames = 768, .even = true};
    expect_indices(&rule, 4, (size_t[]){0}, 1);
}

Test(frames, rates_that_are_none)
{
    static const struct {
        double source, sample;
    } CASES[] = {{0, 2}, {-1, 2}, {NAN, 2}, {INFINITY, 2}, {24, -2}, {24, NAN}, {24, INFINITY}};
    size_t indices[4], count;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        oc_frame_rule rule = {
            .source_fps = CASES[i].source, .sample_fps = CASES[i].sample, .max_frames = 4};
        cr_assert_eq(oc_frames_sample(&rule, 4, indices, &count, NULL), OCELLI_E_ARGUMENT);
    }
    oc_frame_rule rule = {.source_fps = 1, .max_frames = 0};
    cr_assert_eq(oc_frames_sample(&rule, 4, indices, &count, NULL), OCELLI_E_ARGUMENT);
    rule.max_frames = 4;
    cr_assert_eq(oc_frames_sample(&rule, 0, indices, &count, NULL), OCELLI_E_ARGUMENT);
    /* Fast sampling of a slow clip: as many as there are. */
    rule = (oc_frame_rule){.source_fps = 1e-300, .sample_fps = 1e300, .max_frames = 768};
    expect_indices(&rule, 3, (size_t[]){0, 1, 2}, 3);
}
