/* ECTS's calls (ects-pipelines.txt): which file answers, and the nodes of etcd's registry. */
#include "cgi/seeds/ects.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/seeds/seed.h"
#include "cgi/seeds/seed_routes.h"
#include "util/json_in.h"

static int nodes_came(struct call *c)
{
	cJSON *root = NULL;
	char *text;

	if (c->err.code < 0 || json_parse(buf_str(&c->out), c->out.len, &root, &c->err) < 0)
		return c->err.code;
	text = cJSON_PrintUnformatted(json_get(root, "nodes"));
	buf_puts(&c->details, text ? text : "[]");
	free(text);
	json_free(root);
	return ects_answer(c);
}

static int ects_nodes(struct call *c)
{
	c->then = nodes_came;
	return call_query(c, "nodes", "{}");
}

int ects_call(struct call *c)
{
	bool reads = strcmp(c->route->method, "GET") == 0;

	if (seed_plain(c) < 0)
		return c->err.code;
	if (strcmp(c->route->path, "/ects/nodes") == 0)
		return ects_nodes(c);
	c->then = reads ? ects_answer : ects_change;
	return call_read(c, reads ? ects_list_work : ects_change_work);
}
