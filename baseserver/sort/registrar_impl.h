/* registrar_impl.h — the registrar's inside, shared by registrar*.c only. */
#ifndef BASESERVER_REGISTRAR_IMPL_H
#define BASESERVER_REGISTRAR_IMPL_H

#include "baseserver/sort/broker.h"

struct registrar {
	struct actor *me;
	struct ledger *ledger;
	struct broker **brokers;
	size_t n;
	uint32_t last_id;
	struct manifests *types; /* NULL: none */
	int64_t beat_us;
	void (*tell)(void *ctx, enum roster is, const char *name); /* of a new one; NULL: nobody */
	void *tell_ctx;
	struct roster_name *told;
	size_t n_told;
};

const char *runner__state_name(const struct runner *run);
/* It is granted jobs, if it has a free slot. */
bool runner__accepts(const struct broker *b, const struct runner *run);
/* Its taskbroker says that it has no jobkeeper; why_not has its words. */
bool registrar__is_keeperless(const struct broker *b);

#endif
