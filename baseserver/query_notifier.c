/* What only the notifier knows: it is asked through its session. */
#include <string.h>

#include "baseserver/json_read.h"
#include "baseserver/query_impl.h"
#include "util/err.h"

static void forget(struct letter *l)
{
	struct client_request *r = (struct client_request *)l;
	struct query *q = r->ctx;

	q->letter.discard(&q->letter);
	client_request_free(r);
}

static void answered(struct letter *l, void *self)
{
	struct client_request *r = (struct client_request *)l;
	struct query *q = r->ctx;

	(void)self;
	if (r->code < 0)
		refuse(&q->refusal, r->code, "", NULL, "%s", r->text);
	else
		buf_puts(&q->out, r->body ? r->body : "{}");
	client_request_free(r);
	query_home(q);
}

static int check(const struct query *q, const struct jval *args, struct refusal *f)
{
	static const char *const none[] = { NULL };
	static const char *const rules[] = { "workflow", NULL };
	static const char *const test[] = { "channel", "to", "actor", NULL };
	const char *key = q->kind == QK_RULES ? "workflow" : "channel", *text = NULL;

	if (q->kind == QK_CHANNELS)
		return arg_object(args, "args", none, f);
	int r = arg_object(args, "args", q->kind == QK_RULES ? rules : test, f);
	if (r == 0)
		r = arg_text(args, "args", key, 400, &text, f);
	return r == 0 && (!text || !*text)
	               ? refuse(f, E_INVALID, key, NULL, "args.%s: is missing", key)
	               : r;
}

int query_notifier(struct query *q, const struct jval *args, struct refusal *f)
{
	const struct commander *c = q->c;
	int code = check(q, args, f);

	if (code < 0)
		return code;
	if (!c->notifier || !c->front || !c->front->ask)
		return refuse(f, E_AGAIN, "", "start sirdar-notifier, see its log",
		              "no notifier is connected to this server");
	struct client_request *r = client_request_new(q->req->kind, q->req->args, q->req->args_len);
	r->letter.discard = forget;
	r->reply_to = c->me;
	r->answered = answered;
	r->ctx = q;
	r->session = c->notifier_session;
	r->id = ++q->c->last_ask;
	c->front->ask(c->notifier, r);
	return 0;
}
