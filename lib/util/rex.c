/* Finding by states that are made as they are met.
 *
 * A state is the set of places in the program at which one may be after some bytes; what it becomes
 * by a byte is worked out once and kept. So a line costs one look into a table for each byte, or
 * one walk over the program where the table has nothing yet: linear both. When the table is full
 * all is forgotten and made anew. Bytes that no part of the expression tells apart share a column.
 *
 * The search begins anew at each byte: every state has the places of the beginning too. */
#include "util/rex.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/rex_impl.h"

enum { STATES_MAX = 512, UNKNOWN = -1, FOUND = -2 };

struct state {
	uint32_t first, n; /* places, in rex->places */
	uint32_t hash;
};

struct rex {
	struct rex_program program;
	uint8_t column[256];
	unsigned n_columns;
	uint8_t sample[256]; /* a byte of each column */
	struct state states[STATES_MAX];
	int32_t n_states;
	int32_t *next; /* [state][column] */
	uint32_t *places;
	size_t n_places, cap_places;
	/* the set in the making */
	uint32_t *marks, mark;
	uint32_t *set, *stack;
	size_t n_set;
	bool is_found;
};

/* Two bytes share a column when each set has both or neither. */
static void columns_make(struct rex *r)
{
	const struct rex_program *p = &r->program;

	for (unsigned b = 0; b < 256; b++) {
		unsigned c = 0;
		for (; c < r->n_columns; c++) {
			bool same = true;
			for (size_t i = 0; i < p->n && same; i++)
				same = p->code[i].op != REX_SET ||
				       rex__has(p->code[i].set, b) ==
				               rex__has(p->code[i].set, r->sample[c]);
			if (same)
				break;
		}
		if (c == r->n_columns)
			r->sample[r->n_columns++] = (uint8_t)b;
		r->column[b] = (uint8_t)c;
	}
}

/* The places that are reached from `at` without a byte. */
static void rex_reach(struct rex *r, uint32_t at, bool is_begin, bool is_end)
{
	size_t n = 0;

	r->stack[n++] = at;
	while (n > 0) {
		uint32_t i = r->stack[--n];
		const struct rex_code *c = &r->program.code[i];

		CHECK(i < r->program.n);
		if (r->marks[i] == r->mark)
			continue;
		r->marks[i] = r->mark;
		if (c->op == REX_MATCH)
			r->is_found = true;
		else if (c->op == REX_SET || (c->op == REX_END && !is_end))
			r->set[r->n_set++] = i;
		else if (c->op == REX_SPLIT) {
			r->stack[n++] = (uint32_t)((int32_t)i + c->also);
			r->stack[n++] = (uint32_t)((int32_t)i + c->to);
		} else if (c->op == REX_JUMP)
			r->stack[n++] = (uint32_t)((int32_t)i + c->to);
		else if (c->op == REX_END || is_begin)
			r->stack[n++] = i + 1;
	}
}

static void set_begin(struct rex *r)
{
	r->n_set = 0;
	r->is_found = false;
	if (++r->mark == 0) {
		memset(r->marks, 0, r->program.n * sizeof *r->marks);
		r->mark = 1;
	}
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t hash_of(const uint32_t *p, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 16777619u;
	return h;
}

static void forget(struct rex *r)
{
	r->n_states = 0;
	r->n_places = 0;
}

/* The state of the set in the making: known, or new. */
static int32_t state_of(struct rex *r)
{
	if (r->is_found)
		return FOUND;
	qsort(r->set, r->n_set, sizeof *r->set, by_number);
	uint32_t h = hash_of(r->set, r->n_set);
	for (int32_t i = 0; i < r->n_states; i++) {
		const struct state *s = &r->states[i];
		if (s->hash == h && s->n == r->n_set &&
		    memcmp(r->places + s->first, r->set, s->n * sizeof *r->set) == 0)
			return i;
	}
	CHECK(r->n_states < STATES_MAX);
	r->places = mem_room(r->places, &r->cap_places, r->n_places + r->n_set + 1,
	                     sizeof *r->places);
	memcpy(r->places + r->n_places, r->set, r->n_set * sizeof *r->set);
	r->states[r->n_states] = (struct state){ (uint32_t)r->n_places, (uint32_t)r->n_set, h };
	r->n_places += r->n_set;
	int32_t *row = r->next + (size_t)r->n_states * r->n_columns;
	for (unsigned c = 0; c < r->n_columns; c++)
		row[c] = UNKNOWN;
	return r->n_states++;
}

static int32_t begin_state(struct rex *r)
{
	set_begin(r);
	rex_reach(r, 0, true, false);
	return state_of(r);
}

/* What a state becomes by a column. Where the table is full all others are forgotten. */
static int32_t rex_step(struct rex *r, int32_t s, unsigned column)
{
	const struct state *from = &r->states[s];
	bool is_full = r->n_states == STATES_MAX;

	set_begin(r);
	for (uint32_t i = 0; i < from->n; i++) {
		uint32_t at = r->places[from->first + i];
		const struct rex_code *c = &r->program.code[at];

		if (c->op == REX_SET && rex__has(c->set, r->sample[column]))
			rex_reach(r, at + 1, false, false);
	}
	rex_reach(r, 0, false, false);
	if (is_full && !r->is_found)
		forget(r);
	int32_t to = state_of(r);
	if (!is_full)
		r->next[(size_t)s * r->n_columns + column] = to;
	return to;
}

bool rex_finds(struct rex *r, const void *line, size_t n)
{
	const uint8_t *p = line;
	size_t width = r->n_columns;
	int32_t s;

	if (r->n_states == STATES_MAX)
		forget(r);
	s = begin_state(r);
	for (size_t i = 0; i < n && s >= 0; i++) {
		int32_t to = r->next[(size_t)s * width + r->column[p[i]]];
		s = to == UNKNOWN ? rex_step(r, s, r->column[p[i]]) : to;
	}
	if (s < 0)
		return true;
	/* At the line's end: the beginning may stand there too (an empty line, `a*$`). */
	set_begin(r);
	const struct state *last = &r->states[s];
	for (uint32_t i = 0; i < last->n; i++)
		if (r->program.code[r->places[last->first + i]].op == REX_END)
			rex_reach(r, r->places[last->first + i] + 1, n == 0, true);
	return r->is_found;
}

int rex_new(const char *text, bool folds, struct rex **ret, struct err *err)
{
	struct rex *r = mem_new(sizeof *r);
	int code = rex__parse(text, folds, &r->program, err);

	if (code < 0) {
		rex_free(r);
		return code;
	}
	size_t n = r->program.n;
	columns_make(r);
	r->next = mem_array((size_t)STATES_MAX * r->n_columns, sizeof *r->next);
	r->marks = mem_array(n, sizeof *r->marks);
	r->set = mem_array(n, sizeof *r->set);
	r->stack = mem_array(2 * n + 2, sizeof *r->stack);
	*ret = r;
	return 0;
}

void rex_free(struct rex *r)
{
	if (!r)
		return;
	free(r->program.code);
	free(r->next);
	free(r->places);
	free(r->marks);
	free(r->set);
	free(r->stack);
	free(r);
}
