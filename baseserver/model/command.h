/* command.h — the kinds and states of commands, by number and by name. */
#ifndef BASESERVER_COMMAND_H
#define BASESERVER_COMMAND_H

#include <stdbool.h>

enum command_kind {
#define COMMAND(NAME, kind, role, acts_on, bulk, what) CK_##NAME,
#include "tbl/command.def"
#undef COMMAND
	CK_COUNT
};

/* What a kind's selection may name. */
enum acts_on {
	ON_DOCUMENTS,
	ON_TASKS,
	ON_INSTANCES,
	ON_EITHER,
	ON_BROKERS,
	ON_COMMANDS,
	ON_NOTHING
};

/* The role that somebody needs for it, each more than the one before. */
enum least { LEAST_VIEWER, LEAST_DEVELOPER, LEAST_OPERATOR, LEAST_ADMIN, LEAST_COUNT };

/* Numbers are stored: append only. */
enum command_state { CS_QUEUED, CS_RUNNING, CS_PAUSED, CS_DONE, CS_FAILED, CS_CANCELLED, CS_COUNT };

enum query_kind {
#define QUERY(NAME, kind, role, of, teller, what) QK_##NAME,
#include "tbl/query.def"
#undef QUERY
	QK_COUNT
};

/* Of what a query tells: query.def. */
enum query_of { OF_PUBLIC, OF_PARTLY, OF_WHOLE, OF_PEOPLE };

const char *command_kind_name(enum command_kind k); /* "force-success" */
bool command_kind_parse(const char *name, enum command_kind *ret_kind);
enum acts_on command_acts_on(enum command_kind k);
enum least command_least(enum command_kind k);
const char *least_name(enum least l);                 /* "viewer" */
const char *command_state_name(enum command_state s); /* "running" */
bool command_state_over(enum command_state s);        /* done, failed, cancelled */
bool query_wants_admin(enum query_kind k);
enum query_of query_tells_of(enum query_kind k);
bool query_is_tellers(enum query_kind k); /* may a notifier ask it? */
bool query_kind_parse(const char *name, enum query_kind *ret_kind);

#endif
