/* Settings by their rows (schema/tbl/param_*.def): defaults, texts parsed within bounds,
 * comparison and reload. Values lie in a struct whose fields the rows name by offset and type. A
 * text that is not taken changes nothing. A reload takes what may change while the daemon runs,
 * and names the rest. */
#include "util/param.h"
#include "util/check.h"

#include "util/param_impl.h"

#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/trust.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool param__is_number(const struct param_row *row)
{
	return row->type == PARAM_INT || row->type == PARAM_DURATION_MS || row->type == PARAM_SIZE;
}

static void *param_field(const struct param_row *row, void *p)
{
	CHECK(row->name);
	return (char *)p + row->at;
}

const void *param__field_const(const struct param_row *row, const void *p)
{
	CHECK(row->name);
	return (const char *)p + row->at;
}

static void list_done(struct param_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->items[i]);
	free(l->items);
	*l = (struct param_list){ 0 };
}

static void list_add(struct param_list *l, const char *s, size_t n)
{
	l->items = mem_grow(l->items, l->n + 1, sizeof *l->items);
	l->items[l->n++] = mem_strn(s, n);
}

/* "a, b" -> a and b; nothing at all -> no items. */
static void list_split(struct param_list *l, const char *text)
{
	while (*text) {
		text += strspn(text, " \t");
		size_t n = strcspn(text, ",");
		size_t keep = n;
		while (keep > 0 && (text[keep - 1] == ' ' || text[keep - 1] == '\t'))
			keep--;
		if (keep > 0)
			list_add(l, text, keep);
		text += n + (text[n] == ',');
	}
}

static void field_done(const struct param_row *row, void *p)
{
	if (!row->name || param__is_number(row) || row->type == PARAM_BOOL)
		return;
	if (row->type == PARAM_LIST) {
		list_done(param_field(row, p));
		return;
	}
	char **text = param_field(row, p);
	free(*text);
	*text = NULL;
}

static void field_default(const struct param_row *row, void *p)
{
	if (!row->name)
		return;
	if (param__is_number(row))
		*(int64_t *)param_field(row, p) = row->number;
	else if (row->type == PARAM_BOOL)
		*(bool *)param_field(row, p) = row->number != 0;
	else if (row->type == PARAM_LIST) {
		struct param_list *l = param_field(row, p);
		*l = (struct param_list){ 0 };
		list_split(l, row->text);
	} else
		*(char **)param_field(row, p) = mem_str(row->text);
}

void param_init(const struct param_table *t, void *p)
{
	for (size_t i = 0; i < t->rows_n; i++)
		field_default(&t->rows[i], p);
}

void param_done(const struct param_table *t, void *p)
{
	for (size_t i = 0; i < t->rows_n; i++)
		field_done(&t->rows[i], p);
}

static int param_distance(const char *a, const char *b)
{
	enum { NAME_MAX_LETTERS = 64 };
	int row[NAME_MAX_LETTERS + 1];
	size_t n = strlen(b);

	if (n > NAME_MAX_LETTERS || strlen(a) > NAME_MAX_LETTERS)
		return NAME_MAX_LETTERS;
	for (size_t j = 0; j <= n; j++)
		row[j] = (int)j;
	for (size_t i = 1; a[i - 1]; i++) {
		int corner = row[0];
		row[0] = (int)i;
		for (size_t j = 1; j <= n; j++) {
			int above = row[j];
			int best = corner + (a[i - 1] != b[j - 1]);
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			corner = above;
			row[j] = best;
		}
	}
	return row[n];
}

struct removed {
	const char *daemon, *name, *release, *instead;
};

static const struct removed *removed_find(const char *daemon, const char *name)
{
	static const struct removed all[] = {
#define REMOVED(daemon, name, release, instead) { #daemon, #name, release, instead },
#include "tbl/param_removed.def"
#undef REMOVED
	};
	static const char prefix[] = "sirdar-"; /* sirdar-cgi is cgi in the table */

	if (strncmp(daemon, prefix, sizeof prefix - 1) == 0)
		daemon += sizeof prefix - 1;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (strcmp(all[i].daemon, daemon) == 0 && strcmp(all[i].name, name) == 0)
			return &all[i];
	return NULL;
}

const struct param_row *param__find(const struct param_table *t, const char *name,
                                    const char *place, struct err *err)
{
	const char *nearest = NULL;
	int nearest_distance = 1000;
	const struct removed *gone = removed_find(t->daemon, name);

	for (size_t i = 0; i < t->rows_n; i++) {
		const struct param_row *row = &t->rows[i];
		if (!row->name)
			continue;
		if (strcmp(row->name, name) == 0)
			return row;
		int d = param_distance(name, row->name);
		if (d < nearest_distance) {
			nearest_distance = d;
			nearest = row->name;
		}
	}
	if (gone)
		err_set(err, E_INVALID, "%s: the setting '%s' was removed in %s, %s (%.200s)",
		        t->daemon, gone->name, gone->release, gone->instead, place);
	else if (nearest && nearest_distance <= 2 + (int)strlen(name) / 4)
		err_set(err, E_INVALID, "%s has no setting '%.60s', did you mean '%s'? (%.200s)",
		        t->daemon, name, nearest, place);
	else
		err_set(err, E_INVALID, "%s has no setting '%.60s' (%.200s)", t->daemon, name,
		        place);
	return NULL;
}

struct unit {
	const char *name;
	int64_t times;
};

static const struct unit no_units[] = { { NULL, 0 } };
static const struct unit duration_units[] = {
	{ "ms", 1 },       { "s", 1000 },      { "m", 60000 }, { "h", 3600000 },
	{ "d", 86400000 }, { "w", 604800000 }, { NULL, 0 },
};
static const struct unit size_units[] = {
	{ "B", 1 },           { "K", 1 << 10 }, { "KiB", 1 << 10 }, { "M", 1 << 20 },
	{ "MiB", 1 << 20 },   { "G", 1 << 30 }, { "GiB", 1 << 30 }, { "T", 1LL << 40 },
	{ "TiB", 1LL << 40 }, { NULL, 0 },
};

static const struct unit *unit_named(const struct unit *units, const char *name, size_t n)
{
	for (; units->name; units++)
		if (strlen(units->name) == n && strncmp(units->name, name, n) == 0)
			return units;
	return NULL;
}

/* A bare number is in the setting's own unit; else one or more of number and unit, summed:
 * 2h30m. Decimal only, no sign other than a leading minus, nothing left over. */
static bool number_parse(const char *s, const struct unit *units, int64_t *ret)
{
	int64_t sum = 0;
	bool bare = true;

	if (*s == '-' || (*s >= '0' && *s <= '9' && !s[strspn(s + 1, "0123456789") + 1])) {
		size_t digits = strspn(s + (*s == '-'), "0123456789");
		if (digits == 0 || digits > 18 || s[digits + (*s == '-')])
			return false;
		*ret = strtoll(s, NULL, 10);
		return true;
	}
	while (*s) {
		size_t digits = strspn(s, "0123456789");
		int64_t n;
		if (digits == 0 || digits > 18)
			return false;
		n = strtoll(s, NULL, 10);
		s += digits;
		s += strspn(s, " ");
		size_t letters = strspn(s, "BKMGTdhimsw");
		const struct unit *u = unit_named(units, s, letters);
		if (!u || __builtin_mul_overflow(n, u->times, &n) ||
		    __builtin_add_overflow(sum, n, &sum))
			return false;
		s += letters;
		bare = false;
	}
	*ret = sum;
	return !bare;
}

bool param_size_parse(const char *text, int64_t *ret_bytes)
{
	return number_parse(text, size_units, ret_bytes);
}

static int param_wrong(const struct param_row *row, const char *text, const char *place,
                       struct err *err)
{
	if (row->type == PARAM_BOOL)
		return err_set(err, E_INVALID, "%s is '%.60s', want true or false (%.200s)",
		               row->name, text, place);
	if (param__is_number(row))
		return err_set(err, E_INVALID,
		               "%s is '%.60s', want %" PRId64 "..%" PRId64 " %s (%.200s)",
		               row->name, text, row->min, row->max, row->unit, place);
	if (row->type == PARAM_TEXT && strchr(row->unit, '|'))
		return err_set(err, E_INVALID, "%s is '%.60s', want %s (%.200s)", row->name, text,
		               row->unit, place);
	return err_set(err, E_INVALID, "%s is '%.60s', want %" PRId64 "..%" PRId64 " %s (%.200s)",
	               row->name, text, row->min, row->max,
	               row->type == PARAM_LIST ? "items" : "bytes", place);
}

static int assign_number(const struct param_row *row, void *p, const char *text, const char *place,
                         struct err *err)
{
	const struct unit *units = row->type == PARAM_DURATION_MS ? duration_units
	                           : row->type == PARAM_SIZE      ? size_units
	                                                          : no_units;
	int64_t n;

	CHECK(param__is_number(row));
	if (!number_parse(text, units, &n) || n < row->min || n > row->max)
		return param_wrong(row, text, place, err);
	*(int64_t *)param_field(row, p) = n;
	return 0;
}

static int assign_bool(const struct param_row *row, void *p, const char *text, const char *place,
                       struct err *err)
{
	CHECK(row->type == PARAM_BOOL);
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return param_wrong(row, text, place, err);
	*(bool *)param_field(row, p) = text[0] == 't';
	return 0;
}

static int assign_text(const struct param_row *row, void *p, const char *text, const char *place,
                       struct err *err)
{
	int64_t n = (int64_t)strlen(text);

	CHECK(row->type != PARAM_LIST && row->type != PARAM_BOOL && !param__is_number(row));
	if (n < row->min || n > row->max)
		return param_wrong(row, text, place, err);
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return err_set(err, E_INVALID, "%s holds a control character (%.200s)",
			               row->name, place);
	char **field = param_field(row, p);
	free(*field);
	*field = mem_str(text);
	return 0;
}

int param__assign_list(const struct param_row *row, void *p, struct param_list *taken,
                       const char *place, struct err *err)
{
	int r = 0;

	CHECK(row->type == PARAM_LIST);
	if ((int64_t)taken->n < row->min || (int64_t)taken->n > row->max)
		r = err_set(err, E_INVALID,
		            "%s has %zu items, want %" PRId64 "..%" PRId64 " (%.200s)", row->name,
		            taken->n, row->min, row->max, place);
	for (size_t i = 0; r == 0 && i < taken->n; i++)
		if (!taken->items[i][0] || strlen(taken->items[i]) > 4000)
			r = err_set(err, E_INVALID, "%s has an empty or too long item (%.200s)",
			            row->name, place);
	if (r < 0) {
		list_done(taken);
		return r;
	}
	struct param_list *l = param_field(row, p);
	list_done(l);
	*l = *taken;
	*taken = (struct param_list){ 0 };
	return 0;
}

int param__assign(const struct param_row *row, void *p, const char *text, const char *place,
                  struct err *err)
{
	if (param__is_number(row))
		return assign_number(row, p, text, place, err);
	if (row->type == PARAM_BOOL)
		return assign_bool(row, p, text, place, err);
	if (row->type != PARAM_LIST)
		return assign_text(row, p, text, place, err);
	struct param_list l = { 0 };
	list_split(&l, text);
	return param__assign_list(row, p, &l, place, err);
}

int param_set(const struct param_table *t, void *p, const char *assignment, struct err *err)
{
	const char *equals = strchr(assignment, '=');

	if (!equals)
		return err_set(err, E_INVALID, "--set %.100s: want name=value", assignment);
	char *name = mem_strn(assignment, (size_t)(equals - assignment));
	const struct param_row *row = param__find(t, name, "--set", err);
	free(name);
	return row ? param__assign(row, p, equals + 1, "--set", err) : E_INVALID;
}

/* Whose user the daemon of these settings is: the owner of what it keeps. Root may be at work in
 * its place (key-add); who runs a daemon as root on what is another's is told so later. */
static uid_t daemon_user(const struct param_table *t, const void *p)
{
	const struct param_row *row = NULL;
	struct stat st;

	for (size_t i = 0; i < t->rows_n && !row; i++)
		if (t->rows[i].name && strcmp(t->rows[i].name, "state_dir") == 0)
			row = &t->rows[i];
	if (!row || geteuid() != 0)
		return 0;
	const char *dir = *(char *const *)param__field_const(row, p);

	return dir && stat(dir, &st) == 0 ? st.st_uid : 0;
}

static int secrets_check(const struct param_table *t, const void *p, struct err *err)
{
	for (size_t i = 0; i < t->rows_n; i++) {
		const struct param_row *row = &t->rows[i];
		if (!row->name || row->type != PARAM_SECRET_FILE)
			continue;
		const char *path = *(char *const *)param__field_const(row, p);
		int r = path[0] ? fs_secret_check(path, err) : 0;
		/* One that is not there yet gives nothing away; who needs it says so. */
		if (r < 0 && r != E_NOT_FOUND)
			return err_wrap(err, r, row->name);
	}
	return 0;
}

int param_check(const struct param_table *t, const void *p, struct err *err)
{
	trust_user(daemon_user(t, p));
	int r = secrets_check(t, p, err);

	trust_user(0);
	return r == 0 && t->check ? t->check(p, err) : r;
}

static bool list_same(const struct param_list *a, const struct param_list *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; same && i < a->n; i++)
		same = strcmp(a->items[i], b->items[i]) == 0;
	return same;
}

static bool field_same(const struct param_row *row, const void *a, const void *b)
{
	const void *fa = param__field_const(row, a), *fb = param__field_const(row, b);

	CHECK(row->name);
	if (param__is_number(row))
		return *(const int64_t *)fa == *(const int64_t *)fb;
	if (row->type == PARAM_BOOL)
		return *(const bool *)fa == *(const bool *)fb;
	if (row->type == PARAM_LIST)
		return list_same(fa, fb);
	return strcmp(*(char *const *)fa, *(char *const *)fb) == 0;
}

static void list_copy(struct param_list *to, const struct param_list *from)
{
	list_done(to);
	for (size_t i = 0; i < from->n; i++)
		list_add(to, from->items[i], strlen(from->items[i]));
}

static void field_copy(const struct param_row *row, void *to, const void *from)
{
	void *ft = param_field(row, to);
	const void *ff = param__field_const(row, from);

	CHECK(row->name && row->when == PARAM_RELOAD);
	if (param__is_number(row))
		__atomic_store_n((int64_t *)ft, *(const int64_t *)ff, __ATOMIC_RELAXED);
	else if (row->type == PARAM_BOOL)
		*(bool *)ft = *(const bool *)ff;
	else if (row->type == PARAM_LIST)
		list_copy(ft, ff);
	else {
		free(*(char **)ft);
		*(char **)ft = mem_str(*(char *const *)ff);
	}
}

size_t param_reload(const struct param_table *t, void *p, const void *fresh,
                    struct buf *ret_restart)
{
	size_t taken = 0;

	for (size_t i = 0; i < t->rows_n; i++) {
		const struct param_row *row = &t->rows[i];
		if (!row->name || field_same(row, p, fresh))
			continue;
		if (row->when == PARAM_RELOAD) {
			field_copy(row, p, fresh);
			taken++;
		} else {
			if (ret_restart->len)
				buf_puts(ret_restart, ", ");
			buf_puts(ret_restart, row->name);
		}
	}
	return taken;
}
