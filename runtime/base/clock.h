/* clock.h - monotonic seconds. */
#ifndef OC_BASE_CLOCK_H
#define OC_BASE_CLOCK_H

double oc_clock_seconds(void);

#endif
