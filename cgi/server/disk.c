/* The threads that read the store, each with a reader of its own. A call brings its work, which
 * runs on a thread that is free and fills the answer; whose call is next is the turns' (turns.h),
 * so that nobody's heavy reads hold all of them. What a read took is booked for its person; a
 * person whose time is used up is refused before the call waits, and a call that waited longer than
 * request_ms is not begun. Names that an answer missed are loaded and the work is done once more. A
 * reader that failed on its file is closed and opened again at the next need, for the file may be
 * another one by then. Nothing is ever written.
 *
 *   HTTP: disk_post() -> turns -> a reader that is idle is woken
 *   reader: the next turn -> its work -> call_resume() -> the next turn
 *
 * disk->mu guards turns and who is idle; nothing waits while it is held. */
#include "cgi/server/disk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/http/turns.h"
#include "cgi/server/names.h"
#include "cgi/who/budget.h"
#include "cgi/who/people.h"
#include "cgi/who/sight.h"
#include "rt/thread.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

#define ROUND_US    (US_PER_S)
#define WAITING_MAX 1024

static const char *const reader_names[DISK_READERS] = { "disk", "disk-2", "disk-3" };

struct disk_reader {
	struct disk *disk;
	struct cgi *cgi;
	struct thread *thread;
	struct actor *me;
	struct actor_ops ops;
	struct reader *reader; /* NULL: not open */
	bool is_idle;          /* disk->mu: it sleeps until it is woken */
};

struct disk {
	struct cgi *cgi;
	bool is_timed_by_clock;  /* the work is another process's, not this thread's */
	pthread_mutex_t opening; /* held while a reader is opened: drivers begin once */
	pthread_mutex_t mu;      /* guards the next two, and who is idle */
	struct turns *turns;
	bool is_closed;
	struct disk_reader readers[DISK_READERS];
};

static int task_named(void *ctx, const struct store_task *t)
{
	names_set_task(ctx, t);
	return 0;
}

static int broker_named(void *ctx, const struct store_doc *d)
{
	names_set(ctx, NAMES_BROKER, d->id, d->name);
	return 0;
}

static void names_read(struct disk_reader *d)
{
	const struct read_task_filter all = { .tests = true };
	struct read_answer at = { 0 };

	do {
		struct read_page page = { .limit = READ_ROWS_MAX,
			                  .cursor = at.cursor,
			                  .answer = &at };

		if (read_tasks(d->reader, &all, &page, task_named, d->cgi->names, NULL) < 0)
			return;
	} while (at.cursor[0] != '\0');
	struct read_page page = { .limit = READ_ROWS_MAX };

	read_docs(d->reader, &(struct read_docs_of){ DOC_BROKER, true }, &page, broker_named,
	          d->cgi->names, NULL);
}

/* What was missed until now is looked for; what is missed meanwhile is the next one's. */
static void names_load(struct disk_reader *d)
{
	uint64_t misses = names_misses(d->cgi->names);

	names_read(d);
	names_loaded(d->cgi->names, misses);
}

static int reader_need(struct disk_reader *d, struct err *err)
{
	int r;

	if (d->reader)
		return 0;
	pthread_mutex_lock(&d->disk->opening);
	r = reader_open(d->cgi->param.store, &d->reader, err);
	pthread_mutex_unlock(&d->disk->opening);
	if (r == E_NOT_FOUND)
		return err_set(err, E_AGAIN, "there is no store at %s yet", d->cgi->param.store);
	if (r == 0)
		names_load(d);
	return r;
}

/* Does something here read differently now? */
static bool names_new_ones(struct disk_reader *d)
{
	uint32_t before = names_changes(d->cgi->names);

	names_load(d);
	return names_changes(d->cgi->names) != before;
}

/* A reader that failed on its file is opened again: the file may be another one now. */
static void reader_doubt(struct disk_reader *d, int code)
{
	if (code != E_IO && code != E_CORRUPT)
		return;
	reader_close(d->reader);
	d->reader = NULL;
}

/* The reader shows what the caller reads, and nothing else: no work need ask. */
static int work_do(struct disk_reader *d, struct call *c)
{
	reader_see(d->reader, c->sight ? &c->sight->see : NULL);
	int r = c->work(c, d->reader);
	reader_see(d->reader, NULL);
	return r;
}

/* True: it is not done, and goes on in another turn of its person. */
static bool call_do(struct disk_reader *d, struct call *c)
{
	int r = 0;

	CHECK(c->work && c->suspended); /* nobody else touches it */
	if (clock_mono_us(&clock_machine) > c->deadline_us)
		r = err_set(&c->err, E_TIMEOUT, "it waited too long for its turn");
	if (r == 0)
		r = reader_need(d, &c->err);
	if (r == 0 && names_missed(d->cgi->names))
		names_load(d);
	if (r == 0)
		r = work_do(d, c);
	if (r == 0 && c->names && names_missed(d->cgi->names) && names_new_ones(d)) {
		buf_clear(&c->out);
		r = work_do(d, c);
	}
	if (r == WORK_MORE)
		return true;
	if (r < 0 && c->err.code == 0)
		err_set(&c->err, r, "%s", err_text(r));
	reader_doubt(d, r);
	return false;
}

/* --- turns ------------------------------------------------------------------------------------ */

/* Locked. Of those that sleep the first: on a quiet machine the others never open a reader. */
static void wake_idle(struct disk *d)
{
	if (!turns_has_next(d->turns))
		return;
	for (size_t i = 0; i < DISK_READERS; i++) {
		struct disk_reader *r = &d->readers[i];

		if (!r->is_idle)
			continue;
		r->is_idle = false;
		actor_wake(r->me);
		return;
	}
}

static struct call *call_next(struct disk_reader *r)
{
	struct disk *d = r->disk;
	struct turn *t;

	pthread_mutex_lock(&d->mu);
	t = turns_take(d->turns);
	r->is_idle = !t;
	if (t)
		wake_idle(d);
	pthread_mutex_unlock(&d->mu);
	return t ? (struct call *)((char *)t - offsetof(struct call, turn)) : NULL;
}

static int64_t time_of_work(const struct disk *d)
{
	return d->is_timed_by_clock ? clock_mono_us(&clock_machine) : clock_thread_us();
}

/* One call; then letters and others on this thread, then the next one. */
static void reader_turn(void *self)
{
	struct disk_reader *r = self;
	struct disk *d = r->disk;
	struct call *c = call_next(r);
	int64_t began;

	if (!c)
		return;
	began = time_of_work(d);
	bool goes_on = call_do(r, c);
	const void *who = c->purse;
	int64_t spent = budget_read(c, time_of_work(d) - began);
	if (!goes_on)
		call_resume(c); /* it is the HTTP thread's from here on */
	pthread_mutex_lock(&d->mu);
	turns_end(d->turns, who, spent);
	if (goes_on)
		turns_again(d->turns, &c->turn, who, spent);
	pthread_mutex_unlock(&d->mu);
	actor_wake(r->me);
}

int disk_post(struct cgi *cgi, struct call *c)
{
	struct disk *d = cgi->disk;
	int64_t spent;
	int r = budget_may_read(c, &spent);

	if (r < 0)
		return r;
	pthread_mutex_lock(&d->mu);
	r = d->is_closed ? E_CLOSED : turns_put(d->turns, &c->turn, c->purse, spent);
	if (r == 0)
		wake_idle(d);
	pthread_mutex_unlock(&d->mu);
	return r;
}

/* Streams show names too: what they missed is fetched within a second. So are people somebody
 * asked for: another daemon may have changed them. */
static void round_alarm(void *self)
{
	struct disk_reader *d = self;
	struct err err = { 0 };

	if (people_wanted(d->cgi->people)) {
		int r = reader_need(d, &err);

		if (r == 0)
			r = people_refresh(d->cgi->people, d->reader, &err);
		reader_doubt(d, r);
	}

	if (d->reader && atomic_load(&d->cgi->streams) > 0 && names_missed(d->cgi->names))
		names_load(d);
	actor_alarm(d->me, actor_mono_us(d->me) + ROUND_US);
}

/* The rounds are the last one's, which is asked least. */
static int disk_init(void *self, struct actor *me, struct err *err)
{
	struct disk_reader *d = self;

	(void)err;
	d->me = me;
	if (d == &d->disk->readers[DISK_READERS - 1])
		actor_alarm(me, actor_mono_us(me));
	return 0;
}

static void disk_fini(void *self)
{
	struct disk_reader *d = self;

	reader_close(d->reader);
	d->reader = NULL;
}

struct disk *disk_new(struct cgi *cgi)
{
	struct disk *d = mem_new(sizeof *d);

	d->cgi = cgi;
	d->is_timed_by_clock = strncmp(cgi->param.store, "sqlite:", strlen("sqlite:")) != 0;
	pthread_mutex_init(&d->mu, NULL);
	pthread_mutex_init(&d->opening, NULL);
	d->turns = turns_new(DISK_READERS, WAITING_MAX);
	for (size_t i = 0; i < DISK_READERS; i++) {
		struct disk_reader *r = &d->readers[i];

		*r = (struct disk_reader){ .disk = d, .cgi = cgi, .is_idle = true };
		r->ops = (struct actor_ops){ .name = reader_names[i],
			                     .letters_max = 1,
			                     .init = disk_init,
			                     .turn = reader_turn,
			                     .alarm = round_alarm,
			                     .fini = disk_fini };
		r->thread = thread_new(reader_names[i], &clock_machine);
		r->me = actor_new(r->thread, &r->ops, r);
	}
	return d;
}

int disk_start(struct disk *d, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < DISK_READERS && r == 0; i++)
		r = thread_start(d->readers[i].thread, err);
	return r;
}

void disk_stop(struct disk *d)
{
	struct turn *t;

	if (!d)
		return;
	pthread_mutex_lock(&d->mu);
	d->is_closed = true;
	pthread_mutex_unlock(&d->mu);
	for (size_t i = 0; i < DISK_READERS; i++)
		thread_stop(d->readers[i].thread);
	while ((t = turns_drain(d->turns))) {
		struct call *c = (struct call *)((char *)t - offsetof(struct call, turn));

		c->letter.discard(&c->letter);
	}
}

void disk_free(struct disk *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < DISK_READERS; i++)
		thread_free(d->readers[i].thread);
	turns_free(d->turns);
	pthread_mutex_destroy(&d->opening);
	pthread_mutex_destroy(&d->mu);
	free(d);
}

struct thread *disk_thread(const struct disk *d, size_t i)
{
	CHECK(i < DISK_READERS);
	return d->readers[i].thread;
}

const char *disk_thread_name(size_t i)
{
	CHECK(i < DISK_READERS);
	return reader_names[i];
}
