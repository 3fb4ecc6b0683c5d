#include "util/logmark.h"

#include <stdint.h>
#include <string.h>

#include "util/buf.h"

/* Bytes at the beginning that show nothing: controls, sequences of a terminal. *ret_cut: the last
 * one has no end. */
static size_t invisible(const uint8_t *p, size_t n, bool *ret_cut)
{
	size_t i = 0;

	*ret_cut = false;
	while (i < n && (p[i] == 0x7f || (p[i] < 0x20 && p[i] != '\n' && p[i] != '\t'))) {
		bool is_escape = p[i] == 0x1b;
		bool is_sequence = is_escape && i + 1 < n && p[i + 1] == '[';

		*ret_cut = is_escape && i + 1 == n;
		i += is_sequence ? 2 : 1;
		while (is_sequence && i < n && (p[i] < 0x40 || p[i] > 0x7e))
			i++;
		*ret_cut |= is_sequence && i == n;
		i += is_sequence && i < n;
	}
	return i;
}

/* What is cut off may go on to be it. */
static bool looks_ours(const uint8_t *p, size_t n)
{
	size_t most = strlen(LOGMARK) - 1;

	while (n > 0 && *p == '>') {
		p++;
		n--;
	}
	return n > 0 && memcmp(p, LOGMARK, n < most ? n : most) == 0;
}

bool logmark_put(const void *from, size_t n, bool begins, struct buf *out)
{
	const uint8_t *p = from;

	while (n > 0) {
		const uint8_t *cr = memchr(p, '\r', n);
		size_t part = cr ? (size_t)(cr + 1 - p) : n;
		bool is_cut = false;
		size_t skip = begins ? invisible(p, part, &is_cut) : 0;

		if (begins && (is_cut || looks_ours(p + skip, part - skip)))
			buf_putc(out, '>');
		buf_put(out, p, part);
		begins = cr || (begins && skip == part);
		p += part;
		n -= part;
	}
	return begins;
}
