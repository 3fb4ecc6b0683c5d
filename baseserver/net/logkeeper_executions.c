/* Executions of attempts, counted.
 *
 * Facts come by generation, attempt, token and stream, so the facts of one execution stand together
 * and those of one attempt do: one walk counts. An execution that was granted and printed nothing
 * has a mark in stream 0, and counts. */
#include "baseserver/net/logkeeper_executions.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"

static bool is_open(const struct log_name *name, const struct log_id *id)
{
	return (!name->generation || id->generation == name->generation) &&
	       (!name->attempt || id->attempt == name->attempt);
}

static bool same_try(const struct log_id *a, const struct log_id *b)
{
	return a->generation == b->generation && a->attempt == b->attempt;
}

bool log_execution_find(const struct log_facts *all, size_t n, struct log_name *name,
                        uint32_t execution)
{
	const struct log_id *last = NULL;
	uint32_t number = 0;

	for (size_t i = 0; i < n; i++)
		if (is_open(name, &all[i].id))
			last = &all[i].id;
	if (!last)
		return false;
	name->generation = last->generation;
	name->attempt = last->attempt;
	for (size_t i = 0; i < n; i++) {
		const struct log_id *id = &all[i].id;

		if (!same_try(id, last) || id->token == name->token)
			continue;
		name->token = id->token;
		if (++number == execution)
			return true;
	}
	return false;
}

bool log_execution_is_lost(const struct log_facts *all, size_t n, const struct log_name *name)
{
	bool is = false;

	for (size_t i = 0; i < n && !is; i++)
		is = is_open(name, &all[i].id) && all[i].id.token > name->token;
	return is;
}

static void known_add(struct log_known *k, const struct log_facts *f)
{
	k->broker = f->broker;
	k->is_ended |= f->is_ended && f->id.stream != 0;
	if (f->id.stream >= 1 && f->id.stream <= LOG_STREAMS)
		k->bytes[f->id.stream - 1] = f->bytes;
}

size_t log_executions_list(const struct log_facts *all, size_t n, const struct log_name *name,
                           struct log_known **ret)
{
	const struct log_id *at = NULL;
	struct log_known *k = NULL;
	size_t count = 0, cap = 0;

	for (size_t i = 0; i < n; i++) {
		const struct log_id *id = &all[i].id;

		if (!is_open(name, id))
			continue;
		if (!at || !same_try(at, id) || at->token != id->token) {
			bool is_next = at && same_try(at, id);

			k = mem_room(k, &cap, count + 1, sizeof *k);
			k[count] = (struct log_known){
				.generation = id->generation,
				.attempt = id->attempt,
				.execution = is_next ? k[count - 1].execution + 1 : 1,
				.counts = true
			};
			if (is_next)
				k[count - 1].counts = false;
			count++;
			at = id;
		}
		known_add(&k[count - 1], &all[i]);
	}
	if (count > LOG_KNOWN_MAX) {
		memmove(k, k + (count - LOG_KNOWN_MAX), LOG_KNOWN_MAX * sizeof *k);
		count = LOG_KNOWN_MAX;
	}
	CHECK(count <= LOG_KNOWN_MAX);
	*ret = k;
	return count;
}
