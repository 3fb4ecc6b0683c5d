/* node-forget: a node of etcd's registry that is gone for good. */
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "util/err.h"
#include "util/json_read.h"

static bool is_text(const struct jval *object, const char *key, const char *text)
{
	const char *has = jv_text(object, key);

	return has && strcmp(has, text) == 0;
}

/* By what the registry last showed. One whose id was another once is forgotten by its name. */
int cmd__forget_node(const struct commander *c, const char *name, struct refusal *f)
{
	const struct front *front = c->front;
	const struct jval *root = NULL;
	bool is_known = false, is_gone = false;

	if (!front || !front->registry || !front->forget_node)
		return refuse(f, E_UNSUPPORTED, "args.node", NULL,
		              "this installation has no etcd: nodes are nowhere listed");
	if (c->nodes)
		jv_parse(c->nodes, strlen(c->nodes), &root, NULL);
	JV_EACH(n, jv_get(root, "nodes")) {
		bool is_it = is_text(n, "name", name) || is_text(n, "id", name);

		is_known |= is_it;
		is_gone |= is_it && is_text(n, "status", "offline");
	}
	jv_free(root);
	if (!is_known)
		return refuse(f, E_NOT_FOUND, "args.node", NULL, "no node is called '%.80s'", name);
	if (!is_gone)
		return refuse(f, E_CONFLICT, "args.node", "stop it first",
		              "node '%.80s' is there: it would be back at once", name);
	front->forget_node(front->registry, name);
	return 0;
}
