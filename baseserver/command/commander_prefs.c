/* What a person has set for his browsers: a JSON object that only they understand, kept whole. It
 * is no act on the installation: neither a command's record nor the audit tells of it. And what the
 * web server tells of sign-ins and of tokens of its own: here it comes to the audit. */
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/command/people.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_read.h"

enum { VALUE_MAX = 32768, USER_MAX = 63, SIGNS_MAX = 200, SIGN_TEXT_MAX = 136 };

static int parse_user(struct order *o, struct refusal *f)
{
	int r = arg_text(o->args, "args", "user", USER_MAX, &o->user, f);

	if (r == 0 && (!o->user || !person_name_ok(o->user)))
		return refuse(f, E_INVALID, "args.user", "letters, digits, . _ @ -",
		              "args.user: a person's name is expected");
	return r;
}

static int parse_version(const struct order *o, int64_t *ret, struct refusal *f)
{
	*ret = 0;
	return arg_number(o->args, "args", (struct arg_range){ "version", 0, UINT32_MAX }, ret, f);
}

static int parse_preferences(struct order *o, struct refusal *f)
{
	const char *value = NULL;
	const struct jval *doc = NULL;
	int64_t version;
	bool ok;

	if (parse_user(o, f) < 0 || parse_version(o, &version, f) < 0 ||
	    arg_text(o->args, "args", "value", VALUE_MAX, &value, f) < 0)
		return f->code;
	ok = value && *value && jv_parse_args(value, strlen(value), &doc, NULL) == 0 &&
	     doc->kind == JV_OBJECT;
	jv_free(doc);
	return ok ? 0
	          : refuse(f, E_INVALID, "args.value", "for example \"{}\"",
	                   "args.value: a text is expected that is a JSON object");
}

static int parse_token_end(struct order *o, struct refusal *f)
{
	const char *name = NULL;
	bool app = false;

	if (arg_text(o->args, "args", "token", 63, &name, f) < 0 ||
	    arg_truth(o->args, "args", "app", &app, f) < 0)
		return f->code;
	return name && *name ? 0
	                     : refuse(f, E_INVALID, "args.token", NULL, "args.token: is missing");
}

/* What only the web server tells. */
int order__parse_web(struct order *o, struct refusal *f)
{
	return o->kind == CK_TOKEN_END ? parse_token_end(o, f) : parse_preferences(o, f);
}

/* --- sign-ins ------------------------------------------------------------------------- */

static int parse_sign(const struct jval *v, struct refusal *f)
{
	static const char *const keys[] = { "who", "network", "outcome", "route", "count", NULL };
	static const char *const outcomes[] = { "in", "wrong", "waits", "denied", NULL };
	const char *at = "args.rows", *text = NULL;
	int64_t count = 0;
	int outcome = -1;

	if (arg_object(v, at, keys, f) < 0 || arg_text(v, at, "who", SIGN_TEXT_MAX, &text, f) < 0 ||
	    arg_text(v, at, "network", SIGN_TEXT_MAX, &text, f) < 0 ||
	    arg_text(v, at, "route", SIGN_TEXT_MAX, &text, f) < 0 ||
	    arg_choice(v, at, "outcome", outcomes, &outcome, f) < 0 ||
	    arg_number(v, at, (struct arg_range){ "count", 1, INT32_MAX }, &count, f) < 0)
		return f->code;
	return outcome >= 0 && count > 0 ? 0
	                                 : refuse(f, E_INVALID, at, "for example \"in\"",
	                                          "args.rows: outcome, count: is missing");
}

/* What a face tells under its own name: recorded, and nothing besides. */
int order__parse_signs(struct order *o, struct refusal *f)
{
	static const char *const outcomes[] = { "in", "wrong", "waits", "denied", NULL };
	const struct jval *rows = NULL, *left = jv_get(o->args, "left_out");
	int64_t began = 0, n = 0;
	int r = arg_number(o->args, "args", (struct arg_range){ "began", 0, UINT32_MAX }, &began,
	                   f);

	if (r == 0)
		r = arg_list(o->args, "args", "rows", SIGNS_MAX, &rows, f);
	if (r == 0 && left)
		r = arg_object(left, "args.left_out", outcomes, f);
	for (size_t i = 0; outcomes[i] && r == 0; i++)
		r = arg_number(left, "args.left_out",
		               (struct arg_range){ outcomes[i], 0, INT32_MAX }, &n, f);
	for (const struct jval *v = jv_first(rows); v && r == 0; v = v->next)
		r = parse_sign(v, f);
	return r;
}

/* --- preferences ---------------------------------------------------------------------- */

int preferences__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct doc *was = docs_find(&c->docs[DOC_PREFS], cmd->o.user);
	uint32_t now = was ? was->version : 0;
	int64_t version;

	if (parse_version(&cmd->o, &version, f) < 0)
		return f->code;
	if (version != now)
		return refuse(f, E_CONFLICT, "args.version", "read them, and merge what is yours",
		              "args.version: they are at version %u now, not %lld", now,
		              (long long)version);
	cmd->edit = mem_new(sizeof *cmd->edit);
	stored__change(c, cmd, cmd->edit,
	               &(struct store_doc){ .kind = DOC_PREFS,
	                                    .name = cmd->o.user,
	                                    .body = jv_get(cmd->o.args, "value")->text });
	return 0;
}
