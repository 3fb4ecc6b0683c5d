#include "baseserver/ledger/names.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

void names_init(struct names *b)
{
	*b = (struct names){ 0 };
	map_init(&b->by_text);
}

void names_done(struct names *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->items[i].text);
	free(b->items);
	map_done(&b->by_text);
}

struct name *names_find(const struct names *b, const char *text)
{
	uint64_t h = map_text(text);
	size_t at = 0;

	for (uint32_t i = map_first(&b->by_text, h, &at); i != MAP_NONE;
	     i = map_next(&b->by_text, h, &at))
		if (strcmp(b->items[i].text, text) == 0)
			return &b->items[i];
	return NULL;
}

struct name *names_put(struct names *b, const char *text, uint32_t id)
{
	struct name *n = names_find(b, text);

	if (!n) {
		b->items = mem_room(b->items, &b->cap, b->n + 1, sizeof *b->items);
		map_add(&b->by_text, map_text(text), (uint32_t)b->n);
		n = &b->items[b->n++];
		*n = (struct name){ .text = mem_str(text) };
	}
	n->id = id;
	if (id > b->last_id)
		b->last_id = id;
	return n;
}
