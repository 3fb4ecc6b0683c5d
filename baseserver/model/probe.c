/* What a try to connect carries, and words for how it ended. */
#include "baseserver/model/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *probe_outcome_name(uint32_t outcome)
{
	static const struct {
		uint32_t number;
		const char *name;
	} names[] = {
#define PROBE(NAME, num, name, what) { num, name },
#include "tbl/probe.def"
#undef PROBE
	};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (names[i].number == outcome)
			return names[i].name;
	return "other";
}

void probe_free(struct probe *p)
{
	if (!p)
		return;
	free(p->target);
	free(p->project);
	free(p->type);
	free(p->broker);
	free(p->group);
	free(p);
}

void probe_note(struct probe *p, const char *broker, const char *why)
{
	size_t n = strlen(p->text);

	snprintf(p->text + n, sizeof p->text - n, "%s%.63s: %s", n ? "; " : "", broker, why);
}
