/* After a restart: an instance has its outcome or was not touched, for the ledger keeps both
 * in one commit. What has one is left alone. */
#include <stdlib.h>

#include "baseserver/commander_impl.h"
#include "store/store.h"
#include "util/alloc.h"

static int each_item(void *ctx, const struct store_command_item *i)
{
	struct cmd *cmd = ctx;

	if ((cmd->n_settled & (cmd->n_settled - 1)) == 0)
		cmd->settled = mem_grow(cmd->settled, cmd->n_settled ? cmd->n_settled * 2 : 1,
		                        sizeof *cmd->settled);
	map_add(&cmd->settled_by_key, inst_key_hash(i->key), (uint32_t)cmd->n_settled);
	cmd->settled[cmd->n_settled++] = i->key;
	cmd->done++;
	cmd->failed += i->code < 0;
	return 0;
}

int cmd_load_settled(struct cmd *cmd, struct store *store, struct err *err)
{
	cmd->done = cmd->failed = 0;
	map_init(&cmd->settled_by_key);
	return store_load_items(store, cmd->id, each_item, cmd, err);
}

bool cmd_settled(const struct cmd *cmd, struct inst_key key)
{
	uint64_t h = inst_key_hash(key);
	size_t at = 0;

	if (cmd->n_settled == 0)
		return false;
	for (uint32_t v = map_first(&cmd->settled_by_key, h, &at); v != MAP_NONE;
	     v = map_next(&cmd->settled_by_key, h, &at))
		if (inst_key_eq(cmd->settled[v], key))
			return true;
	return false;
}

void cmd_forget_settled(struct cmd *cmd)
{
	if (cmd->settled)
		map_done(&cmd->settled_by_key);
	free(cmd->settled);
	cmd->settled = NULL;
	cmd->n_settled = 0;
}
