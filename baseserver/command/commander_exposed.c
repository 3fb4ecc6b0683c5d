/* What a peer was given: the password of a target server, when first and last. Told by the worker
 * that is about to give it (baseserver/net/worker_exposed.c), and durable before that leaves.
 *
 * A document for each two of them, PEER/SERVER, whose one version is replaced: there are no more
 * than administrators have made peers and target servers. It stays when either is removed. */
#include <stdlib.h>

#include "baseserver/command/commander_impl.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum { SERVER_BYTES = 255 };

int peer_exposed_parse(struct order *o, struct refusal *f)
{
	const char *server = NULL;
	int r = peer_parse(o, f);

	if (r == 0)
		r = arg_text(o->args, "args", "server", SERVER_BYTES, &server, f);
	return r < 0 || server
	               ? r
	               : refuse(f, E_INVALID, "args.server", NULL, "args.server: is missing");
}

int peer__exposed(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct order *o = &cmd->o;
	char *name = mem_fmt("%s/%s", o->peer, jv_str(o->args, "server"));
	const struct doc *was = docs_ever(&c->docs[DOC_EXPOSED], name);
	int64_t first = was ? jv_int(doc_json(was), "first", 0) : 0;
	struct buf body;

	(void)f;
	buf_init(&body);
	put_open(&body, NULL, '{');
	put_int(&body, "first", first ? first : o->now_us);
	put_int(&body, "last", o->now_us);
	put_close(&body, '}');
	struct store_doc d = { .kind = DOC_EXPOSED, .name = name, .body = buf_str(&body) };
	cmd->edit = mem_new(sizeof *cmd->edit);
	stored__change(c, cmd, cmd->edit, &d);
	cmd->edit->docs[0].version = 1; /* the one there is, with the later time */
	buf_done(&body);
	free(name);
	return 0;
}
