/* After a restart: an instance has its outcome or was not touched, for the ledger keeps both
 * in one commit. What has one is left alone. */
#include "baseserver/command/commander_impl.h"
#include "store/store.h"

static int each_item(void *ctx, const struct store_command_item *i)
{
	struct cmd *cmd = ctx;
	struct inst_key key = i->key;

	if (cmd->ops->beside_plan)
		key.part = -1; /* the ledger chose the part */
	keyset_add(&cmd->settled, key);
	keyset_remove(&cmd->waits, key);
	cmd->done += i->code < 0 || i->text[0] == '\0'; /* others it left (VD_JOIN) */
	cmd->failed += i->code < 0;
	return 0;
}

int cmd__load_settled(struct cmd *cmd, struct store *store, struct err *err)
{
	cmd->done = cmd->failed = 0;
	return store_load_items(store, cmd->id, each_item, cmd, err);
}

bool cmd__settled(const struct cmd *cmd, struct inst_key key)
{
	if (cmd->ops->beside_plan)
		key.part = -1;
	return keyset_has(&cmd->settled, key);
}
