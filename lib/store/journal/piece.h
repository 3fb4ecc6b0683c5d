/* piece.h — the head of a piece, byte by byte. Internal to lib/store/journal, and for its tests. */
#ifndef STORE_JOURNAL_PIECE_H
#define STORE_JOURNAL_PIECE_H

#include <stdint.h>

#include "store/journal/journal.h"

enum {
	PIECE_HEAD = 72,
	PIECE_FORMAT = 1,
	PIECE_ROWS_MAX = 4096, /* a row in memory is much larger than its bytes */
};

/* Write the head in front of the piece's h->length bytes; the sum is worked out, and returned. */
uint32_t piece_head_put(uint8_t *bytes, const struct journal_head *h);
/* CRC32C of all bytes of a piece but the place of the sum itself. */
uint32_t piece_sum(const uint8_t *bytes, uint32_t length);

#endif
