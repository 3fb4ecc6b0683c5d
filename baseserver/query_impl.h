/* query_impl.h — a query on its way along the actors that know; shared by query*.c only. */
#ifndef BASESERVER_QUERY_IMPL_H
#define BASESERVER_QUERY_IMPL_H

#include "baseserver/commander_impl.h"
#include "sched/instance.h"
#include "util/buf.h"

struct query {
	struct letter letter;
	struct commander *c;
	struct client_request *req;
	enum query_kind kind;
	struct inst_key key;
	bool live;
	struct instance image;
	uint64_t number; /* what it shows; waits until that is durable */
	char broker[64];
	size_t brokers_online;
	bool waits_for_link, in_queue;
	struct buf resolver, sorter; /* their words */
	struct buf out;
	struct query *next;
};

/* query_why.c: the answer of `why`. On the commander's thread. */
void query_why(struct query *q);
/* query_server.c */
void query_server(struct query *q);
void query_health(struct query *q);
void query_metrics(struct query *q);

#endif
