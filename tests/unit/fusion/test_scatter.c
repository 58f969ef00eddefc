/* masked_scatter by order, exact counts, and the positions that follow from it. */
#include "fusion/fuse.h"
#include "fusion/positions.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { IMAGE = 100, VIDEO = 101 };
static const oc_pad_ids pads = {.image = IMAGE, .video = VIDEO};

static oc_medium picture(size_t grid_h, size_t grid_w)
{
    return (oc_medium){.grid_t = 1, .grid_h = grid_h, .grid_w = grid_w, .merge_size = 2};
}

Test(scatter, rows_are_handed_out_in_order_across_pictures)
{
    const oc_medium media[2] = {picture(2, 4), picture(2, 2)};
    const int32_t ids[] = {1, IMAGE, IMAGE, 2, IMAGE, 3};
    int32_t medium[6], row[6];
    cr_assert_eq(oc_scatter_map(medium, row, ids, 6, &pads, media, 2, NULL), OCELLI_OK);
    const int32_t want_medium[] = {-1, 0, 0, -1, 1, -1};
    const int32_t want_row[] = {-1, 0, 1, -1, 0, -1};
    cr_assert_arr_eq(medium, want_medium, sizeof medium);
    cr_assert_arr_eq(row, want_row, sizeof row);
}

Test(scatter, pictures_and_clips_are_counted_apart)
{
    oc_medium clip = picture(2, 2);
    clip.video = true;
    clip.grid_t = 2;
    const oc_medium media[3] = {clip, picture(2, 2), picture(2, 2)};
    const int32_t ids[] = {IMAGE, VIDEO, 7, VIDEO, IMAGE};
    int32_t medium[5], row[5];
    cr_assert_eq(oc_scatter_map(medium, row, ids, 5, &pads, media, 3, NULL), OCELLI_OK);
    const int32_t want_medium[] = {1, 0, -1, 0, 2};
    const int32_t want_row[] = {0, 0, -1, 1, 0};
    cr_assert_arr_eq(medium, want_medium, sizeof medium);
    cr_assert_arr_eq(row, want_row, sizeof row);
}

Test(scatter, a_count_that_does_not_match_is_refused_with_both_numbers)
{
    const oc_medium media[1] = {picture(2, 4)};
    const int32_t many[] = {IMAGE, IMAGE, IMAGE}, few[] = {IMAGE}, clip[] = {IMAGE, IMAGE, VIDEO};
    int32_t medium[3], row[3];
    ocelli_error err;
    cr_assert_eq(oc_scatter_map(medium, row, many, 3, &pads, media, 1, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "3 image pads"));
    cr_assert_not_null(strstr(err.message, "2 image rows"));
    cr_assert_eq(oc_scatter_map(medium, row, few, 1, &pads, media, 1, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "1 image pads"));
    cr_assert_eq(oc_scatter_map(medium, row, clip, 3, &pads, media, 1, &err), OCELLI_E_ARGUMENT);
    cr_assert_not_null(strstr(err.message, "1 video pads"));
    cr_assert_not_null(strstr(err.message, "0 video rows"));
}

Test(positions, a_picture_advances_by_its_longer_side)
{
    /* text, 2 x 3 picture, text: worked by hand from the rule */
    const oc_medium media[1] = {picture(4, 6)};
    const int32_t medium[] = {-1, 0, 0, 0, 0, 0, 0, -1, -1};
    const int32_t row[] = {-1, 0, 1, 2, 3, 4, 5, -1, -1};
    int32_t positions[9][3];
    const int32_t want[9][3] = {{0, 0, 0}, {1, 1, 1}, {1, 1, 2}, {1, 1, 3}, {1, 2, 1},
                                {1, 2, 2}, {1, 2, 3}, {4, 4, 4}, {5, 5, 5}};
    int32_t next;
    cr_assert_eq(oc_positions_assign(positions, &next, medium, row, 9, media, NULL), OCELLI_OK);
    cr_assert_eq(next, 6);
    cr_assert_arr_eq(positions, want, sizeof positions);
}

Test(positions, every_frame_pair_begins_anew)
{
    oc_medium clip = picture(2, 4);
    clip.video = true;
    clip.grid_t = 2;
    const int32_t medium[] = {0, 0, -1, 0, 0};
    const int32_t row[] = {0, 1, -1, 2, 3};
    int32_t positions[5][3];
    const int32_t want[5][3] = {{0, 0, 0}, {0, 0, 1}, {2, 2, 2}, {3, 3, 3}, {3, 3, 4}};
    int32_t next;
    cr_assert_eq(oc_positions_assign(positions, &next, medium, row, 5, &clip, NULL), OCELLI_OK);
    cr_assert_eq(next, 5);
    cr_assert_arr_eq(positions, want, sizeof positions);
}

/* Worked by hand: three pairs of 1 x 2 at 0, 3 and 7, then text after the largest of all ids. */
Test(positions, a_clip_with_times_is_one_block)
{
    oc_medium clip = picture(2, 4);
    int32_t times[] = {0, 3, 7}, next;
    clip.video = true;
    clip.grid_t = 3;
    clip.times = times;
    const int32_t medium[] = {-1, 0, 0, 0, 0, 0, 0, -1};
    const int32_t row[] = {-1, 0, 1, 2, 3, 4, 5, -1};
    int32_t positions[8][3];
    const int32_t want[8][3] = {{0, 0, 0}, {1, 1, 1}, {1, 1, 2}, {4, 1, 1},
                                {4, 1, 2}, {8, 1, 1}, {8, 1, 2}, {9, 9, 9}};
    cr_assert_eq(oc_positions_assign(positions, &next, medium, row, 8, &clip, NULL), OCELLI_OK);
    cr_assert_eq(next, 10);
    cr_assert_arr_eq(positions, want, sizeof positions);
    /* Times that stand still: the picture's own extent counts. */
    times[1] = times[2] = 0;
    cr_assert_eq(oc_positions_assign(positions, &next, medium, row, 8, &clip, NULL), OCELLI_OK);
    cr_assert_eq(next, 4);
}

Test(positions, times_are_products_of_float32_cut_off)
{
    ocelli_error err = {0};
    int32_t times[4];
    cr_assert_eq(oc_positions_times(times, 4, 0.8, 2, &err), OCELLI_OK);
    cr_assert_arr_eq(times, ((int32_t[]){0, 1, 3, 4}), sizeof times);
    cr_assert_eq(oc_positions_times(times, 4, 0.8, 0, &err), OCELLI_OK);
    cr_assert_arr_eq(times, ((int32_t[]){0, 1, 2, 3}), sizeof times);
    static const double absurd[] = {1e30, -1, NAN, INFINITY};
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
        cr_assert_eq(oc_positions_times(times, 4, absurd[i], 2, &err), OCELLI_E_LIMIT);
        cr_assert_not_null(strstr(err.message, "time axis"), "%s", err.message);
    }
}

/* 200 clips that end at 2^24 - 1 each go beyond 32 bits: refused, not wrapped. */
Test(positions, too_long_a_prompt_is_refused)
{
    enum { CLIPS = 200 };
    static oc_medium media[CLIPS];
    static int32_t medium[CLIPS], row[CLIPS], positions[CLIPS][3];
    const int32_t times[] = {(1 << 24) - 1};
    int32_t next;
    ocelli_error err = {0};
    for (int32_t i = 0; i < CLIPS; i++) {
        media[i] = picture(2, 2);
        media[i].video = true;
        media[i].times = times;
        medium[i] = i;
        row[i] = 0;
    }
    cr_assert_eq(oc_positions_assign(positions, &next, medium, row, 60, media, &err), OCELLI_OK);
    cr_assert_eq(next, 60 << 24);
    cr_assert_eq(oc_positions_assign(positions, &next, medium, row, CLIPS, media, &err),
                 OCELLI_E_LIMIT);
    cr_assert_not_null(strstr(err.message, "time axis"), "%s", err.message);
}

Test(prompt, timestamps_round_as_the_reference_does)
{
    char text[64];
    const struct {
        double seconds;
        const char *want;
    } cases[] = {{0.25, "<0.2 seconds>"}, {1.25, "<1.2 seconds>"}, {0.05, "<0.1 seconds>"},
                 {2.0, "<2.0 seconds>"},  {3.75, "<3.8 seconds>"}, {12345.0, "<12345.0 seconds>"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        oc_prompt_timestamp(text, cases[i].seconds);
        cr_assert_str_eq(text, cases[i].want);
    }
}

Test(fuse, other_pixels_behind_equal_pads_are_not_the_same_prompt)
{
    oc_medium red = picture(2, 4), blue = picture(2, 4);
    red.identity = (oc_hash){1, 2};
    blue.identity = (oc_hash){1, 3};
    const int32_t ids[] = {5, IMAGE, IMAGE, 6, 7};
    oc_fused a, b, c;
    cr_assert_eq(oc_fuse_ids(&a, ids, 5, &pads, &red, 1, NULL), OCELLI_OK);
    cr_assert_eq(oc_fuse_ids(&b, ids, 5, &pads, &blue, 1, NULL), OCELLI_OK);
    cr_assert_eq(oc_fuse_ids(&c, ids, 4, &pads, &red, 1, NULL), OCELLI_OK);
    cr_assert_eq(oc_fused_common(&a, &b), 1);
    cr_assert_eq(oc_fused_common(&a, &c), 4);
    cr_assert_eq(oc_fused_common(&a, &a), 5);
    cr_assert_eq(a.next_position, 1 + 2 + 2);
    for (int32_t i = 0; i < 200; i++) { /* past every growth */
        cr_assert_eq(oc_fused_push(&a, i, NULL), OCELLI_OK);
        cr_assert_eq(a.positions[a.count - 1][0], 5 + i);
        cr_assert_eq(a.medium[a.count - 1], -1);
    }
    cr_assert_eq(a.ids.ids[0], 5);
    cr_assert_eq(a.row[2], 1);
    oc_fused_close(&a);
    oc_fused_close(&b);
    oc_fused_close(&c);
}
