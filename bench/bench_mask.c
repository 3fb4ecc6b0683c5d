/* bench_mask — lines of a log through a matcher of secrets, in the jobkeeper's pieces, beside a
 * copy of the same bytes; processor time.
 *
 *   bench_mask [MEGABYTES]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/alloc.h"
#include "util/buf.h"
#include "util/mask.h"

enum { PIECE = 65536, PIECES = 64 };

static double run(const struct mask *m, const char *text, size_t megabytes)
{
	struct mask_stream s = { 0 };
	struct buf out;
	size_t n = (megabytes << 20) / PIECE;
	clock_t began = clock();

	buf_init(&out);
	for (size_t i = 0; i < n; i++) {
		buf_clear(&out);
		if (m)
			mask_take(m, &s, text + i % PIECES * PIECE, PIECE, &out);
		else
			buf_put(&out, text + i % PIECES * PIECE, PIECE);
	}
	double took = (double)(clock() - began) / CLOCKS_PER_SEC;
	mask_stream_done(&s);
	buf_done(&out);
	return took;
}

int main(int argc, char **argv)
{
	size_t megabytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 2048;
	static const size_t secrets[] = { 1, 3, 10, 32 }, bytes[] = { 4, 8, 16, 40 };
	char *text = mem_new(PIECE * PIECES + 200), value[64];
	size_t at = 0;

	for (unsigned i = 0; at < PIECE * PIECES; i++)
		at += (size_t)snprintf(
			text + at, 200,
			"2026-03-01T08:%02u:%02u.%03u INFO worker-%u loaded part %u of "
			"orders.csv, %u rows\n",
			i / 60 % 60, i % 60, i * 7 % 1000, i % 16, i, i * 2654435761u % 100000);
	printf("copy alone: %.3f s/GB\n", run(NULL, text, megabytes) * 1024 / (double)megabytes);
	for (size_t b = 0; b < sizeof bytes / sizeof *bytes; b++)
		for (size_t k = 0; k < sizeof secrets / sizeof *secrets; k++) {
			struct mask *m = mask_new();
			unsigned seed = 7;
			for (size_t i = 0; i < secrets[k]; i++) {
				for (size_t c = 0; c < bytes[b]; c++) {
					seed = seed * 1103515245 + 12345;
					value[c] = (char)('!' + (seed >> 16) % 94);
				}
				mask_add(m, value, bytes[b]);
			}
			printf("%2zu secrets of %2zu bytes: %.3f s/GB\n", secrets[k], bytes[b],
			       run(m, text, megabytes) * 1024 / (double)megabytes);
			mask_free(m);
		}
	free(text);
	return 0;
}
