/* What clients ask of the notifier, through the server: its channels, a test of one, its rules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notifier/channels.h"
#include "notifier/devices.h"
#include "notifier/message.h"
#include "notifier/notifier.h"
#include "notifier/outbox.h"
#include "notifier/owners.h"
#include "notifier/post.h"
#include "notifier/rules.h"
#include "notifier/sender.h"
#include "notifier/stored.h"
#include "notifier/wake.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/log.h"

enum { TASKS_MAX = 500 };
#define HOLD_US (10 * US_PER_S)

void asked_put(void *notifier, struct ask *a)
{
	struct notifier *n = notifier;

	a->next = atomic_load(&n->asks);
	while (!atomic_compare_exchange_weak(&n->asks, &a->next, a))
		;
	sender_wake(n->sender);
}

/* --- channels ------------------------------------------------------------------------ */

struct queue {
	const struct notifier *n;
	int64_t now_us;
	int64_t *of; /* by place in the file */
	int64_t all;
};

static int notifier_asked_count(void *ctx, const char *recipient, int64_t letters)
{
	struct queue *q = ctx;
	const struct channel *c = NULL;
	const char *who = NULL;
	struct err ignored = { 0 };

	q->all += letters;
	if (channels_find(q->n->channels, recipient, q->now_us, &c, &who, &ignored) == 0)
		q->of[channels_place(q->n->channels, c)] += letters;
	return 0;
}

/* The first of a name is the one that is meant. */
static const struct channel *find_named(const struct notifier *n, const char *name)
{
	const struct channel *one;

	for (size_t i = 0; (one = channels_at(n->channels, i)); i++)
		if (strcmp(one->name, name) == 0)
			return one;
	return NULL;
}

/* What is no secret: of an address the scheme and the host, for chats have a token behind them. */
static void print_plain(struct buf *out, const struct channel *c, const struct jval *json)
{
	const char *url = c->url, *host = strstr(url, "://");
	size_t len = host ? (size_t)(host - url) + 3 + strcspn(host + 3, "/?#@") : 0;
	char where[300];

	snprintf(where, sizeof where, "%.*s", (int)len, url);
	put_text(out, "where", where[0] ? where : json ? jv_text(json, "where") : NULL);
	put_text(out, "sender", c->from[0] ? c->from : NULL);
	put_text(out, "user", c->user[0] ? c->user : NULL);
	put_text(out, "chat", c->chat[0] ? c->chat : NULL);
	put_text(out, "language", c->language[0] ? c->language : NULL);
	put_bool(out, "insecure", c->insecure);
	put_open(out, "projects", '[');
	JV_EACH(v, c->projects)
		put_text(out, NULL, v->text);
	put_close(out, ']');
	put_open(out, "secrets", '[');
	JV_EACH(v, json ? jv_get(json, "secrets") : NULL)
		put_text(out, NULL, v->key);
	put_close(out, ']');
}

static void print_lists(struct buf *out, const struct channels *c, int64_t now_us)
{
	const char *name, *now;

	put_open(out, "oncall", '[');
	for (size_t i = 0; channels_list_at(c, i, &name, &now, now_us); i++) {
		put_open(out, NULL, '{');
		put_text(out, "name", name);
		put_text(out, "now", now);
		put_close(out, '}');
	}
	put_close(out, ']');
}

static int print_channel(struct notifier *n, const struct channel *c, int64_t waiting,
                         struct buf *out, struct err *err)
{
	static const char *const made[] = { "file", "server", "built in" };
	const struct jval *json = c->made == CHANNEL_STORED ? stored_json(n->stored, c) : NULL;
	char error[200];
	int64_t at_us = 0;
	int r = outbox_try(n->outbox, c->name, &at_us, error, err);

	put_open(out, NULL, '{');
	put_text(out, "name", c->name);
	put_text(out, "kind", channel_type_name(c->type));
	put_text(out, "made", made[c->made]);
	put_bool(out, "hidden", find_named(n, c->name) != c);
	put_text(out, "lacks", c->lacks);
	print_plain(out, c, json);
	put_int(out, "queue", waiting);
	asked_put_try(out, at_us, error);
	put_close(out, '}');
	return r;
}

static int channels(struct notifier *n, struct ask *a, struct err *err)
{
	size_t many = channels_count(n->channels);
	struct queue q = { .n = n,
		           .now_us = clock_wall_us(&clock_machine),
		           .of = mem_array(many + 1, sizeof *q.of) };
	struct buf out;
	int r = outbox_queue(n->outbox, notifier_asked_count, &q, err);

	buf_init(&out);
	put_open(&out, NULL, '{');
	put_int(&out, "queue", q.all);
	put_open(&out, "channels", '[');
	for (size_t i = 0; r == 0 && i < many; i++)
		r = print_channel(n, channels_at(n->channels, i), q.of[i], &out, err);
	put_close(&out, ']');
	print_lists(&out, n->channels, q.now_us);
	put_bool(&out, "notifier", true);
	put_close(&out, '}');
	if (r == 0)
		asked_reply(n, a, 0, "", &out);
	buf_done(&out);
	free(q.of);
	return r;
}

/* --- a test -------------------------------------------------------------------------- */

/* Its secrets were asked for a moment ago: the test waits for them, for HOLD_US at most. */
static bool is_worth_holding(struct notifier *n, struct ask *a)
{
	int64_t now_us = clock_wall_us(&clock_machine);

	if (!a->since_us)
		a->since_us = now_us;
	if (now_us < a->since_us || now_us - a->since_us > HOLD_US)
		return false;
	a->next = n->held;
	n->held = a;
	return true;
}

/* A test by somebody whose rights end at projects: of a channel of these alone. */
static bool is_within(const struct channel *c, const struct jval *within)
{
	if (!jv_is(within, JV_LIST))
		return true;
	JV_EACH(v, c->projects)
		if (v->kind != JV_TEXT || !jv_has(within, v->text))
			return false;
	return jv_first(c->projects) != NULL;
}

/* Why it is not sent; 0: it may be. */
static int test_refusal(const struct channel *c, const struct jval *args, const char **ret)
{
	const char *to = jv_text(args, "to");

	*ret = !c                                      ? "there is no channel of that name"
	       : !is_within(c, jv_get(args, "within")) ? "it is not a channel of your projects"
	       : c->lacks                              ? c->lacks
	       : channel_is_personal(c->type) && (!to || !*to || strpbrk(to, "\r\n"))
	               ? c->type == CH_MAIL ? "`to`: a mail needs the address it goes to"
	                                    : "`to`: a push needs the person it goes to"
	               : NULL;
	return !*ret                                   ? 0
	       : !c                                    ? E_NOT_FOUND
	       : !is_within(c, jv_get(args, "within")) ? E_FORBIDDEN
	       : c->lacks                              ? E_SECRET
	                                               : E_INVALID;
}

static int asked_test(struct notifier *n, struct ask *a, const struct jval *args)
{
	const char *name = jv_text(args, "channel"), *to = jv_text(args, "to");
	const char *actor = jv_text(args, "actor");
	const struct channel *c = NULL;

	const struct channel *one;
	const char *why = NULL;

	for (size_t i = 0; name && !c && (one = channels_at(n->channels, i)); i++)
		if (strcmp(one->name, name) == 0)
			c = one;
	if (c && c->lacks == CHANNEL_PENDING && is_worth_holding(n, a))
		return 0;
	int code = test_refusal(c, args, &why);
	if (code < 0) {
		asked_reply(n, a, code, why, NULL);
		return 0;
	}
	snprintf(a->channel, sizeof a->channel, "%s", c->name);
	log_info("channel.test", "channel=%s actor=%s", c->name, actor ? actor : "");
	post_ask(n, a, c, channel_is_personal(c->type) ? to : "");
	return 0;
}

/* --- rules --------------------------------------------------------------------------- */

struct ids {
	uint32_t items[TASKS_MAX];
	size_t n;
};

static int take_task(void *ctx, const struct store_task *t)
{
	struct ids *all = ctx;

	if (t->state != 3 && all->n < TASKS_MAX) /* retired ones tell nobody */
		all->items[all->n++] = t->id;
	return 0;
}

static void print_rule(struct buf *out, const char *word, const char *to, int64_t after_us,
                       const char *from)
{
	put_open(out, NULL, '{');
	put_text(out, "kind", word);
	put_text(out, "to", to);
	put_int(out, "after_s", after_us / US_PER_S);
	put_text(out, "from", from);
	put_close(out, '}');
}

/* Rules that are documents: by what they are called. */
static void print_stored(struct notifier *n, const struct task_rules *t, const char *word,
                         struct buf *out)
{
	const struct stored_rule *rule;
	char from[80];

	for (size_t i = 0; (rule = stored_rule_at(n->stored, i)); i++) {
		if (!stored_rule_is_of(rule, t->task, word))
			continue;
		snprintf(from, sizeof from, "rule %.64s", rule->name);
		JV_EACH(v, rule->to)
			print_rule(out, word, v->text, rule->after_us, from);
	}
}

static void print_rules(struct notifier *n, const struct task_rules *t, struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "task", t->task);
	put_text(out, "owner", t->owner);
	put_open(out, "rules", '[');
	for (int what = 0; what < HP_TEST; what++) {
		const char *word = happening_word((enum happening)what), *to;
		int64_t after_us = 0;
		bool of_project = false;
		for (size_t i = 0; (to = rules_recipient(t, word, i, &after_us, &of_project)); i++)
			print_rule(out, word, to, after_us, of_project ? "project" : "workflow");
		print_stored(n, t, word, out);
		for (size_t i = 0;; i++) {
			char *owner = news_owner_recipient(n, t, (enum happening)what, i);
			if (!owner)
				break;
			print_rule(out, word, owner, 0, "owner");
			free(owner);
		}
	}
	put_close(out, ']');
	put_close(out, '}');
}

static int tasks_of(struct notifier *n, const char *workflow, struct ids *ret, struct err *err)
{
	char *prefix = mem_fmt("%s/", workflow);
	struct read_task_filter f = { .prefix = prefix };
	struct read_page page = { .limit = READ_ROWS_MAX };
	int r = read_tasks(n->reader, &f, &page, take_task, ret, err);

	free(prefix);
	return r;
}

static int rules(struct notifier *n, struct ask *a, const struct jval *args, struct err *err)
{
	const char *workflow = jv_text(args, "workflow");
	struct ids *all = mem_new(sizeof *all);
	struct task_rules t;
	struct buf out;
	int r = rules_refresh(n->rules, err);

	if (r == 0)
		r = devices_refresh(n->devices, err);
	if (r == 0)
		r = owners_refresh(n->owners, err);
	if (r == 0)
		r = tasks_of(n, workflow ? workflow : "", all, err);
	buf_init(&out);
	put_open(&out, NULL, '{');
	put_text(&out, "workflow", workflow);
	put_open(&out, "tasks", '[');
	for (size_t i = 0; r == 0 && i < all->n; i++) {
		r = rules_of(n->rules, all->items[i], &t, err);
		if (r == 0)
			print_rules(n, &t, &out);
		else if (r == E_NOT_FOUND)
			r = 0;
	}
	put_close(&out, ']');
	put_close(&out, '}');
	if (r == 0 && all->n == 0)
		asked_reply(n, a, E_NOT_FOUND, "there is no such workflow", NULL);
	else if (r == 0)
		asked_reply(n, a, 0, "", &out);
	buf_done(&out);
	free(all);
	return r;
}

/* --- one after the other -------------------------------------------------------------- */

static void answer(struct notifier *n, struct ask *a)
{
	const struct jval *args = NULL;
	struct err err = { 0 };
	int r = jv_parse(a->args, strlen(a->args), &args, &err);

	if (r < 0)
		;
	else if (strcmp(a->kind, "channels") == 0)
		r = channels(n, a, &err);
	else if (strcmp(a->kind, "rules") == 0)
		r = rules(n, a, args, &err);
	else if (strcmp(a->kind, "channel-test") == 0)
		r = asked_test(n, a, args);
	else if (strncmp(a->kind, "push", 4) == 0)
		r = asked_push(n, a, args, &err);
	else
		r = err_set(&err, E_UNSUPPORTED, "this notifier does not know %.40s", a->kind);
	if (r < 0)
		asked_reply(n, a, r, err.text, NULL);
	jv_free(args);
}

bool asked_answer(struct notifier *n, int64_t now_us)
{
	struct ask *list = atomic_exchange(&n->asks, NULL), *in_order = n->held;

	if (list) { /* what was changed before the question counts */
		struct err ignored = { 0 };
		stored_refresh(n->stored, &ignored);
		if (n->wake)
			stored_ask(n->stored, n->wake, now_us);
	}
	n->held = NULL;

	while (list) {
		struct ask *next = list->next;
		list->next = in_order;
		in_order = list;
		list = next;
	}
	while (in_order) {
		struct ask *next = in_order->next;
		in_order->next = NULL;
		answer(n, in_order);
		in_order = next;
	}
	return n->held != NULL;
}
