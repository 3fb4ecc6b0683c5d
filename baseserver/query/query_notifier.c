/* What only the notifier knows: it is asked through its session. */

#include "baseserver/query/query_impl.h"
#include "util/err.h"
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
	[QK_CHANNEL_TEST] = { "channel", "to", "actor" },
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

int query__notifier(struct query *q, const struct jval *args, struct refusal *f)
{
	const struct commander *c = q->c;
	int code = query_notifier_check(q, args, f);

	if (code < 0)
		return code;
	uint32_t session = 0;
	struct worker *notifier = commander_notifier_seen(c, &session);
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
