/* names.h — numbers of tasks and workflows, for good: one per name, never used again. */
#ifndef BASESERVER_NAMES_H
#define BASESERVER_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "util/map.h"

struct name {
	char *text;
	uint32_t id, version; /* version: of a workflow */
	int64_t anchor;       /* of a task: the first start ever saved */
};

struct names {
	struct name *items;
	size_t n, cap;
	struct map by_text;
	uint32_t last_id;
};

void names_init(struct names *b);
void names_done(struct names *b);
/* NULL: unknown. Borrowed until the next change. */
struct name *names_find(const struct names *b, const char *text);
/* The one there is, changed, or a new one. */
struct name *names_put(struct names *b, const char *text, uint32_t id);

#endif
