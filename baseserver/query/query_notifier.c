/* What only the notifier knows: it is asked through its session. */

#include "baseserver/query/query_impl.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

static void notifier_forget(struct letter *l)
{
	struct client_request *r = (struct client_request *)l;
	struct query *q = r->ctx;

	q->letter.discard(&q->letter);
	client_request_free(r);
}

static void notifier_answered(struct letter *l, void *self)
{
	struct client_request *r = (struct client_request *)l;
	struct query *q = r->ctx;

	(void)self;
	if (r->code < 0)
		refuse(&q->refusal, r->code, "", NULL, "%s", r->text);
	else
		buf_puts(&q->out, r->body ? r->body : "{}");
	client_request_free(r);
	query__home(q);
}

/* What each of them may be asked with; the first one must be said. */
static const char *const keys_of[QK_COUNT][6] = {
	[QK_CHANNELS] = { NULL },
	[QK_RULES] = { "workflow" },
	[QK_CHANNEL_TEST] = { "channel", "to", "actor", "within" },
	[QK_PUSH] = { "owner" },
	[QK_PUSH_CHECK] = { "endpoint", "p256dh", "auth" },
	[QK_PUSH_TEST] = { "device", "actor" },
};

bool query__is_notifiers(enum query_kind kind)
{
	return kind == QK_CHANNELS || keys_of[kind][0];
}

static int query_notifier_check(const struct query *q, const struct jval *args, struct refusal *f)
{
	const char *key = keys_of[q->kind][0], *text = NULL;
	int r = arg_object(args, "args", keys_of[q->kind], f);

	if (r < 0 || !key)
		return r;
	r = arg_text(args, "args", key, 1000, &text, f);
	return r == 0 && (!text || !*text)
	               ? refuse(f, E_INVALID, key, NULL, "args.%s: is missing", key)
	               : r;
}

static void channel_print(struct buf *out, const struct doc *d)
{
	static const char *const texts[] = { "kind", "where", "user", "chat", "language" };
	const struct jval *json = doc_json(d);

	put_open(out, NULL, '{');
	put_text(out, "name", d->name);
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		put_text(out, texts[i], jv_text(json, texts[i]));
	put_text(out, "sender", jv_text(json, "from"));
	put_text(out, "made", "server");
	put_bool(out, "hidden", false);
	put_text(out, "lacks", NULL);
	put_bool(out, "insecure", jv_true(json, "insecure"));
	put_open(out, "projects", '[');
	JV_EACH(v, jv_get(json, "projects"))
		put_text(out, NULL, v->text);
	put_close(out, ']');
	put_open(out, "secrets", '[');
	JV_EACH(v, jv_get(json, "secrets"))
		put_text(out, NULL, v->key);
	put_close(out, ']');
	put_int(out, "queue", 0);
	put_null(out, "last_at");
	put_null(out, "last_ok");
	put_null(out, "last_error");
	put_close(out, '}');
}

/* No notifier is there: those that are documents, and that nobody is told. */
static int channels_without(struct query *q)
{
	const struct docs *ds = commander_docs(q->c, DOC_CHANNEL);

	put_open(&q->out, NULL, '{');
	put_bool(&q->out, "notifier", false);
	put_int(&q->out, "queue", 0);
	put_open(&q->out, "channels", '[');
	for (size_t i = 0; i < ds->n; i++)
		if (!ds->items[i].retired)
			channel_print(&q->out, &ds->items[i]);
	put_close(&q->out, ']');
	put_open(&q->out, "oncall", '[');
	put_close(&q->out, ']');
	put_close(&q->out, '}');
	query__home(q);
	return 0;
}

int query__notifier(struct query *q, const struct jval *args, struct refusal *f)
{
	const struct commander *c = q->c;
	int code = query_notifier_check(q, args, f);

	if (code < 0)
		return code;
	uint32_t session = 0;
	struct worker *notifier = commander_notifier_seen(c, &session);
	if (!notifier && q->kind == QK_CHANNELS)
		return channels_without(q);
	if (!notifier || !commander_front(c) || !commander_front(c)->ask)
		return refuse(f, E_AGAIN, "", "start sirdar-notifier, see its log",
		              "no notifier is connected to this server");
	struct client_request *r = client_request_new(q->req->kind, q->req->args, q->req->args_len);
	r->letter.discard = notifier_forget;
	r->reply_to = commander_actor(c);
	r->answered = notifier_answered;
	r->ctx = q;
	r->session = session;
	r->id = commander_next_ask(q->c);
	commander_front(c)->ask(notifier, r);
	return 0;
}
