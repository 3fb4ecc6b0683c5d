/* Names asked of the server for completion: one request, of whoever is signed in already. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "admin-console/cli/complete/complete.h"
#include "admin-console/cli/online/ask.h"
#include "util/buf.h"
#include "util/json_in.h"

struct names {
	const char *argument, *path, *member, *key, *query;
};

static const struct names all_names[] = {
#define NAMES(argument, path, member, key, query) { argument, path, member, key, query },
#include "admin-console/cli/complete/names.def"
#undef NAMES
};

static const struct names *names_of(const struct typing *t, const char *argument)
{
	bool by_group = strcmp(argument, "NAME") == 0 || strcmp(argument, "ID") == 0 ||
	                strcmp(argument, "NUMBER") == 0;

	for (size_t i = 0; i < sizeof all_names / sizeof *all_names; i++)
		if (by_group ? strcasecmp(all_names[i].argument, t->group) == 0
		             : strcmp(all_names[i].argument, argument) == 0)
			return &all_names[i];
	return NULL;
}

static void items_put(struct typing *t, const struct names *names, const cJSON *items)
{
	const cJSON *e;

	cJSON_ArrayForEach(e, items) {
		const char *name = text_of(e, names->key);

		if (name[0] != '-') /* it would be read as an option */
			candidate_put(t, name, NULL);
	}
}

void names_put(struct typing *t, const char *argument)
{
	const struct names *names = names_of(t, argument);
	struct online o = { 0 };
	cJSON *answer = NULL;
	struct buf path;

	if (!names || online_open(t->cli, &o) != CLI_OK)
		return;
	o.quiet = o.once = true;
	buf_init(&path);
	buf_puts(&path, names->path);
	if (names->query)
		path_arg(&path, names->query,
		         strcmp(names->query, "prefix") == 0 ? t->begin : t->before);
	if (o.token && online_get(&o, buf_str(&path), &answer) == CLI_OK)
		items_put(t, names, json_get(answer, names->member));
	cJSON_Delete(answer);
	buf_done(&path);
	online_close(&o);
}
