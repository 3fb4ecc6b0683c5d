/* One question to a bucket.
 *
 * It is signed (SigV4, by libcurl) over the SHA-256 of what it carries. libcurl signs a path and a
 * query as they stand: so both come encoded and sorted, and each key has a value. The answer's
 * words are not repeated but for its code, a word of letters and digits. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "home/s3.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

void s3_text_wipe(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

void s3_encode(struct buf *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (isalnum(c) || strchr("-._~", c))
			buf_putc(out, (char)c);
		else
			buf_printf(out, "%%%02X", c);
	}
}

static int s3_refused(long status, struct buf *answer, struct err *err)
{
	char words[80] = "";
	const char *text = buf_str(answer);
	int code = status == 404                    ? E_NOT_FOUND
	           : status == 401 || status == 403 ? E_FORBIDDEN
	           : status == 501 || status == 405 ? E_UNSUPPORTED
	           : status >= 500 || status == 429 ? E_IO
	                                            : E_INVALID;

	if (!xml_text(text, answer->len, "Code", words, sizeof words) ||
	    strspn(words, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") !=
	            strlen(words))
		words[0] = '\0';
	if (status >= 300 && status < 400)
		return err_set(err, E_INVALID,
		               "it answered %ld, a redirect, which is not followed: the address or "
		               "the region is another one",
		               status);
	return err_set(err, code, "it answered %ld%s%s", status, words[0] ? " " : "", words);
}

static int s3_send(struct s3 *s, const struct s3_ask *ask, const char *url,
                   const char *const *headers, struct buf *out, struct err *err)
{
	const struct fetch_ask f = { .url = url,
		                     .ca_file = s->set.ca_file,
		                     .user = s->user,
		                     .secret = s->secret,
		                     .headers = headers,
		                     .timeout_ms = s->set.timeout_ms,
		                     .max = ask->max,
		                     .method = ask->method,
		                     .body = ask->body,
		                     .body_bytes = ask->bytes,
		                     .sign = s->sign,
		                     .session = s->session,
		                     .stop = s->set.stop,
		                     .said = ask->said };
	long status = 0;
	int r = s->set.fetch->fetch(&f, &status, out, err);

	if (r < 0)
		return r == E_TOO_BIG ? E_IO : r;
	return status >= 200 && status < 300 ? 0 : s3_refused(status, out, err);
}

int s3_ask(struct s3 *s, const struct s3_ask *ask, struct buf *out, struct err *err)
{
	char sum[SHA256_TEXT];
	const char *headers[6] = { "Expect:" };
	size_t n = 1;

	if (!s->user)
		return err_set(err, E_FORBIDDEN, "there is no secret to sign with");
	sha256_text(ask->body ? ask->body : "", ask->body ? ask->bytes : 0, sum);
	char *hash = mem_fmt("x-amz-content-sha256: %s", sum);
	char *token = s->token ? mem_fmt("x-amz-security-token: %s", s->token) : NULL;
	char *range = ask->range ? mem_fmt("Range: %s", ask->range) : NULL;
	char *type = ask->type ? mem_fmt("Content-Type: %s", ask->type) : NULL;
	char *url = mem_fmt("%s%s%s%s%s", s->base, ask->key[0] ? "/" : "", ask->key,
	                    ask->query[0] ? "?" : "", ask->query);
	headers[n++] = hash;
	if (token)
		headers[n++] = token;
	if (range)
		headers[n++] = range;
	if (type)
		headers[n++] = type;
	CHECK(n < sizeof headers / sizeof headers[0]);
	buf_clear(out);
	int r = s3_send(s, ask, url, headers, out, err);
	s3_text_wipe(&token);
	free(hash);
	free(range);
	free(type);
	free(url);
	return r;
}
