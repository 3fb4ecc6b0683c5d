/* self.h — what this process costs. */
#ifndef UTIL_SELF_H
#define UTIL_SELF_H

#include <stdint.h>

uint64_t self_resident_bytes(void); /* memory; 0: unknown. Thread: any */
int64_t self_cpu_us(void);          /* processor time of all its threads. Thread: any */

#endif
