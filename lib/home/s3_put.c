/* A thing on its way into a bucket, one question a step.
 *
 *   small:  PUT ------------------------------.
 *   large:  POST ?uploads, PUT part, PUT part, POST all of them: HEAD, [GET, GET, ...], verified
 *
 * The answer to an upload proves nothing: the thing is there once HEAD says its length, and its
 * ETag is the MD5 of what was sent (of the whole, or of its parts' as such a store joins them).
 * Where the ETag is something else, as with some kinds of encryption, all is read back and
 * compared. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gnutls/crypto.h>

#include "home/s3.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

enum step { ST_ALONE, ST_BEGIN, ST_PART, ST_JOIN, ST_LOOK, ST_READ };
enum { UPLOAD_MAX = 1024, JOINED_TEXT = MD5_TEXT + 12, ANSWER_MAX = 1 << 20 };

struct s3_put {
	enum step step;
	char *key;
	char upload[UPLOAD_MAX]; /* "": none is begun */
	unsigned parts;
	uint64_t done, read; /* bytes sent; read back */
	struct buf list;     /* of the parts, for ST_JOIN */
	struct buf sums;     /* their MD5s, one after the other */
	gnutls_hash_hd_t whole;
	bool has_md5;
	char md5[MD5_TEXT], joined[JOINED_TEXT];
	uint8_t *piece;
};

static int put_read(const struct home_put *put, uint64_t at, uint8_t *to, size_t n, struct err *err)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = pread(put->fd, to + done, n - done, (off_t)(at + done));
		if (got <= 0)
			return err_set(err, E_IO, "%s cannot be read here", put->name);
		done += (size_t)got;
	}
	return 0;
}

static size_t put_next(const struct home_put *put, uint64_t at)
{
	return put->bytes - at < PIECE_BYTES ? (size_t)(put->bytes - at) : PIECE_BYTES;
}

/* The next piece into p->piece, and into the sums. */
static int put_take(struct s3_put *p, const struct home_put *put, size_t n, struct err *err)
{
	uint8_t sum[MD5_BYTES];
	int r = put_read(put, p->done, p->piece, n, err);

	if (r < 0 || !p->has_md5)
		return r;
	p->has_md5 = gnutls_hash(p->whole, p->piece, n) == 0 && md5_bytes(p->piece, n, sum);
	buf_put(&p->sums, sum, sizeof sum);
	return 0;
}

static int put_alone(struct s3 *s, struct s3_put *p, struct home_put *put, struct buf *answer,
                     struct err *err)
{
	size_t n = put_next(put, 0);
	int r = put_take(p, put, n, err);
	const struct s3_ask ask = { .method = "PUT",
		                    .key = p->key,
		                    .query = "",
		                    .body = p->piece,
		                    .bytes = n,
		                    .type = "application/octet-stream",
		                    .max = ANSWER_MAX };

	if (r == 0)
		r = s3_ask(s, &ask, answer, err);
	p->done = n;
	p->step = ST_LOOK;
	return r < 0 ? r : HOME_MORE;
}

static int put_begin(struct s3 *s, struct s3_put *p, struct home_put *put, struct buf *answer,
                     struct err *err)
{
	const struct s3_ask ask = { .method = "POST",
		                    .key = p->key,
		                    .query = "uploads=",
		                    .body = "",
		                    .type = "application/octet-stream",
		                    .max = ANSWER_MAX };
	int r = s3_ask(s, &ask, answer, err);

	(void)put;
	if (r == 0 && !xml_text(buf_str(answer), answer->len, "UploadId", p->upload, UPLOAD_MAX))
		r = err_set(err, E_IO, "it began an upload and did not say its number");
	p->step = ST_PART;
	return r < 0 ? r : HOME_MORE;
}

/* An ETag goes back to where it came from: it is judged, not read. */
static bool is_plain(const char *etag)
{
	return etag[0] && strspn(etag, "0123456789abcdefABCDEF-") == strlen(etag);
}

static int put_part(struct s3 *s, struct s3_put *p, struct home_put *put, struct buf *answer,
                    struct err *err)
{
	struct fetch_said said = { 0 };
	struct buf query;
	size_t n = put_next(put, p->done);
	int r = put_take(p, put, n, err);

	buf_init(&query);
	buf_printf(&query, "partNumber=%u&uploadId=", p->parts + 1);
	s3_encode(&query, p->upload);
	const struct s3_ask ask = { .method = "PUT",
		                    .key = p->key,
		                    .query = buf_str(&query),
		                    .body = p->piece,
		                    .bytes = n,
		                    .type = "application/octet-stream",
		                    .max = ANSWER_MAX,
		                    .said = &said };
	if (r == 0)
		r = s3_ask(s, &ask, answer, err);
	if (r == 0 && !is_plain(said.etag))
		r = err_set(err, E_IO, "it took a part and gave it no ETag");
	buf_done(&query);
	if (r < 0)
		return r;
	p->parts++;
	p->done += n;
	buf_printf(&p->list, "<Part><PartNumber>%u</PartNumber><ETag>\"%s\"</ETag></Part>",
	           p->parts, said.etag);
	if (p->done == put->bytes)
		p->step = ST_JOIN;
	return HOME_MORE;
}

static int put_join(struct s3 *s, struct s3_put *p, struct home_put *put, struct buf *answer,
                    struct err *err)
{
	struct buf query, body;

	(void)put;
	buf_init(&query);
	buf_init(&body);
	buf_puts(&query, "uploadId=");
	s3_encode(&query, p->upload);
	buf_printf(&body, "<CompleteMultipartUpload>%s</CompleteMultipartUpload>",
	           buf_str(&p->list));
	const struct s3_ask ask = { .method = "POST",
		                    .key = p->key,
		                    .query = buf_str(&query),
		                    .body = buf_at(&body),
		                    .bytes = body.len,
		                    .type = "application/xml",
		                    .max = ANSWER_MAX };
	int r = s3_ask(s, &ask, answer, err);
	/* It may begin to answer before it knows: then a failure has the status 200. */
	if (r == 0 && strstr(buf_str(answer), "<Error>"))
		r = err_set(err, E_IO, "it did not join the parts");
	buf_done(&query);
	buf_done(&body);
	if (r == 0)
		p->upload[0] = '\0';
	p->step = ST_LOOK;
	return r < 0 ? r : HOME_MORE;
}

/* What its ETag may be. */
static void put_sum(struct s3_put *p)
{
	uint8_t sum[MD5_BYTES];
	char text[MD5_TEXT];

	if (!p->has_md5)
		return;
	gnutls_hash_output(p->whole, sum);
	md5_text(sum, p->md5);
	if (md5_bytes(buf_at(&p->sums), p->sums.len, sum)) {
		md5_text(sum, text);
		snprintf(p->joined, sizeof p->joined, "%s-%u", text, p->parts);
	}
}

static int put_look(struct s3 *s, struct s3_put *p, struct home_put *put, struct buf *answer,
                    struct err *err)
{
	struct fetch_said said = { 0 };
	const struct s3_ask ask = {
		.method = "HEAD", .key = p->key, .query = "", .max = ANSWER_MAX, .said = &said
	};
	int r = s3_ask(s, &ask, answer, err);

	if (r < 0)
		return r;
	if (said.length != (int64_t)put->bytes)
		return err_set(err, E_CORRUPT,
		               "%s has %" PRId64 " bytes there and %" PRIu64 " here", put->name,
		               said.length, put->bytes);
	put_sum(p);
	if (p->has_md5 &&
	    (strcasecmp(said.etag, p->md5) == 0 || strcasecmp(said.etag, p->joined) == 0))
		return 0;
	p->step = ST_READ;
	return HOME_MORE;
}

static int put_compare(struct s3 *s, struct s3_put *p, struct home_put *put, struct buf *answer,
                       struct err *err)
{
	size_t n = put_next(put, p->read);
	char range[80];

	snprintf(range, sizeof range, "bytes=%" PRIu64 "-%" PRIu64, p->read, p->read + n - 1);
	const struct s3_ask ask = {
		.method = "GET", .key = p->key, .query = "", .range = range, .max = n + ANSWER_MAX
	};
	int r = s3_ask(s, &ask, answer, err);
	if (r == 0)
		r = put_read(put, p->read, p->piece, n, err);
	if (r < 0)
		return r;
	if (answer->len != n || memcmp(buf_at(answer), p->piece, n) != 0)
		return err_set(err, E_CORRUPT, "%s reads back as something else", put->name);
	p->read += n;
	return p->read < put->bytes ? HOME_MORE : 0;
}

static int (*const steps[])(struct s3 *, struct s3_put *, struct home_put *, struct buf *,
                            struct err *) = {
	[ST_ALONE] = put_alone, [ST_BEGIN] = put_begin, [ST_PART] = put_part,
	[ST_JOIN] = put_join,   [ST_LOOK] = put_look,   [ST_READ] = put_compare
};

static struct s3_put *put_new(const struct s3 *s, const struct home_put *put)
{
	struct s3_put *p = mem_new(sizeof *p);

	CHECK(put->bytes > 0);
	p->step = put->bytes <= PIECE_BYTES ? ST_ALONE : ST_BEGIN;
	p->key = mem_fmt("%s%s", s->prefix, put->name);
	p->has_md5 = gnutls_hash_init(&p->whole, GNUTLS_DIG_MD5) == 0;
	p->piece = mem_new(put_next(put, 0));
	buf_init(&p->list);
	buf_init(&p->sums);
	return p;
}

int s3_put_step(struct s3 *s, struct home_put *put, struct err *err)
{
	struct buf answer;

	if (!put->state)
		put->state = put_new(s, put);
	struct s3_put *p = put->state;
	buf_init(&answer);
	int r = steps[p->step](s, p, put, &answer, err);
	buf_done(&answer);
	return r;
}

void s3_put_done(struct s3 *s, struct home_put *put)
{
	struct s3_put *p = put->state;
	struct buf query, answer;

	buf_init(&query);
	buf_init(&answer);
	if (p->upload[0]) {
		buf_puts(&query, "uploadId=");
		s3_encode(&query, p->upload);
		const struct s3_ask ask = { .method = "DELETE",
			                    .key = p->key,
			                    .query = buf_str(&query),
			                    .max = ANSWER_MAX };
		s3_ask(s, &ask, &answer, NULL); /* else home_sweep() finds it */
	}
	buf_done(&query);
	buf_done(&answer);
	if (p->whole)
		gnutls_hash_deinit(p->whole, NULL);
	buf_done(&p->list);
	buf_done(&p->sums);
	free(p->piece);
	free(p->key);
	free(p);
}
