/* Event streams over libcurl's multi interface.
 *
 * A stream is a transfer that has no end of its own: its messages are cut at blank lines and given
 * to whoever asked. The server's heartbeat comes every ten seconds, so silence for thirty means
 * that it is gone. What ends a stream is told once, to over(). */
#include "admin-console/cli/online/flows.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/http_impl.h"
#include "admin-console/cli/online/online.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"

#define TICK_MS 100

struct flow {
	struct flow *next;
	struct online o; /* with a transfer of its own */
	struct buf text; /* what has come and is not a whole message */
	flow_each *each;
	void *ctx;
	int code; /* of `each` */
	bool is_begun, is_dropped;
	char *url;
	struct curl_slist *headers;
};

struct flows {
	struct online *o;
	CURLM *multi;
	struct flow *first;
	size_t n;
	bool has_dropped;
};

struct flows *flows_new(struct online *o)
{
	struct flows *fs = mem_new(sizeof *fs);

	fs->o = o;
	fs->multi = curl_multi_init();
	CHECK(fs->multi);
	return fs;
}

static void flow_close(struct flows *fs, struct flow *f)
{
	struct flow **at = &fs->first;

	while (*at != f) {
		CHECK(*at); /* it is one of them */
		at = &(*at)->next;
	}
	*at = f->next;
	fs->n--;
	if (f->is_begun)
		curl_multi_remove_handle(fs->multi, f->o.curl);
	curl_easy_cleanup(f->o.curl);
	curl_slist_free_all(f->headers);
	buf_done(&f->text);
	free(f->url);
	free(f);
}

void flows_free(struct flows *fs)
{
	if (!fs)
		return;
	while (fs->first)
		flow_close(fs, fs->first);
	curl_multi_cleanup(fs->multi);
	free(fs);
}

void flows_drop(struct flows *fs, const void *ctx)
{
	for (struct flow *f = fs->first, *next; f; f = next) {
		next = f->next;
		if (f->ctx == ctx)
			f->is_dropped = true;
	}
	fs->has_dropped = true;
}

/* Not within a callback of libcurl, which may be about to use it. */
static void dropped_close(struct flows *fs)
{
	for (struct flow *f = fs->first, *next; fs->has_dropped && f; f = next) {
		next = f->next;
		if (f->is_dropped)
			flow_close(fs, f);
	}
	fs->has_dropped = false;
}

static int message_take(struct flow *f, char *text)
{
	char *event = NULL, *data = NULL, *next;

	for (char *line = text; line && *line != '\0'; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (strncmp(line, "event: ", 7) == 0)
			event = line + 7;
		else if (strncmp(line, "data: ", 6) == 0)
			data = line + 6;
	}
	return data && !f->is_dropped ? f->each(f->ctx, event ? event : "message", data) : 0;
}

static size_t stream_take(char *p, size_t size, size_t n, void *ctx)
{
	struct flow *f = ctx;
	long status = 0;

	curl_easy_getinfo(f->o.curl, CURLINFO_RESPONSE_CODE, &status);
	buf_put(&f->text, p, size * n);
	if (status != 200)
		return size * n; /* an error's text, said at the end */
	for (;;) {
		const char *text = buf_str(&f->text), *end = strstr(text, "\n\n");
		char *message;

		if (!end)
			return size * n;
		message = mem_strn(text, (size_t)(end - text));
		buf_drop(&f->text, (size_t)(end - text) + 2);
		f->code = message_take(f, message);
		free(message);
		if (f->code != 0)
			return 0;
	}
}

void flows_add(struct flows *fs, const char *path, flow_each *each, void *ctx)
{
	struct flow *f = mem_new(sizeof *f);

	f->o = *fs->o;
	f->o.curl = curl_easy_init();
	CHECK(f->o.curl);
	f->each = each;
	f->ctx = ctx;
	buf_init(&f->text);
	f->url = mem_fmt("%s%s", f->o.base, path);
	f->headers = http__request(&f->o, "GET", f->url, NULL);
	curl_easy_setopt(f->o.curl, CURLOPT_WRITEFUNCTION, stream_take);
	curl_easy_setopt(f->o.curl, CURLOPT_WRITEDATA, f);
	curl_easy_setopt(f->o.curl, CURLOPT_PRIVATE, f);
	curl_easy_setopt(f->o.curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(f->o.curl, CURLOPT_LOW_SPEED_TIME, 30L);
	f->next = fs->first;
	fs->first = f;
	fs->n++;
}

/* Not within a callback of libcurl, as dropped_close(). */
static void added_begin(struct flows *fs)
{
	for (struct flow *f = fs->first; f; f = f->next)
		if (!f->is_begun) {
			f->is_begun = true;
			CHECK(curl_multi_add_handle(fs->multi, f->o.curl) == CURLM_OK);
		}
}

/* How it ended, said where it ended badly. */
static int flow_judge(struct flow *f, CURLcode code)
{
	curl_easy_getinfo(f->o.curl, CURLINFO_RESPONSE_CODE, &f->o.status);
	if (f->code == 0 && f->o.status != 0 && f->o.status != 200)
		return http__refused(&f->o, NULL, &f->text);
	if (f->code == 0 && code != CURLE_OK)
		return http__unreachable(&f->o, (int)code);
	return f->code;
}

/* Those that are over: each is gone before it is told, so that another may take its place. */
static int ended_take(struct flows *fs, int (*over)(void *ctx, int code))
{
	const CURLMsg *m;
	int left, r = 0;

	while (r == 0 && (m = curl_multi_info_read(fs->multi, &left))) {
		struct flow *f = NULL;
		CURLcode code = m->data.result;

		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&f);
		CHECK(f);
		void *ctx = f->ctx;
		int ended = flow_judge(f, code);
		fs->o->status = f->o.status;
		flow_close(fs, f);
		r = over(ctx, ended);
	}
	return r;
}

int flows_run(struct flows *fs, int (*over)(void *ctx, int code), int (*tick)(void *ctx),
              void *tick_ctx)
{
	int running = 1, r = 0;

	while (r == 0 && fs->n > 0) {
		added_begin(fs);
		if (curl_multi_perform(fs->multi, &running) != CURLM_OK)
			return http__unreachable(fs->o, CURLE_RECV_ERROR);
		dropped_close(fs);
		r = ended_take(fs, over);
		dropped_close(fs);
		if (r == 0 && tick)
			r = tick(tick_ctx);
		if (r == 0 && fs->n > 0)
			curl_multi_poll(fs->multi, NULL, 0, TICK_MS, NULL);
	}
	return r;
}

/* --- one alone ------------------------------------------------------------------------------ */

struct alone {
	int (*each)(void *ctx, const char *event, const char *data);
	int (*tick)(void *ctx);
	void *ctx;
	int code;
	bool is_over;
};

static int alone_each(void *ctx, const char *event, const char *data)
{
	const struct alone *a = ctx;

	return a->each(a->ctx, event, data);
}

static int alone_over(void *ctx, int code)
{
	struct alone *a = ctx;

	a->code = code;
	a->is_over = true;
	return 0;
}

static int alone_tick(void *ctx)
{
	struct alone *a = ctx;

	return a->is_over || !a->tick ? 0 : a->tick(a->ctx);
}

int online_stream(struct online *o, const char *path,
                  int (*each)(void *ctx, const char *event, const char *data),
                  int (*tick)(void *ctx), void *ctx)
{
	struct alone a = { .each = each, .tick = tick, .ctx = ctx };
	struct flows *fs = flows_new(o);

	flows_add(fs, path, alone_each, &a);
	int r = flows_run(fs, alone_over, alone_tick, &a);
	flows_free(fs);
	return r ? r : a.code;
}
