/* Arguments of apply: how many documents, what is to be retired or pruned beside them. Only the
 * shape is looked at; the documents themselves are read stage by stage (apply.c). */
#include <stdio.h>

#include "baseserver/command/apply.h"
#include "baseserver/command/commander_impl.h"
#include "sched/workflow.h"
#include "util/err.h"
#include "util/json_read.h"

enum { DOCUMENTS_MAX = 10000 };

static int parse_retired(struct order *o, const char *key, const char *like,
                         const struct jval **ret_list, struct refusal *f)
{
	char at[40], list[80];
	int r = arg_list(o->args, "args", key, 100, ret_list, f);

	snprintf(at, sizeof at, "args.%s", key);
	snprintf(list, sizeof list, "[\"%s\"]", like);
	if (r < 0 || !*ret_list)
		return r;
	if ((*ret_list)->len == 0)
		return refuse(f, E_INVALID, at, list, "%s: names are expected", at);
	for (const struct jval *v = (*ret_list)->first; v; v = v->next)
		if (v->kind != JV_TEXT || v->len == 0)
			return refuse(f, E_INVALID, at, list, "%s: a name is expected, not %s", at,
			              jv_kind_name(v));
	return 0;
}

static int parse_prune(struct order *o, struct refusal *f)
{
	int r = arg_list(o->args, "args", "prune", 100, &o->prune, f);
	char why[NAME_WHY_BYTES];

	for (const struct jval *v = r == 0 && o->prune ? o->prune->first : NULL; v; v = v->next) {
		if (v->kind != JV_TEXT)
			return refuse(f, E_INVALID, "args.prune", "for example [\"retail\"]",
			              "args.prune: a project's name is expected, found %s",
			              jv_kind_name(v));
		if (name_wrong(v->text, why))
			return refuse_name(f, "args.prune", v->text, why);
	}
	return r;
}

int apply__parse(struct order *o, struct refusal *f)
{
	int r = arg_list(o->args, "args", "documents", DOCUMENTS_MAX, &o->documents, f);

	if (r == 0)
		r = parse_retired(o, "retire_calendars", "cn-workdays", &o->retired_calendars, f);
	if (r == 0)
		r = parse_retired(o, "retire_libraries", "retail/common", &o->retired_libraries, f);
	if (r == 0 && !o->retired_calendars && !o->retired_libraries &&
	    (!o->documents || o->documents->len == 0))
		return refuse(f, E_INVALID, "args.documents", NULL,
		              "args.documents: 1 to 10000 documents are expected");
	if (r == 0)
		r = parse_prune(o, f);
	if (r == 0)
		r = arg_truth(o->args, "args", "draft", &o->as_draft, f);
	return r < 0 ? r : apply_preview_check(o->args, f);
}
