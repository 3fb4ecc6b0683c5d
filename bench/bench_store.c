/* How fast the store is, beside what the disk can do.
 *
 *   bench_store [DIRECTORY [HISTORY_MILLIONS]]     default: a new one in /tmp, 1
 * A directory that has a store already is only measured again, with what it holds.
 *
 * A lifecycle is what one instance costs at least: insert live (2 events), replace live
 * (1 event), leave live and enter history (1 event), in three commits. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"

enum { TASKS = 10000, BATCH_MAX = 20000 };

struct bench {
	struct store *s;
	char dir[200], url[220];
	uint32_t epoch;
	uint64_t number;  /* last transition */
	uint64_t created; /* instances so far */
	struct transition *events;
	const struct transition **event_list;
	size_t n_events;
};

static int64_t now_us(void)
{
	return clock_mono_us(&clock_machine);
}

static void must(int r, const struct err *err)
{
	if (r < 0) {
		fprintf(stderr, "bench_store: %s\n", err->text);
		_exit(1);
	}
}

static void open_store(struct bench *b)
{
	struct err err = { 0 };

	must(store_open(b->url, &b->s, &err), &err);
	must(store_take_epoch(b->s, "bench", &b->epoch, &err), &err);
	must(store_position(b->s, &b->number, &b->epoch, &err), &err);
}

static void instance_make(struct instance *i, uint64_t nth)
{
	*i = (struct instance){ .slot = (uint32_t)nth };
	i->key.task = (uint32_t)(nth % TASKS) + 1;
	i->key.run_date = 1735689600 + (int64_t)(nth / TASKS) * 60;
	i->due = i->key.run_date;
	i->eff_due_us = i->due * US_PER_S;
	i->created_us = i->eff_due_us + 123;
	i->generation = 1;
	i->revision = 1;
	i->priority = 5;
	i->state = ST_READY;
}

static void event_add(struct bench *b, struct instance *i, enum event ev, enum state to)
{
	struct transition *t = &b->events[b->n_events];

	*t = (struct transition){ .number = ++b->number,
		                  .prev = i->last_number,
		                  .kind = TK_INSTANCE,
		                  .at_us = i->created_us,
		                  .epoch = b->epoch,
		                  .event = (uint8_t)ev,
		                  .from = i->last_number ? i->state : ST_NONE,
		                  .to = (uint8_t)to };
	i->last_number = t->number;
	i->state = (uint8_t)to;
	i->revision++;
	t->inst = *i;
	b->event_list[b->n_events++] = t;
}

static void commit(struct bench *b, struct store_batch *batch)
{
	struct err err = { 0 };

	batch->epoch = b->epoch;
	batch->events = b->event_list;
	batch->n_events = b->n_events;
	batch->first = b->number - b->n_events + 1;
	batch->last = b->number;
	must(store_commit(b->s, batch, &err), &err);
	b->n_events = 0;
}

/* Three generations of n instances: made, granted, ended in one commit. */
struct wave {
	struct instance *inst;
	size_t n;
};

static void wave_step(struct bench *b, struct wave *w, size_t n)
{
	struct wave end = w[2];
	struct store_batch batch = { 0 };
	const struct instance **live = mem_array(2 * n, sizeof *live);

	w[2] = w[1];
	w[1] = w[0];
	w[0] = end;
	for (size_t i = 0; i < end.n; i++) {
		end.inst[i].ended_us = end.inst[i].created_us + 5000000;
		event_add(b, &end.inst[i], EV_EXIT_OK, ST_SUCC);
	}
	batch.n_done = end.n;
	/* Its storage is w[0]'s from here on: keep what ends apart. */
	struct instance *ended = mem_array(n, sizeof *ended);
	const struct instance **done_list = mem_array(n, sizeof *done_list);

	memcpy(ended, end.inst, end.n * sizeof *ended);
	for (size_t i = 0; i < end.n; i++)
		done_list[i] = &ended[i];
	batch.done = done_list;
	for (size_t i = 0; i < w[1].n; i++) {
		struct instance *p = &w[1].inst[i];

		p->token = b->number + 1;
		p->broker = 3;
		p->attempt = 1;
		p->version = 1;
		p->started_us = p->created_us + 900;
		event_add(b, p, EV_GRANT, ST_RUNNING);
		live[batch.n_live++] = p;
	}
	w[0].n = n;
	for (size_t i = 0; i < n; i++) {
		struct instance *p = &w[0].inst[i];

		instance_make(p, b->created++);
		event_add(b, p, EV_CREATE, ST_READY);
		event_add(b, p, EV_SATISFY, ST_DEPEND);
		live[batch.n_live++] = p;
	}
	batch.live = live;
	commit(b, &batch);
	free(live);
	free(ended);
	free(done_list);
}

static void lifecycles(struct bench *b, size_t n, size_t total, const char *note)
{
	struct wave w[3] = { { 0 } };
	size_t commits = total / n + 2;
	int64_t t0, worst = 0;

	for (int i = 0; i < 3; i++)
		w[i].inst = mem_array(n, sizeof *w[i].inst);
	t0 = now_us();
	for (size_t i = 0; i < commits; i++) {
		int64_t t = now_us();

		wave_step(b, w, n);
		t = now_us() - t;
		worst = t > worst ? t : worst;
	}
	t0 = now_us() - t0;
	printf("lifecycles, %4zu in each of 3 stages a commit (%zu events)%s: %8.0f /s, %6.0f "
	       "commits/s, slowest %.1f ms\n",
	       n, 4 * n, note, (double)(commits * n) * 1e6 / (double)t0,
	       (double)commits * 1e6 / (double)t0, (double)worst / 1e3);
	for (int i = 0; i < 3; i++)
		free(w[i].inst);
}

static void events_only(struct bench *b, size_t n, size_t total)
{
	struct instance i;
	size_t commits = total / n + 1;
	int64_t t0 = now_us();

	instance_make(&i, 0);
	for (size_t c = 0; c < commits; c++) {
		struct store_batch batch = { 0 };

		for (size_t k = 0; k < n; k++)
			event_add(b, &i, EV_PRIORITY, ST_READY);
		commit(b, &batch);
	}
	t0 = now_us() - t0;
	printf("events appended, %5zu a commit: %8.0f events/s, %6.0f commits/s\n", n,
	       (double)(commits * n) * 1e6 / (double)t0, (double)commits * 1e6 / (double)t0);
}

static void raw_sync(const struct bench *b)
{
	static char page[4096];
	char path[260];
	int64_t t0 = now_us(), t;
	int n = 0, fd;

	snprintf(path, sizeof path, "%s/raw", b->dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	do {
		if (pwrite(fd, page, sizeof page, (off_t)n * 4096) < 0 || fdatasync(fd) < 0)
			must(-1, &(struct err){ .text = "raw write" });
		n++;
		t = now_us() - t0;
	} while (t < 500000);
	close(fd);
	unlink(path);
	printf("the disk: append 4 KiB + fdatasync: %8.0f /s\n", n * 1e6 / (double)t);
}

/* Rows that only stand there: live or done, many a commit. */
static void fill(struct bench *b, size_t total, bool done)
{
	struct instance *inst = mem_array(BATCH_MAX, sizeof *inst);
	const struct instance **list = mem_array(BATCH_MAX, sizeof *list);
	int64_t t0 = now_us();

	for (size_t at = 0; at < total; at += BATCH_MAX) {
		struct store_batch batch = { 0 };

		for (size_t i = 0; i < BATCH_MAX; i++) {
			instance_make(&inst[i], b->created++);
			inst[i].ended_us = done ? inst[i].created_us + 77 : 0;
			event_add(b, &inst[i], EV_CREATE, done ? ST_SKIPPED : ST_READY);
			list[i] = &inst[i];
		}
		if (done) {
			batch.done = list;
			batch.n_done = BATCH_MAX;
		} else {
			batch.live = list;
			batch.n_live = BATCH_MAX;
		}
		commit(b, &batch);
	}
	t0 = now_us() - t0;
	printf("filled %zu %s rows: %8.0f /s\n", total, done ? "history" : "live",
	       (double)total * 1e6 / (double)t0);
	free(inst);
	free(list);
}

static int count_one(void *ctx, const struct instance *i)
{
	(void)i;
	++*(size_t *)ctx;
	return 0;
}

static void load(struct bench *b)
{
	struct err err = { 0 };
	size_t n = 0;
	int64_t t0;

	store_close(b->s);
	open_store(b);
	t0 = now_us();
	must(store_load_live(b->s, count_one, &n, &err), &err);
	t0 = now_us() - t0;
	printf("load of %zu live rows: %.3f s\n", n, (double)t0 / 1e6);
}

static void fresh(struct bench *b, size_t millions)
{
	static const size_t sizes[][2] = {
		{ 1, 2000 }, { 10, 20000 }, { 100, 100000 }, { 250, 300000 }, { 1000, 600000 }
	};

	events_only(b, 1, 4000);
	events_only(b, 10, 40000);
	events_only(b, 100, 400000);
	events_only(b, 1000, 2000000);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		lifecycles(b, sizes[i][0], sizes[i][1], "");
	fill(b, 1000000, false);
	load(b);
	for (size_t m = 0; m < millions; m++)
		fill(b, 1000000, true);
}

int main(int argc, char **argv)
{
	struct bench b = { 0 };
	size_t millions = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	char note[60];

	snprintf(b.dir, sizeof b.dir, "%s", argc > 1 ? argv[1] : "/tmp/bench-store-XXXXXX");
	if (argc < 2 && !mkdtemp(b.dir))
		return 1;
	snprintf(b.url, sizeof b.url, "sqlite:%s", b.dir);
	b.events = mem_array(BATCH_MAX, sizeof *b.events);
	b.event_list = mem_array(BATCH_MAX, sizeof *b.event_list);
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_store(&b);
	raw_sync(&b);
	if (b.number) { /* above every instance it has */
		b.created = b.number;
		load(&b);
	} else {
		fresh(&b, millions);
	}
	snprintf(note, sizeof note, ", with 1 M live and %zu M history", millions);
	lifecycles(&b, 250, 300000, note);
	lifecycles(&b, 1000, 600000, note);
	store_close(b.s);
	free(b.events);
	free(b.event_list);
	printf("left in %s\n", b.dir);
	return 0;
}
