/* Texts as every provider takes them: no longer than it may be, without control characters. */
#include "notifier/payload.h"
#include "util/buf.h"
#include "util/check.h"

void payload_cut(struct buf *b, size_t most)
{
	size_t n = most - 3;

	CHECK(most > 3); /* "..." fits */
	if (b->len <= most)
		return;
	while (n > 0 && (buf_str(b)[n] & 0xc0) == 0x80)
		n--;
	b->len = n;
	buf_puts(b, "...");
	CHECK(b->len <= most);
}

/* Letters are lines of text: what a job printed, or a machine calls itself, may hold anything. */
void payload_clean(struct buf *b, bool lines)
{
	unsigned char *at = (unsigned char *)(uintptr_t)buf_at(b);

	for (size_t i = 0; i < b->len; i++)
		if ((at[i] < 0x20 && !(lines && (at[i] == '\n' || at[i] == '\t'))) || at[i] == 0x7f)
			at[i] = ' ';
}
