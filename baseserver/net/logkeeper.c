/* What jobs print: chunks by offset come in, ranges and tails go out.
 *
 * A log is one stream of one execution of an attempt, kept in segments (lib/logs). A chunk that
 * comes twice changes nothing; one ahead of the log's end is refused, unless its sender says that
 * the bytes between are lost, and comes again from where the answer says. Executions have logs of
 * their own by token; reading an attempt gives the one that counts, the largest. An actor with a
 * thread of its own, because disks wait: chunks of a turn are synced together at its end, and
 * only then answered. Files of earlier releases (logkeeper_files.c) are read where segments have
 * nothing, and moved into them as soon as their attempt prints more. */
#include "baseserver/net/logkeeper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "baseserver/model/front.h"
#include "baseserver/net/logkeeper_executions.h"
#include "baseserver/net/logkeeper_files.h"
#include "baseserver/net/logkeeper_home.h"
#include "logs/logs.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"
#include "util/own.h"

enum { READ_MAX = 262144, TURN_BYTES_MAX = 4 << 20, PARKED_MAX = 256, PARKED_TIMES_MAX = 8192 };
#define RETAIN_EVERY_US (3600 * US_PER_S)
#define TEND_EVERY_US   (60 * US_PER_S)

struct follower {
	struct follower *next;
	struct log_get *get; /* its offset moves on; its name is whole */
	bool is_due;         /* there may be more for it */
};

struct parked {
	struct parked *next;
	struct log_get *get;
};

struct logkeeper {
	struct actor *me;
	struct logkeeper_settings set;
	int dir_fd;
	bool has_files; /* of an earlier release */
	struct logs *logs;
	struct keeper_home *home;   /* NULL: there is none */
	int64_t alarm_us, files_us; /* mono: the next alarm; the next look at files of before */
	struct follower *followers;
	struct parked *parked; /* questions that wait for the home */
	size_t n_parked;
	int unread_code; /* below 0: what is missed now cannot be had, unread_text says why */
	char unread_text[128];
	struct log_put *waiting, **waiting_tail; /* for the sync of this turn */
	size_t waiting_bytes;
	bool has_claims; /* that nobody waits for */
	uint64_t full;   /* turns refused for want of space, since the last that fitted */
};

uint32_t log_stream_of(uint32_t number)
{
	switch (number) {
#define LOG_STREAM(word, stream, text) case stream:
#include "tbl/log_stream.def"
#undef LOG_STREAM
		return number;
	default:
		return 1;
	}
}

/* Something that stands in the home alone was wanted since the last question. */
static bool keeper_missed(struct logkeeper *k)
{
	return k->home && keeper_home_miss(k->home);
}

static struct log_id id_of(const struct log_name *n)
{
	return (struct log_id){ n->key, n->generation, n->attempt, n->token, n->stream };
}

static bool same_attempt(const struct log_name *a, const struct log_name *b)
{
	return inst_key_eq(a->key, b->key) && a->generation == b->generation &&
	       a->attempt == b->attempt;
}

/* --- chunks in --- */

/* Whether that broker has begun a log of this execution. */
static bool has_begun(struct logkeeper *k, const struct log_put *p)
{
	struct log_facts *all;
	size_t n = logs_of(k->logs, p->name.key, &all);
	bool has = false;

	for (size_t i = 0; i < n && !has; i++)
		has = all[i].id.generation == p->name.generation &&
		      all[i].id.attempt == p->name.attempt && all[i].id.token == p->token &&
		      all[i].broker == p->broker;
	free(all);
	return has;
}

static int claim(struct logkeeper *k, const struct log_put *p)
{
	struct log_piece mark = { .id = id_of(&p->name),
		                  .broker = p->broker,
		                  .now_us = actor_wall_us(k->me) };
	struct log_facts f;

	mark.id.stream = 0;
	if (logs_find(k->logs, &mark.id, &f) == 0)
		return 0;
	k->has_claims = true;
	return logs_append(k->logs, &mark);
}

/* What is beyond job_bytes_max counts as kept: the job goes on, its log is cut. */
static int take_chunk(struct logkeeper *k, struct log_put *p)
{
	struct log_piece piece = { .id = id_of(&p->name),
		                   .broker = p->broker,
		                   .now_us = actor_wall_us(k->me) };
	struct log_facts f = { .bytes = 0 };
	int r = logs_find(k->logs, &piece.id, &f);

	if (r < 0 && r != E_NOT_FOUND)
		return r;
	uint64_t most = (uint64_t)k->set.job_bytes_max, behind = p->offset + p->bytes;
	p->have = f.bytes;
	if (p->offset > f.bytes && f.bytes < most && p->dropped == 0)
		return E_CONFLICT;
	p->have = behind > f.bytes ? behind : f.bytes;
	CHECK(p->have >= f.bytes);
	piece.offset = p->offset > f.bytes ? p->offset : f.bytes;
	if (piece.offset < most && piece.offset < behind) {
		uint64_t to = behind < most ? behind : most;
		piece.data = p->data + (piece.offset - p->offset);
		piece.bytes = (size_t)(to - piece.offset);
	} else {
		piece.offset = f.bytes;
	}
	piece.is_end = p->end && !f.is_ended;
	return piece.bytes || piece.is_end ? logs_append(k->logs, &piece) : 0;
}

static int judge_put(struct logkeeper *k, const struct log_put *p)
{
	int r = k->has_files ? log_files_move(k->dir_fd, k->logs, &p->name, actor_wall_us(k->me))
	                     : 0;

	if (r < 0)
		return r;
	if (p->rule != LOG_TAIL || has_begun(k, p))
		return 0;
	return keeper_missed(k) ? E_AGAIN : E_STALE;
}

static void answer_put(struct log_put *p)
{
	p->letter.deliver = p->answered;
	if (!p->reply_to || actor_post_credit(p->reply_to, &p->letter) < 0)
		free(p);
}

static void waiting_clear(struct logkeeper *k)
{
	k->waiting = NULL;
	k->waiting_tail = &k->waiting;
	k->waiting_bytes = 0;
	k->has_claims = false;
}

/* What was appended since the last sync is gone: its senders have it still. */
static void lose_turn(struct logkeeper *k, int code)
{
	for (struct log_put *p = k->waiting; p; p = p->next)
		if (p->code == 0)
			p->code = code;
	if (code == E_FULL && k->full++ == 0)
		log_error("log.full", "dir=%s text=\"no space left for job logs\"", k->set.dir);
	else if (code != E_FULL)
		log_error("log.failed", "dir=%s code=%s text=\"job logs cannot be written\"",
		          k->set.dir, err_name(code));
}

/* All of this turn is synced, then answered. */
static void settle(struct logkeeper *k)
{
	if (!k->waiting && !k->has_claims)
		return;
	int r = logs_commit(k->logs);
	struct log_put *p = k->waiting, *next;

	if (r < 0)
		lose_turn(k, r);
	waiting_clear(k);
	for (; p; p = next) {
		next = p->next;
		if (p->code == 0)
			k->full = 0;
		answer_put(p);
	}
}

/* Followers of the attempt: of this very log there is more, but for a grant, which has no bytes; of
 * an earlier execution's the new one begins. */
static void mark_followers(struct logkeeper *k, const struct log_put *p)
{
	const struct log_name *n = &p->name;

	for (struct follower *f = k->followers; f; f = f->next) {
		struct log_name *at = &f->get->name;

		if (!same_attempt(at, n))
			continue;
		if (n->token > at->token && !f->get->is_of_one) {
			at->token = n->token;
			f->get->offset = 0;
		}
		f->is_due |= p->rule != LOG_CLAIM && at->token == n->token &&
		             at->stream == n->stream;
	}
}

static void on_put(struct letter *l, void *self)
{
	struct logkeeper *k = self;
	struct log_put *p = (struct log_put *)l;

	CHECK(actor_here(k->me));
	p->name.token = p->token;
	p->next = NULL;
	p->code = judge_put(k, p);
	int r = 0;
	if (p->code == 0)
		r = p->code = p->rule == LOG_CLAIM ? claim(k, p) : take_chunk(k, p);
	if (p->code == E_STALE || p->code == E_CONFLICT)
		log_debug("log.refused", "token=%" PRIx64 " code=%s", p->token, err_name(p->code));
	else if (r == E_FULL || r == E_IO)
		lose_turn(k, r);
	else if (p->code == E_AGAIN)
		keeper_missed(k); /* it is fetched: the sender comes again */
	log_debug("logkeeper.put", "task=%u run_date=%lld end=%d code=%d", p->name.key.task,
	          (long long)p->name.key.run_date, p->end, p->code);
	if (p->code == 0)
		mark_followers(k, p);
	if (p->rule == LOG_CLAIM) {
		free(p);
		return;
	}
	*k->waiting_tail = p;
	k->waiting_tail = &p->next;
	k->waiting_bytes += p->bytes;
	if (k->waiting_bytes >= TURN_BYTES_MAX)
		settle(k);
}

/* --- ranges out --- */

/* The largest token of an attempt: a grant says it before the first byte does. */
static uint64_t token_that_counts(const struct log_facts *all, size_t n, const struct log_facts *of)
{
	uint64_t token = 0;

	for (size_t i = 0; i < n; i++)
		if (all[i].id.generation == of->id.generation &&
		    all[i].id.attempt == of->id.attempt && all[i].id.token > token)
			token = all[i].id.token;
	return token;
}

/* Records are the newest of all: an attempt that has streams instead is later than they. */
static bool is_asked(const struct log_name *n, uint32_t stream)
{
	return stream == n->stream || (n->stream == LOG_RECORDS && stream != 0);
}

/* Make a name whole: the last attempt with this stream, and its execution that counts, among those
 * that the name leaves open. */
static bool find_log(struct logkeeper *k, struct log_name *n)
{
	struct log_facts *all, *best = NULL;
	size_t count = logs_of(k->logs, n->key, &all);

	for (size_t i = 0; i < count; i++) { /* in order: the last that fits is the one */
		struct log_facts *f = &all[i];
		if (is_asked(n, f->id.stream) &&
		    (!n->generation || f->id.generation == n->generation) &&
		    (!n->attempt || f->id.attempt == n->attempt) &&
		    f->id.token == (n->token ? n->token : token_that_counts(all, count, f)))
			best = f;
	}
	struct log_name old = *n;
	if (k->has_files && log_files_last(k->dir_fd, &old) &&
	    (!best || old.generation > best->id.generation ||
	     (old.generation == best->id.generation && old.attempt > best->id.attempt))) {
		struct log_files_owner owner;
		log_files_has(k->dir_fd, &old, &owner);
		bool is_it = !n->token || n->token == owner.token;
		free(all);
		old.token = owner.token;
		if (is_it)
			*n = old;
		return is_it;
	}
	if (best) {
		n->generation = best->id.generation;
		n->attempt = best->id.attempt;
		n->token = best->id.token;
	}
	free(all);
	return best != NULL;
}

static void read_range(struct logkeeper *k, struct log_get *g)
{
	size_t max = g->bytes_max && g->bytes_max < READ_MAX ? g->bytes_max : READ_MAX;
	struct log_id id = id_of(&g->name);
	struct log_facts f = { .bytes = 0 };
	struct err err = { 0 };

	g->data = mem_new(max);
	g->code = logs_find(k->logs, &id, &f);
	if (g->code == 0) {
		if (g->offset > INT64_MAX) /* counted back from the end */
			g->offset = f.bytes > -g->offset ? f.bytes + g->offset : 0;
		g->code = logs_read(k->logs, &id, g->offset, (struct log_room){ g->data, max },
		                    &g->bytes, &err);
		g->end = (f.is_ended || g->is_lost) && g->offset + g->bytes >= f.bytes;
	} else if (g->code == E_NOT_FOUND && k->has_files) {
		g->code = log_files_read(k->dir_fd, &g->name, &g->offset,
		                         (struct log_room){ g->data, max }, &g->bytes, &g->end);
	}
	CHECK(g->bytes <= max);
	if (g->code == E_NOT_FOUND && g->follow && g->name.stream != LOG_RECORDS)
		g->code = 0; /* it was found, and the disk took it back */
	if (g->code < 0)
		snprintf(g->text, sizeof g->text, "%.*s", (int)sizeof g->text - 1,
		         g->code == E_NOT_FOUND || !err.text[0] ? "no log of this attempt"
		                                                : err.text);
	if (g->code < 0 && g->code != E_NOT_FOUND && g->code != E_AGAIN)
		log_error("log.unread", "task=%u code=%s text=\"%s\"", g->name.key.task,
		          err_name(g->code), g->text);
}

/* What it wants stands in the home alone. True: it is not answered, it is on its way here. */
static bool is_away(struct logkeeper *k, struct log_get *a)
{
	if (a->code != E_AGAIN || !keeper_missed(k))
		return false;
	snprintf(a->text, sizeof a->text, "%s", k->unread_text);
	return k->unread_code == 0;
}

/* One answer; a follower keeps its request, with the offset moved on. False: what comes next is on
 * its way from the home. */
static bool logkeeper_give(struct logkeeper *k, struct log_get *g)
{
	bool more = true;

	CHECK(!g->data && !g->bytes); /* the request of a follower carries nothing */
	while (more) {
		struct log_get *a = mem_new(sizeof *a);

		*a = *g;
		read_range(k, a);
		if (is_away(k, a)) {
			log_get_free(a);
			return false;
		}
		g->end = a->end || a->code < 0;
		g->offset = a->offset + a->bytes;
		more = a->bytes == READ_MAX && g->follow && !g->end;
		a->letter.deliver = a->answered;
		/* Once posted it is the reader's. */
		if ((a->bytes == 0 && !a->end && a->code == 0 && g->follow) ||
		    actor_post_credit(a->reply_to, &a->letter) < 0)
			log_get_free(a);
	}
	return true;
}

static void feed_followers(struct logkeeper *k)
{
	for (struct follower **at = &k->followers, *f; (f = *at);) {
		if (f->is_due)
			f->is_due = !logkeeper_give(k, f->get);
		if (!f->get->end) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		log_get_free(f->get);
		free(f);
	}
}

static void on_turn(void *self)
{
	struct logkeeper *k = self;

	settle(k);
	feed_followers(k);
}

static void logkeeper_cancel(struct logkeeper *k, uint32_t session, uint64_t id)
{
	for (struct parked **at = &k->parked, *p; (p = *at);) {
		if (p->get->session == session && (id == 0 || p->get->id == id)) {
			*at = p->next;
			k->n_parked--;
			log_get_free(p->get);
			free(p);
		} else {
			at = &p->next;
		}
	}
	for (struct follower **at = &k->followers, *f; (f = *at);) {
		if (f->get->session == session && (id == 0 || f->get->id == id)) {
			*at = f->next;
			log_get_free(f->get);
			free(f);
		} else {
			at = &f->next;
		}
	}
}

/* A script that fails has often printed to one of the two only. */
static void say_none(struct logkeeper *k, struct log_get *g)
{
	bool err = g->name.stream == 2;
	struct log_name other = g->name;

	other.stream = err ? 1 : 2;
	g->code = E_NOT_FOUND;
	if (g->name.generation && g->name.attempt)
		snprintf(g->text, sizeof g->text, "no log of this attempt");
	else if (find_log(k, &other))
		snprintf(g->text, sizeof g->text,
		         "it printed nothing to its standard %s, but to its standard %s (logs %s)",
		         err ? "error" : "output", err ? "output" : "error",
		         err ? "without -e" : "-e");
	else
		snprintf(g->text, sizeof g->text,
		         "no attempt of it has printed anything; `sirdar why` says how it stands");
}

/* A log of a release before is of one execution, whose token nobody may know. */
static void files_known(struct logkeeper *k, struct log_get *g)
{
	struct log_name n = g->name;
	struct log_files_owner owner;

	for (n.stream = 1; n.stream <= 2 && k->has_files && g->n_known == 0; n.stream++) {
		if (!log_files_last(k->dir_fd, &n))
			continue;
		g->known = mem_new(sizeof *g->known);
		g->n_known = log_files_has(k->dir_fd, &n, &owner);
		*g->known = (struct log_known){ n.generation, n.attempt, 1,   owner.broker,
			                        { 1, 1 },     true,      true };
	}
}

static void answer_none(struct log_get *g)
{
	g->letter.deliver = g->answered;
	if (actor_post_credit(g->reply_to, &g->letter) < 0)
		log_get_free(g);
}

/* Until what it wants is here. */
static void park(struct logkeeper *k, struct log_get *g)
{
	bool is_over = g->parked++ >= PARKED_TIMES_MAX;

	if (k->unread_code < 0 || k->n_parked == PARKED_MAX || is_over) {
		g->code = is_over ? E_LIMIT : E_AGAIN;
		g->end = true;
		snprintf(g->text, sizeof g->text, "%s",
		         k->unread_code < 0 ? k->unread_text
		         : is_over          ? "this log stands in more segments of the home than "
		                              "log_cache_bytes_max has room for"
		                            : "too many ask for logs of the home, try again");
		answer_none(g);
		return;
	}
	struct parked *p = mem_new(sizeof *p);
	p->get = g;
	p->next = k->parked;
	k->parked = p;
	k->n_parked++;
}

/* Asked by an execution's number, or for the list of them. False: it is answered. */
static bool executions_asked(struct logkeeper *k, struct log_get *g)
{
	struct log_facts *all;
	size_t n = logs_of(k->logs, g->name.key, &all);
	bool found = g->execution == 0;

	if (keeper_missed(k)) { /* executions in the home may be left out */
		free(all);
		park(k, g);
		return false;
	}
	if (g->list)
		g->n_known = log_executions_list(all, n, &g->name, &g->known);
	else if (g->execution)
		found = log_execution_find(all, n, &g->name, g->execution);
	g->is_lost = g->execution && found && log_execution_is_lost(all, n, &g->name);
	free(all);
	if (g->list && g->n_known == 0)
		files_known(k, g);
	if (!g->list && found)
		return true;
	if (!found) {
		g->code = E_NOT_FOUND;
		snprintf(g->text, sizeof g->text, "no execution %u is kept of this attempt",
		         g->execution);
	}
	g->end = true;
	answer_none(g);
	return false;
}

static void answer_get(struct logkeeper *k, struct log_get *g)
{
	if (!g->is_judged && (g->execution || g->list) && !executions_asked(k, g))
		return;
	if (!g->is_judged)
		g->is_of_one = g->name.token != 0;
	g->is_judged = true;
	struct log_name name = g->name;
	bool is_found = find_log(k, &name);

	if (keeper_missed(k)) { /* what was found may not be the last one */
		park(k, g);
		return;
	}
	if (!is_found) {
		say_none(k, g);
		g->end = g->name.generation && g->name.attempt;
		answer_none(g);
		return;
	}
	g->name = name;
	if (!logkeeper_give(k, g)) {
		park(k, g);
		return;
	}
	if (!g->follow || g->end) {
		log_get_free(g);
		return;
	}
	struct follower *f = mem_new(sizeof *f);
	f->get = g;
	f->next = k->followers;
	k->followers = f;
}

/* Is anything of it not synced yet? Only then a reader has the turn synced: one that reads much,
 * such as a search, would else have each chunk of others synced alone. */
static bool is_waiting(const struct logkeeper *k, struct inst_key key)
{
	bool is = k->has_claims;

	for (const struct log_put *p = k->waiting; p && !is; p = p->next)
		is = inst_key_eq(p->name.key, key);
	return is;
}

static void on_get(struct letter *l, void *self)
{
	struct logkeeper *k = self;
	struct log_get *g = (struct log_get *)l;
	struct logs_miss before;

	CHECK(actor_here(k->me));
	if (is_waiting(k, g->name.key)) /* what is read is on the disk */
		settle(k);
	logs_miss(k->logs, &before);
	if (g->cancel) {
		logkeeper_cancel(k, g->session, g->id);
		log_get_free(g);
		return;
	}
	answer_get(k, g);
}

/* Something came from the home, or cannot be had now: who waits asks again. */
static void on_fetched(void *ctx, int code, const char *text)
{
	struct logkeeper *k = ctx;
	struct parked *all = k->parked, *next;

	k->unread_code = code;
	if (code < 0)
		snprintf(k->unread_text, sizeof k->unread_text,
		         "the home of logs does not give it: %.90s",
		         text[0] ? text : err_text(code));
	k->parked = NULL;
	k->n_parked = 0;
	for (struct parked *p = all; p; p = next) {
		next = p->next;
		answer_get(k, p->get);
		free(p);
	}
	feed_followers(k);
	k->unread_code = 0;
}

void log_get_free(struct log_get *g)
{
	free(g->data);
	free(g->known);
	free(g);
}

static void get_discard(struct letter *l)
{
	log_get_free((struct log_get *)l);
}

int logkeeper_put(struct logkeeper *k, struct log_put *p)
{
	p->letter = (struct letter){ .deliver = on_put, .discard = letter_free };
	return actor_post(k->me, &p->letter);
}

int logkeeper_get(struct logkeeper *k, struct log_get *g)
{
	g->letter = (struct letter){ .deliver = on_get, .discard = get_discard };
	return actor_post_credit(k->me, &g->letter);
}

/* --- retention --- */

static void alarm_by(void *ctx, int64_t at_us)
{
	struct logkeeper *k = ctx;

	if (at_us >= k->alarm_us)
		return;
	k->alarm_us = at_us;
	actor_alarm(k->me, at_us);
}

static void on_alarm(void *self)
{
	struct logkeeper *k = self;
	int64_t mono_us = actor_mono_us(k->me);
	int64_t now_us = actor_wall_us(k->me), before_us = now_us - k->set.retention_us;
	int64_t every_us = k->home ? TEND_EVERY_US : RETAIN_EVERY_US;

	settle(k);
	logs_tend(k->logs, now_us);
	logs_retain(k->logs, before_us);
	if (mono_us >= k->files_us) {
		if (log_files_any(k->dir_fd))
			log_files_retain(k->dir_fd, before_us / US_PER_S);
		k->has_files = log_files_any(k->dir_fd);
		k->files_us = mono_us + RETAIN_EVERY_US;
	}
	k->alarm_us = ALARM_OFF;
	alarm_by(k, mono_us + (k->set.segment_us < every_us ? k->set.segment_us : every_us));
	if (k->home)
		keeper_home_tend(k->home);
}

void logkeeper_home(const struct logkeeper *k, struct log_home_figures *ret)
{
	*ret = (struct log_home_figures){ .is_set = false };
	if (k->home)
		keeper_home_figures(k->home, ret);
}

void logkeeper_survey(void *self, struct log_survey *ret)
{
	struct logkeeper *k = self;
	int64_t until_us = clock_mono_us(&clock_machine) + LOGKEEPER_SURVEY_MS * US_PER_MS;
	struct log_survey s = { .before_us = actor_wall_us(k->me) - k->set.retention_us,
		                .is_complete = true };
	struct logs_size all, old;

	logs_size(k->logs, s.before_us, &all, &old);
	s.all = all.instances;
	s.all_bytes = all.bytes;
	s.old = old.instances;
	s.old_bytes = old.bytes;
	if (log_files_any(k->dir_fd))
		log_files_survey(k->dir_fd, until_us, &s);
	*ret = s;
}

/* --- beginning and end --- */

static void on_told(void *ctx, const char *what, const char *text)
{
	const struct logkeeper *k = ctx;

	if (strcmp(what, "damaged") == 0 || strcmp(what, "unread") == 0)
		log_error("log.damaged", "dir=%s what=%s text=\"%s\"", k->set.dir, what, text);
	else
		log_warn("log.mended", "dir=%s what=%s text=\"%s\"", k->set.dir, what, text);
}

static int logkeeper_init(void *self, struct actor *me, struct err *err)
{
	struct logkeeper *k = self;

	(void)err;
	k->alarm_us = ALARM_OFF;
	alarm_by(k, actor_mono_us(me) + (k->home ? 0 : 60 * US_PER_S));
	return 0;
}

static const struct actor_ops ops = { .name = "logkeeper",
	                              .letters_max = 1024,
	                              .init = logkeeper_init,
	                              .turn = on_turn,
	                              .alarm = on_alarm };

int logkeeper_new(struct thread *th, const struct logkeeper_settings *set,
                  struct logkeeper **ret_keeper, struct err *err)
{
	int r = own_dir(set->dir, false, err);

	if (r < 0)
		return r;
	int fd = open(set->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, E_IO, errno, "%s", set->dir);
	struct logkeeper *k = mem_new(sizeof *k);
	char *dir = mem_fmt("%s/segments", set->dir), *cache = mem_fmt("%s/cache", set->dir);
	struct logs_settings lset = { .dir = dir,
		                      .segment_age_us = set->segment_us,
		                      .told = on_told,
		                      .ctx = k,
		                      .cache_dir = set->home ? cache : NULL,
		                      .cache_bytes = set->cache_bytes };
	k->set = *set;
	k->dir_fd = fd;
	k->has_files = log_files_any(fd);
	waiting_clear(k);
	r = logs_open(&lset, &k->logs, err);
	free(dir);
	free(cache);
	if (r < 0) {
		close(fd);
		free(k);
		return r;
	}
	k->me = actor_new(th, &ops, k);
	const struct keeper_home_start hs = { k->me, k->logs, &k->set, k, on_fetched, alarm_by };
	if (set->home)
		k->home = keeper_home_new(&hs);
	*ret_keeper = k;
	return 0;
}

void logkeeper_free(struct logkeeper *k)
{
	if (!k)
		return;
	while (k->followers) {
		struct follower *f = k->followers;
		k->followers = f->next;
		log_get_free(f->get);
		free(f);
	}
	for (struct log_put *p = k->waiting, *next; p; p = next) {
		next = p->next;
		free(p);
	}
	for (struct parked *p = k->parked, *next; p; p = next) {
		next = p->next;
		log_get_free(p->get);
		free(p);
	}
	keeper_home_free(k->home);
	logs_close(k->logs);
	close(k->dir_fd);
	free(k);
}

struct actor *logkeeper_actor(struct logkeeper *k)
{
	return k->me;
}
