/* Values from outside: kept for a while, fetched when they are asked for.
 *
 * A value is known by its reference. It is kept in memory alone, for secret_keep_ms or two thirds
 * of its lease, whichever ends first, and wiped then; a job that is about to begin gets none with
 * less than half of that time left, so that it can ask again while it starts. What failed is not
 * tried again before a pause that doubles, up to SECRET_WAIT_MAX_US: who asks meanwhile is told
 * why, at once. A source that is one place and cannot be had at all (E_IO, E_TIMEOUT, E_AUTH)
 * pauses as a whole, a path of a file or of a program alone: what does not answer keeps this thread
 * for one timeout a pause, and the others work on. */
#include "baseserver/secret/secrets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/secret/source.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "util/param.h"
#include "util/utf8.h"

enum { SOURCES_MAX = 8, KEPT_MAX = 4096 };
#define PAUSE_US US_PER_S /* the first */

/* Tried in vain: when again. */
struct trouble {
	int64_t pause_us, until_us; /* pause 0: it went well */
	char why[300];
};

struct kept {
	char *from, *path, *key;
	char *value; /* NULL: none now */
	int64_t got_us, end_us;
	struct trouble trouble;
};

struct open_source {
	const struct source *source;
	void *self; /* NULL: no setting allows it */
	struct trouble trouble;
};

struct secrets {
	struct actor *me;
	const struct param_baseserver *p;
	struct open_source sources[SOURCES_MAX];
	size_t n_sources;
	struct kept *kept;
	size_t n, cap;
};

static void text_wipe(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void secret_question_done(struct secret_question *q)
{
	for (size_t i = 0; i < q->n; i++) {
		free(q->wishes[i].from);
		free(q->wishes[i].path);
		free(q->wishes[i].key);
		free(q->wishes[i].what);
		text_wipe(q->wishes[i].value);
	}
	free(q->wishes);
	q->wishes = NULL;
	q->n = 0;
}

/* --- what is kept ------------------------------------------------------------------------ */

static void kept_done(struct kept *k)
{
	text_wipe(k->value);
	free(k->from);
	free(k->path);
	free(k->key);
}

/* What is over goes; what failed stays until nobody asked for it through a longest pause. */
static void kept_expire(struct secrets *s, int64_t now)
{
	int64_t next = ALARM_OFF;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct kept *k = &s->kept[i];

		if (k->value && now >= k->end_us) {
			text_wipe(k->value);
			k->value = NULL;
		}
		int64_t end = k->value ? k->end_us : k->trouble.until_us + SECRET_WAIT_MAX_US;
		if (!k->value && (!k->trouble.pause_us || now >= end)) {
			kept_done(k);
			continue;
		}
		next = end < next ? end : next;
		s->kept[n++] = *k;
	}
	s->n = n;
	actor_alarm(s->me, next);
}

/* The one of that reference, made when it is not there. NULL: there are too many. */
static struct kept *kept_of(struct secrets *s, const struct secret_wish *w)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->kept[i].path, w->path) == 0 && strcmp(s->kept[i].key, w->key) == 0 &&
		    strcmp(s->kept[i].from, w->from) == 0)
			return &s->kept[i];
	if (s->n == KEPT_MAX)
		return NULL;
	s->kept = mem_room(s->kept, &s->cap, s->n + 1, sizeof *s->kept);
	s->kept[s->n] = (struct kept){ .from = mem_str(w->from),
		                       .path = mem_str(w->path),
		                       .key = mem_str(w->key) };
	return &s->kept[s->n++];
}

/* --- fetching ---------------------------------------------------------------------------- */

static void trouble_note(struct trouble *t, int64_t now, const char *why)
{
	t->pause_us = !t->pause_us                           ? PAUSE_US
	              : t->pause_us < SECRET_WAIT_MAX_US / 2 ? 2 * t->pause_us
	                                                     : SECRET_WAIT_MAX_US;
	t->until_us = now + t->pause_us;
	snprintf(t->why, sizeof t->why, "%.*s", (int)sizeof t->why - 1, why);
}

static void trouble_end(struct trouble *t)
{
	*t = (struct trouble){ 0 };
}

static bool is_of_all(const struct open_source *o, int code)
{
	return o->source->is_one && (code == E_IO || code == E_TIMEOUT || code == E_AUTH);
}

static struct open_source *source_of(struct secrets *s, const char *from)
{
	for (size_t i = 0; i < s->n_sources; i++)
		if (strcmp(s->sources[i].source->name, from) == 0)
			return &s->sources[i];
	return NULL;
}

/* No job begins with a password that is none. */
static int value_judge(const struct buf *value, struct err *err)
{
	if (value->len == 0)
		return err_set(err, E_INVALID, "its value is empty");
	if (value->len > SECRET_BYTES_MAX)
		return err_set(err, E_TOO_BIG, "its value has more than %d bytes",
		               SECRET_BYTES_MAX);
	if (!utf8_is_text(buf_at(value), value->len))
		return err_set(err, E_INVALID, "its value is no text (UTF-8 without a NUL)");
	return 0;
}

static int64_t kept_for(const struct secrets *s, int64_t lease_us)
{
	int64_t keep_us = s->p->secret_keep_ms * US_PER_MS, most_us = lease_us / 3 * 2;

	return lease_us && most_us < keep_us ? most_us : keep_us;
}

static int fetch_one(struct secrets *s, struct open_source *o, struct kept *k, struct err *err)
{
	const struct secret_ref ref = { k->from, k->path, k->key };
	int64_t lease_us = 0;
	struct buf value;

	buf_init(&value);
	int r = source_check(&ref, err); /* what is stored is not believed */
	if (r == 0)
		r = o->source->fetch(o->self, &ref, &value, &lease_us, err);
	if (r == 0)
		r = value_judge(&value, err);
	if (r == 0) {
		text_wipe(k->value);
		k->value = mem_strn((const char *)buf_at(&value), value.len);
		k->got_us = clock_steady_us();
		k->end_us = k->got_us + kept_for(s, lease_us);
	}
	source_wipe(&value);
	buf_done(&value);
	return r;
}

static void fetch(struct secrets *s, struct open_source *o, struct kept *k)
{
	struct err err = { 0 };
	bool was_away = o->trouble.pause_us > 0;
	int r = fetch_one(s, o, k, &err);
	int64_t now = clock_steady_us();

	if (r < 0) {
		trouble_note(is_of_all(o, r) ? &o->trouble : &k->trouble, now, err.text);
		log_warn("secret.failed", "from=%s path=%s text=\"%s\"", k->from, k->path,
		         err.text);
	}
	if (r == 0)
		trouble_end(&k->trouble);
	if (r == 0 || !is_of_all(o, r)) {
		trouble_end(&o->trouble);
		if (was_away)
			log_info("secret.source_back", "from=%s", k->from);
	}
}

/* --- questions --------------------------------------------------------------------------- */

static bool is_fresh(const struct kept *k, int64_t now, bool is_ahead)
{
	return k->value && now < (is_ahead ? k->got_us + (k->end_us - k->got_us) / 2 : k->end_us);
}

static int refuse_wish(struct secret_question *q, const struct secret_wish *w, const char *why,
                       int64_t wait_us)
{
	snprintf(q->text, sizeof q->text, "waits for %.120s: %.250s", w->what, why);
	q->wait_us = wait_us > PAUSE_US ? wait_us : PAUSE_US;
	return E_SECRET;
}

static int wish_fill(struct secrets *s, struct secret_question *q, struct secret_wish *w)
{
	struct open_source *o = source_of(s, w->from);
	struct kept *k = o && o->self ? kept_of(s, w) : NULL;
	int64_t now = clock_steady_us();
	char why[120];

	if (!k) {
		snprintf(why, sizeof why, "%s",
		         !o         ? "there is no such source"
		         : !o->self ? "the server's setting is empty: "
		                    : "too many secrets are in use");
		if (o && !o->self)
			snprintf(why + strlen(why), sizeof why - strlen(why), "%s",
			         o->source->setting);
		return refuse_wish(q, w, why, 0);
	}
	if (!is_fresh(k, now, q->is_ahead) && now >= o->trouble.until_us &&
	    now >= k->trouble.until_us)
		fetch(s, o, k);
	now = clock_steady_us();
	if (!is_fresh(k, now, false)) {
		const struct trouble *t = o->trouble.pause_us ? &o->trouble : &k->trouble;
		return refuse_wish(q, w, t->why, t->until_us - now);
	}
	w->value = mem_str(k->value);
	return 0;
}

static void on_question(struct letter *l, void *self)
{
	struct secret_question *q = (struct secret_question *)l;
	struct secrets *s = self;

	CHECK(q->code == 0);
	for (size_t i = 0; i < q->n && q->code == 0; i++)
		q->code = wish_fill(s, q, &q->wishes[i]);
	kept_expire(s, clock_steady_us());
	q->letter.deliver = q->answered;
	if (actor_post_credit(q->reply_to, &q->letter) < 0)
		q->discard(&q->letter);
}

int secrets_ask(struct secrets *s, struct secret_question *q)
{
	q->letter = (struct letter){ .deliver = on_question, .discard = q->discard };
	return actor_post(s->me, &q->letter);
}

/* --- life -------------------------------------------------------------------------------- */

static void secrets_alarm(void *self)
{
	kept_expire(self, clock_steady_us());
}

static const struct actor_ops ops = { .name = "secrets",
	                              .letters_max = 4096,
	                              .alarm = secrets_alarm };

int secrets_new(struct thread *th, const struct param_baseserver *p, struct secrets **ret,
                struct err *err)
{
	static const char *const names[] = {
#define SOURCE(name) #name,
#include "baseserver/secret/sources.def"
#undef SOURCE
	};
	struct secrets *s = mem_new(sizeof *s);
	int r = 0;

	s->p = p;
	for (size_t i = 0; i < sizeof names / sizeof names[0] && r == 0; i++) {
		struct open_source *o = &s->sources[s->n_sources++];

		CHECK(i < SOURCES_MAX);
		o->source = source_find(names[i]);
		r = o->source->open(p, &o->self, err);
	}
	if (r < 0) {
		secrets_free(s);
		return r;
	}
	s->me = actor_new(th, &ops, s);
	*ret = s;
	return 0;
}

void secrets_free(struct secrets *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_sources; i++)
		if (s->sources[i].source)
			s->sources[i].source->close(s->sources[i].self);
	for (size_t i = 0; i < s->n; i++)
		kept_done(&s->kept[i]);
	free(s->kept);
	free(s);
}
