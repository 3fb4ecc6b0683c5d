/* One reader per kind of value. Each checks the shape and the range of what stands there; what
 * depends on other values is the compiler's. */
#include "sched/rank.h"
#include "sched/workflow_impl.h"

#include "util/check.h"
#include "util/pile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text between quotes or not; nothing at all is no text. */
static bool is_text(const struct wf_key *k, const struct yaml_node *n)
{
	return n->kind == YAML_SCALAR && !yaml_is_null(n) && (int64_t)n->n >= k->min &&
	       (int64_t)n->n <= k->max;
}

void wf_read_text(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                  void *field)
{
	char want[200];

	if (is_text(k, n)) {
		*(struct wf_text *)field = (struct wf_text){ n->text, n };
		return;
	}
	snprintf(want, sizeof want, "%s, at most %" PRId64 " bytes", k->want, k->max);
	wf__wrong(r, n, n->kind == YAML_SCALAR && (int64_t)n->n > k->max ? want : k->want);
}

/* One line that people read: any letters and signs, nothing that is not seen. */
void wf_read_title(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                   void *field)
{
	char why[NAME_WHY_BYTES];

	if (!is_text(k, n))
		wf_read_text(r, k, n, field);
	else if (title_wrong(n->text, why))
		diag_error(r->d, wf__here(r, n), "wrong_value", "one line of letters and signs",
		           "'%.80s' is not a title: %s", n->text, why);
	else
		*(struct wf_text *)field = (struct wf_text){ n->text, n };
}

static void take_name(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                      const char *(*wrong)(const char *text, char why[NAME_WHY_BYTES]), void *field)
{
	char why[NAME_WHY_BYTES];

	if (n->kind != YAML_SCALAR || yaml_is_null(n))
		wf__wrong(r, n, k->want);
	else if (wrong(n->text, why))
		wf__wrong_name(r, n, n->text, k->want, why);
	else
		*(struct wf_text *)field = (struct wf_text){ n->text, n };
}

void wf_read_name(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                  void *field)
{
	take_name(r, k, n, name_wrong, field);
}

void wf_read_word(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                  void *field)
{
	take_name(r, k, n, word_wrong, field);
}

void wf_read_node(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                  void *field)
{
	(void)r;
	(void)k;
	*(struct wf_text *)field = (struct wf_text){ "", n };
}

#define NODE_READER(name) \
	void wf_read_##name(struct wf_reader *r, const struct wf_key *k, \
	                    const struct yaml_node *n, void *field) \
	{ \
		wf_read_node(r, k, n, field); \
	}
NODE_READER(defaults)
NODE_READER(tasks)
NODE_READER(shared_tasks)
NODE_READER(steps)
NODE_READER(hook)
#undef NODE_READER

/* Which of the words separated by |; -1 for none. */
static int read_choose(const char *words, const char *text)
{
	size_t length = strlen(text);

	for (int i = 0; *words; i++) {
		size_t n = strcspn(words, "|");
		if (n == length && strncmp(words, text, n) == 0)
			return i;
		words += n + (words[n] == '|');
	}
	return -1;
}

static void wrong_choice(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                         const char *also)
{
	char want[200];
	size_t used = 0;

	for (const char *p = k->want; *p; p++) {
		CHECK(used + 4 < sizeof want);
		used += (size_t)snprintf(want + used, sizeof want - used, *p == '|' ? " | " : "%c",
		                         *p);
	}
	snprintf(want + used, sizeof want - used, "%s", also);
	wf__wrong(r, n, want);
}

void wf_read_choice(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                    void *field)
{
	int value = n->kind == YAML_SCALAR ? read_choose(k->want, n->text) : -1;

	if (value < 0)
		wrong_choice(r, k, n, "");
	else
		*(struct wf_choice *)field = (struct wf_choice){ value, n };
}

void wf_read_truth(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                   void *field)
{
	bool is;

	if (yaml_bool(n, &is))
		*(struct wf_choice *)field = (struct wf_choice){ is, n };
	else
		wf__wrong(r, n, k->want);
}

void wf_read_shift(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                   void *field)
{
	struct wf_choice *c = field;

	wf_read_choice(r, k, n, c);
	if (c->node == n)
		c->value += SHIFT_NEXT;
}

/* Pipelines said true or false before there were four of them. */
void wf_read_overlap(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                     void *field)
{
	bool beside;

	if (yaml_bool(n, &beside))
		*(struct wf_choice *)field = (struct wf_choice){ beside ? OVERLAP_ALLOW
			                                                : OVERLAP_SKIP,
			                                         n };
	else
		wf_read_choice(r, k, n, field);
}

static void wrong_number(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                         const char *also)
{
	char want[200];

	snprintf(want, sizeof want, "%s%s from %" PRId64 " to %" PRId64 "", also,
	         *also ? "a number" : k->want, k->min, k->max);
	wf__wrong(r, n, want);
}

void wf_read_int32(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                   void *field)
{
	int64_t value;

	if (yaml_int(n, k->min, k->max, &value))
		*(struct wf_number *)field = (struct wf_number){ (int32_t)value, n };
	else
		wrong_number(r, k, n, "");
}

void wf_read_duration(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                      void *field)
{
	char want[200];
	int64_t us;

	if (!yaml_duration_us(n, &us)) {
		wf__wrong(r, n, k->want);
	} else if (us < k->min || us > k->max) {
		snprintf(want, sizeof want, "%s, from %" PRId64 " ms to %" PRId64 " days", k->want,
		         k->min / 1000, k->max / INT64_C(86400000000));
		wf__wrong(r, n, want);
	} else {
		*(struct wf_duration *)field = (struct wf_duration){ us, n };
	}
}

void wf_read_expire(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                    void *field)
{
	if (yaml_is(n, "end of local day"))
		*(struct wf_duration *)field = (struct wf_duration){ -1, n };
	else
		wf_read_duration(r, k, n, field);
}

void wf_read_clock(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                   void *field)
{
	const char *t = n->text;
	int hour, minute;

	if (n->kind != YAML_SCALAR || n->n != 5 || strspn(t, "0123456789") != 2 || t[2] != ':' ||
	    strspn(t + 3, "0123456789") != 2) {
		wf__wrong(r, n, k->want);
		return;
	}
	hour = (t[0] - '0') * 10 + t[1] - '0';
	minute = (t[3] - '0') * 10 + t[4] - '0';
	if (hour > 23 || minute > 59)
		wf__wrong(r, n, k->want);
	else
		*(struct wf_number *)field = (struct wf_number){ hour * 3600 + minute * 60, n };
}

const struct wf_unit wf_units[] = {
	{ "minute", CU_MINUTE, true }, { "hour", CU_HOUR, true },   { "day", CU_DAY, true },
	{ "week", CU_WEEK, true },     { "month", CU_MONTH, true }, { "year", CU_YEAR, true },
	{ "once", CU_ONCE, false },    { "none", CU_NONE, false },  { 0 },
};

void wf_read_cycle(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                   void *field)
{
	const char *text = n->kind == YAML_SCALAR ? n->text : "";
	size_t digits = strspn(text, "0123456789");
	int32_t step = digits ? 0 : 1;

	for (size_t i = 0; i < digits && digits <= 5; i++) /* of more it stays 0 */
		step = step * 10 + (text[i] - '0');
	const char *unit = text + digits + strspn(text + digits, " ");
	for (const struct wf_unit *u = wf_units; u->name; u++) {
		if (strcmp(u->name, unit) != 0 || step < 1)
			continue;
		if (digits && !u->has_step)
			break;
		*(struct wf_cycle *)field = (struct wf_cycle){ u->unit, step, n };
		return;
	}
	wf__wrong(r, n, k->want);
}

void wf_read_join(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                  void *field)
{
	struct wf_number *join = field;
	int64_t value;

	if (yaml_is(n, "all"))
		*join = (struct wf_number){ 0, n };
	else if (yaml_is(n, "any"))
		*join = (struct wf_number){ 1, n };
	else if (yaml_int(n, k->min, k->max, &value))
		*join = (struct wf_number){ (int32_t)value, n };
	else
		wrong_number(r, k, n, "all, any or ");
}

void wf_read_depend(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                    void *field)
{
	int64_t value;

	if (yaml_int(n, k->min, k->max, &value) && value != 0)
		*(struct wf_number *)field = (struct wf_number){ (int32_t)value, n };
	else
		wf__wrong(r, n, k->want);
}

const char *const wf_strategies[] = { [LS_ALL] = "all",
	                              [LS_ANY] = "any",
	                              [LS_FIRST] = "first ",
	                              [LS_LAST] = "last ",
	                              [LS_AT_LEAST] = "at_least ",
	                              NULL };

/* The field is wf_need.strategy; its number is beside it. */
void wf_read_strategy(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                      void *field)
{
	struct wf_need *need = (struct wf_need *)(void *)((char *)field -
	                                                  offsetof(struct wf_need, strategy));

	for (size_t i = 0; n->kind == YAML_SCALAR && wf_strategies[i]; i++) {
		size_t length = strlen(wf_strategies[i]);
		int64_t value = 0;
		if (strncmp(n->text, wf_strategies[i], length) != 0)
			continue;
		struct yaml_node rest = { .kind = YAML_SCALAR,
			                  .is_plain = true,
			                  .text = n->text + length };
		if (i < LS_FIRST ? n->text[length] != '\0'
		                 : !yaml_int(&rest, k->min, k->max, &value))
			continue;
		need->strategy = (struct wf_choice){ (int)i, n };
		need->n = (int32_t)value;
		return;
	}
	wf__wrong(r, n, k->want);
}

void wf_read_retry(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                   void *field)
{
	wf_read_node(r, k, n, field);
	wf__read_map(r, WT_RETRY, n, (char *)field - offsetof(struct wf_task, retry));
}

void wf_read_catchup(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                     void *field)
{
	wf_read_node(r, k, n, field);
	wf__read_map(r, WT_CATCHUP, n, (char *)field - offsetof(struct wf_task, catchup));
}

/* One of the words, or {least: EXPR}; either replaces what was inherited. */
void wf_read_dispatch(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                      void *field)
{
	struct wf_task *t = (struct wf_task *)(void *)((char *)field -
	                                               offsetof(struct wf_task, dispatch));

	t->least = (struct wf_least){ 0 };
	t->dispatch = (struct wf_choice){ DISPATCH_LEAST, n };
	if (n->kind != YAML_MAP) {
		t->dispatch.value = n->kind == YAML_SCALAR ? read_choose(k->want, n->text) : -1;
		if (t->dispatch.value < 0)
			wrong_choice(r, k, n, " | {least: EXPRESSION}");
		return;
	}
	wf__read_map(r, WT_DISPATCH, n, t);
	if (!wf__has_must(WT_DISPATCH, n) && n->n == 0)
		diag_error(r->d, wf__here(r, n), "missing_key", "least: running / slots + cpu",
		           "dispatch needs `least`, an expression");
}

void wf_read_least(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                   void *field)
{
	struct wf_least *least = field;
	struct expr_wrong wrong;
	struct expr *e;

	if (n->kind != YAML_SCALAR || yaml_is_null(n)) {
		wf__wrong(r, n, k->want);
		return;
	}
	if (rank_read(n->text, &e, &wrong) < 0) {
		diag_error(r->d, wf__here(r, n), "wrong_expression", wrong.hint,
		           "least is '%.80s', character %zu: %s", n->text, wrong.at, wrong.text);
		return;
	}
	void *own = pile_take(r->pile, expr_bytes(e));
	memcpy(own, e, expr_bytes(e));
	free(e);
	*least = (struct wf_least){ own, n };
}

void wf_read_quota(struct wf_reader *r, const struct wf_key *k, const struct yaml_node *n,
                   void *field)
{
	wf_read_node(r, k, n, field);
	wf__read_map(r, WT_QUOTA, n, (char *)field - offsetof(struct wf_task, quota));
}

const char *workflow_kind(const struct workflow *wf)
{
	return wf->is_library ? "library" : wf->is_pipeline ? "pipeline" : "workflow";
}

bool wf__has_tasks(struct wf_reader *r, const struct wf_text *tasks, enum yaml_kind kind,
                   const struct yaml_node *root, const char *key)
{
	char want[100];

	if (!tasks->node) {
		diag_error(r->d, wf__here(r, root), "missing_key", NULL, "a %s needs `%s`",
		           workflow_kind(r->wf), key);
		return false;
	}
	if (tasks->node->kind == kind && tasks->node->n >= 1 &&
	    tasks->node->n <= WORKFLOW_TASKS_MAX)
		return true;
	size_t length = wf__push(r, key);
	snprintf(want, sizeof want, "a %s of 1 to %d %s", kind == YAML_MAP ? "map" : "list",
	         WORKFLOW_TASKS_MAX, key);
	wf__wrong(r, tasks->node, want);
	wf__pop(r, length);
	return false;
}

const char *wf__stored_line(const char *text, size_t n, const char *head)
{
	const char *at = text, *end = text + n;
	size_t len = strlen(head);

	while (at && ((size_t)(end - at) < len || memcmp(at, head, len) != 0)) {
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	return at;
}
