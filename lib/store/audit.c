#include "store/audit.h"

#include <inttypes.h>
#include <stdio.h>

#include "util/check.h"

void audit_hash(const char *before, const struct read_action *a, char ret_hash[CHAIN_HEX])
{
	char id[24], at[24];

	snprintf(id, sizeof id, "%" PRIu64, a->id);
	snprintf(at, sizeof at, "%" PRId64, a->at_us);

	const char *fields[] = { id, at, a->actor, a->action, a->object, a->detail };

	chain_next(before, fields, sizeof fields / sizeof fields[0], ret_hash);
}

struct read_action audit_of_doc(const struct store_doc *d, const char *action)
{
	return (struct read_action){
		.at_us = d->at_us, .actor = d->actor, .action = action, .object = d->name
	};
}

struct read_action audit_of_command(const struct store_command *c)
{
	return (struct read_action){ .at_us = c->created_us,
		                     .actor = c->actor,
		                     .action = c->kind,
		                     .object = c->request_id,
		                     .detail = c->told ? c->told : c->args };
}

void audit_next(struct audit *last, struct read_action *a)
{
	const char **const texts[] = { &a->actor, &a->action, &a->object, &a->detail };

	CHECK(last->known);
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (!*texts[i])
			*texts[i] = "";
	a->id = ++last->id;
	audit_hash(last->hash, a, last->hash);
	a->hash = last->hash;
}
