/* An apply of many documents: its record keeps a hash of its arguments and how many documents they
 * had, for the documents themselves are kept as versions. What was under way when the server ended
 * cannot be done again from that; whether it was saved, the versions tell. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/json_put.h"
#include "util/json_read.h"

static const char head[] = "{\"args_hash\":\"";

bool args__are_brief(const char *args)
{
	return strncmp(args, head, sizeof head - 1) == 0;
}

void args__hash(const char *args, size_t len, uint8_t ret[ARGS_HASH_BYTES])
{
	size_t n = 0;

	if (args__are_brief(args) &&
	    sodium_hex2bin(ret, ARGS_HASH_BYTES, args + sizeof head - 1,
	                   2 * (size_t)ARGS_HASH_BYTES, NULL, &n, NULL) == 0 &&
	    n == ARGS_HASH_BYTES)
		return;
	CHECK(crypto_generichash(ret, ARGS_HASH_BYTES, (const uint8_t *)args, len, NULL, 0) == 0);
}

void args__make_brief(struct cmd *cmd)
{
	char hex[2 * ARGS_HASH_BYTES + 1];
	struct buf out;

	if (!cmd->ops->is_large || cmd->args_len < ARGS_BRIEF_FROM)
		return;
	sodium_bin2hex(hex, sizeof hex, cmd->args__hash, ARGS_HASH_BYTES);
	buf_init(&out);
	put_open(&out, NULL, '{');
	put_text(&out, "args_hash", hex);
	put_int(&out, "bytes", (int64_t)cmd->args_len);
	put_int(&out, "documents", cmd->o.documents ? (int64_t)cmd->o.documents->len : 0);
	if (cmd->o.message[0])
		put_text(&out, "message", cmd->o.message);
	put_close(&out, '}');
	free(cmd->args);
	cmd->args = mem_str(buf_str(&out));
	cmd->args_len = out.len;
	buf_done(&out);
	CHECK(args__are_brief(cmd->args));
}

/* --- after a restart ---------------------------------------------------------------------- */

static int each_version(void *ctx, const struct store_doc *d)
{
	struct cmd *cmd = ctx;

	if (d->at_us == cmd->created_us && strcmp(d->actor ? d->actor : "", cmd->actor) == 0)
		cmd->saved = true;
	return 0;
}

/* Nothing was saved after it: the newest versions are its own, or it has none. */
int brief__load(struct cmd *cmd, struct store *store, struct err *err)
{
	static const enum store_doc_kind kinds[] = { DOC_WORKFLOW, DOC_CALENDAR, DOC_POOL,
		                                     DOC_SETTING, DOC_PLAN };
	int r = 0;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds && r == 0 && !cmd->saved; i++)
		r = store_load_docs(store, kinds[i], each_version, cmd, err);
	return r;
}
