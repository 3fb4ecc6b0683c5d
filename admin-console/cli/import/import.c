/* What the importers share. */
#include "admin-console/cli/import/import.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "admin-console/cli/documents/files.h"
#include "sched/workflow.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/json_in.h"
#include "util/pile.h"
#include "util/screen.h"
#include "util/yaml.h"

#define FILE_MAX ((size_t)64 << 20)

static void check_name(struct asked *q, const struct opt *o, const char *arg,
                       struct argp_state *state)
{
	char why[NAME_WHY_BYTES];

	(void)q;
	if ((o->letter == 'g' ? word_wrong : name_wrong)(arg, why))
		argp_error(state, "'%.*s' is not a name: %s", name_shown(arg), arg, why);
}

static void check_node(struct asked *q, const struct opt *o, const char *arg,
                       struct argp_state *state)
{
	(void)q;
	(void)o;
	if (!strchr(arg, '='))
		argp_error(state, "--node is '%s', want ID=BROKER", arg);
}

#define IMPORT_OPTIONS \
	{ "project",          'p', \
	  "PROJECT",          "the project of what is made, default: default", \
	  .value = "default", .check = check_name }, \
		{ "name", 'n', "NAME", "the name of a workflow that has none", \
		  .check = check_name }, \
	{ \
		"group", 'g', "GROUP", "broker group of all tasks", .check = check_name \
	}

const struct opt import_options[] = { IMPORT_OPTIONS, { 0 } };

const struct opt import_crontab_options[] = {
	IMPORT_OPTIONS,
	{ "system", 0, NULL, "a crontab whose lines name a user, as in /etc" },
	{ 0 },
};

const struct opt import_ects_options[] = {
	IMPORT_OPTIONS,
	{ "node", 0, "ID=BROKER", "what a node is called here (repeatable)", TAKE_ITEM, "nodes",
	  .check = check_node },
	{ 0 },
};

void import_note(struct import *im, const char *where, const char *fmt, ...)
{
	va_list ap;

	im->left++;
	fprintf(stderr, "%s:%s: ", im->file, where);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

const char *import_name(struct import *im, const char *text, const char *otherwise)
{
	enum { BEFORE_NUMBER = NAME_BYTES_MAX - 4 };
	char name[NAME_BYTES_MAX + 1];

	name_make(text, BEFORE_NUMBER, name);
	return pile_str(im->pile, *name ? name : otherwise);
}

const char *import_word(struct import *im, const char *text, const char *otherwise)
{
	const char *name = import_name(im, text, otherwise);

	return word_ok(name) ? name : otherwise;
}

const char *import_numbered(struct import *im, const char *name, int number)
{
	enum { BEFORE_NUMBER = 50 };
	char cut[NAME_BYTES_MAX + 1];

	name_make(name, BEFORE_NUMBER, cut);
	return pile_fmt(im->pile, "%s_%d", cut, number);
}

void import_put(struct import *im, int indent, const char *key, const char *text)
{
	if (!*text)
		return;
	buf_printf(&im->out, "%*s%s: ", indent, "", key);
	yaml_print_text(text, false, &im->out);
	buf_putc(&im->out, '\n');
}

void import_title(struct import *im, int indent, const char *text, const char *name)
{
	char why[NAME_WHY_BYTES];

	if (*text && strcmp(text, name) != 0 && strlen(text) <= WORKFLOW_TITLE_MAX &&
	    !title_wrong(text, why))
		import_put(im, indent, "title", text);
}

const char *import_plain(struct import *im, const char *text)
{
	struct buf out;

	buf_init(&out);
	for (const char *p = text; *p; p++) {
		if (*p == '$' && p[1] && strchr("{[$", p[1]))
			buf_putc(&out, '$');
		buf_putc(&out, *p);
		if (*p == '$' && p[1] == '$') {
			buf_puts(&out, p[2] && strchr("{[", p[2]) ? "$$" : "$");
			p++;
		}
	}
	const char *plain = pile_str(im->pile, buf_str(&out));
	buf_done(&out);
	return plain;
}

const char *import_text(struct import *im, const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	if (cJSON_IsString(v))
		return v->valuestring;
	if (cJSON_IsNumber(v))
		return pile_fmt(im->pile, "%lld", (long long)v->valuedouble);
	return cJSON_IsTrue(v) ? "true" : cJSON_IsFalse(v) ? "false" : "";
}

long long import_number(const cJSON *o, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);

	if (cJSON_IsNumber(v))
		return (long long)v->valuedouble;
	return cJSON_IsString(v) ? strtoll(v->valuestring, NULL, 10) : cJSON_IsTrue(v);
}

cJSON *import_node(cJSON *o, const char *key)
{
	cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	cJSON *inner = cJSON_IsString(v) ? cJSON_Parse(v->valuestring) : NULL;

	if (!inner)
		return cJSON_IsObject(v) || cJSON_IsArray(v) ? v : NULL;
	if (!cJSON_ReplaceItemInObjectCaseSensitive(o, key, inner)) {
		cJSON_Delete(inner);
		return NULL;
	}
	return inner;
}

/* What was made must be good, whatever was read. */
static int import_check(struct import *im)
{
	struct workflow_files f;
	int code = CLI_OK;

	files_init(&f, "UTC");
	if (workflow_set_read(f.set, buf_str(&im->out), im->out.len, "import", &f.diags) == 0)
		workflow_check(f.set, &f.world, clock_wall_us(&clock_machine) / US_PER_S, &f.diags);
	if (f.diags.errors) {
		files_print_diags(&f.diags, stderr);
		code = cli_fail(CLI_REFUSED, "what was made of %s is not valid; edit it by hand",
		                im->file);
	}
	files_done(&f);
	return code;
}

int import_run(struct asked *q, void (*make)(struct import *im))
{
	struct import im = { .file = word(q, 0),
		             .project = given(q, "project"),
		             .group = given(q, "group"),
		             .name = given(q, "name"),
		             .is_system = given_if(q, "system"),
		             .nodes = json_get(q->body, "nodes") };
	struct err err = { 0 };
	int code = CLI_OK;

	screen_data(stdout);
	buf_init(&im.text);
	buf_init(&im.out);
	im.pile = pile_new();
	if (fs_read(im.file, FILE_MAX, &im.text, &err) < 0)
		code = cli_fail(err.code == E_NOT_FOUND ? CLI_NOT_FOUND : CLI_REFUSED, "%s",
		                err.text);
	else if (memchr(buf_at(&im.text), '\0', im.text.len))
		code = cli_fail(CLI_REFUSED, "%s is not text", im.file);
	if (code == CLI_OK) {
		make(&im);
		if (!im.out.len)
			code = cli_fail(CLI_REFUSED, "%s: nothing could be carried over", im.file);
	}
	if (code == CLI_OK) {
		code = import_check(&im);
		im.out.len--; /* cli_print() ends the line */
		int printed = cli_print(&im.out);
		code = code ? code : printed;
	}
	buf_done(&im.text);
	buf_done(&im.out);
	pile_free(im.pile);
	return code;
}
