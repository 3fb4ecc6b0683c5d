/* Overlap in a simulation: what becomes of a row that comes due while an earlier one of its task,
 * or of its workflow, is unfinished. (design: SEMANTICS section 3, "Overlap".) */
#include "sched/simulate_impl.h"
#include "util/alloc.h"
#include "util/check.h"

#include <stdlib.h>
#include <string.h>

void sim__lines_make(struct sim *s)
{
	struct map by_key;

	map_init(&by_key);
	s->lines = mem_array(s->in->n + 1, sizeof *s->lines);
	for (size_t i = 0; i < s->in->n; i++) {
		const struct task *def = s->in->tasks[i];
		uint64_t key = def->overlap_run ? UINT64_C(1) << 32 | def->workflow_id : def->id;
		uint32_t line = map_get(&by_key, key);
		s->tasks[i].line = UINT32_MAX;
		if (def->overlap == OVERLAP_ALLOW)
			continue;
		if (line == MAP_NONE) {
			line = (uint32_t)s->n_lines++;
			map_add(&by_key, key, line);
		}
		s->tasks[i].line = line;
	}
	map_done(&by_key);
}

void sim__lines_done(struct sim *s)
{
	for (size_t i = 0; i < s->n_lines; i++) {
		for (size_t k = 0; k < s->lines[i].n; k++)
			free(s->lines[i].runs[k].rows);
		free(s->lines[i].runs);
	}
	free(s->lines);
}

static struct sim_line *line_of(const struct sim *s, const struct sim_row *r)
{
	uint32_t line = s->tasks[r->row.task].line;

	CHECK(line == UINT32_MAX || line < s->n_lines);
	return line == UINT32_MAX ? NULL : &s->lines[line];
}

static int64_t first_of(const struct sim *s, const struct sim_row *r)
{
	return task_run(s->tasks[r->row.task].def, r->row.run_date);
}

static size_t run_from(const struct sim_line *l, int64_t first)
{
	size_t a = 0, b = l->n;

	while (a < b) {
		size_t mid = a + (b - a) / 2;
		if (l->runs[mid].first < first)
			a = mid + 1;
		else
			b = mid;
	}
	return a;
}

static bool has_older(const struct sim_line *l, int64_t first)
{
	CHECK(l->at <= l->n);
	return l->at < l->n && l->runs[l->at].first < first;
}

static struct sim_run *run_place(struct sim_line *l, int64_t first, bool *ret_is_new)
{
	size_t i = run_from(l, first);

	*ret_is_new = i == l->n || l->runs[i].first != first;
	if (!*ret_is_new)
		return &l->runs[i];
	l->runs = mem_room(l->runs, &l->room, l->n + 1, sizeof *l->runs);
	memmove(l->runs + i + 1, l->runs + i, (l->n - i) * sizeof *l->runs);
	l->n++;
	CHECK(i == 0 || l->runs[i - 1].first < first);
	l->at += i < l->at;
	l->runs[i] = (struct sim_run){ .first = first };
	return &l->runs[i];
}

static void turn_join(struct sim *s, struct sim_line *l, struct sim_run *run, uint32_t row)
{
	CHECK(!s->rows[row].in_line);
	run->rows = mem_room(run->rows, &run->room, run->n + 1, sizeof *run->rows);
	run->rows[run->n++] = row;
	s->rows[row].in_line = true;
	if ((size_t)(run - l->runs) < l->at)
		l->at = (size_t)(run - l->runs);
}

enum sim_entry sim__line_enter(struct sim *s, uint32_t row, bool is_due)
{
	const struct sim_row *r = &s->rows[row];
	struct sim_line *l = line_of(s, r);
	bool is_new;

	if (!l || r->in_line)
		return SIM_ENTERS;
	int64_t first = first_of(s, r);
	struct sim_run *run = run_place(l, first, &is_new);
	enum task_overlap o = s->tasks[r->row.task].def->overlap;
	if (is_due && is_new && o == OVERLAP_SKIP)
		run->is_left_out = has_older(l, first);
	if (is_due && run->is_left_out)
		return SIM_IS_LEFT_OUT;
	turn_join(s, l, run, row);
	return is_due && o == OVERLAP_REPLACE && has_older(l, first) ? SIM_REPLACES : SIM_ENTERS;
}

uint32_t sim__line_older(const struct sim *s, uint32_t row)
{
	const struct sim_row *r = &s->rows[row];
	struct sim_line *l = line_of(s, r);

	if (!l || !has_older(l, first_of(s, r)))
		return UINT32_MAX;
	l->runs[l->at].is_left_out = true; /* what of it comes due later, too */
	return l->runs[l->at].rows[0];
}

bool sim__has_turn(const struct sim *s, uint32_t row)
{
	const struct sim_row *r = &s->rows[row];
	const struct sim_line *l = line_of(s, r);

	return !l || s->tasks[r->row.task].def->overlap == OVERLAP_SKIP ||
	       !has_older(l, first_of(s, r));
}

void sim__line_leave(struct sim *s, uint32_t row, void (*look)(struct sim *s, uint32_t row))
{
	struct sim_row *r = &s->rows[row];
	struct sim_line *l = line_of(s, r);

	if (!l || !r->in_line)
		return;
	r->in_line = false;
	struct sim_run *run = &l->runs[run_from(l, first_of(s, r))];
	uint32_t k = 0;
	while (run->rows[k] != row) {
		k++;
		CHECK(k < run->n);
	}
	CHECK(k < run->n);
	run->rows[k] = run->rows[--run->n];
	size_t was = l->at;
	while (l->at < l->n && l->runs[l->at].n == 0)
		l->at++;
	if (l->at == was || l->at == l->n)
		return;
	run = &l->runs[l->at];
	for (k = 0; k < run->n; k++)
		look(s, run->rows[k]);
}
