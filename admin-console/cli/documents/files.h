/* files.h — workflow files of a command line, and what they become without a server. */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "admin-console/cli/base/cli.h"

#include "sched/link.h"
#include "sched/workflow.h"
#include "util/diag.h"

struct task;

struct workflow_files {
	struct workflow_set *set;
	struct diags diags;
	struct workflow_world world;
	struct task **tasks;
	size_t n;
};

/* The world as it looks offline: this machine's zones, no other tasks, the calendars among
 * the files (without any, every name is taken and leaves nothing out).
 * `timezone` of tasks that say none. */
void files_init(struct workflow_files *f, const char *timezone);
void files_done(struct workflow_files *f);
/* The names with files in place of directories: their *.yaml and *.yml, those of directories below
 * too, by name; what begins with a dot is left out. False, and a line on stderr: a directory that
 * cannot be read or has none. The caller's, until files_unlist(). */
bool files_list(const struct words *names, struct words *ret_files);
void files_unlist(struct words *files);
/* Read files ("-": standard input); findings go to f->diags. False: a file could not be read,
 * and a line on stderr. */
bool files_read(struct workflow_files *f, const struct words *given);
/* Read and compile; on errors they are printed to stderr and it is false. */
bool files_compile(struct workflow_files *f, const struct words *names);

/* For people: file:line:column: what. */
void files_print_diags(const struct diags *d, FILE *out);

/* The instants of each task's zone that the words mean; free(). */
struct link_span *files_spans(const struct workflow_files *f, const struct when_span *asked);

#endif
