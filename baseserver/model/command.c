#include "baseserver/model/command.h"

#include <string.h>

enum least { VIEWER, DEVELOPER, OPERATOR, ADMIN };

static const struct {
	const char *name;
	enum acts_on on;
	enum least role;
} kinds[] = {
#define COMMAND(NAME, kind, role, acts_on, bulk, what) [CK_##NAME] = { kind, ON_##acts_on, role },
#include "tbl/command.def"
#undef COMMAND
};

static const struct {
	const char *name;
	enum least role;
} queries[] = {
#define QUERY(NAME, kind, role, what) [QK_##NAME] = { kind, role },
#include "tbl/query.def"
#undef QUERY
};

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

bool command_wants_admin(enum command_kind k)
{
	return kinds[k].role == ADMIN;
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
	return queries[k].role == ADMIN;
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
