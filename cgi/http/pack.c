/* Answers packed by the first of our codings that the client takes: zstd, then gzip, each at
 * its fastest level, for the HTTP thread does it. Small answers stay as they are. Whatever
 * fails leaves the answer unpacked: no request fails because of its coding. */
#include "cgi/http/pack.h"

#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

#include "util/buf.h"

#define LEVEL 1 /* the HTTP thread does it */

/* Weights make no difference but zero: there are few forms. */
static bool weight_is_zero(const char *p, const char *end)
{
	const char *q = memchr(p, '=', (size_t)(end - p));

	if (!q)
		return false;
	q++;
	return q < end && *q == '0' && strcspn(q, "123456789") >= (size_t)(end - q);
}

bool pack_taken(const char *accept, const char *coding)
{
	size_t n = strlen(coding);

	if (!accept)
		return false;
	while (*accept != '\0') {
		const char *end;

		accept += strspn(accept, " \t,");
		end = accept + strcspn(accept, ",");
		if (strncasecmp(accept, coding, n) == 0 && strchr(" \t;,", accept[n]))
			return !weight_is_zero(accept, end);
		accept = end;
	}
	return false;
}

static bool pack_zstd(const void *p, size_t n, struct buf *out)
{
	size_t room = ZSTD_compressBound(n);
	size_t got = ZSTD_compress(buf_room(out, room), room, p, n, LEVEL);

	if (ZSTD_isError(got))
		return false;
	buf_added(out, got);
	return true;
}

static bool pack_gzip(const void *p, size_t n, struct buf *out)
{
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)p, .avail_in = (unsigned)n };
	size_t room;
	bool done;

	if (n > UINT32_MAX / 2 ||
	    deflateInit2(&z, LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	room = deflateBound(&z, n);
	z.next_out = buf_room(out, room);
	z.avail_out = (unsigned)room;
	done = deflate(&z, Z_FINISH) == Z_STREAM_END;
	if (done)
		buf_added(out, room - z.avail_out);
	deflateEnd(&z);
	return done;
}

static const struct {
	const char *name;
	bool (*pack)(const void *p, size_t n, struct buf *out);
} codings[] = { { "zstd", pack_zstd }, { "gzip", pack_gzip } };

const char *pack(const char *accept, const void *p, size_t n, struct buf *ret_packed)
{
	if (!accept || n < PACK_BYTES_MIN)
		return NULL;
	for (size_t i = 0; i < sizeof codings / sizeof codings[0]; i++)
		if (pack_taken(accept, codings[i].name) && codings[i].pack(p, n, ret_packed))
			return codings[i].name;
	return NULL;
}
