/* param.h — settings, from one table per daemon (schema/tbl/param_*.def).
 *
 * The table makes the struct, the defaults, the parser, what --print-config shows and
 * docs/settings.md. A file is YAML, one `name: value` a setting; later sources win:
 * defaults, file, --set. Before threads, except param_reload().
 */
#ifndef UTIL_PARAM_H
#define UTIL_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct buf;
struct err;

struct param_list {
	char **items;
	size_t n;
};

enum param_type {
	PARAM_INT,
	PARAM_BOOL,
	PARAM_DURATION_MS,
	PARAM_SIZE,
	PARAM_TEXT,
	PARAM_PATH,
	PARAM_SECRET_FILE,
	PARAM_LIST,
};

enum param_when { PARAM_RELOAD, PARAM_RESTART };

struct param_row {
	const char *name; /* NULL: `help` is the title of a group */
	enum param_type type;
	const char *unit;
	int64_t number;   /* default of the numeric types */
	const char *text; /* default of the others */
	int64_t min, max; /* of the value, the length, or the number of items */
	enum param_when when;
	const char *help;
	size_t at; /* in the struct */
};

struct param_table {
	const char *daemon;
	const struct param_row *rows;
	size_t rows_n;
	/* What holds between settings; NULL: nothing. */
	int (*check)(const void *p, struct err *err);
};

#define PARAM_FIELD_INT         int64_t
#define PARAM_FIELD_BOOL        bool
#define PARAM_FIELD_DURATION_MS int64_t
#define PARAM_FIELD_SIZE        int64_t
#define PARAM_FIELD_TEXT        char *
#define PARAM_FIELD_PATH        char *
#define PARAM_FIELD_SECRET_FILE char *
#define PARAM_FIELD_LIST        struct param_list

#define GROUP(text)
#define PARAM(name, type, unit, def, min, max, when, help) PARAM_FIELD_##type name;
struct param_baseserver {
#include "tbl/param_baseserver.def"
};
struct param_taskbroker {
#include "tbl/param_taskbroker.def"
};
struct param_cgi {
#include "tbl/param_cgi.def"
};
struct param_notifier {
#include "tbl/param_notifier.def"
};
#undef PARAM
#undef GROUP

extern const struct param_table param_baseserver_table;
extern const struct param_table param_taskbroker_table;
extern const struct param_table param_cgi_table;
extern const struct param_table param_notifier_table;

/* Every field its default. `p` is the struct of `t`, in any state; param_done() frees what
 * its fields own and zeroes it. */
void param_init(const struct param_table *t, void *p);
void param_done(const struct param_table *t, void *p);

/* Read a file over what p holds.
 *
 *   errors  E_IO, E_INVALID with `lease_ms is '5', want 1000..3600000 ms (file:line:col)`,
 *           an unknown name with the nearest known one; p may be half changed then
 */
int param_load(const struct param_table *t, void *p, const char *path, struct err *err);

/* One setting, written as `name=value` (LIST: items separated by commas). */
int param_set(const struct param_table *t, void *p, const char *assignment, struct err *err);

/* What holds between settings, and that files with secrets are read by their owner only.
 * Last, after all sources. */
int param_check(const struct param_table *t, const void *p, struct err *err);

/* As YAML that param_load() takes, with unit, range, default and effect as comments. */
void param_print(const struct param_table *t, const void *p, FILE *out);

/* As a section of docs/settings.md. */
void param_manual(const struct param_table *t, FILE *out);

/* A number that param_reload() may change while other threads read it. */
#define param_now(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

/* Take over from `fresh` what may change while running, after param_check(fresh). What needs
 * a restart stays; its names are appended to ret_restart, separated by ", ".
 *
 *   thread  the one that owns p
 *   returns the number of settings taken over
 */
size_t param_reload(const struct param_table *t, void *p, const void *fresh,
                    struct buf *ret_restart);

/* A daemon's command line. `config` and the words of `rest` are borrowed from argv. */
struct param_args {
	const char *config; /* -c FILE, --config FILE; NULL: defaults */
	const char **sets;  /* each --set name=value, in order; owned */
	size_t sets_n;
	char **rest; /* what is left of argv, NULL-terminated */
};

/* The command line as it came. */
struct param_words {
	int argc;
	char **argv;
	const char *synopsis; /* of --help, after "usage: <program> [options]"; NULL: nothing */
	/* What a start judges besides, files that must be there included, for --check-config; it
	 * leaves nothing behind. NULL: nothing. */
	int (*judge)(const void *p, struct err *err);
};

/* Everything a daemon does with its command line before it starts: --help, --version,
 * --print-config, --check-config, -c, --set, then the settings into p, checked.
 *
 *   returns  true: go on; false: end with *ret_exit (0, or 78 and a line on stderr, or 64)
 */
bool param_main(const struct param_table *t, void *p, const struct param_words *words,
                struct param_args *ret_args, int *ret_exit);
void param_args_done(struct param_args *a);

/* Settings as a SIGHUP finds them: file and --set again, into a fresh struct, checked. */
int param_again(const struct param_table *t, void *fresh, const struct param_args *a,
                struct err *err);

enum { JOB_UID_MIN = 1000 }; /* below are users of the system: no job is one of theirs */

/* "59000-59999": the numbers of users, from 1000 on. False: it is none. */
bool param_uids_parse(const char *text, uint32_t *ret_first, uint32_t *ret_last);

/* "512MiB" or a number of bytes. */
bool param_size_parse(const char *text, int64_t *ret_bytes);

#endif
