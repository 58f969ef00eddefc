/* path_order.h - the order in which a walk meets pictures: of two paths that part ways in one folder
 * the file comes before the sub folder, else natural order of the two names (natural_compare). */
#ifndef OCELLI_TOOLS_PATH_ORDER_H
#define OCELLI_TOOLS_PATH_ORDER_H

/* Below, at or above 0; 0 only for equal bytes. */
int path_order(const char *a, const char *b);

#endif
