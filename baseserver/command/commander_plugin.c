/* Versions of runner plugins: registered, enabled, drained, rolled back, removed. What is kept of
 * a type is a JSON document; brokers are told which version is theirs (worker_orders.c). */
#include <stdio.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/model/world.h"
#include "rt/manifests.h"
#include "sched/type.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum { VERSION_BYTES_MAX = 40, SHA256_HEX = 64, VERSIONS_MAX = 50, NAMES_MAX = 200 };

/* --- arguments ----------------------------------------------------------------------- */

static int parse_type(struct order *o, struct refusal *f)
{
	int r = arg_text(o->args, "args", "type", 60, &o->type, f);

	if (r == 0 && (!o->type || !fs_name_ok(o->type, 60)))
		return refuse(f, E_INVALID, "args.type", "for example shell",
		              "args.type: %s%.60s%s", o->type ? "'" : "",
		              o->type ? o->type : "is missing",
		              o->type ? "' is no task type's name" : "");
	return r;
}

static int parse_version(struct order *o, bool needed, struct refusal *f)
{
	int r = arg_text(o->args, "args", "version", VERSION_BYTES_MAX, &o->version, f);

	if (r == 0 && (o->version ? !fs_name_ok(o->version, VERSION_BYTES_MAX) : needed))
		return refuse(f, E_INVALID, "args.version", "for example 1.2",
		              "args.version: %s: letters, digits, . _ -, as in TYPE-VERSION.so",
		              o->version ? o->version : "is missing");
	return r;
}

static int parse_sha256(struct order *o, struct refusal *f)
{
	int r = arg_text(o->args, "args", "sha256", SHA256_HEX, &o->sha256, f);

	if (r == 0 && (!o->sha256 || strlen(o->sha256) != SHA256_HEX ||
	               strspn(o->sha256, "0123456789abcdef") != SHA256_HEX))
		return refuse(f, E_INVALID, "args.sha256", "sha256sum TYPE-VERSION.so",
		              "args.sha256: 64 small hex digits are expected");
	return r;
}

static int parse_groups(struct order *o, struct refusal *f)
{
	int r = arg_list(o->args, "args", "groups", NAMES_MAX, &o->groups, f);

	for (const struct jval *v = r == 0 && o->groups ? o->groups->first : NULL; v; v = v->next)
		if (v->kind != JV_TEXT || !fs_name_ok(v->text, 63))
			return refuse(f, E_INVALID, "args.groups", "for example [\"etl\"]",
			              "args.groups: a broker group's name is expected, not %s",
			              jv_kind_name(v));
	return r;
}

int order__parse_plugin(struct order *o, struct refusal *f)
{
	int r = parse_type(o, f);

	o->size = 1; /* the ABI */
	if (r == 0 && o->kind == CK_PLUGIN_ROLLBACK)
		r = arg_truth(o->args, "args", "own", &o->own, f);
	if (r < 0 || o->kind == CK_PLUGIN_RELEASE || o->kind == CK_LOG_LEVEL ||
	    o->kind == CK_PLUGIN_ROLLBACK || o->kind == CK_PLUGIN_DRAIN)
		return r;
	r = parse_version(o, o->kind != CK_PLUGIN_ENABLE, f);
	if (r == 0 && o->kind == CK_PLUGIN_ENABLE)
		r = parse_groups(o, f);
	if (r < 0 || o->kind != CK_PLUGIN_REGISTER)
		return r;
	r = parse_sha256(o, f);
	if (r == 0)
		r = arg_number(o->args, "args", (struct arg_range){ "abi", 1, 1000 }, &o->size, f);
	return r < 0 ? r : parse_groups(o, f);
}

/* --- what is known ------------------------------------------------------------------- */

static const struct jval *version_of(const struct jval *root, const char *version)
{
	JV_EACH(v, jv_get(root, "versions"))
		if (version && strcmp(jv_str(v, "version"), version) == 0)
			return v;
	return NULL;
}

/* --- telling the workers ------------------------------------------------------------- */

/* "b:NAME" and "g:GROUP", a line each; "" for everywhere. */
static void plugin_where(const struct jval *v, struct buf *out)
{
	static const struct {
		const char *key, *prefix;
	} of[] = { { "brokers", "b:" }, { "groups", "g:" } };

	for (size_t i = 0; i < 2; i++)
		JV_EACH(n, jv_get(v, of[i].key))
			buf_printf(out, "%s%s\n", of[i].prefix, n->text);
}

static void add_choice(const struct jval *root, const char *version, struct plugin_choices *to)
{
	const struct jval *v = version_of(root, version);
	struct buf places;

	if (!v || !jv_text(v, "sha256"))
		return;
	buf_init(&places);
	plugin_where(v, &places);
	struct plugin_choice *c = &to->items[to->n++];
	snprintf(c->text, sizeof c->text, "%s %d %s", version, (int)jv_int(v, "abi", 1),
	         jv_text(v, "sha256"));
	c->where = mem_str(buf_str(&places));
	buf_done(&places);
}

/* What is enabled; where that is not meant, what was before it. Nothing: the type's own file. */
static struct plugin_choices *choices_of(const struct doc *p)
{
	const struct jval *root = p->retired ? NULL : doc_json(p);
	struct plugin_choices *to = mem_new(sizeof *to);

	snprintf(to->type, sizeof to->type, "%s", p->name);
	if (jv_true(root, "drained")) {
		snprintf(to->items[to->n].text, sizeof to->items[0].text, "drain");
		to->items[to->n++].where = mem_str("");
		return to;
	}
	if (jv_text(root, "enabled")) {
		add_choice(root, jv_text(root, "enabled"), to);
		add_choice(root, jv_text(root, "former"), to);
	}
	return to;
}

void plugin__tell(const struct commander *c, const char *type)
{
	const struct doc *p = docs_ever(&c->docs[DOC_RUNNER], type);

	for (size_t i = 0; c->front && c->front->plugin && p && i < c->front->n_workers; i++)
		c->front->plugin(c->front->workers[i], choices_of(p));
}

void plugins__tell(const struct commander *c)
{
	for (size_t i = 0; i < c->docs[DOC_RUNNER].n; i++)
		plugin__tell(c, c->docs[DOC_RUNNER].items[i].name);
}

/* --- the edit ------------------------------------------------------------------------ */

static void print_names(struct buf *out, const char *key, const struct jval *list)
{
	put_open(out, key, '[');
	JV_EACH(v, list)
		put_text(out, NULL, v->text);
	put_close(out, ']');
}

/* places: where it is meant to run from now on; NULL: as it was. */
static void print_version(struct buf *out, const struct jval *v, const struct order *places)
{
	put_open(out, NULL, '{');
	put_text(out, "version", jv_text(v, "version"));
	put_int(out, "abi", jv_int(v, "abi", 1));
	put_text(out, "sha256", jv_text(v, "sha256"));
	print_names(out, "brokers", places ? places->brokers : jv_get(v, "brokers"));
	print_names(out, "groups", places ? places->groups : jv_get(v, "groups"));
	put_close(out, '}');
}

struct wanted {
	const char *enabled, *former; /* NULL: none */
	bool drained;
	const char *without; /* a version that goes, or NULL */
	const char *placed;  /* one that is meant for other brokers from now on, or NULL */
	const struct order *places;
	const struct order *added; /* a version that comes, or NULL */
};

static void print_added(struct buf *out, const struct order *o)
{
	put_open(out, NULL, '{');
	put_text(out, "version", o->version);
	put_int(out, "abi", o->size);
	put_text(out, "sha256", o->sha256);
	print_names(out, "brokers", o->brokers);
	print_names(out, "groups", o->groups);
	put_close(out, '}');
}

static size_t print_body(const struct jval *root, const struct wanted *w, struct buf *out)
{
	size_t n = 0;

	put_open(out, NULL, '{');
	if (w->enabled)
		put_text(out, "enabled", w->enabled);
	if (w->former)
		put_text(out, "former", w->former);
	put_bool(out, "drained", w->drained);
	put_open(out, "versions", '[');
	JV_EACH(v, jv_get(root, "versions"))
		if (!w->without || strcmp(jv_text(v, "version"), w->without) != 0) {
			bool is_placed = w->placed && strcmp(jv_text(v, "version"), w->placed) == 0;

			print_version(out, v, is_placed ? w->places : NULL);
			n++;
		}
	if (w->added)
		print_added(out, w->added);
	put_close(out, ']');
	put_close(out, '}');
	return n + (w->added != NULL);
}

static int no_version(const struct cmd *cmd, struct refusal *f)
{
	return refuse(f, E_NOT_FOUND, "args.version", "sirdar plugin list",
	              "args.version: no version %.40s of %.60s is registered",
	              cmd->o.version ? cmd->o.version : "that could be enabled", cmd->o.type);
}

static int decide(const struct cmd *cmd, const struct jval *root, struct wanted *w,
                  struct refusal *f)
{
	const struct jval *at = version_of(root, cmd->o.version);
	const char *enabled = w->enabled;

	switch (cmd->kind) {
	case CK_PLUGIN_REGISTER:
		w->added = &cmd->o;
		w->without = cmd->o.version;
		if (at && strcmp(jv_text(at, "sha256"), cmd->o.sha256) != 0)
			return refuse(f, E_CONFLICT, "args.sha256",
			              "another version, or sirdar plugin remove",
			              "%.60s %.40s is registered with the sha256 %s", cmd->o.type,
			              cmd->o.version, jv_text(at, "sha256"));
		return 0;
	case CK_PLUGIN_ENABLE:
		if (cmd->o.version ? !at : !enabled && !w->drained)
			return no_version(cmd, f);
		w->drained = false;
		if (cmd->o.brokers || cmd->o.groups) { /* none of either: everywhere */
			w->placed = cmd->o.version ? cmd->o.version : enabled;
			w->places = &cmd->o;
		}
		if (cmd->o.version && (!enabled || strcmp(enabled, cmd->o.version) != 0)) {
			w->former = enabled;
			w->enabled = cmd->o.version;
		}
		return 0;
	case CK_PLUGIN_DRAIN:
		w->drained = true;
		return 0;
	case CK_PLUGIN_ROLLBACK:
		if (!enabled && (cmd->o.own || !w->former))
			return refuse(f, E_CONFLICT, "args.type", "sirdar plugin enable",
			              "%.60s runs from its own file, no version was enabled before",
			              cmd->o.type);
		/* Before the first version was enabled, it was the type's own file. */
		w->enabled = cmd->o.own ? NULL : w->former;
		w->former = enabled;
		return 0;
	default:
		break;
	}
	if (!at)
		return no_version(cmd, f);
	if (enabled && strcmp(enabled, cmd->o.version) == 0 && !w->drained)
		return refuse(f, E_CONFLICT, "args.version",
		              "enable another version, roll back, or drain the type first",
		              "%.60s %.40s is enabled", cmd->o.type, cmd->o.version);
	w->without = cmd->o.version;
	if (enabled && strcmp(enabled, cmd->o.version) == 0)
		w->enabled = NULL;
	if (w->former && strcmp(w->former, cmd->o.version) == 0)
		w->former = NULL;
	return 0;
}

/* A type that was never registered can be drained as well: it runs TYPE.so. A slip in its name
 * would drain nothing, and stand in every list. */
static bool is_known(const struct commander *c, const char *type)
{
	const struct world w = { .cat = &c->cat, .roster = c->roster, .n_roster = c->n_roster };

	return type_set_find(manifests_types(c->types), type) || world_runs(&w, type);
}

int plugin__begin(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct doc *was = docs_find(&c->docs[DOC_RUNNER], cmd->o.type);
	const struct jval *root = was ? doc_json(was) : NULL;
	struct wanted w = { jv_text(root, "enabled"), jv_text(root, "former"),
		            jv_true(root, "drained"), NULL, NULL };
	struct buf body;
	int r;

	if (!root && cmd->kind == CK_PLUGIN_DRAIN && !is_known(c, cmd->o.type))
		return refuse(f, E_NOT_FOUND, "args.type", "sirdar type list",
		              "no broker and no task has a type '%.60s'", cmd->o.type);
	if (!root && cmd->kind != CK_PLUGIN_REGISTER && cmd->kind != CK_PLUGIN_DRAIN)
		return refuse(f, E_NOT_FOUND, "args.type", "sirdar plugin register",
		              "no version of %.60s is registered", cmd->o.type);
	r = decide(cmd, root, &w, f);
	if (r < 0)
		return r;
	buf_init(&body);
	size_t n = print_body(root, &w, &body);
	if (n > VERSIONS_MAX)
		r = refuse(f, E_LIMIT, "args.version", "sirdar plugin remove",
		           "%.60s has %d versions registered", cmd->o.type, VERSIONS_MAX);
	else {
		cmd->edit = mem_new(sizeof *cmd->edit);
		stored__change(c, cmd, cmd->edit,
		               &(struct store_doc){ .kind = DOC_RUNNER,
		                                    .name = cmd->o.type,
		                                    .body = buf_str(&body),
		                                    .retired = n == 0 && !w.drained });
	}
	buf_done(&body);
	return r;
}
