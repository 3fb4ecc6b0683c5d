/* Kinds of commands and queries as the tables have them: their words, what they act on, which role
 * they need. What a kind means stands in commander_kinds.c; who has which role, in grants.c. */
#include "baseserver/model/command.h"

#include <string.h>

static const struct {
	const char *name;
	enum acts_on on;
	enum least role;
} kinds[] = {
#define COMMAND(NAME, kind, role, acts_on, bulk, what) \
	[CK_##NAME] = { kind, ON_##acts_on, LEAST_##role },
#include "tbl/command.def"
#undef COMMAND
};

static const struct {
	const char *name;
	enum least role;
	enum query_of of;
	bool is_tellers;
} queries[] = {
#define TELLER    true
#define NO_TELLER false
#define QUERY(NAME, kind, role, of, teller, what) \
	[QK_##NAME] = { kind, LEAST_##role, OF_##of, teller },
#include "tbl/query.def"
#undef QUERY
#undef TELLER
#undef NO_TELLER
};

static const char *const roles[] = { "viewer", "developer", "operator", "admin" };

static const char *const states[] = {
	"queued", "running", "paused", "done", "failed", "cancelled"
};

const char *command_kind_name(enum command_kind k)
{
	return k < CK_COUNT ? kinds[k].name : "?";
}

bool command_kind_parse(const char *name, enum command_kind *ret_kind)
{
	for (int k = 0; k < CK_COUNT; k++)
		if (strcmp(kinds[k].name, name) == 0) {
			*ret_kind = (enum command_kind)k;
			return true;
		}
	return false;
}

enum acts_on command_acts_on(enum command_kind k)
{
	return kinds[k].on;
}

enum least command_least(enum command_kind k)
{
	return kinds[k].role;
}

const char *least_name(enum least l)
{
	return roles[l];
}

const char *command_state_name(enum command_state s)
{
	return s < CS_COUNT ? states[s] : "?";
}

bool command_state_over(enum command_state s)
{
	return s == CS_DONE || s == CS_FAILED || s == CS_CANCELLED;
}

bool query_wants_admin(enum query_kind k)
{
	return queries[k].role == LEAST_ADMIN;
}

enum query_of query_tells_of(enum query_kind k)
{
	return queries[k].of;
}

bool query_is_tellers(enum query_kind k)
{
	return queries[k].is_tellers;
}

bool query_kind_parse(const char *name, enum query_kind *ret_kind)
{
	for (int k = 0; k < QK_COUNT; k++)
		if (strcmp(queries[k].name, name) == 0) {
			*ret_kind = (enum query_kind)k;
			return true;
		}
	return false;
}
