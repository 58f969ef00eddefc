/* free_memory.h - how much memory this process may still take. */
#ifndef OCELLI_TOOLS_FREE_MEMORY_H
#define OCELLI_TOOLS_FREE_MEMORY_H

#include <stdint.h>

/* Bytes: what the machine has available or what is left of the control group's limit, whichever is
 * less. Where neither is told, half of the machine's. */
uint64_t free_memory(void);

#endif
