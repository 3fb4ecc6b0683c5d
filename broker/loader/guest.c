/* Reads TYPE.yaml beside the runners: a task type that another plugin hosts, and its program.
 *
 * Every text lent to the runner lives in the YAML document, which the type keeps; what is put
 * together is owned by `struct made`. All faults of a manifest are gathered with their places, and
 * the first is told. Of a registered version the manifest itself and each file that its command
 * names must have the digest that was registered. The guest's processes are started elsewhere
 * (hold.c).
 */
#include "broker/loader/guest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/link/digest.h"
#include "broker/loader/cause.h"
#include "broker/loader/dial.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/failure.h"
#include "util/fs.h"
#include "util/param.h"
#include "util/pattern.h"
#include "util/trust.h"
#include "util/yaml.h"

#define MANIFEST_BYTES_MAX 262144
#define WORDS_MAX          256
#define CONCURRENCY_MAX    1024
#define TIME_MIN_US        (100 * 1000LL)
#define TIME_MAX_US        (3600 * 1000000LL)
#define TIME_US            (30 * 1000000LL) /* when it is not said */
#define MEMORY_MIN         (1LL << 20)
#define MEMORY_MAX         (1000LL << 40)
#define PROCESSES_MAX      4194304
#define CPU_MAX            409600

static const char *const none[] = { NULL };

/* The texts live as long as the document, which the type keeps. */
struct made {
	struct guest_type type; /* first */
	struct yaml_doc *doc;
	char *directory, *name;
	const char **argv, **env, **secrets, **servers; /* env: its texts are owned */
};

_Static_assert(offsetof(struct made, type) == 0, "guest_free() gets the type alone");

struct reader {
	struct diags d;
	const char *file, *runners;
	const struct guest_version *version; /* NULL: any */
	struct made *made;
};

static void guest_wrong(struct reader *r, const struct yaml_node *n, const char *key,
                        const char *want)
{
	diag_error(&r->d, (struct place){ r->file, n->line, n->column, key }, "wrong_value", NULL,
	           "%s is %s%.80s%s, want %s", key, n->kind == YAML_SCALAR ? "'" : "",
	           n->kind == YAML_SCALAR ? n->text : yaml_kind_name(n),
	           n->kind == YAML_SCALAR ? "'" : "", want);
}

static void read_command(struct reader *r, const struct yaml_node *n)
{
	static const char want[] = "a list of texts: the program and its arguments";

	if (n->kind != YAML_LIST || n->n == 0 || n->n > WORDS_MAX) {
		guest_wrong(r, n, "guest.command", want);
		return;
	}
	r->made->argv = mem_array(n->n + 1, sizeof *r->made->argv);
	for (size_t i = 0; i < n->n; i++) {
		if (n->items[i]->kind != YAML_SCALAR || (i == 0 && !n->items[i]->text[0]))
			guest_wrong(r, n->items[i], "guest.command", want);
		r->made->argv[i] = n->items[i]->text;
	}
	r->made->type.about.argv = r->made->argv;
}

static void read_environment(struct reader *r, const struct yaml_node *n)
{
	if (n->kind != YAML_MAP || n->n > WORDS_MAX) {
		guest_wrong(r, n, "guest.environment", "a map of texts");
		return;
	}
	r->made->env = mem_array(n->n + 1, sizeof *r->made->env);
	r->made->type.about.env = r->made->env;
	for (size_t i = 0; i < n->n; i++) {
		if (n->items[i]->kind != YAML_SCALAR || strchr(n->keys[i]->text, '='))
			guest_wrong(r, n->items[i], "guest.environment", "a map of texts");
		r->made->env[i] = mem_fmt("%s=%s", n->keys[i]->text, n->items[i]->text);
	}
}

static void read_directory(struct reader *r, const struct yaml_node *n)
{
	if (n->kind != YAML_SCALAR || !n->text[0]) {
		guest_wrong(r, n, "guest.directory", "a path");
		return;
	}
	char *made = n->text[0] == '/' ? mem_str(n->text)
	                               : mem_fmt("%s/%s", r->made->directory, n->text);

	free(r->made->directory);
	r->made->directory = made;
}

static void read_concurrency(struct reader *r, const struct yaml_node *n)
{
	int64_t value = 0;

	if (!yaml_int(n, 1, CONCURRENCY_MAX, &value))
		guest_wrong(r, n, "guest.concurrency", "a number, 1 to 1024");
	r->made->type.about.concurrency = (uint32_t)value;
}

static void read_user(struct reader *r, const struct yaml_node *n)
{
	if (n->kind != YAML_SCALAR || !n->text[0])
		guest_wrong(r, n, "guest.user", "a user of this machine");
	r->made->type.about.user = n->text;
}

static void read_memory(struct reader *r, const struct yaml_node *n)
{
	int64_t bytes = 0;

	if (n->kind != YAML_SCALAR || !param_size_parse(n->text, &bytes) || bytes < MEMORY_MIN ||
	    bytes > MEMORY_MAX)
		guest_wrong(r, n, "guest.memory", "a size, 1MiB to 1000TiB");
	r->made->type.about.memory_bytes = (uint64_t)bytes;
}

static void read_processes(struct reader *r, const struct yaml_node *n)
{
	int64_t value = 0;

	if (!yaml_int(n, 1, PROCESSES_MAX, &value))
		guest_wrong(r, n, "guest.processes", "a number, 1 to 4194304");
	r->made->type.processes = (uint32_t)value;
}

static void read_cpu(struct reader *r, const struct yaml_node *n)
{
	int64_t value = 0;

	if (!yaml_int(n, 1, CPU_MAX, &value))
		guest_wrong(r, n, "guest.cpu", "percent of one processor, 1 to 409600");
	r->made->type.cpu_percent = (uint32_t)value;
}

static void read_time(struct reader *r, const struct yaml_node *n, const char *key,
                      uint32_t *ret_ms)
{
	int64_t us = TIME_US;

	if (!yaml_duration_us(n, &us) || us < TIME_MIN_US || us > TIME_MAX_US)
		guest_wrong(r, n, key, "a duration, 100ms to 1h");
	*ret_ms = (uint32_t)(us / 1000);
}

static void read_start(struct reader *r, const struct yaml_node *n)
{
	read_time(r, n, "guest.start", &r->made->type.about.start_ms);
}

static void read_hang(struct reader *r, const struct yaml_node *n)
{
	read_time(r, n, "guest.hang", &r->made->type.about.hang_ms);
}

static const struct {
	const char *name;
	void (*read)(struct reader *r, const struct yaml_node *n);
} keys[] = {
	{ "command", read_command },     { "concurrency", read_concurrency },
	{ "directory", read_directory }, { "environment", read_environment },
	{ "start", read_start },         { "hang", read_hang },
	{ "user", read_user },           { "memory", read_memory },
	{ "processes", read_processes }, { "cpu", read_cpu },
};

#define N_KEYS (sizeof keys / sizeof keys[0])

static void read_guest(struct reader *r, const struct yaml_node *n)
{
	char hint[NEAREST_HINT_BYTES];

	if (n->kind != YAML_MAP) {
		guest_wrong(r, n, "guest", "a map: command, concurrency, directory, environment");
		return;
	}
	for (size_t i = 0; i < n->n; i++) {
		struct nearest near = nearest_to(n->keys[i]->text);
		size_t k = 0;

		while (k < N_KEYS && strcmp(keys[k].name, n->keys[i]->text) != 0)
			nearest_try(&near, keys[k++].name);
		if (k < N_KEYS)
			keys[k].read(r, n->items[i]);
		else
			diag_error(&r->d,
			           (struct place){ r->file, n->keys[i]->line, n->keys[i]->column,
			                           "guest" },
			           "unknown_key", nearest_hint(&near, hint),
			           "guest has no key '%.80s'", n->keys[i]->text);
	}
	if (!yaml_get(n, "command"))
		guest_wrong(r, n, "guest", "a command in it");
}

/* Names of the parameters that are secrets, or target servers. */
static void read_params(struct made *m, const struct yaml_node *list)
{
	size_t n = list && list->kind == YAML_LIST ? list->n : 0, n_secrets = 0, n_servers = 0;

	m->secrets = mem_array(n + 1, sizeof *m->secrets);
	m->servers = mem_array(n + 1, sizeof *m->servers);
	for (size_t i = 0; i < n; i++) {
		const struct yaml_node *p = list->items[i];
		const struct yaml_node *name = p->kind == YAML_MAP ? yaml_get(p, "name") : NULL;
		const struct yaml_node *kind = name ? yaml_get(p, "type") : NULL;
		const struct yaml_node *secret = name ? yaml_get(p, "secret") : NULL;
		bool is_secret = false;

		if (kind && yaml_is(kind, "server"))
			m->servers[n_servers++] = name->text;
		else if (secret && yaml_bool(secret, &is_secret) && is_secret)
			m->secrets[n_secrets++] = name->text;
	}
	CHECK(n_secrets + n_servers <= n);
	m->type.about.secrets = m->secrets;
	m->type.about.servers = m->servers;
}

/* A text, or `match` and `class`. */
static bool error_read(const struct yaml_node *n, struct cause_pattern *ret)
{
	const struct yaml_node *match = n->kind == YAML_MAP ? yaml_get(n, "match") : n;
	const struct yaml_node *class = n->kind == YAML_MAP ? yaml_get(n, "class") : NULL;
	int is = class && class->kind == YAML_SCALAR ? failure_from_name(class->text) : FC_USER;

	if (!match || match->kind != YAML_SCALAR || !pattern_ok(match->text) || is < 0)
		return false;
	*ret = (struct cause_pattern){ match->text, (uint8_t)is };
	return true;
}

static void read_errors(struct reader *r, const struct yaml_node *list)
{
	struct guest_type *t = &r->made->type;

	if (!list)
		return;
	if (list->kind != YAML_LIST || list->n > CAUSE_PATTERNS_MAX) {
		guest_wrong(r, list, "errors", "a list of at most 32 patterns");
		return;
	}
	t->errors = mem_array(list->n + 1, sizeof *t->errors);
	for (size_t i = 0; i < list->n; i++)
		if (error_read(list->items[i], &t->errors[t->n_errors]))
			t->n_errors++;
		else
			guest_wrong(r, list->items[i], "errors",
			            "a text to look for, or {match, class}");
}

/* --- versions ----------------------------------------------------------------------------- */

/* Is this word of the command a file that belongs to the type: relative, and there? */
static char *own_file(const struct reader *r, const char *word)
{
	char *path;

	if (word[0] == '/' || word[0] == '-' || !word[0])
		return NULL;
	path = mem_fmt("%s/%s", r->made->directory, word);
	if (access(path, F_OK) == 0)
		return path;
	free(path);
	return NULL;
}

static void judge_file(struct reader *r, const struct yaml_node *n, const char *name)
{
	char *path = mem_fmt("%s/%s", r->made->directory, name), is[DIGEST_HEX];
	struct err err;

	if (n->kind != YAML_SCALAR || strlen(n->text) != DIGEST_HEX - 1)
		guest_wrong(r, n, "files", "the sha256 of each file: 64 small hex digits");
	else if (digest_file(path, is, &err) < 0)
		guest_wrong(r, n, "files", err.text);
	else if (strcmp(is, n->text) != 0)
		diag_error(&r->d, (struct place){ r->file, n->line, n->column, "files" },
		           "wrong_value", NULL, "%s has the sha256 %s, here is %s", name, is,
		           n->text);
	free(path);
}

/* The manifest's digest is registered; it has those of the files that the guest is made of. */
static void judge_files(struct reader *r, const struct yaml_node *root)
{
	const struct yaml_node *files = yaml_get(root, "files");

	if (files && files->kind != YAML_MAP) {
		guest_wrong(r, files, "files", "a map of file names and their sha256");
		return;
	}
	for (size_t i = 0; files && i < files->n; i++)
		judge_file(r, files->items[i], files->keys[i]->text);
	for (size_t i = 0; r->made->argv && r->made->argv[i]; i++) {
		char *path = own_file(r, r->made->argv[i]);

		if (path && (!files || !yaml_get(files, r->made->argv[i])))
			diag_error(&r->d, (struct place){ r->file, 1, 1, "files" }, "missing_key",
			           NULL, "`files` has no sha256 of %s, which the command names",
			           r->made->argv[i]);
		free(path);
	}
}

/* What of the command is a file of its own, or a program by its path: others are the machine's. */
static void judge_owners(struct reader *r, const struct yaml_node *guest)
{
	for (size_t i = 0; r->made->argv && r->made->argv[i]; i++) {
		const char *word = r->made->argv[i];
		char *path = i == 0 && word[0] == '/' ? mem_str(word) : own_file(r, word);
		struct err err;

		if (path && access(path, F_OK) == 0 && trust_check(path, &err) < 0)
			diag_error(&r->d,
			           (struct place){ r->file, guest->line, guest->column, "guest" },
			           "wrong_value", NULL, "%s", err.text);
		free(path);
	}
}

static void judge_version(struct reader *r, const struct yaml_node *root)
{
	const struct yaml_node *n = yaml_get(root, "version");

	if (!n || n->kind != YAML_SCALAR || strcmp(n->text, r->version->version) != 0)
		diag_error(&r->d, (struct place){ r->file, n ? n->line : 1, 1, "version" },
		           "wrong_value", NULL, "it says it is version %.60s, registered is %s",
		           n && n->kind == YAML_SCALAR ? n->text : "(none)", r->version->version);
	judge_files(r, root);
}

static char *find_plugin(const char *beside, const char *runners, const char *name)
{
	char *path = mem_fmt("%s/%s.so", beside, name);

	if (access(path, F_OK) == 0)
		return path;
	free(path);
	return mem_fmt("%s/%s.so", runners, name);
}

static void read_root(struct reader *r, const struct yaml_node *root, const char *type)
{
	struct made *m = r->made;
	const struct yaml_node *name = root->kind == YAML_MAP ? yaml_get(root, "type") : NULL;
	const struct yaml_node *runner = name ? yaml_get(root, "runner") : NULL;
	const struct yaml_node *guest = name ? yaml_get(root, "guest") : NULL;

	if (!name || name->kind != YAML_SCALAR || (type && strcmp(name->text, type) != 0)) {
		diag_error(&r->d, (struct place){ r->file, 1, 1, "type" }, "wrong_value", NULL,
		           "want the manifest of the type '%.64s'", type ? type : "");
		return;
	}
	m->name = mem_str(name->text);
	m->type.about.type = m->name;
	if (!runner) {
		diag_error(&r->d, (struct place){ r->file, 1, 1, "runner" }, "missing_key", NULL,
		           "there is no %s.so beside it, and it has no `runner`", name->text);
		return;
	}
	if (!fs_name_ok(runner->text, 64))
		guest_wrong(r, runner, "runner", "the name of a plugin beside it, as: foreign");
	m->type.plugin_path = find_plugin(m->directory, r->runners, runner->text);
	if (guest) {
		read_guest(r, guest);
		judge_owners(r, guest);
	} else if (yaml_is(runner, "foreign")) {
		diag_error(&r->d, (struct place){ r->file, runner->line, runner->column, "guest" },
		           "missing_key", NULL,
		           "`runner: foreign` needs `guest: {command: [...]}`");
	}
	read_params(m, yaml_get(root, "params"));
	read_errors(r, yaml_get(root, "errors"));
	if (r->version)
		judge_version(r, root);
}

static int read_text(struct reader *r, const char *text, size_t bytes, const char *type)
{
	struct yaml_doc **docs = NULL;
	size_t n = 0;
	int code = yaml_read(text, bytes, r->file, &r->d, &docs, &n);

	CHECK(!r->made->doc);
	if (code == 0 && n == 1) {
		r->made->doc = docs[0];
		read_root(r, yaml_root(docs[0]), type);
	} else if (code == 0) {
		diag_error(&r->d, (struct place){ r->file, 1, 1, "" }, "wrong_value", NULL,
		           "%zu documents, want one manifest", n);
		for (size_t i = 0; i < n; i++)
			yaml_free(docs[i]);
	}
	free(docs);
	return r->d.errors ? E_INVALID : 0;
}

static int say_first(const struct reader *r, struct err *err)
{
	CHECK(r->d.n > 0);
	const struct diag *d = &r->d.items[0];

	return err_set(err, E_INVALID, "%s:%d:%d: %s%s%s%s", r->file, d->at.line, d->at.column,
	               d->message, d->hint[0] ? " (" : "", d->hint, d->hint[0] ? ")" : "");
}

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *given = slash ? mem_strn(path, (size_t)(slash - path) + (slash == path))
	                    : mem_str(".");
	char *whole = realpath(given, NULL);

	if (!whole)
		return given;
	free(given);
	return whole;
}

static void guest_refuse(void *ctx, const char *text)
{
	struct guest_type *t = ctx;

	snprintf(t->why, sizeof t->why, "%s", text);
}

/* The very bytes that are read. */
static int judge_manifest(const struct reader *r, const struct buf *text, struct err *err)
{
	char is[DIGEST_HEX];
	int code = r->version ? digest_bytes(buf_at(text), text->len, is, err) : 0;

	if (!r->version || code < 0 || strcmp(is, r->version->sha256) == 0)
		return code;
	return err_set(err, E_FORBIDDEN, "%s has the sha256 %s, registered is %s", r->file, is,
	               r->version->sha256);
}

static int read_manifest(const char *path, const char *type, const char *runners,
                         const struct guest_version *version, struct guest_type **ret_type,
                         struct err *err)
{
	struct made *m = mem_new(sizeof *m);
	struct reader r = { .file = path, .runners = runners, .version = version, .made = m };
	struct buf text;
	int code;

	buf_init(&text);
	diags_init(&r.d);
	m->directory = directory_of(path);
	m->type.about = (struct runner_guest){
		.size = sizeof m->type.about,
		.start_ms = (uint32_t)(TIME_US / 1000),
		.hang_ms = (uint32_t)(TIME_US / 1000),
		.argv = none,
		.env = none,
		.user = "",
	};
	code = fs_read_trusted(path, MANIFEST_BYTES_MAX, &text, err);
	if (code == 0)
		code = judge_manifest(&r, &text, err);
	if (code == 0) {
		code = read_text(&r, buf_str(&text), text.len, type);
		if (code < 0)
			say_first(&r, err);
	}
	m->type.about.directory = m->directory;
	m->type.about.ctx = &m->type;
	m->type.about.refuse = guest_refuse;
	if (code == 0)
		*ret_type = &m->type;
	else
		guest_free(&m->type);
	diags_done(&r.d);
	buf_done(&text);
	return code;
}

bool guest_is_manifest(const char *path)
{
	size_t n = strlen(path);

	return n > 5 && strcmp(path + n - 5, ".yaml") == 0;
}

int guest_read(const char *path, const char *type, const char *runners,
               const struct guest_version *version, struct guest_type **ret_type, struct err *err)
{
	size_t n = strlen(path);
	int r = 0;

	*ret_type = NULL;
	if (guest_is_manifest(path))
		return read_manifest(path, type, runners, version, ret_type, err);
	CHECK(!version);
	if (n <= 3 || strcmp(path + n - 3, ".so") != 0 || access(path, F_OK) == 0)
		return 0;
	char *manifest = mem_fmt("%.*s.yaml", (int)(n - 3), path);

	if (access(manifest, F_OK) == 0)
		r = read_manifest(manifest, type, runners, NULL, ret_type, err);
	free(manifest);
	return r;
}

void guest_free(struct guest_type *t)
{
	struct made *m = (struct made *)t;

	if (!m)
		return;
	if (t->release)
		t->release(t);
	for (size_t i = 0; m->env && m->env[i]; i++)
		free((char *)(uintptr_t)m->env[i]);
	free(m->argv);
	free(m->env);
	free(m->secrets);
	free(m->type.errors);
	free(m->servers);
	free(m->directory);
	free(m->name);
	free(m->type.plugin_path);
	yaml_free(m->doc);
	free(m);
}

const void *guest_extension(const struct guest_type *t, const char *id)
{
	if (strcmp(id, RUNNER_DIAL_ID) == 0)
		return &dial_lent;
	if (!t || !t->about.argv[0] || strcmp(id, RUNNER_GUEST_ID) != 0)
		return NULL;
	return &t->about;
}
