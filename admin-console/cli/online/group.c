/* Groups of people, keys of programs, tokens: listed, shown, made, changed, removed. */
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/online/ask.h"
#include "util/buf.h"
#include "util/json_in.h"

static void check_days(struct asked *q, const struct opt *o, const char *arg,
                       struct argp_state *state)
{
	char *end;

	(void)q;
	if (strtol(arg, &end, 10) < 0 || end == arg || *end != '\0')
		argp_error(state, "--%s wants a number", o->name);
}

static const struct opt group_options[] = {
	{ "role", 0, "ROLE", "viewer, developer, operator, admin or none", TAKE_TEXT, "role" },
	{ "project", 'p', "PROJECT", "where; again for more, * for all, '' for none", TAKE_ITEMS,
	  "projects" },
	{ "right", 0, "RIGHT", "backfill, force-success, unsafe; again for more, '' for none",
	  TAKE_ITEMS, "rights" },
	{ "member", 'm', "USER", "who belongs; again for more, '' for none", TAKE_ITEMS,
	  "members" },
	{ "description", 0, "TEXT", "what it is for", TAKE_TEXT, "description" },
	{ "source", 0, "local|ldap|oidc", "also those whom this directory says", TAKE_TEXT,
	  "source" },
	{ "external", 0, "TEXT", "what the directory calls it", TAKE_TEXT, "external" },
	{ 0 },
};

static const struct opt app_options[] = {
	{ "role", 0, "ROLE", "viewer, developer, operator or admin", TAKE_TEXT, "role" },
	{ "project", 'p', "PROJECT", "may change this one; again for more, * for all", TAKE_ITEMS,
	  "projects" },
	{ "right", 0, "RIGHT", "backfill, force-success, unsafe; again for more", TAKE_ITEMS,
	  "rights" },
	{ "days", 0, "N", "so long; 0: until it is removed", TAKE_NUMBER, "days",
	  .check = check_days },
	{ 0 },
};

static const struct column group_columns[] = {
	{ "Group", "name" },
	{ "Role", "role" },
	{ "Projects", "projects", cell_list_all },
	{ "Rights", "rights", cell_list_all },
	{ "Members", "belong", cell_list_all },
	{ "From", "source" },
	{ "Description", "description" },
	{ "Named there", "external", .wide = true },
	{ "Changed", "changed", cell_time, .wide = true },
	{ "By", "changed_by", .wide = true },
	{ 0 },
};

static void cell_kind(const cJSON *token, const char *key, struct buf *out)
{
	buf_puts(out, json_true(token, key) ? "app" : "token");
}

static const struct column token_columns[] = {
	{ "Name", "name" },
	{ "User", "user" },
	{ "Role", "role" },
	{ "Projects", "projects", cell_list_all },
	{ "Rights", "rights", cell_list_all },
	{ "Kind", "app", cell_kind },
	{ "Made", "created", cell_time },
	{ "By", "made_by" },
	{ "Ends", "expires", cell_time },
	{ 0 },
};

static int group_show(struct online *o, const struct asked *q, const cJSON *group)
{
	cJSON *list = cJSON_CreateArray();

	(void)o;
	cJSON_AddItemToArray(list, cJSON_Duplicate(group, true));
	rows_show(q->verb->columns, list);
	cJSON_Delete(list);
	return CLI_OK;
}

/* `add` makes one that is not there yet; E_NOT_FOUND is what it wants to hear. */
static int group_absent(struct online *o, struct asked *q)
{
	const char *name = word(q, 0);
	struct buf path;
	cJSON *root = NULL;

	buf_init(&path);
	buf_puts(&path, "/api/v1/groups/");
	path_part(&path, name);
	o->quiet = true;
	int code = online_get(o, buf_str(&path), &root);
	o->quiet = false;
	buf_done(&path);
	cJSON_Delete(root);
	if (code == CLI_OK)
		return cli_fail(CLI_USAGE, "there is a group '%s' already: sirdar group set", name);
	return o->status == 404 ? CLI_OK : cli_fail(code, "the groups cannot be read");
}

/* A member whom nobody knows may be a slip, or somebody who has not signed in yet: the group is
 * saved, and that is told. */
static int members_tell(struct online *o, const struct asked *q, const cJSON *answer)
{
	int code = CLI_OK;

	(void)answer;
	done_say(q, word(q, 0));
	for (size_t i = 0; i < q->n; i++) {
		struct buf path;
		cJSON *root = NULL;
		if (strcmp(q->given[i].opt->name, "member") != 0 || !q->given[i].value[0])
			continue;
		buf_init(&path);
		buf_puts(&path, "/api/v1/users/");
		path_part(&path, q->given[i].value);
		o->quiet = true;
		online_get(o, buf_str(&path), &root);
		o->quiet = false;
		if (o->status == 404)
			code = cli_fail(CLI_FAILED,
			                "the group was saved, but nobody is called '%s' "
			                "(`sirdar user list`)",
			                q->given[i].value);
		cJSON_Delete(root);
		buf_done(&path);
	}
	return code;
}

/* Shown this once. */
static int key_show(struct online *o, const struct asked *q, const cJSON *app)
{
	(void)o;
	(void)q;
	printf("%s\n", text_of(app, "key"));
	return CLI_OK;
}

const struct verb verb_group_list = { ask, .most = WORDS_NONE, .call = "GET /api/v1/groups",
	                              .member = "groups", .columns = group_columns };
const struct verb verb_group_show = { ask,
	                              NULL,
	                              1,
	                              1,
	                              .call = "GET /api/v1/groups/{}",
	                              .columns = group_columns,
	                              .show = group_show };
const struct verb verb_group_add = { ask,
	                             group_options,
	                             1,
	                             1,
	                             .call = "POST /api/v1/groups",
	                             .words = "name",
	                             .prepare = group_absent,
	                             .show = members_tell };
const struct verb verb_group_set = { ask,
	                             group_options,
	                             1,
	                             1,
	                             .call = "POST /api/v1/groups",
	                             .words = "name",
	                             .show = members_tell };
const struct verb verb_group_remove = { ask, NULL, 1, 1, .call = "DELETE /api/v1/groups/{}" };

const struct verb verb_app_list = { ask, .most = WORDS_NONE, .call = "GET /api/v1/apps",
	                            .member = "apps", .columns = token_columns };
const struct verb verb_app_add = {
	ask, app_options, 1, 1, .call = "POST /api/v1/apps", .words = "name", .show = key_show
};
const struct verb verb_app_remove = { ask, NULL, 1, 1, .call = "DELETE /api/v1/apps/{}" };

const struct verb verb_token_list = { ask, .most = WORDS_NONE, .call = "GET /api/v1/tokens",
	                              .member = "tokens", .columns = token_columns };
const struct verb verb_token_remove = { ask, NULL, 1, 1, .call = "DELETE /api/v1/tokens/{}" };
