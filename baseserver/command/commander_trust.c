/* Trust of projects: an administrator's mark, which the sorter keeps to. A project may be marked
 * before it has work. Whatever the mark said before, the command's word is a person's: a mark that
 * an upgrade made is asked about no more. */
#include "baseserver/command/commander_impl.h"
#include "util/alloc.h"

int trust__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	bool trusts = cmd->kind == CK_PROJECT_TRUST;
	int r = project__alike(c, cmd->o.pool, "args.project", f);

	if (r < 0)
		return r;
	cmd->edit = mem_new(sizeof *cmd->edit);
	stored__change(c, cmd, cmd->edit,
	               &(struct store_doc){ .kind = DOC_TRUST,
	                                    .name = cmd->o.pool,
	                                    .body = trusts ? "{\"trusted\":true}"
	                                                   : "{\"trusted\":false}" });
	return 0;
}
