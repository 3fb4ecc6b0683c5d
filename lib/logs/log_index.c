/* The index of a segment while it grows: logs in order of their first record, found by instance
 * through a hash, each with an array of extents. Records that repeat what is there change nothing,
 * so that the same function builds it from appends and from a segment that is read again. Segments
 * are bounded in logs and pieces, and this with them: some 130 bytes a small log. */
#include "logs/log_index.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"

struct log_id entry_id(const struct entry *e)
{
	return (struct log_id){
		{ e->run_date, e->task, e->part }, e->generation, e->attempt, e->token, e->stream
	};
}

bool log_id_eq(const struct log_id *a, const struct log_id *b)
{
	return inst_key_eq(a->key, b->key) && a->generation == b->generation &&
	       a->attempt == b->attempt && a->token == b->token && a->stream == b->stream;
}

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

int log_id_order(const struct log_id *a, const struct log_id *b)
{
	int o = ORDER(a->key.task, b->key.task);

	o = o ? o : ORDER(a->key.run_date, b->key.run_date);
	o = o ? o : ORDER(a->key.part, b->key.part);
	o = o ? o : ORDER(a->generation, b->generation);
	o = o ? o : ORDER(a->attempt, b->attempt);
	o = o ? o : ORDER(a->token, b->token);
	return o ? o : ORDER(a->stream, b->stream);
}

struct mem_index *mem_index_new(uint32_t number, int64_t made_us)
{
	struct mem_index *x = mem_new(sizeof *x);

	x->head = (struct index_head){
		.first_us = made_us, .last_us = made_us, .min_token = UINT64_MAX, .number = number
	};
	map_init(&x->by_key);
	return x;
}

void mem_index_free(struct mem_index *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->n; i++)
		free(x->logs[i].extents);
	free(x->logs);
	map_done(&x->by_key);
	free(x);
}

uint32_t mem_index_find(const struct mem_index *x, const struct log_id *id)
{
	size_t at;
	uint32_t i = map_first(&x->by_key, inst_key_hash(id->key), &at);

	while (i != MAP_NONE) {
		struct log_id other = entry_id(&x->logs[i].e);
		if (log_id_eq(&other, id))
			return i;
		i = map_next(&x->by_key, inst_key_hash(id->key), &at);
	}
	return MAP_NONE;
}

static bool has_instance(const struct mem_index *x, struct inst_key key)
{
	size_t at;

	for (uint32_t i = map_first(&x->by_key, inst_key_hash(key), &at); i != MAP_NONE;
	     i = map_next(&x->by_key, inst_key_hash(key), &at))
		if (inst_key_eq(entry_id(&x->logs[i].e).key, key))
			return true;
	return false;
}

uint32_t mem_index_log(struct mem_index *x, const struct log_id *id, uint32_t broker)
{
	uint32_t i = mem_index_find(x, id);

	CHECK(id->stream <= UINT8_MAX);
	if (i != MAP_NONE)
		return i;
	x->head.instances += !has_instance(x, id->key);
	x->logs = mem_room(x->logs, &x->cap, x->n + 1, sizeof *x->logs);
	x->logs[x->n] = (struct mem_log){ .e = { .run_date = id->key.run_date,
		                                 .token = id->token,
		                                 .task = id->key.task,
		                                 .part = id->key.part,
		                                 .generation = id->generation,
		                                 .attempt = id->attempt,
		                                 .broker = broker,
		                                 .stream = (uint8_t)id->stream } };
	map_add(&x->by_key, inst_key_hash(id->key), (uint32_t)x->n);
	x->head.entries++;
	if (id->token < x->head.min_token)
		x->head.min_token = id->token;
	if (id->token > x->head.max_token)
		x->head.max_token = id->token;
	return (uint32_t)x->n++;
}

/* Eight bytes at a time: a byte that is a line end is 0 after the exclusive or, and only such a one
 * has no high bit then. */
static uint32_t line_ends(const uint8_t *data, size_t n)
{
	const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f), high = ~low;
	const uint64_t ends = UINT64_C(0x0101010101010101) * '\n';
	uint32_t lines = 0;
	uint64_t v;

	for (; n >= sizeof v; n -= sizeof v, data += sizeof v) {
		memcpy(&v, data, sizeof v);
		v ^= ends;
		v = (((v & low) + low) | v) & high;
		lines += (uint32_t)(sizeof v - (size_t)__builtin_popcountll(v));
	}
	for (; n; n--, data++)
		lines += *data == '\n';
	return lines;
}

bool mem_index_add(struct mem_index *x, const struct record *r, uint32_t block)
{
	uint32_t i = mem_index_log(x, &r->id, r->broker); /* may move the logs */
	struct mem_log *l = &x->logs[i];
	uint64_t end = r->offset + r->bytes;
	uint32_t had = l->e.length > r->offset ? (uint32_t)(l->e.length - r->offset) : 0;
	bool is_news = (r->is_end && !l->e.is_ended) || r->id.stream == 0;
	int64_t written_us = (int64_t)r->written_s * 1000000;

	l->e.is_ended |= r->is_end;
	if (written_us > x->head.last_us)
		x->head.last_us = written_us;
	if (r->bytes == 0 || end <= l->e.length)
		return is_news;
	l->extents = mem_room(l->extents, &l->cap, l->e.n + 1, sizeof *l->extents);
	l->extents[l->e.n++] = (struct extent){ .offset = r->offset + had,
		                                .block = block,
		                                .at = r->at + had,
		                                .bytes = r->bytes - had,
		                                .lines = line_ends(r->data + had, r->bytes - had) };
	x->head.extents++;
	x->head.printed += r->bytes - had;
	l->e.length = end;
	return true;
}

struct mem_was mem_index_was(const struct mem_index *x, uint32_t i)
{
	const struct entry *e = &x->logs[i].e;

	return (struct mem_was){ i, e->n, e->length, e->is_ended };
}

void mem_index_undo(struct mem_index *x, const struct mem_was *was)
{
	struct mem_log *l = &x->logs[was->i];

	CHECK(was->n <= l->e.n && was->length <= l->e.length);
	for (; l->e.n > was->n; l->e.n--) {
		x->head.extents--;
		x->head.printed -= l->extents[l->e.n - 1].bytes;
	}
	l->e.length = was->length;
	l->e.is_ended = was->is_ended;
}
