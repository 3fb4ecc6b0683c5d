/* A push to a browser. Where it may go is checked before anything is sent: over https (unless a
 * test's channel allows plain loopback), to a host of the channel's list or of a browser's
 * maker, so that a subscription cannot have us talk to the inside of the network. The text is
 * kept short enough for one record; if a service finds it too long all the same, a brief one
 * follows. Sealing and signing are webpush.c's. */
#include "notifier/push.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "notifier/devices.h"
#include "notifier/message.h"
#include "notifier/notifier.h"
#include "notifier/payload.h"
#include "notifier/webpush.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"

/* A day: who was away for longer looks at the alerts themselves. */
enum { TTL_S = 86400, TITLE_MOST = 200, BODY_MOST = 700, BRIEF_MOST = 80, LINES = 5 };

/* Where the makers of browsers take pushes, unless the channel says otherwise (`hosts`). */
static const char *const makers[] = {
	"fcm.googleapis.com",          /* Chrome, Edge on Android, Opera, Samsung */
	"*.push.services.mozilla.com", /* Firefox */
	"*.push.apple.com",            /* Safari */
	"*.notify.windows.com",        /* Edge */
	NULL,
};

int push_pair(const struct notifier *n, struct webpush_pair **ret_pair, struct err *err)
{
	const struct channel *c = channels_of_type(n->channels, CH_PUSH);

	if (!c)
		return 0;
	char *path = c->key_file[0] ? mem_str(c->key_file)
	                            : mem_fmt("%s/push.key", n->param.state_dir);
	int r = webpush_pair_file(path, ret_pair, err);
	free(path);
	return r;
}

char *push_try_name(const char *device)
{
	return mem_fmt("push:%s", device);
}

/* --- where it may go ----------------------------------------------------------------- */

/* "*.example.org" is any name below it. */
static bool host_fits(const char *pattern, const char *host, size_t n)
{
	size_t m = strlen(pattern);

	if (pattern[0] != '*')
		return m == n && strncasecmp(pattern, host, n) == 0;
	return n > m - 1 && strncasecmp(pattern + 1, host + n - (m - 1), m - 1) == 0;
}

static bool is_loopback(const char *host, size_t n)
{
	return (n == 9 && strncmp(host, "127.0.0.1", n) == 0) ||
	       (n == 9 && strncasecmp(host, "localhost", n) == 0);
}

static int check_host(const struct channel *c, const char *endpoint, struct err *err)
{
	const char *const *allowed = c->hosts ? c->hosts : makers;
	bool tls = strncmp(endpoint, "https://", 8) == 0;
	const char *host = endpoint + (tls ? 8 : 7);
	size_t whole = strcspn(host, "/?#"), n = strcspn(host, ":/?#");
	bool ok = false;

	if (!tls && strncmp(endpoint, "http://", 7) != 0)
		return err_set(err, E_INVALID, "endpoint: want an address, https://...");
	if (memchr(host, '@', whole) || strpbrk(endpoint, "\\ \r\n\t"))
		return err_set(err, E_INVALID, "endpoint: no address of a push service");
	if (!tls && !(c->insecure && is_loopback(host, n)))
		return err_set(err, E_FORBIDDEN, "endpoint: want https://");
	for (; *allowed && !ok; allowed++)
		ok = host_fits(*allowed, host, n);
	/* Another port of such a host is another service; on loopback there are no others. */
	if (ok && (whole == n || is_loopback(host, n)))
		return 0;
	return err_set(err, E_FORBIDDEN,
	               "endpoint: %.*s is none of the push services allowed here (`hosts` of the "
	               "channel push)",
	               (int)(whole < 200 ? whole : 200), host);
}

int push_check(const struct channel *c, const struct webpush_to *to, struct err *err)
{
	int r = check_host(c, to->endpoint, err);

	return r < 0 ? r : webpush_check(to, err);
}

/* --- the message --------------------------------------------------------------------- */

static void push_field(struct buf *out, const char *key, struct buf *value, size_t most)
{
	payload_clean(value, true);
	payload_cut(value, most);
	if (!out->len)
		put_open(out, NULL, '{');
	put_bytes(out, key, buf_str(value), value->len);
	buf_done(value);
	buf_init(value);
}

/* Without the mark that lists of mails are searched by. */
static void put_subject(const struct alert *const *alerts, size_t n, int zh, struct buf *out)
{
	static const char mark[] = "[sirdar] ";

	message_subject(alerts, n, zh, out);
	if (strncmp(buf_str(out), mark, sizeof mark - 1) == 0)
		buf_drop(out, sizeof mark - 1);
}

static void put_body(const struct payload_ask *ask, int zh, struct buf *out)
{
	if (ask->n == 1) {
		buf_puts(out, ask->alerts[0]->reason);
		if (ask->alerts[0]->note[0])
			buf_printf(out, "%s%s", out->len ? "\n" : "", ask->alerts[0]->note);
	}
	for (size_t i = 0; ask->n > 1 && i < ask->n && i < LINES; i++) {
		struct buf one;
		buf_init(&one);
		put_subject(ask->alerts + i, 1, zh, &one);
		buf_printf(out, "%s%s", i ? "\n" : "", buf_str(&one));
		buf_done(&one);
	}
}

void push_text(const struct payload_ask *ask, const char *tag, struct buf *out)
{
	const struct push_target *t = ask->push;
	int zh = t->device->zh;
	struct buf value;

	buf_init(&value);
	put_subject(ask->alerts, ask->n, zh, &value);
	push_field(out, "title", &value, t->brief ? BRIEF_MOST : TITLE_MOST);
	if (!t->brief)
		put_body(ask, zh, &value);
	push_field(out, "body", &value, BODY_MOST);
	if (!t->alert)
		buf_puts(&value, "/ui/settings");
	else if (ask->n == 1)
		buf_printf(&value, "/ui/ops/alerts?a=%" PRId64, t->alert);
	else
		buf_puts(&value, "/ui/ops/alerts");
	push_field(out, "path", &value, TITLE_MOST);
	buf_puts(&value, tag);
	push_field(out, "tag", &value, TITLE_MOST);
	buf_puts(&value, zh ? "zh" : "en");
	push_field(out, "lang", &value, TITLE_MOST);
	buf_putc(out, '}');
	buf_done(&value);
}

static const char *urgency(const struct payload_ask *ask)
{
	static const char *const words[] = { "low", "normal", "high" };
	int most = 0;

	for (size_t i = 0; i < ask->n; i++) {
		int s = happening_severity(ask->alerts[i]->what);
		most = s > most ? s : most;
	}
	return ask->push->alert ? words[most] : "high"; /* who tries it waits for it */
}

void push_print(const struct payload_ask *ask, struct buf *ret_url, struct buf *ret_headers,
                struct buf *ret_body)
{
	const struct push_target *t = ask->push;
	const char *endpoint = t->device->to.endpoint;
	unsigned char salt[WEBPUSH_SALT];
	struct webpush_pair *once = NULL;
	char tag[32] = "sirdar-test";
	struct err err = { 0 };
	struct buf text;

	buf_init(&text);
	if (t->alert)
		snprintf(tag, sizeof tag, "sirdar-%" PRId64, t->alert);
	push_text(ask, tag, &text);
	randombytes_buf(salt, sizeof salt);
	int r = webpush_pair_new(NULL, &once, &err);
	if (r == 0)
		r = webpush_seal(&t->device->to, &(struct webpush_once){ once, salt },
		                 buf_str(&text), text.len, ret_body, &err);
	if (r == 0)
		buf_puts(ret_url, endpoint); /* without one nothing is sent */
	buf_printf(ret_headers,
	           "Content-Type: application/octet-stream\nContent-Encoding: aes128gcm\n"
	           "TTL: %d\nUrgency: %s\nTopic: %s\n",
	           TTL_S, urgency(ask), tag);
	webpush_sign(t->pair, endpoint, ask->channel->from, ask->now_us / US_PER_S, ret_headers);
	webpush_pair_free(once);
	buf_done(&text);
}
