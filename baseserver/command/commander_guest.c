#include "baseserver/command/commander_guest.h"

#include "baseserver/command/commander_impl.h"

const struct catalog *commander_catalog(const struct commander *c)
{
	return &c->cat;
}

const struct front *commander_front(const struct commander *c)
{
	return c->front;
}

struct ledger *commander_ledger(const struct commander *c)
{
	return c->ledger;
}

const struct progress *commander_progress_of(const struct commander *c)
{
	return &c->progress;
}

const struct lead_view *commander_lead_seen(const struct commander *c)
{
	return &c->lead;
}

const struct docs *commander_docs(const struct commander *c, enum store_doc_kind kind)
{
	return &c->docs[kind];
}

const char *commander_timezone(const struct commander *c)
{
	return c->set.timezone ? c->set.timezone : "UTC";
}

const char *commander_nodes_seen(const struct commander *c)
{
	return c->nodes ? c->nodes : "{\"etcd\":false,\"nodes\":[]}";
}

uint64_t commander_seen(const struct commander *c)
{
	return stream_seen(c->in);
}

struct face commander_face(const struct commander *c, uint64_t id)
{
	const struct cmd *cmd = commander__find(c, id);
	const struct past *past = cmd ? NULL : pasts__find(&c->pasts, id);

	return cmd ? cmd__face(cmd) : past ? past__face(past) : (struct face){ 0 };
}

struct worker *commander_notifier_seen(const struct commander *c, uint32_t *ret_session)
{
	*ret_session = c->notifier_session;
	return c->notifier;
}

uint64_t commander_next_ask(struct commander *c)
{
	return ++c->last_ask;
}

bool commander_stuck(const struct commander *c)
{
	return c->stuck != NULL;
}

struct query **commander_parked(struct commander *c)
{
	return &c->parked;
}
