/* Values from outside: kept for a while, fetched when they are asked for.
 *
 * A value is known by its reference. It is kept in memory alone, for secret_keep_ms or two thirds
 * of its lease, whichever ends first, and wiped then; a job that is about to begin gets none with
 * less than half of that time left, so that it can ask again while it starts. What failed is not
 * tried again before a pause that doubles, up to SECRET_WAIT_MAX_US: who asks meanwhile is told
 * why, at once. A source that is one place and cannot be had at all (E_IO, E_TIMEOUT, E_AUTH)
 * pauses as a whole, a path of a file or of a program alone.
 *
 * A value is fetched by a thread of its own (fetch.h), so this one never waits, and whoever asks
 * for the same value meanwhile gets the same answer. A source has so many threads at once and no
 * more, and half of them for what failed before: many that do not answer leave room for the rest.
 * A question with several values asks for all of them, and is answered when none is under way. */
#include "baseserver/secret/secrets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/secret/fetch.h"
#include "baseserver/secret/source.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "util/param.h"
#include "util/utf8.h"

enum { SOURCES_MAX = 8, KEPT_MAX = 4096, AT_WORK_MAX = 8 };
#define PAUSE_US US_PER_S /* the first */

/* Tried in vain: when again. */
struct trouble {
	int64_t pause_us, until_us; /* pause 0: it went well */
	int64_t noted_us;
	char why[300];
};

struct kept {
	char *from, *path, *key;
	char *value; /* NULL: none now */
	int64_t got_us, end_us;
	struct trouble trouble;
	uint64_t turn; /* of those that wait for a thread, the lowest is next; 0: it does not */
	bool is_at_work;
};

struct open_source {
	const struct source *source;
	void *self; /* NULL: no setting allows it */
	struct trouble trouble;
	size_t n_at_work, n_again; /* threads; of these for what failed before */
};

/* A question that waits for values, in order of arrival. */
struct waiting {
	struct waiting *next;
	struct secret_question *q;
};

struct secrets {
	struct actor *me;
	const struct param_baseserver *p;
	struct open_source sources[SOURCES_MAX];
	size_t n_sources;
	struct kept *kept;
	size_t n, cap;
	uint64_t turns;
	struct waiting *first, **end;
	struct fetch *at_work; /* a list */
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
		if (k->turn || k->is_at_work) {
			s->kept[n++] = *k;
			continue;
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

static struct kept *kept_find(struct secrets *s, const struct secret_ref *w)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->kept[i].path, w->path) == 0 && strcmp(s->kept[i].key, w->key) == 0 &&
		    strcmp(s->kept[i].from, w->from) == 0)
			return &s->kept[i];
	return NULL;
}

/* The one of that reference, made when it is not there. NULL: there are too many. */
static struct kept *kept_of(struct secrets *s, const struct secret_wish *w)
{
	const struct secret_ref ref = { w->from, w->path, w->key };
	struct kept *k = kept_find(s, &ref);

	if (k || s->n == KEPT_MAX)
		return k;
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
	t->noted_us = now;
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

static void kept_take(struct secrets *s, struct kept *k, const struct fetch *f)
{
	text_wipe(k->value);
	k->value = mem_strn((const char *)buf_at(&f->value), f->value.len);
	k->got_us = clock_steady_us();
	k->end_us = k->got_us + kept_for(s, f->lease_us);
}

/* What was begun before the trouble was known says nothing new. */
static void fetch_failed(struct open_source *o, struct kept *k, const struct fetch *f, int r)
{
	struct trouble *t = is_of_all(o, r) ? &o->trouble : &k->trouble;

	if (!t->pause_us || t->noted_us <= f->began_us)
		trouble_note(t, clock_steady_us(), f->err.text);
	log_warn("secret.failed", "from=%s path=%s text=\"%s\"", k->from, k->path, f->err.text);
}

static void fetch_judge(struct secrets *s, struct open_source *o, struct kept *k, struct fetch *f)
{
	bool was_away = o->trouble.pause_us > 0;
	int r = f->r == 0 ? value_judge(&f->value, &f->err) : f->r;

	if (r < 0) {
		fetch_failed(o, k, f, r);
	} else {
		kept_take(s, k, f);
		trouble_end(&k->trouble);
	}
	if (!is_of_all(o, r) && o->trouble.noted_us <= f->began_us) {
		trouble_end(&o->trouble);
		if (was_away)
			log_info("secret.source_back", "from=%s", k->from);
	}
}

static void on_fetched(struct letter *l, void *self);

/* What failed before has half of the threads. */
static bool has_thread(const struct open_source *o, const struct kept *k)
{
	return o->n_at_work < AT_WORK_MAX && (!k->trouble.pause_us || o->n_again < AT_WORK_MAX / 2);
}

static bool fetch_start(struct secrets *s, struct open_source *o, struct kept *k)
{
	const struct secret_ref ref = { k->from, k->path, k->key };
	struct fetch *f = NULL;
	struct err err = { 0 };

	k->turn = 0;
	int r = source_check(&ref, &err); /* what is stored is not believed */
	if (r == 0)
		r = fetch_begin(o->source, o->self, &ref,
		                &(struct fetch_reply){ s->me, on_fetched }, &f, &err);
	if (r < 0) {
		trouble_note(&k->trouble, clock_steady_us(), err.text);
		return false;
	}
	CHECK(f);
	f->is_again = k->trouble.pause_us > 0;
	o->n_at_work++;
	o->n_again += f->is_again;
	k->is_at_work = true;
	f->next = s->at_work;
	s->at_work = f;
	return true;
}

/* Who waits longest begins, of each source. False: one of them could not. */
static bool fetches_start(struct secrets *s)
{
	bool is_good = true;

	for (;;) {
		struct kept *next = NULL;

		for (size_t i = 0; i < s->n; i++) {
			struct kept *k = &s->kept[i];

			if (k->turn && (!next || k->turn < next->turn) &&
			    has_thread(source_of(s, k->from), k))
				next = k;
		}
		if (!next)
			return is_good;
		is_good &= fetch_start(s, source_of(s, next->from), next);
	}
}

/* Where the place is away, who waits for it is told so, and nothing begins. */
static void turns_end(struct secrets *s, const struct open_source *o)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->kept[i].from, o->source->name) == 0)
			s->kept[i].turn = 0;
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

/* Of a source that is not there, or of more than are kept. */
static int refuse_unkept(struct secret_question *q, const struct secret_wish *w,
                         const struct open_source *o)
{
	char why[120];

	snprintf(why, sizeof why, "%s%s",
	         !o         ? "there is no such source"
	         : !o->self ? "the server's setting is empty: "
	                    : "too many secrets are in use",
	         o && !o->self ? o->source->setting : "");
	return refuse_wish(q, w, why, 0);
}

/* False: its value is under way. */
static bool wish_fill(struct secrets *s, struct secret_question *q, struct secret_wish *w)
{
	struct open_source *o = source_of(s, w->from);
	struct kept *k = o && o->self ? kept_of(s, w) : NULL;
	int64_t now = clock_steady_us();

	if (!k) {
		q->code = q->code ? q->code : refuse_unkept(q, w, o);
		return true;
	}
	if (k->turn || k->is_at_work)
		return false;
	if (!w->is_asked && !is_fresh(k, now, q->is_ahead) && now >= o->trouble.until_us &&
	    now >= k->trouble.until_us) {
		w->is_asked = true;
		k->turn = ++s->turns;
		return false;
	}
	if (is_fresh(k, now, false)) {
		w->value = mem_str(k->value);
		return true;
	}
	const struct trouble *t = o->trouble.pause_us ? &o->trouble : &k->trouble;
	q->code = q->code ? q->code : refuse_wish(q, w, t->why, t->until_us - now);
	return true;
}

/* False: it waits for a value still. */
static bool question_fill(struct secrets *s, struct secret_question *q)
{
	bool is_over = true;

	for (size_t i = 0; i < q->n; i++)
		if (!q->wishes[i].is_filled)
			is_over &= q->wishes[i].is_filled = wish_fill(s, q, &q->wishes[i]);
	return is_over;
}

static void question_answer(struct secret_question *q)
{
	q->letter.deliver = q->answered;
	if (actor_post_credit(q->reply_to, &q->letter) < 0)
		q->discard(&q->letter);
}

static void questions_fill(struct secrets *s)
{
	struct waiting **at = &s->first, *w;

	while ((w = *at)) {
		if (!question_fill(s, w->q)) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		question_answer(w->q);
		free(w);
	}
	s->end = at;
}

/* Values came, or will not, or somebody asks. What cannot begin is told in the next round. */
static void questions_go_on(struct secrets *s)
{
	do
		questions_fill(s);
	while (!fetches_start(s));
	kept_expire(s, clock_steady_us());
}

static void on_question(struct letter *l, void *self)
{
	struct secret_question *q = (struct secret_question *)l;
	struct secrets *s = self;
	struct waiting *w = mem_new(sizeof *w);

	CHECK(q->code == 0);
	w->q = q;
	*s->end = w;
	s->end = &w->next;
	questions_go_on(s);
}

static void fetch_forget(struct secrets *s, struct fetch *f)
{
	struct fetch **at = &s->at_work;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	fetch_free(f);
}

static void on_fetched(struct letter *l, void *self)
{
	struct fetch *f = (struct fetch *)l;
	struct secrets *s = self;
	const struct secret_ref ref = { f->from, f->path, f->key };
	struct open_source *o = source_of(s, f->from);
	struct kept *k = kept_find(s, &ref);

	CHECK(o && k && k->is_at_work && o->n_at_work > 0);
	k->is_at_work = false;
	o->n_at_work--;
	o->n_again -= f->is_again;
	fetch_judge(s, o, k, f);
	if (o->trouble.pause_us)
		turns_end(s, o);
	fetch_forget(s, f);
	questions_go_on(s);
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

/* Nobody waits any more, but for threads: each ends within secret_timeout_ms of every step. */
static void secrets_fini(void *self)
{
	struct secrets *s = self;

	for (struct fetch *f = s->at_work; f; f = f->next)
		fetch_join(f);
	for (struct waiting *w; (w = s->first);) {
		s->first = w->next;
		w->q->discard(&w->q->letter);
		free(w);
	}
	s->end = &s->first;
}

const char *secrets_lack(const struct secrets *s, const char *from)
{
	for (size_t i = 0; i < s->n_sources; i++)
		if (strcmp(s->sources[i].source->name, from) == 0)
			return s->sources[i].self ? NULL : s->sources[i].source->setting;
	return NULL;
}

static const struct actor_ops ops = {
	.name = "secrets", .letters_max = 4096, .alarm = secrets_alarm, .fini = secrets_fini
};

static const char *const source_list[] = {
#define SOURCE(name) #name,
#include "baseserver/secret/sources.def"
#undef SOURCE
};
enum { SOURCE_COUNT = sizeof source_list / sizeof source_list[0] };

int secrets_check(const struct param_baseserver *p, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < SOURCE_COUNT && r == 0; i++) {
		const struct source *source = source_find(source_list[i]);
		void *self = NULL;

		r = source->open(p, &self, err);
		source->close(self);
	}
	return r;
}

int secrets_new(struct thread *th, const struct param_baseserver *p, struct secrets **ret,
                struct err *err)
{
	struct secrets *s = mem_new(sizeof *s);
	int r = 0;

	s->p = p;
	s->end = &s->first;
	for (size_t i = 0; i < SOURCE_COUNT && r == 0; i++) {
		struct open_source *o = &s->sources[s->n_sources++];

		CHECK(i < SOURCES_MAX);
		o->source = source_find(source_list[i]);
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
	while (s->at_work)
		fetch_forget(s, s->at_work);
	for (size_t i = 0; i < s->n_sources; i++)
		if (s->sources[i].source)
			s->sources[i].source->close(s->sources[i].self);
	for (size_t i = 0; i < s->n; i++)
		kept_done(&s->kept[i]);
	free(s->kept);
	free(s);
}
