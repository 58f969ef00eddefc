/* test_vit_windows.c - the order of cells in windows, by hand; the way there and back. (That it is
 * the reference's order is golden_siblings' matter.) */
#include "vision/vit_windows.h"

#include <criterion/criterion.h>
#include <string.h>

Test(vit_windows, ragged_windows_by_hand)
{
    /* 3 x 5 cells in windows of 2 x 2:   0  1 | 2  3 | 4
     *                                    5  6 | 7  8 | 9
     *                                   ------+------+---
     *                                   10 11 |12 13 |14 */
    static const size_t order[] = {0, 1, 5, 6, 2, 3, 7, 8, 4, 9, 10, 11, 12, 13, 14};
    static const size_t ends[] = {4, 8, 10, 12, 14, 15};
    size_t got[15], got_ends[6];
    cr_assert_eq(oc_vit_window_count(3, 5, 2), 6);
    oc_vit_window_order(got, got_ends, 3, 5, 2);
    cr_assert_eq(memcmp(got, order, sizeof order), 0);
    cr_assert_eq(memcmp(got_ends, ends, sizeof ends), 0);
}

Test(vit_windows, one_window_and_one_cell)
{
    size_t order[6], ends[1];
    cr_assert_eq(oc_vit_window_count(2, 3, 3), 1);
    cr_assert_eq(oc_vit_window_count(2, 3, (size_t)-1), 1);
    oc_vit_window_order(order, ends, 2, 3, (size_t)-1);
    for (size_t i = 0; i < 6; i++) {
        cr_assert_eq(order[i], i);
    }
    cr_assert_eq(ends[0], 6);
    oc_vit_window_order(order, ends, 1, 1, 4);
    cr_assert(order[0] == 0 && ends[0] == 1);
}

Test(vit_windows, rows_come_back_where_they_were)
{
    enum { HIGH = 7, WIDE = 5, WIDTH = 3 };
    size_t order[HIGH * WIDE], ends[HIGH * WIDE];
    float x[HIGH * WIDE * WIDTH], moved[HIGH * WIDE * WIDTH], back[HIGH * WIDE * WIDTH];
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        x[i] = (float)i;
    }
    oc_vit_window_order(order, ends, HIGH, WIDE, 3);
    oc_vit_window_move(moved, x, order, HIGH * WIDE, WIDTH, false);
    for (size_t i = 0; i < HIGH * WIDE; i++) {
        cr_assert_eq(moved[i * WIDTH], (float)(order[i] * WIDTH));
    }
    oc_vit_window_move(back, moved, order, HIGH * WIDE, WIDTH, true);
    cr_assert_eq(memcmp(back, x, sizeof x), 0);
}
