/* A store of objects that speaks as Amazon's S3 does: a bucket, and keys in it.
 *
 * The address is s3:https://HOST[:PORT]/BUCKET[/PREFIX][?region=NAME], the bucket always in the
 * path. A question is s3_ask.c's, an upload s3_put.c's. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "home/s3.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/url.h"

enum { ANSWER_MAX = 4 << 20, NAMES_PAGE = 1000, UPLOAD_ID_MAX = 1024 };

/* --- the address --- */

/* Where the words between slashes end: BUCKET[/PREFIX...]. */
static bool is_path(const char *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool is_begin = i == 0 || from[i - 1] == '/';
		if (from[i] == '/' ? is_begin || i + 1 == n
		                   : !isalnum((unsigned char)from[i]) && !strchr("-._", from[i]))
			return false;
		if (is_begin && from[i] == '.')
			return false;
	}
	return n > 0;
}

static int s3_check(const char *address, struct err *err)
{
	const char *host = strstr(address, "://"), *query = strchr(address, '?');
	const char *path = host ? strchr(host + 3, '/') : NULL;
	size_t end = query ? (size_t)(query - address) : strlen(address);
	char *base = mem_strn(address, end);
	int r = strpbrk(base, "@#% ") ? err_set(err, E_INVALID, "it has an @, #, %% or blank")
	                              : url_check("it", base, err);

	free(base);
	if (r < 0)
		return err_wrap(err, E_INVALID, "s3:");
	if (!path || !is_path(path + 1, end - (size_t)(path + 1 - address)))
		return err_set(err, E_INVALID,
		               "'%.200s' has no bucket: want https://HOST/BUCKET[/PREFIX], of "
		               "letters, digits and - . _",
		               address);
	if (query && (strncmp(query, "?region=", 8) != 0 || strchr(query + 8, '/') ||
	              !is_path(query + 8, strlen(query + 8))))
		return err_set(err, E_INVALID, "'%.200s' ends with what is not ?region=NAME",
		               address);
	return 0;
}

static int s3_open(const struct home_settings *set, const char *address, void **ret,
                   struct err *err)
{
	const char *query = strchr(address, '?');
	char *base = mem_strn(address, query ? (size_t)(query - address) : strlen(address));
	char *prefix = strchr(strchr(strstr(base, "://") + 3, '/') + 1, '/');
	struct s3 *s = mem_new(sizeof *s);

	s->set = *set;
	s->prefix = prefix ? mem_fmt("%s/", prefix + 1) : mem_str("");
	if (prefix)
		*prefix = '\0';
	s->base = base;
	s->sign = mem_fmt("aws:amz:%s:s3", query ? query + 8 : "us-east-1");
	s->session = set->fetch->session_open();
	*ret = s;
	return s->session ? 0 : err_set(err, E_NOMEM, "libcurl does not start");
}

static void s3_secret_wipe(void *self)
{
	struct s3 *s = self;

	s3_text_wipe(&s->user);
	s3_text_wipe(&s->secret);
	s3_text_wipe(&s->token);
}

static void s3_close(void *self)
{
	struct s3 *s = self;

	s3_secret_wipe(s);
	s->set.fetch->session_close(s->session);
	free(s->base);
	free(s->prefix);
	free(s->sign);
	free(s);
}

/* KEY:SECRET, or KEY:SECRET:TOKEN of a key that lasts for some time only. */
static int s3_secret_set(void *self, const char *text, struct err *err)
{
	struct s3 *s = self;
	const char *secret = strchr(text, ':'), *token = secret ? strchr(secret + 1, ':') : NULL;
	size_t n = secret ? strcspn(secret + 1, ":") : 0;

	s3_secret_wipe(s);
	for (const char *p = text; *p; p++)
		if (*p <= ' ' || *p >= 0x7f)
			secret = NULL;
	if (!secret || secret == text || n == 0)
		return err_set(err, E_INVALID,
		               "the secret of log_home is not KEY:SECRET nor KEY:SECRET:TOKEN");
	s->user = mem_strn(text, (size_t)(secret - text));
	s->secret = mem_strn(secret + 1, n);
	s->token = token ? mem_str(token + 1) : NULL;
	return 0;
}

/* --- one thing --- */

static int s3_get(void *self, const char *name, uint64_t from, size_t n, struct buf *out,
                  struct err *err)
{
	struct s3 *s = self;
	char *key = mem_fmt("%s%s", s->prefix, name);
	char *range = mem_fmt("bytes=%" PRIu64 "-%" PRIu64, from, from + n - 1);
	struct buf answer;

	buf_init(&answer);
	const struct s3_ask ask = {
		.method = "GET", .key = key, .query = "", .range = range, .max = n + ANSWER_MAX
	};
	int r = s3_ask(s, &ask, &answer, err);
	if (r == E_INVALID) /* 416: it has no such bytes */
		r = E_CORRUPT;
	if (r == 0 && answer.len != n)
		r = err_set(err, E_CORRUPT, "%s has %zu bytes at %" PRIu64 ", not %zu", name,
		            answer.len, from, n);
	if (r == 0)
		buf_put(out, buf_at(&answer), n);
	buf_done(&answer);
	free(range);
	free(key);
	return r;
}

static int s3_remove(void *self, const char *name, struct err *err)
{
	struct s3 *s = self;
	char *key = mem_fmt("%s%s", s->prefix, name);
	struct buf answer;

	buf_init(&answer);
	const struct s3_ask ask = {
		.method = "DELETE", .key = key, .query = "", .max = ANSWER_MAX
	};
	int r = s3_ask(s, &ask, &answer, err);
	buf_done(&answer);
	free(key);
	return r == E_NOT_FOUND ? 0 : r;
}

/* --- lists --- */

struct s3_list {
	const char *text; /* of one thing */
	size_t n;
	struct home_thing thing;
};

/* Its key, if it is one of ours: right below the prefix. */
static bool list_name(const struct s3 *s, struct s3_list *l, char *key, size_t cap)
{
	size_t n = strlen(s->prefix);

	if (!xml_text(l->text, l->n, "Key", key, cap) || strncmp(key, s->prefix, n) != 0 ||
	    strchr(key + n, '/') || strlen(key + n) >= HOME_NAME_BYTES)
		return false;
	snprintf(l->thing.name, sizeof l->thing.name, "%s", key + n);
	return true;
}

/* Where the next page begins: behind the last key of this one, whosever it is. */
static bool list_after(const struct s3 *s, const char *key, char after[HOME_AFTER_BYTES])
{
	size_t n = strlen(s->prefix);

	if (strncmp(key, s->prefix, n) != 0 || strcmp(key + n, after) <= 0)
		return false;
	snprintf(after, HOME_AFTER_BYTES, "%s", key + n);
	return true;
}

static int s3_list(void *self, char after[HOME_AFTER_BYTES], home_each_fn *each, void *ctx,
                   bool *ret_more, struct err *err)
{
	struct s3 *s = self;
	struct buf query, answer;
	struct s3_list l = { 0 };
	char word[1100] = "";

	buf_init(&query);
	buf_init(&answer);
	buf_printf(&query, "list-type=2&max-keys=%d&prefix=", NAMES_PAGE);
	s3_encode(&query, s->prefix);
	if (after[0]) {
		buf_puts(&query, "&start-after=");
		s3_encode(&query, s->prefix);
		s3_encode(&query, after);
	}
	const struct s3_ask ask = {
		.method = "GET", .key = "", .query = buf_str(&query), .max = ANSWER_MAX
	};
	int r = s3_ask(s, &ask, &answer, err);
	const char *at = buf_str(&answer), *end = at + answer.len;
	*ret_more = r == 0 && xml_text(at, answer.len, "IsTruncated", word, sizeof word) &&
	            strcmp(word, "true") == 0;
	bool goes_on = false;
	while (r == 0 && xml_next(&at, end, "Contents", &l.text, &l.n)) {
		bool is_ours = list_name(s, &l, word, sizeof word);
		goes_on |= list_after(s, word, after);
		if (!is_ours)
			continue;
		l.thing.bytes = xml_text(l.text, l.n, "Size", word, sizeof word)
		                        ? strtoull(word, NULL, 10)
		                        : 0;
		l.thing.at_us = xml_text(l.text, l.n, "LastModified", word, sizeof word)
		                        ? xml_time_us(word)
		                        : 0;
		each(ctx, &l.thing);
	}
	/* Half a list would be read as a loss. */
	if (*ret_more && !goes_on)
		r = err_set(err, E_IO, "its list does not go on where it ended");
	buf_done(&query);
	buf_done(&answer);
	return r == E_NOT_FOUND ? err_wrap(err, E_INVALID, "its bucket") : r;
}

static int upload_end(struct s3 *s, const char *key, const char *upload, struct err *err)
{
	struct buf query, answer;

	buf_init(&query);
	buf_init(&answer);
	buf_puts(&query, "uploadId=");
	s3_encode(&query, upload);
	const struct s3_ask ask = {
		.method = "DELETE", .key = key, .query = buf_str(&query), .max = ANSWER_MAX
	};
	int r = s3_ask(s, &ask, &answer, err);
	buf_done(&query);
	buf_done(&answer);
	return r == E_NOT_FOUND ? 0 : r;
}

static int s3_sweep(void *self, int64_t before_us, size_t *ret_n, struct err *err)
{
	struct s3 *s = self;
	struct buf query, answer;
	struct s3_list l = { 0 };
	char key[1100], upload[UPLOAD_ID_MAX], at_text[64];

	*ret_n = 0;
	buf_init(&query);
	buf_init(&answer);
	buf_puts(&query, "prefix=");
	s3_encode(&query, s->prefix);
	buf_puts(&query, "&uploads=");
	const struct s3_ask ask = {
		.method = "GET", .key = "", .query = buf_str(&query), .max = ANSWER_MAX
	};
	int r = s3_ask(s, &ask, &answer, err);
	const char *at = buf_str(&answer), *end = at + answer.len;
	while (r == 0 && xml_next(&at, end, "Upload", &l.text, &l.n)) {
		if (!list_name(s, &l, key, sizeof key) ||
		    !xml_text(l.text, l.n, "UploadId", upload, sizeof upload) ||
		    !xml_text(l.text, l.n, "Initiated", at_text, sizeof at_text) ||
		    xml_time_us(at_text) >= before_us)
			continue;
		r = upload_end(s, key, upload, err);
		*ret_n += r == 0;
	}
	buf_done(&query);
	buf_done(&answer);
	return r;
}

static int s3_step(void *self, struct home_put *put, struct err *err)
{
	return s3_put_step(self, put, err);
}

static void s3_step_done(void *self, struct home_put *put)
{
	s3_put_done(self, put);
}

extern const struct home_ops home_s3;
const struct home_ops home_s3 = { .kind = "s3",
	                          .check = s3_check,
	                          .open = s3_open,
	                          .close = s3_close,
	                          .secret_set = s3_secret_set,
	                          .secret_wipe = s3_secret_wipe,
	                          .put_step = s3_step,
	                          .put_done = s3_step_done,
	                          .get = s3_get,
	                          .remove = s3_remove,
	                          .list = s3_list,
	                          .sweep = s3_sweep };
