/* Whether reading is bound to projects, as changing is: a setting of the installation, so that all
 * its faces read it in the store and judge alike (cgi/who/people.h). */
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/model/reading.h"
#include "util/alloc.h"
#include "util/err.h"

int order__parse_reading(struct order *o, struct refusal *f)
{
	const char *text = NULL;
	int r = arg_text(o->args, "args", "reading", 20, &text, f);

	if (r < 0)
		return r;
	if (!text || (strcmp(text, "all") != 0 && strcmp(text, "project") != 0))
		return refuse(f, E_INVALID, "args.reading", "all, project",
		              "args.reading: all or project is expected");
	o->word = text;
	return 0;
}

int reading__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	bool binds = strcmp(cmd->o.word, "project") == 0;

	(void)f;
	cmd->edit = mem_new(sizeof *cmd->edit);
	stored__change(c, cmd, cmd->edit,
	               &(struct store_doc){ .kind = DOC_SETTING,
	                                    .name = READING_NAME,
	                                    .body = binds ? "{\"reading\":\"project\"}"
	                                                  : "{\"reading\":\"all\"}" });
	return 0;
}
