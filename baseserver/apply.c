#include "baseserver/commander_impl.h"
#include "util/err.h"
int apply_begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	(void)c;
	(void)cmd;
	return refuse(f, E_UNSUPPORTED, "kind", NULL, "apply is not carried out yet");
}
