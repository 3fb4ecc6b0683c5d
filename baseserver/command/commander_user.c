/* People, their groups and their tokens: the arguments of commands about them. What is kept of
 * one is a JSON document; a secret only as the hash that the HTTP face made, and that only
 * there: neither the command's record nor the audit has it. */
#include <stdio.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/command/people.h"
#include "sched/name.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/pwhash.h"

enum { NAME_MAX_BYTES = 63, LIST_MAX = 1000, TIME_MAX = 1 << 30 };

/* `as`, whether a change of it ends sessions (`since` grows), whether a new one needs it. */
static const struct person_member user_members[] = {
	{ "role", AS_OWN_ROLE, true, true },    { "projects", AS_PROJECTS, true, false },
	{ "rights", AS_RIGHTS, true, false },   { "mail", AS_LINE, false, false },
	{ "phone", AS_LINE, false, false },     { "chat", AS_LINE, false, false },
	{ "full_name", AS_LINE, false, false }, { "disabled", AS_TRUTH, true, false },
	{ "secret", AS_SECRET, true, false },   { "source", AS_SOURCE, true, false },
	{ "subject", AS_LINE, true, false },    { "groups", AS_NAMES, false, false },
};
static const struct person_member group_members[] = {
	{ "role", AS_OWN_ROLE, false, true },     { "projects", AS_PROJECTS, false, false },
	{ "rights", AS_RIGHTS, false, false },    { "members", AS_NAMES, false, false },
	{ "description", AS_LINE, false, false }, { "source", AS_SOURCE, false, false },
	{ "external", AS_LINE, false, false },
};
static const struct person_member token_members[] = {
	{ "owner", AS_NAME, false, false },        { "role", AS_ROLE, false, true },
	{ "projects", AS_PROJECTS, false, false }, { "rights", AS_RIGHTS, false, false },
	{ "app", AS_TRUTH, false, false },         { "hash", AS_HASH, false, true },
	{ "created", AS_TIME, false, true },       { "expires", AS_TIME, false, false },
	{ "credentials", AS_TRUTH, false, false }, /* it changes them: rights__judge() */
};

static const struct person_member device_members[] = {
	{ "owner", AS_NAME, false, true },       { "endpoint", AS_ENDPOINT, false, true },
	{ "p256dh", AS_KEY, false, true },       { "auth", AS_KEY, false, true },
	{ "label", AS_LINE, false, false },      { "least", AS_SEVERITY, false, false },
	{ "language", AS_TONGUE, false, false }, { "created", AS_TIME, false, true },
};

#define MEMBERS(m) m, sizeof(m) / sizeof((m)[0])
const struct person_noun person_nouns[DOC_END] = {
	[DOC_USER] = { "user", MEMBERS(user_members) },
	[DOC_GROUP] = { "group", MEMBERS(group_members) },
	[DOC_TOKEN] = { "token", MEMBERS(token_members) },
	[DOC_DEVICE] = { "device", MEMBERS(device_members) },
};

enum store_doc_kind person_kind_of(enum command_kind kind)
{
	return kind == CK_USER_SET || kind == CK_USER_REMOVE       ? DOC_USER
	       : kind == CK_GROUP_SET || kind == CK_GROUP_REMOVE   ? DOC_GROUP
	       : kind == CK_DEVICE_SET || kind == CK_DEVICE_REMOVE ? DOC_DEVICE
	                                                           : DOC_TOKEN;
}

/* --- arguments ----------------------------------------------------------------------- */

bool person_name_ok(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@-");

	return n && n <= NAME_MAX_BYTES && !s[n] && s[0] != '.' && s[0] != '-';
}

static bool project_ok(const char *s)
{
	return strcmp(s, "*") == 0 || name_ok(s);
}

static bool right_ok(const char *s)
{
	return strcmp(s, "backfill") == 0 || strcmp(s, "force-success") == 0 ||
	       strcmp(s, "unsafe") == 0;
}

static int parse_list(const struct order *o, const char *key, bool (*ok)(const char *s),
                      const char *hint, const char *want, struct refusal *f)
{
	const struct jval *list = NULL;
	int r = arg_list(o->args, "args", key, LIST_MAX, &list, f);
	char at[40];

	snprintf(at, sizeof at, "args.%s", key);
	for (const struct jval *v = jv_first(list); v && r == 0; v = v->next)
		if (v->kind != JV_TEXT || !ok(v->text))
			r = refuse(f, E_INVALID, at, hint, "%s: %s is expected, not %.60s", at,
			           want, v->kind == JV_TEXT ? v->text : jv_kind_name(v));
	return r;
}

/* Goes into mails and tables: one line. */
static int parse_line(const struct order *o, const char *key, struct refusal *f)
{
	const char *text = NULL;
	char at[40], why[NAME_WHY_BYTES];

	if (arg_text(o->args, "args", key, PERSON_LINE_MAX, &text, f) < 0)
		return f->code;
	snprintf(at, sizeof at, "args.%s", key);
	if (text && *text && title_wrong(text, why))
		return refuse(f, E_INVALID, at, NULL,
		              "%s: a line without control characters is expected: %s", at, why);
	return 0;
}

/* A hash of the right looks; ARGS_KEPT_OUT is what a record shows in its place. */
static int parse_secret(const struct order *o, const struct person_member *m, struct refusal *f)
{
	const char *text = NULL;
	char at[40];
	bool ok;

	if (arg_text(o->args, "args", m->key, 127, &text, f) < 0)
		return f->code;
	ok = !text || (m->as == AS_SECRET
	                       ? pwhash_ok(text)
	                       : strlen(text) == 64 && text[strspn(text, "0123456789abcdef")] == 0);
	snprintf(at, sizeof at, "args.%s", m->key);
	return ok ? 0
	          : refuse(f, E_INVALID, at, m->as == AS_SECRET ? "set the password again" : NULL,
	                   "%s: %s", at,
	                   strcmp(text, ARGS_KEPT_OUT) == 0
	                           ? "the password is not kept with a command"
	                   : m->as == AS_SECRET ? "an argon2id hash of usual cost is expected"
	                                        : "a SHA-256 in hex is expected");
}

static int parse_name(const struct order *o, const char *key, struct refusal *f)
{
	const char *text = NULL;
	char at[40];

	if (arg_text(o->args, "args", key, NAME_MAX_BYTES, &text, f) < 0)
		return f->code;
	snprintf(at, sizeof at, "args.%s", key);
	return !text || person_name_ok(text) ? 0
	                                     : refuse(f, E_INVALID, at, "letters, digits, . _ @ -",
	                                              "%s: '%.64s' is no name", at, text);
}

/* Where a browser's maker takes pushes: an address, no more is looked at here (the notifier knows
 * which hosts are meant); and a key in base64url. */
static int parse_of_device(const struct order *o, const struct person_member *m, struct refusal *f)
{
	bool key = m->as == AS_KEY;
	const char *text = NULL;
	char at[40];
	size_t n;

	if (arg_text(o->args, "args", m->key, key ? DEVICE_KEY_MAX : DEVICE_ENDPOINT_MAX, &text,
	             f) < 0)
		return f->code;
	if (!text)
		return 0;
	snprintf(at, sizeof at, "args.%s", m->key);
	for (n = 0; (unsigned char)text[n] > ' ' && text[n] != 0x7f; n++)
		;
	if (strcmp(text, ARGS_KEPT_OUT) == 0)
		return refuse(f, E_INVALID, at, NULL, "%s: it is not kept with a command", at);
	if (text[n] ||
	    (!key && strncmp(text, "https://", 8) != 0 && strncmp(text, "http://", 7) != 0))
		return refuse(f, E_INVALID, at, NULL, "%s: %s is expected", at,
		              key ? "a key in base64url" : "an address, https://...");
	return 0;
}

static int parse_member(const struct order *o, const struct person_member *m, struct refusal *f)
{
	/* A person, or a group, may have none of its own: only what groups give. */
	static const char *const roles[] = { "viewer", "developer", "operator",
		                             "admin",  "none",      NULL };
	static const char *const sources[] = { "local", "ldap", "oidc", NULL };
	static const char *const severities[] = { "notice", "warning", "critical", NULL };
	static const char *const tongues[] = { "en", "zh", NULL };
	int64_t number = 0;
	bool truth;
	int choice = 0;

	switch (m->as) {
	case AS_OWN_ROLE:
	case AS_ROLE:
		return arg_choice(o->args, "args", m->key, roles, &choice, f);
	case AS_SOURCE:
		return arg_choice(o->args, "args", m->key, sources, &choice, f);
	case AS_SEVERITY:
		return arg_choice(o->args, "args", m->key, severities, &choice, f);
	case AS_TONGUE:
		return arg_choice(o->args, "args", m->key, tongues, &choice, f);
	case AS_ENDPOINT:
	case AS_KEY:
		return parse_of_device(o, m, f);
	case AS_LINE:
		return parse_line(o, m->key, f);
	case AS_NAME:
		return parse_name(o, m->key, f);
	case AS_TRUTH:
		return arg_truth(o->args, "args", m->key, &truth, f);
	case AS_TIME:
		return arg_number(o->args, "args",
		                  (struct arg_range){ m->key, 0, (int64_t)TIME_MAX * 16 }, &number,
		                  f);
	case AS_SECRET:
	case AS_HASH:
		return parse_secret(o, m, f);
	case AS_PROJECTS:
		return parse_list(o, m->key, project_ok, "[\"retail\"], or [\"*\"] for all",
		                  "a project's name", f);
	case AS_RIGHTS:
		return parse_list(o, m->key, right_ok, "backfill, force-success, unsafe", "a right",
		                  f);
	default:
		return parse_list(o, m->key, person_name_ok, "[\"ann\"]", "a name", f);
	}
}

int person_since(const struct order *o, int64_t *ret, struct refusal *f)
{
	*ret = -1;
	return arg_number(o->args, "args", (struct arg_range){ "since", 0, UINT32_MAX }, ret, f);
}

/* Whose name no directory and no provider has; and where he is, no face has an `admin` of its own,
 * which one that is removed would bring back. */
static int parse_admin(const struct order *o, struct refusal *f)
{
	const char *source = jv_text(o->args, "source");

	if (o->kind == CK_USER_REMOVE)
		return refuse(
			f, E_CONFLICT, "args.user", "sirdar user set admin --disable",
			"args.user: admin stays, so that no cgi's own comes back; disable that "
			"user");
	if (source && strcmp(source, "local") != 0)
		return refuse(f, E_CONFLICT, "args.source", NULL,
		              "args.source: admin has his password here, no directory's");
	return 0;
}

int order__parse_person(struct order *o, struct refusal *f)
{
	enum store_doc_kind kind = person_kind_of(o->kind);
	const struct person_noun *n = &person_nouns[kind];
	int64_t since;
	char at[40];
	int r = person_since(o, &since, f);

	for (size_t i = 0; i < n->n_members && r == 0; i++)
		r = parse_member(o, &n->members[i], f);
	if (r == 0)
		r = arg_text(o->args, "args", n->word, NAME_MAX_BYTES, &o->user, f);
	if (r < 0)
		return r;
	snprintf(at, sizeof at, "args.%s", n->word);
	if (!o->user || !person_name_ok(o->user))
		return refuse(f, E_INVALID, at, "letters, digits, . _ @ -", "%s: %s%.64s%s%s%s", at,
		              o->user ? "'" : "", o->user ? o->user : "is missing",
		              o->user ? "' is no " : "", o->user ? n->word : "",
		              o->user ? "'s name" : "");
	return kind == DOC_USER && strcmp(o->user, "admin") == 0 ? parse_admin(o, f) : 0;
}

/* Of a secret object (secrets by name) the texts are secret; an object in it says where one is. */
void person_print(struct buf *out, const char *key, const struct jval *v, bool secret)
{
	switch (v->kind) {
	case JV_TEXT:
		put_text(out, key, secret ? ARGS_KEPT_OUT : v->text);
		break;
	case JV_TRUTH:
		put_bool(out, key, v->truth);
		break;
	case JV_NUMBER:
		put_int(out, key, v->number);
		break;
	case JV_LIST:
		put_open(out, key, '[');
		for (const struct jval *i = v->first; i; i = i->next)
			person_print(out, NULL, i, secret);
		put_close(out, ']');
		break;
	case JV_OBJECT:
		put_open(out, key, '{');
		for (const struct jval *i = v->first; i; i = i->next)
			person_print(out, i->key, i, secret && i->kind != JV_OBJECT);
		put_close(out, '}');
		break;
	default:
		put_null(out, key);
	}
}

char *args__shown(const struct order *o)
{
	const char *const *hides = o->ops->hides;
	struct buf out;
	char *text;

	buf_init(&out);
	put_open(&out, NULL, '{');
	JV_EACH(v, o->args) {
		bool hidden = false;
		for (size_t i = 0; i < HIDES_MAX && hides[i]; i++)
			hidden = hidden || strcmp(v->key, hides[i]) == 0;
		bool is_ref = v->kind == JV_OBJECT && strcmp(v->key, TARGET_PASSWORD) == 0;
		person_print(&out, v->key, v, hidden && !is_ref);
	}
	put_close(&out, '}');
	text = mem_str(buf_str(&out));
	buf_done(&out);
	return text;
}
