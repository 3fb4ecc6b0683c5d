/* Channels: the ways by which people are told, set and removed by command.
 *
 * * The document of one has its kind, what is plain of it, the projects whose rules may use it
 * (none: all), and its secrets, sealed here (vault.h) or as references to where they are kept
 * outside (source.h). The address of anything but mail is a secret too, for chats have a token in
 * it: of that only the scheme and the host are plain, as `where`. Neither the command's record nor
 * the audit has a secret; the notifier is given them through its session (worker_channel.c). A
 * channel of somebody whose rights end at projects is `confined`: the notifier sends it to public
 * addresses only. What names programs or files of the notifier's machine stands in that machine's
 * own file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/model/told.h"
#include "baseserver/model/vault.h"
#include "sched/name.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum { LINE_MAX_BYTES = 500, CHANNELS_MAX = 500 };

#define MANUAL "the manual, Alerts"

static const struct {
	const char *name, *needs;
	enum { MADE_DOCUMENT, MADE_FILE, MADE_BUILT } made;
} types[] = {
#define CHANNEL(name, text, needs, payload, answer, made) { text, needs, MADE_##made },
#include "tbl/channel.def"
#undef CHANNEL
};
enum { TYPES = sizeof types / sizeof types[0] };

/* As the document has them; `from` is a date in arguments, so there it is `sender`. */
static const char *const plain[] = { "from", "user", "chat", "language" };
static const char *const plain_args[] = { "sender", "user", "chat", "language" };

/* --- arguments ----------------------------------------------------------------------- */

/* CR and LF would begin new header lines. */
static int parse_line(const struct order *o, const char *key, struct refusal *f)
{
	const char *text = NULL;
	char at[40];
	int r = arg_text(o->args, "args", key, LINE_MAX_BYTES, &text, f);

	snprintf(at, sizeof at, "args.%s", key);
	for (const unsigned char *p = (const unsigned char *)(r == 0 && text ? text : ""); *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			return refuse(f, E_INVALID, at, NULL,
			              "%s: a line without control characters is expected", at);
	return r;
}

static int parse_kind(const struct order *o, struct refusal *f)
{
	const char *const hint = "mail, webhook, slack, dingtalk, wecom, feishu, telegram, "
				 "pagerduty, alertmanager, file";
	const char *kind = NULL;
	int r = arg_text(o->args, "args", "kind", 40, &kind, f);

	for (size_t i = 0; r == 0 && kind && i < TYPES; i++) {
		if (strcmp(types[i].name, kind) != 0)
			continue;
		return types[i].made == MADE_DOCUMENT
		               ? 0
		               : refuse(f, E_INVALID, "args.kind", hint,
		                        types[i].made == MADE_BUILT
		                                ? "args.kind: the console's bell is there by "
		                                  "itself: rules name it bell:console"
		                                : "args.kind: a channel of kind %s names what "
		                                  "is on the notifier's machine: it stands in "
		                                  "its channels_file",
		                        kind);
	}
	return r < 0 || !kind ? r
	                      : refuse(f, E_INVALID, "args.kind", hint,
	                               "args.kind: there is no kind '%.40s' of channel", kind);
}

int told__parse_name(struct order *o, const char *key, struct refusal *f)
{
	char why[NAME_WHY_BYTES], at[40];
	int r = arg_text(o->args, "args", key, NAME_BYTES_MAX * 4, &o->told, f);

	snprintf(at, sizeof at, "args.%s", key);
	if (r == 0 && !o->told)
		return refuse(f, E_INVALID, at, "letters, digits, _ . -", "%s: is missing", at);
	if (r == 0 && word_wrong(o->told, why))
		return refuse_name(f, at, o->told, why);
	return r;
}

/* The name last: what else is wrong says more. */
int channel_parse(struct order *o, struct refusal *f)
{
	bool insecure;
	int r = parse_kind(o, f);

	for (size_t i = 0; r == 0 && i < sizeof plain / sizeof plain[0]; i++)
		r = parse_line(o, plain_args[i], f);
	for (size_t i = 0; r == 0 && channel_secrets[i]; i++)
		r = secret__parse(o->args, "args", channel_secrets[i], f);
	if (r == 0)
		r = arg_truth(o->args, "args", "insecure", &insecure, f);
	if (r == 0)
		r = secret__parse_projects(o, f);
	return r < 0 ? r : told__parse_name(o, "channel", f);
}

bool channel_wants_admin(const struct order *o)
{
	for (size_t i = 0; channel_secrets[i]; i++)
		if (jv_is(jv_get(o->args, channel_secrets[i]), JV_OBJECT))
			return true;
	return false;
}

int channel__within(const struct order *o, const char *place, const struct jval *projects,
                    struct refusal *f)
{
	const struct jval *first = jv_is(projects, JV_LIST) ? projects->first : NULL;

	if (!o->within)
		return 0;
	if (!first)
		return within__refuse(o, place, "what is for all projects", f);
	for (const struct jval *v = first; v; v = v->next)
		if (!within__covers(o, v->text))
			return within__refuse(o, place, v->text, f);
	return 0;
}

/* --- as it is to be ------------------------------------------------------------------- */

struct channel_next {
	const char *kind;
	bool is_confined, is_insecure;
	const struct jval *text[sizeof plain / sizeof plain[0]];
	const struct jval *projects;
	char *sealed[CHANNEL_SECRETS];           /* owned */
	const struct jval *ref[CHANNEL_SECRETS]; /* where it is kept outside */
	char *where;                             /* owned: of an address what is plain; or NULL */
};

static void next_done(struct channel_next *n)
{
	for (size_t i = 0; i < CHANNEL_SECRETS; i++)
		free(n->sealed[i]);
	free(n->where);
}

static bool is_mail(const struct channel_next *n)
{
	return strcmp(n->kind, "mail") == 0;
}

static bool next_has(const struct channel_next *n, const char *key, size_t len)
{
	for (size_t i = 0; channel_secrets[i]; i++)
		if (strlen(channel_secrets[i]) == len && memcmp(channel_secrets[i], key, len) == 0)
			return n->sealed[i] || n->ref[i] || (i == 0 && is_mail(n) && n->where);
	for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
		if (strlen(plain[i]) == len && memcmp(plain[i], key, len) == 0)
			return n->text[i] && n->text[i]->len > 0;
	return false;
}

static int check_needs(const struct channel_next *n, struct refusal *f)
{
	const char *needs = "";
	char at[40];

	for (size_t i = 0; i < TYPES; i++)
		if (strcmp(types[i].name, n->kind) == 0)
			needs = types[i].needs;
	for (size_t len; *needs; needs += len + (needs[len] == ' ')) {
		len = strcspn(needs, " ");
		bool is_from = strncmp(needs, "from", len) == 0;
		snprintf(at, sizeof at, "args.%.*s", is_from ? 6 : (int)len,
		         is_from ? "sender" : needs);
		if (!next_has(n, needs, len))
			return refuse(f, E_INVALID, at, MANUAL,
			              "%s: is missing: a channel of kind %s needs it", at, n->kind);
	}
	return 0;
}

static bool is_loopback(const char *host)
{
	return strncmp(host, "127.", 4) == 0 || strncmp(host, "localhost", 9) == 0 ||
	       strncmp(host, "[::1]", 5) == 0;
}

static int check_url(struct channel_next *n, const char *url, struct refusal *f)
{
	const char *safe = is_mail(n) ? "smtps://" : "https://";
	const char *open = is_mail(n) ? "smtp://" : "http://";
	bool is_open = strncmp(url, open, strlen(open)) == 0;
	const char *host = url + strlen(is_open ? open : safe);

	if (!is_open && strncmp(url, safe, strlen(safe)) != 0)
		return refuse(f, E_INVALID, "args.url",
		              is_mail(n) ? "smtp://relay.example.org:25" : "https://...",
		              "args.url: an address that begins with %s%s is expected",
		              is_mail(n) ? "smtp:// or " : "", safe);
	if (is_open && !is_mail(n) && !n->is_insecure && !is_loopback(host))
		return refuse(f, E_INVALID, "args.url", "https://, or `insecure`",
		              "args.url: http goes over the network in the clear");
	for (const char *p = url; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return refuse(f, E_INVALID, "args.url", "%20 stands for a blank",
			              "args.url: an address has no blanks and no line ends");
	size_t len = strcspn(host, "/?#");
	if (len == 0 || memchr(host, '@', len))
		return refuse(f, E_INVALID, "args.url", "args.user, args.password",
		              "args.url: a host is expected, and no name or password in front of "
		              "it");
	n->where = mem_strn(url, (size_t)(host - url) + len);
	return 0;
}

static int next_seal(struct commander *c, const char *name, const char *key, const char *text,
                     char **ret, struct refusal *f)
{
	struct err err = { 0 };
	struct buf about;

	buf_init(&about);
	channel_about(name, key, &about);
	int r = vault_seal(c->vault, buf_str(&about), text, ret, &err);
	buf_done(&about);
	if (r == 0)
		return 0;
	char at[40];
	snprintf(at, sizeof at, "args.%.20s", key);
	return refuse(f, E_CONFLICT, at, MANUAL, "%s", err.text);
}

/* What is not said stays, what is said as "" goes. */
static int next_secrets(struct commander *c, const struct cmd *cmd, const struct jval *was,
                        struct channel_next *n, struct refusal *f)
{
	const struct jval *kept = jv_get(was, "secrets");
	const char *where = jv_text(was, "where");
	int r = 0;

	for (size_t i = 0; channel_secrets[i] && r == 0; i++) {
		const struct jval *now = jv_get(cmd->o.args, channel_secrets[i]);
		const struct jval *old = jv_get(kept, channel_secrets[i]);
		const char *text = now && jv_is(now, JV_TEXT) ? now->text : "";
		bool is_url = i == 0;

		if (!now && is_url && where)
			n->where = mem_str(where);
		if (!now && jv_is(old, JV_TEXT))
			n->sealed[i] = mem_str(old->text);
		const struct jval *next = now ? now : old;
		n->ref[i] = jv_is(next, JV_OBJECT) ? next : NULL;
		if (is_url && *text)
			r = check_url(n, text, f);
		if (is_url && is_mail(n)) /* a relay's is no secret */
			continue;
		if (r == 0 && *text)
			r = next_seal(c, cmd->o.told, channel_secrets[i], text, &n->sealed[i], f);
	}
	if (r == 0 && is_mail(n) && n->ref[0])
		r = refuse(f, E_INVALID, "args.url", "for example smtp://relay.example.org:25",
		           "args.url: the address of a relay is no secret");
	return r;
}

static const struct jval *next_member(const struct jval *args, const struct jval *was,
                                      const char *key)
{
	const struct jval *now = jv_get(args, key);

	return now ? now : jv_get(was, key);
}

static int next_of(struct commander *c, const struct cmd *cmd, const struct jval *was,
                   struct channel_next *n, struct refusal *f)
{
	const struct jval *args = cmd->o.args, *kind = next_member(args, was, "kind");
	const char *language;

	*n = (struct channel_next){ .kind = jv_is(kind, JV_TEXT) ? kind->text : "",
		                    .is_confined = cmd->o.within != NULL };
	if (!*n->kind)
		return refuse(f, E_INVALID, "args.kind", "mail, webhook, slack, file ...",
		              "args.kind: is missing");
	if (was && strcmp(jv_str(was, "kind"), n->kind) != 0)
		return refuse(f, E_CONFLICT, "args.kind", "sirdar channel remove",
		              "args.kind: %.64s is a channel of kind %.20s: remove it first",
		              cmd->o.told, jv_str(was, "kind"));
	n->is_insecure = jv_get(args, "insecure") ? jv_true(args, "insecure")
	                                          : jv_true(was, "insecure");
	for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
		n->text[i] = jv_get(args, plain_args[i]) ? jv_get(args, plain_args[i])
		                                         : jv_get(was, plain[i]);
	n->projects = next_member(args, was, "projects");
	language = n->text[3] ? n->text[3]->text : "";
	if (*language && strcmp(language, "en") != 0 && strcmp(language, "zh") != 0)
		return refuse(f, E_INVALID, "args.language", "en, zh",
		              "args.language: en or zh is expected");
	if (n->is_confined && n->is_insecure)
		return refuse(f, E_FORBIDDEN, "args.insecure", "ask an administrator",
		              "args.insecure: a channel of some projects may not have it");
	int r = channel__within(&cmd->o, "args.projects", n->projects, f);
	if (r == 0)
		r = next_secrets(c, cmd, was, n, f);
	return r < 0 ? r : check_needs(n, f);
}

static void next_print(const struct channel_next *n, struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "kind", n->kind);
	for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
		if (n->text[i] && n->text[i]->len)
			put_text(out, plain[i], n->text[i]->text);
	if (n->where)
		put_text(out, "where", n->where);
	if (n->is_insecure)
		put_bool(out, "insecure", true);
	if (n->is_confined)
		put_bool(out, "confined", true);
	secret__print_projects(out, n->projects);
	put_open(out, "secrets", '{');
	for (size_t i = 0; i < CHANNEL_SECRETS; i++)
		if (n->sealed[i])
			put_text(out, channel_secrets[i], n->sealed[i]);
		else
			secret__print_ref(out, channel_secrets[i], n->ref[i]);
	put_close(out, '}');
	put_close(out, '}');
}

/* --- the edit ------------------------------------------------------------------------ */

static void channel_put(struct commander *c, const struct cmd *cmd, const char *name,
                        const char *body)
{
	stored__change(c, cmd, cmd->edit,
	               &(struct store_doc){ .kind = DOC_CHANNEL,
	                                    .name = name,
	                                    .body = body,
	                                    .retired = cmd->kind == CK_CHANNEL_REMOVE });
}

static size_t in_force(const struct docs *ds)
{
	size_t n = 0;

	for (size_t i = 0; i < ds->n; i++)
		n += !ds->items[i].retired;
	return n;
}

static int channel_set(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct doc *was = docs_find(&c->docs[DOC_CHANNEL], cmd->o.told);
	const struct jval *json = was ? doc_json(was) : NULL;
	struct channel_next next = { 0 };
	struct buf body;
	int r = was ? channel__within(&cmd->o, "args.channel", jv_get(json, "projects"), f) : 0;

	r = stored__hidden(c, DOC_CHANNEL, cmd, false, r, f);
	if (r == 0 && !was && in_force(&c->docs[DOC_CHANNEL]) >= CHANNELS_MAX)
		r = refuse(f, E_LIMIT, "args.channel", "sirdar channel remove",
		           "args.channel: there are %d channels already", CHANNELS_MAX);
	if (r == 0)
		r = next_of(c, cmd, json, &next, f);
	if (r == 0) {
		buf_init(&body);
		next_print(&next, &body);
		cmd->edit = mem_new(sizeof *cmd->edit);
		channel_put(c, cmd, cmd->o.told, buf_str(&body));
		buf_done(&body);
	}
	next_done(&next);
	return r;
}

/* "KIND:NAME" stands in a rule or in an on-call list. */
static const struct doc *named_by(const struct docs *ds, const char *key, const char *recipient)
{
	for (size_t i = 0; i < ds->n; i++)
		if (!ds->items[i].retired &&
		    jv_has(jv_get(doc_json(&ds->items[i]), key), recipient))
			return &ds->items[i];
	return NULL;
}

static int channel_remove(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct doc *was = docs_find(&c->docs[DOC_CHANNEL], cmd->o.told), *rule, *list;

	if (!was)
		return stored__missing(DOC_CHANNEL, cmd->o.told, f);
	int r = channel__within(&cmd->o, "args.channel", jv_get(doc_json(was), "projects"), f);
	if (r < 0)
		return stored__hidden(c, DOC_CHANNEL, cmd, true, r, f);
	char *recipient = mem_fmt("%s:%s", jv_str(doc_json(was), "kind"), cmd->o.told);
	rule = named_by(&c->docs[DOC_RULE], "to", recipient);
	list = named_by(&c->docs[DOC_ONCALL], "people", recipient);
	if (rule || list)
		r = refuse(f, E_CONFLICT, "args.channel",
		           rule ? "sirdar rule set --to" : "sirdar oncall set --person",
		           "the %s %.64s uses the channel %.64s: change it first",
		           rule ? "rule" : "on-call list", (rule ? rule : list)->name, cmd->o.told);
	free(recipient);
	if (r < 0)
		return r;
	cmd->edit = mem_new(sizeof *cmd->edit);
	channel_put(c, cmd, cmd->o.told, "{}"); /* nothing is kept */
	return 0;
}

int channel__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	return cmd->kind == CK_CHANNEL_SET ? channel_set(c, cmd, f) : channel_remove(c, cmd, f);
}

/* --- another key --------------------------------------------------------------------- */

static void next_as_is(const struct jval *json, struct channel_next *n)
{
	const struct jval *kept = jv_get(json, "secrets");
	const char *where = jv_text(json, "where");

	*n = (struct channel_next){ .kind = jv_str(json, "kind"),
		                    .is_confined = jv_true(json, "confined"),
		                    .is_insecure = jv_true(json, "insecure"),
		                    .projects = jv_get(json, "projects"),
		                    .where = where ? mem_str(where) : NULL };
	for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
		n->text[i] = jv_get(json, plain[i]);
	for (size_t i = 0; channel_secrets[i]; i++) {
		const struct jval *v = jv_get(kept, channel_secrets[i]);
		n->sealed[i] = jv_is(v, JV_TEXT) ? mem_str(v->text) : NULL;
		n->ref[i] = v;
	}
}

static int again_channel(struct commander *c, struct cmd *cmd, const struct doc *d, struct err *err)
{
	struct channel_next next;
	struct buf body, about;
	int r = 0, changed = 0;

	buf_init(&about);
	next_as_is(doc_json(d), &next);
	for (size_t i = 0; channel_secrets[i] && r >= 0; i++) {
		buf_clear(&about);
		channel_about(d->name, channel_secrets[i], &about);
		r = secret__seal_again(c, buf_str(&about), &next.sealed[i], err);
		changed += r;
	}
	if (r >= 0 && changed) {
		buf_init(&body);
		next_print(&next, &body);
		channel_put(c, cmd, d->name, buf_str(&body));
		buf_done(&body);
	}
	buf_done(&about);
	next_done(&next);
	return r < 0 ? r : 0;
}

int channels__seal_again(struct commander *c, struct cmd *cmd, struct err *err)
{
	const struct docs *ds = &c->docs[DOC_CHANNEL];
	int r = 0;

	for (size_t i = 0; i < ds->n && r == 0; i++)
		if (!ds->items[i].retired)
			r = again_channel(c, cmd, &ds->items[i], err);
	return r;
}
