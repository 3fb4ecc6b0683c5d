/* crc.h — CRC32C (Castagnoli) over numbers and bytes.
 */
#ifndef UTIL_CRC_H
#define UTIL_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Go on from `crc` (0: the beginning) over n numbers, each as eight bytes, the lowest first. */
uint32_t crc32c_numbers(uint32_t crc, const int64_t *numbers, size_t n);

/* The same over bytes: of numbers that are stored the lowest byte first both say the same. */
uint32_t crc32c_bytes(uint32_t crc, const void *bytes, size_t n);

#endif
