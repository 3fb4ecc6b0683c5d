/* A stream of records of whatever bytes, read whole, in pieces, and searched; and what was written
 * of them comes out again. */
#include <stdlib.h>
#include <string.h>

#include "util/buf.h"
#include "util/check.h"
#include "util/logrec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Each byte is passed once, whatever it is. */
static void records_read(const uint8_t *p, size_t n, size_t step)
{
	struct logrec_reader r = { 0 };
	struct logrec rec;
	size_t have = 0, sum = 0;

	while (have < n || sum < have) {
		size_t k = logrec_next(&r, p + sum, have - sum, &rec);
		CHECK(k <= have - sum && rec.n <= k);
		CHECK(rec.n == 0 || (rec.data >= p + sum && rec.data + rec.n <= p + sum + k));
		sum += k;
		CHECK(r.place.at == sum);
		if (k == 0 && have == n)
			break;
		if (k == 0)
			have = n - have < step ? n : have + step;
	}
	CHECK(logrec_whole(0, p, n) == sum);
	size_t k = logrec_torn(&r, p + sum, n - sum, &rec);
	CHECK(k == 0 || (k == n - sum && rec.n < k && rec.data + rec.n == p + n));
}

static void place_find(const uint8_t *p, size_t n)
{
	struct logrec_place header, end = { .at = n, .time_ms = 9, .bytes = { 0, n, n, n } };
	struct logrec_seek s;
	uint64_t at;

	for (enum logrec_by by = LOGREC_BY_BYTES; by <= LOGREC_BY_TIME; by++) {
		logrec_seek_begin(&s, by, 2, p[0], &end);
		while (logrec_seek_next(&s, &at)) {
			bool fits = at < n && logrec_header(at, p + at, n - at, &header);
			logrec_seek_take(&s, at, fits ? &header : NULL);
			CHECK(s.tries < 64);
		}
		CHECK(logrec_seek_found(&s) <= n);
	}
}

static void written_is_read(const uint8_t *p, size_t n)
{
	struct logrec_place w = { .at = (uint64_t)(p[0] & 1) * (LOGREC_BLOCK - 200) };
	struct logrec_reader r = { .place.at = w.at };
	struct buf out, got;
	struct logrec rec;
	size_t k, sum = 0;

	buf_init(&out);
	buf_init(&got);
	logrec_put(&w, 1 + p[0] % 3, p[1], p, n, &out);
	while ((k = logrec_next(&r, buf_at(&out) + sum, out.len - sum, &rec)) > 0) {
		buf_put(&got, rec.data, rec.n);
		sum += k;
	}
	CHECK(sum == out.len && got.len == n && memcmp(buf_at(&got), p, n) == 0);
	buf_done(&out);
	buf_done(&got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (bytes < 2)
		return 0;
	records_read(data, bytes, 1 + data[0] % 97);
	place_find(data, bytes);
	written_is_read(data, bytes);
	return 0;
}
