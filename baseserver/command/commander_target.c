/* Target servers: set, removed, looked up when documents name them. A secret (the password, and
 * others by name) is sealed here (vault.h), and neither the command's record nor the audit has it;
 * or it is a reference to where it is kept outside (source.h), which is no secret and is stored as
 * it is. Only these documents have references, and only administrators write them: no workflow can
 * name a path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/ledger/pools.h"
#include "baseserver/model/vault.h"
#include "baseserver/secret/secrets.h"
#include "baseserver/secret/source.h"
#include "sched/workflow.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum {
	TEXT_MAX_BYTES = 500,
	PASSWORD_MAX_BYTES = 4096,
	LIST_MAX = 100,
	EXTRA_MAX = 50,
	SECRET_NAME_MAX = 60
};

static const char *const texts[] = { "host", "user", "database" };
static const char *const kinds[] = {
#define TARGET_KIND(name, type) name,
#include "tbl/target_kind.def"
#undef TARGET_KIND
	NULL
};

/* --- arguments ----------------------------------------------------------------------- */

static bool is_line(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			return false;
	return true;
}

static int parse_text(const struct order *o, const char *key, struct refusal *f)
{
	const char *text = NULL;
	char at[40];

	if (arg_text(o->args, "args", key, TEXT_MAX_BYTES, &text, f) < 0)
		return f->code;
	snprintf(at, sizeof at, "args.%s", key);
	return text && !is_line(text)
	               ? refuse(f, E_INVALID, at, NULL,
	                        "%s: a line without control characters is expected", at)
	               : 0;
}

static int parse_extra(const struct order *o, struct refusal *f)
{
	const struct jval *v = jv_get(o->args, "extra");
	const char *want = "{\"schema\": \"public\"}";
	size_t n = 0;

	if (!v)
		return 0;
	if (v->kind != JV_OBJECT)
		return refuse(f, E_INVALID, "args.extra", want,
		              "args.extra: an object of texts is expected, not %s",
		              jv_kind_name(v));
	for (const struct jval *m = v->first; m; m = m->next) {
		if (!word_ok(m->key) || m->kind != JV_TEXT || !is_line(m->text) ||
		    m->len > TEXT_MAX_BYTES)
			return refuse(f, E_INVALID, "args.extra", want,
			              "args.extra: a name and a line of at most %d bytes are "
			              "expected, found '%.60s' with %s",
			              TEXT_MAX_BYTES, m->key, jv_kind_name(m));
		if (++n > EXTRA_MAX)
			return refuse(f, E_INVALID, "args.extra", NULL, "args.extra: more than %d",
			              EXTRA_MAX);
	}
	return 0;
}

int secret__parse_projects(const struct order *o, struct refusal *f)
{
	const struct jval *list = NULL;
	int r = arg_list(o->args, "args", "projects", LIST_MAX, &list, f);
	char why[NAME_WHY_BYTES];

	for (const struct jval *v = jv_first(list); v && r == 0; v = v->next) {
		if (v->kind != JV_TEXT)
			r = refuse(f, E_INVALID, "args.projects",
			           "for example [\"retail\"], or [\"*\"] for all",
			           "args.projects: a project's name is expected, not %s",
			           jv_kind_name(v));
		else if (strcmp(v->text, "*") != 0 && name_wrong(v->text, why))
			r = refuse_name(f, "args.projects", v->text, why);
	}
	return r;
}

/* {"from": ..., "path": ..., "key": ...} */
static int parse_ref(const struct jval *v, const char *at, struct refusal *f)
{
	static const char *const keys[] = { "from", "path", "key", NULL };
	const char *text[] = { "", "", "" };
	struct err err = { 0 };
	int r = arg_object(v, at, keys, f);

	for (size_t i = 0; keys[i] && r == 0; i++)
		r = arg_text(v, at, keys[i], SECRET_PATH_MAX, &text[i], f);
	const struct secret_ref ref = { text[0], text[1], text[2] };
	if (r == 0 && source_check(&ref, &err) < 0)
		r = refuse(f, E_INVALID, at, "the manual, Target servers", "%s: %s", at, err.text);
	return r;
}

/* A text, which is sealed, or where it is kept outside. `in` has it as `name`. */
int secret__parse(const struct jval *in, const char *place, const char *name, struct refusal *f)
{
	const struct jval *v = jv_get(in, name);
	const char *text = NULL;
	char at[100];

	snprintf(at, sizeof at, "%s.%.60s", place, name);
	if (jv_is(v, JV_OBJECT))
		return parse_ref(v, at, f);
	int r = arg_text(in, place, name, PASSWORD_MAX_BYTES, &text, f);

	if (r == 0 && text && strcmp(text, ARGS_KEPT_OUT) == 0)
		return refuse(f, E_INVALID, at, "set it again", "%s: it is not kept with a command",
		              at);
	for (const unsigned char *p = (const unsigned char *)(r == 0 && text ? text : ""); *p; p++)
		if ((*p < 0x20 && !strchr("\t\r\n", *p)) || *p == 0x7f)
			return refuse(f, E_INVALID, at, NULL,
			              "%s: no control characters but ends of lines", at);
	return r;
}

/* In a job's words the name follows the server's after a dot. */
static bool is_secret_name(const char *name)
{
	return word_ok(name) && strlen(name) <= SECRET_NAME_MAX && !strchr(name, '.') &&
	       strcmp(name, TARGET_PASSWORD) != 0;
}

static int parse_secrets(const struct order *o, struct refusal *f)
{
	const struct jval *all = jv_get(o->args, "secrets");
	const char *want = "{\"token\": \"...\"}";
	int r = 0;

	if (all && all->kind != JV_OBJECT)
		return refuse(f, E_INVALID, "args.secrets", want,
		              "args.secrets: an object of secrets by name is expected, not %s",
		              jv_kind_name(all));
	for (const struct jval *v = jv_first(all); v && r == 0; v = v->next)
		r = is_secret_name(v->key) ? secret__parse(all, "args.secrets", v->key, f)
		                           : refuse(f, E_INVALID, "args.secrets", want,
		                                    "args.secrets: '%.60s' is no name of one: at "
		                                    "most %d letters, digits, _ and -, and the "
		                                    "password is its own argument",
		                                    v->key, SECRET_NAME_MAX);
	return r;
}

static int parse_name(struct order *o, struct refusal *f)
{
	int r = arg_text(o->args, "args", "server", WORKFLOW_NAME_MAX, &o->server, f);
	char why[NAME_WHY_BYTES];

	if (r == 0 && !o->server)
		return refuse(f, E_INVALID, "args.server", "letters, digits, _ . -",
		              "args.server: is missing");
	if (r == 0 && word_wrong(o->server, why))
		return refuse_name(f, "args.server", o->server, why);
	return r;
}

int order__parse_target(struct order *o, struct refusal *f)
{
	int64_t port = 0;
	int kind = 0, r = 0;

	o->size = -1;
	if (o->kind == CK_SERVER_REKEY)
		return 0;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0] && r == 0; i++)
		r = parse_text(o, texts[i], f);
	if (r == 0)
		r = arg_choice(o->args, "args", "kind", kinds, &kind, f);
	if (r == 0)
		r = arg_number(o->args, "args", (struct arg_range){ "port", 0, 65535 }, &port, f);
	if (r == 0)
		r = arg_number(o->args, "args",
		               (struct arg_range){ "concurrency", 0, POOL_SLOTS_MAX }, &o->size, f);
	if (r == 0)
		r = parse_extra(o, f);
	if (r == 0)
		r = secret__parse_projects(o, f);
	if (r == 0)
		r = secret__parse(o->args, "args", TARGET_PASSWORD, f);
	if (r == 0)
		r = parse_secrets(o, f);
	return r < 0 ? r : parse_name(o, f);
}

/* --- the edit ------------------------------------------------------------------------ */

static void print_extra(struct buf *out, const struct jval *v)
{
	if (!v || v->kind != JV_OBJECT || !v->first)
		return;
	put_open(out, "extra", '{');
	JV_EACH(m, v)
		put_text(out, m->key, m->text);
	put_close(out, '}');
}

void secret__print_projects(struct buf *out, const struct jval *v)
{
	if (!v || v->kind != JV_LIST || !v->first)
		return;
	put_open(out, "projects", '[');
	JV_EACH(m, v)
		put_text(out, NULL, m->text);
	put_close(out, ']');
}

/* As it is to be: what is not said stays, what is said as nothing goes. */
static const struct jval *member(const struct jval *args, const struct jval *was, const char *key)
{
	const struct jval *now = jv_get(args, key);

	return now ? now : jv_get(was, key);
}

static void print_number(struct buf *out, const char *key, const struct jval *v)
{
	if (jv_is(v, JV_NUMBER) && v->number > 0)
		put_int(out, key, v->number);
}

void secret__print_ref(struct buf *out, const char *key, const struct jval *v)
{
	if (!jv_is(v, JV_OBJECT))
		return;
	put_open(out, key, '{');
	put_text(out, "from", jv_str(v, "from"));
	put_text(out, "path", jv_str(v, "path"));
	if (jv_str(v, "key")[0])
		put_text(out, "key", jv_str(v, "key"));
	put_close(out, '}');
}

/* Secrets as they are to be; those that are sealed are so already. */
struct secrets_kept {
	char *sealed; /* the password; NULL: none, or outside */
	struct {
		const char *name; /* borrowed */
		char *sealed;     /* NULL: see ref */
		const struct jval *ref;
	} items[TARGET_SECRETS_MAX];
	size_t n;
};

static void kept_done(struct secrets_kept *k)
{
	free(k->sealed);
	for (size_t i = 0; i < k->n; i++)
		free(k->items[i].sealed);
}

static void print_secrets(struct buf *out, const struct secrets_kept *k)
{
	if (!k->n)
		return;
	put_open(out, "secrets", '{');
	for (size_t i = 0; i < k->n; i++) {
		if (k->items[i].sealed)
			put_text(out, k->items[i].name, k->items[i].sealed);
		else
			secret__print_ref(out, k->items[i].name, k->items[i].ref);
	}
	put_close(out, '}');
}

static void print_body(const struct jval *args, const struct jval *was,
                       const struct secrets_kept *k, struct buf *out)
{
	const struct jval *kind = member(args, was, "kind");

	put_open(out, NULL, '{');
	put_text(out, "kind", jv_is(kind, JV_TEXT) ? kind->text : "other");
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		const struct jval *v = member(args, was, texts[i]);
		if (jv_is(v, JV_TEXT) && v->len)
			put_text(out, texts[i], v->text);
	}
	print_number(out, "port", member(args, was, "port"));
	print_number(out, "concurrency", member(args, was, "concurrency"));
	print_extra(out, member(args, was, "extra"));
	secret__print_projects(out, member(args, was, "projects"));
	if (k->sealed)
		put_text(out, "sealed", k->sealed);
	else
		secret__print_ref(out, TARGET_PASSWORD, member(args, was, TARGET_PASSWORD));
	print_secrets(out, k);
	put_close(out, '}');
}

static void commander_target_put(struct commander *c, const struct cmd *cmd, const char *name,
                                 const char *body)
{
	stored__change(c, cmd, cmd->edit,
	               &(struct store_doc){ .kind = DOC_SERVER,
	                                    .name = name,
	                                    .body = body,
	                                    .retired = cmd->kind == CK_SERVER_REMOVE });
}

static int target_seal(struct commander *c, const char *name, const char *secret, const char *text,
                       char **ret_sealed, struct refusal *f)
{
	struct err err = { 0 };
	struct buf about;

	*ret_sealed = NULL;
	if (!text[0])
		return 0;
	buf_init(&about);
	target_about(name, secret, &about);
	int r = vault_seal(c->vault, buf_str(&about), text, ret_sealed, &err);
	buf_done(&about);
	return r < 0 ? refuse(f, E_CONFLICT, "args.password", "the manual, Target servers", "%s",
	                      err.text)
	             : 0;
}

static int kept_add(struct secrets_kept *k, const char *name, char *sealed, const struct jval *ref,
                    struct refusal *f)
{
	if (k->n == TARGET_SECRETS_MAX) {
		free(sealed);
		return refuse(f, E_LIMIT, "args.secrets", "sirdar target set --no-secret",
		              "args.secrets: a target server has at most %d besides its password",
		              TARGET_SECRETS_MAX);
	}
	k->items[k->n].name = name;
	k->items[k->n].sealed = sealed;
	k->items[k->n++].ref = ref;
	return 0;
}

/* Those that are not said stay, in their order; then the new ones. "" takes one away. */
static int secrets_keep(struct commander *c, const char *name, const struct jval *was,
                        const struct jval *now, struct secrets_kept *k, struct refusal *f)
{
	int r = 0;

	for (const struct jval *v = jv_first(was); v && r == 0; v = v->next)
		if (!jv_get(now, v->key))
			r = kept_add(k, v->key, v->kind == JV_TEXT ? mem_str(v->text) : NULL, v, f);
	for (const struct jval *v = jv_first(now); v && r == 0; v = v->next) {
		char *sealed = NULL;
		if (v->kind == JV_TEXT)
			r = target_seal(c, name, v->key, v->text, &sealed, f);
		if (r == 0 && (sealed || v->kind == JV_OBJECT))
			r = kept_add(k, v->key, sealed, v, f);
	}
	return r;
}

/* What `args` say of them, over what there is. */
static int kept_of(struct commander *c, const char *name, const struct jval *args,
                   const struct doc *was, struct secrets_kept *k, struct refusal *f)
{
	const struct jval *json = was ? doc_json(was) : NULL;
	const char *password = jv_text(args, TARGET_PASSWORD); /* else it is kept outside */
	int r = 0;

	if (password)
		r = target_seal(c, name, TARGET_PASSWORD, password, &k->sealed, f);
	else if (!jv_get(args, TARGET_PASSWORD) && jv_text(json, "sealed"))
		k->sealed = mem_str(jv_text(json, "sealed"));
	return r < 0 ? r
	             : secrets_keep(c, name, jv_get(json, "secrets"), jv_get(args, "secrets"), k,
	                            f);
}

static bool same_body(struct commander *c, const struct doc *was, struct buf *body)
{
	const struct jval none = { .kind = JV_OBJECT };
	struct secrets_kept k = { 0 };
	struct refusal f = { 0 };
	struct buf old;

	buf_init(&old);
	kept_of(c, was->name, &none, was, &k, &f);
	print_body(&none, doc_json(was), &k, &old);
	bool same = strcmp(buf_str(&old), buf_str(body)) == 0;
	kept_done(&k);
	buf_done(&old);
	return same;
}

static int target_set(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct doc *was = docs_find(&c->docs[DOC_SERVER], cmd->o.server);
	char *pool = mem_fmt(POOL_SERVER "%s", cmd->o.server);
	struct secrets_kept k = { 0 };
	struct buf body;
	int r = kept_of(c, cmd->o.server, cmd->o.args, was, &k, f);

	buf_init(&body);
	if (r == 0) {
		print_body(cmd->o.args, was ? doc_json(was) : NULL, &k, &body);
		cmd->edit = mem_new(sizeof *cmd->edit);
		if (!was || !same_body(c, was, &body))
			commander_target_put(c, cmd, cmd->o.server, buf_str(&body));
		if (cmd->o.size >= 0)
			pool__change(c, cmd, pool, cmd->o.size ? (int32_t)cmd->o.size : POOL_NONE,
			             cmd->edit);
	}
	buf_done(&body);
	kept_done(&k);
	free(pool);
	return r;
}

static int take_away(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	char *pool;

	if (!docs_find(&c->docs[DOC_SERVER], cmd->o.server))
		return stored__missing(DOC_SERVER, cmd->o.server, f);
	int r = stored__unused(c, DOC_SERVER, cmd->o.server, f);
	if (r < 0)
		return r;
	cmd->edit = mem_new(sizeof *cmd->edit);
	commander_target_put(c, cmd, cmd->o.server, "{}"); /* nothing is kept */
	pool = mem_fmt(POOL_SERVER "%s", cmd->o.server);
	pool__change(c, cmd, pool, POOL_NONE, cmd->edit);
	free(pool);
	return 0;
}

/* --- another key --------------------------------------------------------------------- */

int secret__seal_again(struct commander *c, const char *about, char **sealed, struct err *err)
{
	char *text = NULL, *now = NULL;
	bool current = true;
	int r = *sealed ? vault_is_current(c->vault, *sealed, &current, err) : 0;

	if (r < 0 || current)
		return r;
	r = vault_open(c->vault, about, *sealed, &text, err);
	if (r == 0)
		r = vault_seal(c->vault, about, text, &now, err);
	if (r == 0) {
		free(*sealed);
		*sealed = now;
	}
	vault_forget(text);
	return r < 0 ? r : 1;
}

static int seal_one(struct commander *c, const char *name, const char *secret, char **sealed,
                    struct err *err)
{
	struct buf about;

	buf_init(&about);
	target_about(name, secret, &about);
	int r = secret__seal_again(c, buf_str(&about), sealed, err);
	buf_done(&about);
	return r;
}

static int seal_again(struct commander *c, struct cmd *cmd, const struct doc *t, struct err *err)
{
	const struct jval none = { .kind = JV_OBJECT };
	struct secrets_kept k = { 0 };
	struct refusal f = { 0 };
	struct buf body;

	kept_of(c, t->name, &none, t, &k, &f);
	int r = seal_one(c, t->name, TARGET_PASSWORD, &k.sealed, err), changed = r;
	for (size_t i = 0; i < k.n && r >= 0; i++) {
		r = seal_one(c, t->name, k.items[i].name, &k.items[i].sealed, err);
		changed += r;
	}
	if (r >= 0 && changed) {
		buf_init(&body);
		print_body(&none, doc_json(t), &k, &body);
		commander_target_put(c, cmd, t->name, buf_str(&body));
		buf_done(&body);
	}
	kept_done(&k);
	return r;
}

int targets__seal_again(struct commander *c, struct cmd *cmd, struct err *err)
{
	const struct docs *targets = &c->docs[DOC_SERVER];
	int r = 0;

	for (size_t i = 0; i < targets->n && r >= 0; i++)
		if (!targets->items[i].retired)
			r = seal_again(c, cmd, &targets->items[i], err);
	return r;
}

/* A place that no setting allows would hold back each job. */
static int judge_source(const struct commander *c, const struct jval *ref, const char *at,
                        struct refusal *f)
{
	const char *from = jv_is(ref, JV_OBJECT) ? jv_str(ref, "from") : NULL;
	const char *lack = from && c->set.secrets ? secrets_lack(c->set.secrets, from) : NULL;

	if (!lack)
		return 0;
	return refuse(f, E_CONFLICT, at, "the manual, Target servers",
	              "%s: the server asks no source '%.20s', for its setting %s is empty: set it "
	              "in the baseserver's settings, and start the server again",
	              at, from, lack);
}

static int judge_sources(const struct commander *c, const struct jval *args, struct refusal *f)
{
	const struct jval *all = jv_get(args, "secrets");
	int r = judge_source(c, jv_get(args, TARGET_PASSWORD), "args." TARGET_PASSWORD, f);
	char at[100];

	for (const struct jval *v = jv_first(all); v && r == 0; v = v->next) {
		snprintf(at, sizeof at, "args.secrets.%.60s", v->key);
		r = judge_source(c, v, at, f);
	}
	return r;
}

int target__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	int r = cmd->kind == CK_SERVER_SET ? judge_sources(c, cmd->o.args, f) : 0;

	if (r < 0)
		return r;
	return cmd->kind == CK_SERVER_SET ? target_set(c, cmd, f) : take_away(c, cmd, f);
}
