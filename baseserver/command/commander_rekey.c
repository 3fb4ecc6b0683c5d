/* Everything that is sealed, sealed anew with the first key of the file. */
#include "baseserver/command/commander_impl.h"
#include "util/alloc.h"
#include "util/err.h"

int rekey__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	struct err err = { 0 };

	cmd->edit = mem_new(sizeof *cmd->edit);
	int r = targets__seal_again(c, cmd, &err);
	if (r >= 0)
		r = factors__seal_again(c, cmd, &err);
	if (r >= 0)
		r = channels__seal_again(c, cmd, &err);
	return r < 0 ? refuse(f, E_CONFLICT, "secrets_key_file", "the manual, Target servers", "%s",
	                      err.text)
	             : 0;
}
