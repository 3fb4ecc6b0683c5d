/* Workflow files of a command line, read and compiled without a server. The world is as small
 * as it can be: zones of this machine, the calendars among the files, no other tasks, and a
 * start that lies before all dates. So a check here finds what is wrong in the files, never
 * what collides with what is saved. Findings are collected with their lines and printed
 * together. */
#include "admin-console/cli/documents/files.h"
#include "admin-console/cli/base/answer.h"
#include "admin-console/cli/documents/targets.h"

#include "rt/zones.h"
#include "sched/task.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/yaml.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIR_DEPTH_MAX = 16 };

static int zone_of(void *ctx, const char *name, const struct tz **ret_tz, struct err *err)
{
	(void)ctx;
	return zones_get(name, ret_tz, err);
}

void files_init(struct workflow_files *f, const char *timezone)
{
	/* No server, no first save: a task without a start has always been there. */
	*f = (struct workflow_files){
		.world = { .fresh = true, .timezone = timezone, .zone = zone_of, .start = 0 }
	};
	f->set = workflow_set_new();
	diags_init(&f->diags);
}

void files_done(struct workflow_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		task_unref(f->tasks[i]);
	free(f->tasks);
	workflow_set_free(f->set);
	diags_done(&f->diags);
}

static bool is_directory(const char *name, bool follow)
{
	struct stat st;
	int r = follow ? stat(name, &st) : lstat(name, &st);

	return r == 0 && S_ISDIR(st.st_mode);
}

static bool is_document(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static bool directory_list(const char *dir, int depth, struct words *out)
{
	struct dirent **entries;
	int n = depth < DIR_DEPTH_MAX ? scandir(dir, &entries, NULL, alphasort) : -1;

	if (n < 0) {
		struct err err = { 0 };
		err_sys(&err, E_IO, depth < DIR_DEPTH_MAX ? errno : ELOOP, "cannot read %s", dir);
		cli_fail(0, "%s", err.text);
		return false;
	}
	bool good = true;
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		char *path = mem_fmt("%s/%s", dir, name);
		if (name[0] != '.' && is_directory(path, false)) {
			good = directory_list(path, depth + 1, out) && good;
		} else if (name[0] != '.' && is_document(name)) {
			words_add(out, path);
			path = NULL;
		}
		free(path);
		free(entries[i]);
	}
	free(entries);
	return good;
}

bool files_list(const struct words *names, struct words *ret_files)
{
	bool good = true;

	*ret_files = (struct words){ 0 };
	for (size_t i = 0; i < names->n; i++) {
		size_t had = ret_files->n;
		if (!is_directory(names->items[i], true)) {
			words_add(ret_files, mem_str(names->items[i]));
			continue;
		}
		good = directory_list(names->items[i], 0, ret_files) && good;
		if (good && ret_files->n == had) {
			cli_fail(0, "%s: no .yaml and no .yml file is in it", names->items[i]);
			good = false;
		}
	}
	return good;
}

void files_unlist(struct words *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->items[i]);
	words_done(files);
}

static int read_stdin(struct buf *text)
{
	ssize_t n;

	while ((n = read(STDIN_FILENO, buf_room(text, 1 << 16), 1 << 16)) > 0) {
		buf_added(text, (size_t)n);
		if (text->len > YAML_BYTES_MAX)
			break; /* the reader of YAML says so */
	}
	return n < 0 ? E_IO : 0;
}

static size_t documents_of(const struct workflow_set *set)
{
	return workflow_set_count(set) + workflow_set_calendars(set) + workflow_set_scopes(set);
}

static void document_read(struct workflow_files *f, struct buf *text, const char *name)
{
	size_t had = documents_of(f->set), errors = f->diags.errors;

	workflow_set_read(f->set, buf_str(text), text->len, name, &f->diags);
	if (documents_of(f->set) == had && f->diags.errors == errors)
		diag_error(&f->diags, (struct place){ .file = name, .path = "" }, "empty",
		           "begin with `workflow: NAME`", "no document is in it");
}

bool files_read(struct workflow_files *f, const struct words *given)
{
	struct words names;
	struct err err = { 0 };
	cJSON *targets = cJSON_CreateArray(); /* only judged here */
	bool good = files_list(given, &names);

	for (size_t i = 0; i < names.n; i++) {
		const char *name = names.items[i];
		struct buf text;
		buf_init(&text);
		int r = strcmp(name, "-") == 0 ? read_stdin(&text)
		                               : fs_read(name, YAML_BYTES_MAX, &text, &err);
		if (r == 0 && targets_take(&text, name, targets, &f->diags))
			document_read(f, &text, name);
		else if (r < 0)
			cli_fail(0, "%s", err.text[0] ? err.text : name);
		buf_done(&text);
		good = good && r >= 0;
	}
	if (workflow_set_is_whole(f->set))
		workflow_set_resolve(f->set, NULL, NULL, &f->diags);
	cJSON_Delete(targets);
	files_unlist(&names);
	return good;
}

void files_print_diags(const struct diags *d, FILE *out)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct diag *x = &d->items[i];
		mistake_say(out, &(struct mistake){ .file = x->at.file,
		                                    .line = x->at.line,
		                                    .column = x->at.column,
		                                    .path = x->at.path,
		                                    .message = x->message,
		                                    .hint = x->hint,
		                                    .is_warning = x->is_warning });
	}
	if (d->dropped)
		fprintf(out, "and %zu more\n", d->dropped);
}

bool files_compile(struct workflow_files *f, const struct words *names)
{
	if (!files_read(f, names))
		return false;
	if (!f->diags.errors)
		workflow_compile(f->set, &f->world, &f->diags, &f->tasks, &f->n);
	if (!f->diags.errors)
		return true;
	files_print_diags(&f->diags, stderr);
	return false;
}

struct link_span *files_spans(const struct workflow_files *f, const struct when_span *asked)
{
	struct link_span *spans = mem_array(f->n + 1, sizeof *spans);

	for (size_t i = 0; i < f->n; i++) {
		const struct tz *tz = plan_tz(f->tasks[i]->plan);
		spans[i] = (struct link_span){ when_instant(&asked->from, tz, false),
			                       when_instant(&asked->to, tz, true) + 1 };
	}
	return spans;
}
