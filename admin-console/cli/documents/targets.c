/* Documents of target servers in files of workflows: read, compared with what the server has,
 * printed. They are taken out of the text before it is sent, with empty lines in their place so
 * that findings keep their lines, and go to the server as commands of their own (online/target.c).
 * A document names the file of its password, or where the password is kept outside, which is no
 * secret; the password itself is never shown or compared: a server that has one keeps it unless
 * somebody asks for it again. */
#include "admin-console/cli/documents/targets.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/base/answer.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/diag.h"
#include "util/json_in.h"
#include "util/yaml.h"

enum shape { TEXT, NUMBER, MAP, LIST };

/* In the order in which they are printed. */
static const struct {
	const char *name;
	enum shape shape;
} members[] = {
#define TARGET_KEY(key, shape, help) { key, shape },
#include "sched/target_keys.def"
};

static const char *const keys[] = {
#define TARGET_KEY(key, shape, help) key,
#define TARGET_OWN(key, shape, help) key,
#include "sched/target_keys.def"
};

#define N_MEMBERS (sizeof members / sizeof members[0])

/* --- reading ------------------------------------------------------------------------------- */

struct reading {
	const char *file;
	struct diags *d;
	cJSON *list;
};

static void targets_wrong(const struct reading *r, const struct yaml_node *n, const char *key,
                          const char *want)
{
	diag_error(r->d, (struct place){ r->file, n->line, n->column, key }, "wrong_value", NULL,
	           "%s wants %s", key, want);
}

static cJSON *read_map(const struct reading *r, const struct yaml_node *n, const char *key)
{
	cJSON *o = cJSON_CreateObject();

	if (n && n->kind != YAML_MAP)
		targets_wrong(r, n, key, "a map of texts");
	for (size_t i = 0; n && n->kind == YAML_MAP && i < n->n; i++) {
		if (n->items[i]->kind != YAML_SCALAR)
			targets_wrong(r, n->items[i], key, "a map of texts");
		else
			cJSON_AddStringToObject(o, n->keys[i]->text, n->items[i]->text);
	}
	return o;
}

static cJSON *read_list(const struct reading *r, const struct yaml_node *n, const char *key)
{
	cJSON *list = cJSON_CreateArray();

	if (n && n->kind != YAML_LIST)
		targets_wrong(r, n, key, "a list of names");
	for (size_t i = 0; n && n->kind == YAML_LIST && i < n->n; i++) {
		if (n->items[i]->kind != YAML_SCALAR)
			targets_wrong(r, n->items[i], key, "a list of names");
		else
			cJSON_AddItemToArray(list, cJSON_CreateString(n->items[i]->text));
	}
	return list;
}

/* What is not said is none. */
static cJSON *read_member(const struct reading *r, const struct yaml_node *n, const char *key,
                          enum shape shape)
{
	int64_t number = 0;

	if (shape == MAP)
		return read_map(r, n, key);
	if (shape == LIST)
		return read_list(r, n, key);
	if (shape == NUMBER) {
		if (n && !yaml_int(n, 0, INT32_MAX, &number))
			targets_wrong(r, n, key, "a whole number");
		return cJSON_CreateNumber((double)number);
	}
	if (n && n->kind != YAML_SCALAR)
		targets_wrong(r, n, key, "a text");
	if (strcmp(key, "kind") == 0 && !n)
		return cJSON_CreateString("other");
	return cJSON_CreateString(n && n->kind == YAML_SCALAR ? n->text : "");
}

static void check_keys(const struct reading *r, const struct yaml_node *root)
{
	for (size_t i = 0; i < root->n; i++) {
		const char *key = root->keys[i]->text;
		size_t k = 0;

		while (k < sizeof keys / sizeof keys[0] && strcmp(keys[k], key) != 0)
			k++;
		if (strcmp(key, "password") == 0 && root->items[i]->kind != YAML_MAP)
			diag_error(
				r->d,
				(struct place){ r->file, root->keys[i]->line, root->keys[i]->column,
			                        key },
				"secret",
				"password_file: FILE, or password: {from: vault, path: P, key: K}",
				"a document has no password in it");
		else if (k == sizeof keys / sizeof keys[0])
			diag_error(r->d,
			           (struct place){ r->file, root->keys[i]->line,
			                           root->keys[i]->column, key },
			           "unknown_key", NULL, "a target server has no key '%.80s'", key);
	}
}

/* Beside the document. */
static char *beside(const char *file, const char *path)
{
	const char *slash = strrchr(file, '/');

	if (path[0] == '/' || !slash)
		return mem_str(path);
	return mem_fmt("%.*s/%s", (int)(slash - file), file, path);
}

/* Where each is kept outside; values are for `target set`. */
static void read_secrets(const struct reading *r, const struct yaml_node *n, cJSON *o)
{
	cJSON *all = cJSON_CreateObject();

	for (size_t i = 0; n && n->kind == YAML_MAP && i < n->n; i++) {
		if (n->items[i]->kind == YAML_MAP)
			cJSON_AddItemToObject(all, n->keys[i]->text,
			                      read_map(r, n->items[i], "secrets"));
		else
			diag_error(r->d,
			           (struct place){ r->file, n->keys[i]->line, n->keys[i]->column,
			                           "secrets" },
			           "secret", "sirdar target set --secret NAME",
			           "a document has no secret in it: want {from: vault, path: P, "
			           "key: K}");
	}
	if (n && n->kind != YAML_MAP)
		targets_wrong(r, n, "secrets", "a map of where they are kept");
	if (all->child)
		cJSON_AddItemToObject(o, "secrets", all);
	else
		cJSON_Delete(all);
}

static void read_root(const struct reading *r, const struct yaml_node *root)
{
	const struct yaml_node *name = yaml_get(root, "target");
	const struct yaml_node *password = yaml_get(root, "password_file"),
			       *outside = yaml_get(root, "password");
	cJSON *o = cJSON_CreateObject();

	check_keys(r, root);
	if (!name || name->kind != YAML_SCALAR)
		targets_wrong(r, root, "target", "the server's name");
	else
		cJSON_AddStringToObject(o, "server", name->text);
	for (size_t i = 0; i < N_MEMBERS; i++)
		cJSON_AddItemToObject(o, members[i].name,
		                      read_member(r, yaml_get(root, members[i].name),
		                                  members[i].name, members[i].shape));
	if (outside && outside->kind == YAML_MAP)
		cJSON_AddItemToObject(o, "password", read_map(r, outside, "password"));
	read_secrets(r, yaml_get(root, "secrets"), o);
	if (outside && password) {
		targets_wrong(r, password, "password_file", "no password beside it");
	} else if (password && password->kind == YAML_SCALAR) {
		char *path = beside(r->file, password->text);
		cJSON_AddStringToObject(o, "password_file", path);
		free(path);
	} else if (password) {
		targets_wrong(r, password, "password_file", "a path");
	}
	cJSON_AddItemToArray(r->list, o);
}

/* A document's text, after as many empty lines as it stands below the file's first. */
static void read_one(const struct reading *r, const char *text, size_t bytes, size_t lines_before)
{
	struct yaml_doc **docs = NULL;
	struct buf padded;
	size_t n = 0;

	buf_init(&padded);
	for (size_t i = 0; i < lines_before; i++)
		buf_putc(&padded, '\n');
	buf_put(&padded, text, bytes);
	if (yaml_read(buf_str(&padded), padded.len, r->file, r->d, &docs, &n) == 0)
		for (size_t i = 0; i < n; i++) {
			read_root(r, yaml_root(docs[i]));
			yaml_free(docs[i]);
		}
	free(docs);
	buf_done(&padded);
}

static bool is_mark(const char *line)
{
	return strncmp(line, "---", 3) == 0 && (!line[3] || isspace((unsigned char)line[3]));
}

static const char *next_line(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));

	return newline ? newline + 1 : end;
}

/* The first line that says something begins with `target:`. */
static bool is_target(const char *at, const char *end)
{
	for (; at < end; at = next_line(at, end)) {
		const char *p = at;

		while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
			p++;
		if (p < end && *p != '\n' && *p != '#')
			return strncmp(at, "target:", 7) == 0;
	}
	return false;
}

static bool says_nothing(const char *text)
{
	for (const char *at = text; *at; at = next_line(at, at + strlen(at))) {
		const char *p = at + strspn(at, " \t\r");

		if (*p && *p != '\n' && *p != '#' && !is_mark(at))
			return false;
	}
	return true;
}

bool targets_take(struct buf *text, const char *file, cJSON *list, struct diags *d)
{
	const struct reading r = { file, d, list };
	char *all = mem_str(buf_str(text)), *end = all + strlen(all);
	size_t line = 0, before = (size_t)cJSON_GetArraySize(list);

	for (char *at = all; at < end;) {
		char *mark = is_mark(at) ? at : NULL;
		char *from = mark ? (char *)next_line(at, end) : at, *to = from;

		while (to < end && !is_mark(to))
			to = (char *)next_line(to, end);
		line += mark != NULL;
		if (is_target(from, to)) {
			read_one(&r, from, (size_t)(to - from), line);
			for (char *p = mark ? mark : from; p < to; p++)
				line += *p == '\n' && p >= from, *p = *p == '\n' ? '\n' : ' ';
		} else {
			for (char *p = from; p < to; p++)
				line += *p == '\n';
		}
		at = to;
	}
	bool other = (size_t)cJSON_GetArraySize(list) == before || !says_nothing(all);
	buf_clear(text);
	buf_puts(text, all);
	free(all);
	return other;
}

/* --- what changes -------------------------------------------------------------------------- */

/* What both sides print alike: a text as it is, nothing for none, JSON for the rest. */
static char *shown(const cJSON *v)
{
	if (!v)
		return mem_str("");
	if (cJSON_IsString(v))
		return mem_str(v->valuestring);
	if (cJSON_IsNull(v) || (cJSON_IsNumber(v) && v->valuedouble == 0) ||
	    ((cJSON_IsArray(v) || cJSON_IsObject(v)) && !v->child))
		return mem_str("");
	return cJSON_PrintUnformatted(v);
}

static void add_field(cJSON *fields, const char *name, const char *before, const char *after)
{
	cJSON *f = cJSON_CreateObject();

	cJSON_AddStringToObject(f, "field", name);
	if (before[0])
		cJSON_AddStringToObject(f, "before", before);
	if (after[0])
		cJSON_AddStringToObject(f, "after", after);
	cJSON_AddItemToArray(fields, f);
}

static void targets_compare(const cJSON *is, const cJSON *wanted, cJSON *fields)
{
	for (size_t i = 0; i < N_MEMBERS; i++) {
		const cJSON *was = json_get(is, members[i].name),
			    *now = json_get(wanted, members[i].name);
		bool same = members[i].shape == MAP && was && now && cJSON_Compare(was, now, true);
		char *before = shown(was), *after = shown(now);

		if (!same && strcmp(before, after) != 0)
			add_field(fields, members[i].name, before, after);
		free(before);
		free(after);
	}
}

/* "vault:PATH#KEY" of a reference; "" of none. */
static char *ref_shown(const cJSON *ref)
{
	const char *key = json_text(ref, "key");

	return cJSON_IsObject(ref) ? mem_fmt("%s:%s%s%s", text_of(ref, "from"),
	                                     text_of(ref, "path"), key ? "#" : "", key ? key : "")
	                           : mem_str("");
}

static void compare_ref(const cJSON *is, const cJSON *wanted, cJSON *fields)
{
	char *before = ref_shown(json_get(is, "password_from")),
	     *after = ref_shown(json_get(wanted, "password"));

	if (after[0] && strcmp(before, after) != 0)
		add_field(fields, "password", before, after);
	free(before);
	free(after);
}

static const cJSON *secret_from(const cJSON *is, const char *name)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, json_get(is, "secrets"))
		if (strcmp(text_of(v, "name"), name) == 0)
			return json_get(v, "from");
	return NULL;
}

static void compare_secrets(const cJSON *is, const cJSON *wanted, cJSON *fields)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, json_get(wanted, "secrets")) {
		char *before = ref_shown(secret_from(is, v->string)), *after = ref_shown(v),
		     *name = mem_fmt("secrets.%s", v->string);

		if (strcmp(before, after) != 0)
			add_field(fields, name, before, after);
		free(name);
		free(before);
		free(after);
	}
}

cJSON *target_change(const cJSON *is, const cJSON *wanted, bool again, bool *ret_password)
{
	cJSON *change = cJSON_CreateObject(), *fields = cJSON_CreateArray();

	*ret_password = json_text(wanted, "password_file") &&
	                (again || !is || !json_true(is, "has_password"));
	targets_compare(is, wanted, fields);
	compare_ref(is, wanted, fields);
	compare_secrets(is, wanted, fields);
	if (*ret_password)
		add_field(fields, "password", "", text_of(wanted, "password_file"));
	cJSON_AddStringToObject(change, "kind", "target");
	cJSON_AddStringToObject(change, "name", text_of(wanted, "server"));
	cJSON_AddStringToObject(change, "change",
	                        !is             ? "create"
	                        : fields->child ? "change"
	                                        : "same");
	cJSON_AddItemToObject(change, "fields", fields);
	return change;
}

/* --- export -------------------------------------------------------------------------------- */

static void print_text(struct buf *out, const char *text)
{
	yaml_print_text(text, false, out);
}

static void print_member(const cJSON *v, const char *name, struct buf *out)
{
	const cJSON *m;

	buf_printf(out, "%s:", name);
	if (cJSON_IsNumber(v)) {
		buf_printf(out, " %lld\n", (long long)v->valuedouble);
		return;
	}
	if (cJSON_IsString(v)) {
		buf_putc(out, ' ');
		print_text(out, v->valuestring);
		buf_putc(out, '\n');
		return;
	}
	cJSON_ArrayForEach(m, v) {
		buf_puts(out, cJSON_IsArray(v) ? "\n  - " : "\n  ");
		if (cJSON_IsObject(v)) {
			print_text(out, m->string);
			buf_puts(out, ": ");
		}
		print_text(out, m->valuestring);
	}
	buf_putc(out, '\n');
}

static void print_ref(const cJSON *ref, const char *indent, struct buf *out)
{
	const cJSON *m;

	cJSON_ArrayForEach(m, ref) {
		if (!cJSON_IsString(m))
			continue;
		buf_printf(out, "%s%s: ", indent, m->string);
		print_text(out, m->valuestring);
		buf_putc(out, '\n');
	}
}

static void print_secrets(const cJSON *secrets, struct buf *out)
{
	bool has_outside = false;
	const cJSON *v;

	cJSON_ArrayForEach(v, secrets) {
		if (!cJSON_IsObject(json_get(v, "from"))) {
			buf_printf(out,
			           "# it has a secret %s, which is not exported; a new "
			           "installation needs it: sirdar target set --secret\n",
			           text_of(v, "name"));
			continue;
		}
		buf_printf(out, "%s  %s:\n", has_outside ? "" : "secrets:\n", text_of(v, "name"));
		print_ref(json_get(v, "from"), "    ", out);
		has_outside = true;
	}
}

void target_print(const cJSON *server, struct buf *out)
{
	buf_puts(out, "target: ");
	print_text(out, text_of(server, "server"));
	buf_putc(out, '\n');
	for (size_t i = 0; i < N_MEMBERS; i++) {
		const cJSON *v = json_get(server, members[i].name);
		char *text = shown(v);

		if (text[0])
			print_member(v, members[i].name, out);
		free(text);
	}
	if (cJSON_IsObject(json_get(server, "password_from"))) {
		buf_puts(out, "password:\n");
		print_ref(json_get(server, "password_from"), "  ", out);
	} else if (json_true(server, "has_password")) {
		buf_puts(out,
		         "# it has a password, which is not exported; a new installation needs "
		         "password_file: FILE\n");
	}
	print_secrets(json_get(server, "secrets"), out);
}
