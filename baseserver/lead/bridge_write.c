/* What a bridge writes to etcd, and what it shows.
 *
 * A job that is dirty is written over the revision that it follows, in one transaction; if the key
 * has another by now, that is taken as news and judged like any. Then its mark follows, and the
 * keys of kills that are done go. What could not be written is owed still, and the next sweep
 * begins anew. */
#include <inttypes.h>
#include <stdlib.h>

#include "baseserver/lead/bridge_impl.h"
#include "etcd/etcd.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/log.h"

enum { PROBLEMS_SHOWN = 100 };

static int write_mark(const struct bridge *b, struct job *j, struct etcd *e, struct err *err)
{
	char *key = bridge__key(b, b->form->marks, j->name);
	char *value = mem_fmt("%" PRId64 " %" PRIu32, j->base, j->agreed);
	int r = j->base ? etcd_put(e, key, value, 0, err) : etcd_delete(e, key, err);

	if (r == 0)
		j->put_mark = false;
	free(value);
	free(key);
	return r;
}

static int write_known(struct bridge *b, struct etcd *e, struct err *err)
{
	char *key = bridge__key(b, b->form->marks, BRIDGE_MARK);
	int r = b->known ? 0 : etcd_put(e, key, b->project, 0, err);

	b->known = r == 0;
	free(key);
	return r;
}

/* What is here, over the revision that it follows. Another is there: it is judged as any. */
static int write_job(struct bridge *b, struct job *j, struct etcd *e, struct err *err)
{
	char *key = bridge__key(b, b->form->word, j->name);
	struct etcd_answer a = { 0 };
	int r = etcd_change_if(e, key, j->is, j->base, &a, err);

	if (r == 0 && a.succeeded) {
		log_info("etcd.written", "what=%s name=%s", j->is ? b->form->one : "end", j->name);
		j->seen = a.revision;
		bridge__agree(b, j, j->is ? a.revision : 0);
	} else if (r == 0) {
		const struct etcd_kv *kv = a.n ? &a.kvs[0] : NULL;
		bridge__take_news(b, j, kv ? kv->value : NULL, kv ? kv->value_len : 0,
		                  kv ? kv->mod_revision : a.revision);
	}
	etcd_answer_done(&a);
	free(key);
	return r;
}

static int write_owed(struct bridge *b, struct etcd *e, struct err *err)
{
	if (!b->owes)
		return 0;
	b->owes = false;
	int r = write_known(b, e, err);
	for (size_t i = 0; r == 0 && i < b->n; i++) {
		struct job *j = &b->jobs[i];
		if (bridge__is_ordered(b, j->name))
			continue; /* its answer owes again */
		if (j->is_dirty)
			r = write_job(b, j, e, err);
		if (r == 0 && j->put_mark && !j->is_dirty)
			r = write_mark(b, j, e, err);
	}
	b->owes |= r < 0;
	return r;
}

int bridge_sweep(struct bridge *b, struct etcd *e, struct err *err)
{
	int r = write_owed(b, e, err);

	while (r == 0 && b->done) {
		struct order *o = b->done;
		CHECK(o->kind == ORDER_KILL); /* only its key is to go when it is done */
		char *key = bridge__key(b, "killer", o->name);
		r = etcd_delete_if(e, key, o->mod_revision, err);
		free(key);
		if (r == 0) {
			b->done = o->next;
			bridge__order_free(o);
		}
	}
	return r;
}

void bridge_print(const struct bridge *b, struct buf *out)
{
	size_t there = 0;

	for (size_t i = 0; i < b->n; i++)
		there += b->jobs[i].is != NULL;
	put_int(out, b->form->word, (int64_t)there);
}

static void print_problem(const struct bridge *b, const struct job *j, const char *text,
                          struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "what", b->form->one);
	put_text(out, "name", j->name);
	put_text(out, "text", text);
	put_close(out, '}');
}

void bridge_print_problems(const struct bridge *b, struct buf *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < b->n && shown < PROBLEMS_SHOWN; i++) {
		const struct job *j = &b->jobs[i];
		const char *text = j->problem ? j->problem : j->lost;
		if (!text)
			continue;
		shown++;
		print_problem(b, j, text, out);
	}
}

uint64_t bridge_changes(const struct bridge *b)
{
	return b->changes;
}
