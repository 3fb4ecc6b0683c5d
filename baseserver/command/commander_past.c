/* Commands that are over. People may still ask how one ended, repeat its request, or try to steer
 * it: a record of a few hundred bytes answers that. Arguments are kept as a hash, which knows the
 * same request again; the store has the texts. The members that an apply adds to its answer can
 * be large: the newest ones stay, CHANGES_BYTES_MAX together, and who repeats an older request is
 * answered without them, as after a restart. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "util/alloc.h"
#include "util/check.h"

enum { PASTS_MAX = 10000, CHANGES_BYTES_MAX = 4 << 20, HASH_BYTES = ARGS_HASH_BYTES };

struct past {
	uint64_t id, number;
	struct shown shown;
	int64_t created_us;
	uint8_t request[HASH_BYTES], args[HASH_BYTES];
	uint8_t kind;
	bool has_request;              /* those of the server itself have none */
	char *changes;                 /* NULL: none, or let go */
	uint32_t message_at, error_at; /* in texts; the actor is at 0 */
	char texts[];
};

static void hash(const char *text, size_t len, uint8_t ret[HASH_BYTES])
{
	CHECK(crypto_generichash(ret, HASH_BYTES, (const uint8_t *)text, len, NULL, 0) == 0);
}

static struct past *past_new(const struct cmd *cmd)
{
	size_t actor = strlen(cmd->actor) + 1, message = strlen(cmd->message) + 1;
	size_t error = strlen(cmd->shown_error) + 1;
	struct past *p = mem_new(sizeof *p + actor + message + error);

	CHECK(command_state_over(cmd->shown.state));
	p->id = cmd->id;
	p->number = cmd->number;
	p->shown = cmd->shown;
	p->created_us = cmd->created_us;
	p->kind = (uint8_t)cmd->kind;
	p->has_request = cmd->request_id[0] != '\0';
	hash(cmd->request_id, strlen(cmd->request_id), p->request);
	memcpy(p->args, cmd->args__hash, sizeof p->args);
	p->message_at = (uint32_t)actor;
	p->error_at = (uint32_t)(actor + message);
	memcpy(p->texts, cmd->actor, actor);
	memcpy(p->texts + p->message_at, cmd->message, message);
	memcpy(p->texts + p->error_at, cmd->shown_error, error);
	p->changes = cmd->changes ? mem_str(cmd->changes) : NULL;
	return p;
}

/* The first index whose id is not below. */
static size_t past_place(const struct pasts *ps, uint64_t id)
{
	size_t lo = 0, hi = ps->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (ps->at[mid]->id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void let_changes_go(struct pasts *ps, struct past *p)
{
	CHECK(!p->changes || ps->changes_bytes >= strlen(p->changes));
	ps->changes_bytes -= p->changes ? strlen(p->changes) : 0;
	free(p->changes);
	p->changes = NULL;
}

static void forget_first(struct pasts *ps)
{
	let_changes_go(ps, ps->at[0]);
	free(ps->at[0]);
	CHECK(ps->n > 0);
	memmove(ps->at, ps->at + 1, --ps->n * sizeof(struct past *));
	ps->bare -= ps->bare > 0;
}

void pasts__keep(struct pasts *ps, const struct cmd *cmd)
{
	struct past *p = past_new(cmd);
	size_t i = past_place(ps, p->id);

	if (!ps->at)
		ps->at = mem_array(PASTS_MAX + 1, sizeof(struct past *));
	memmove(ps->at + i + 1, ps->at + i, (ps->n++ - i) * sizeof(struct past *));
	ps->at[i] = p;
	if (i < ps->bare)
		ps->bare = i;
	ps->changes_bytes += p->changes ? strlen(p->changes) : 0;
	for (; ps->changes_bytes > CHANGES_BYTES_MAX; ps->bare++) {
		CHECK(ps->bare < ps->n); /* without changes there are no bytes of them */
		let_changes_go(ps, ps->at[ps->bare]);
	}
	if (ps->n > PASTS_MAX)
		forget_first(ps);
}

const struct past *pasts__find(const struct pasts *ps, uint64_t id)
{
	size_t i = past_place(ps, id);

	return i < ps->n && ps->at[i]->id == id ? ps->at[i] : NULL;
}

const struct past *pasts__repeated(const struct pasts *ps, const char *request_id)
{
	uint8_t wanted[HASH_BYTES];

	hash(request_id, strlen(request_id), wanted);
	for (size_t i = ps->n; i > 0; i--)
		if (ps->at[i - 1]->has_request &&
		    memcmp(ps->at[i - 1]->request, wanted, sizeof wanted) == 0)
			return ps->at[i - 1];
	return NULL;
}

bool past__same(const struct past *p, enum command_kind kind, const char *args)
{
	uint8_t wanted[HASH_BYTES] = { 0 };

	if (args)
		args__hash(args, strlen(args), wanted);
	return p->kind == kind && (!args || memcmp(p->args, wanted, sizeof wanted) == 0);
}

struct face past__face(const struct past *p)
{
	return (struct face){ .id = p->id,
		              .number = p->number,
		              .kind = (enum command_kind)p->kind,
		              .actor = p->texts,
		              .message = p->texts + p->message_at,
		              .error = p->texts + p->error_at,
		              .changes = p->changes,
		              .created_us = p->created_us,
		              .shown = &p->shown };
}

void pasts__done(struct pasts *ps)
{
	for (size_t i = 0; i < ps->n; i++) {
		free(ps->at[i]->changes);
		free(ps->at[i]);
	}
	free(ps->at);
	*ps = (struct pasts){ 0 };
}
