/* The one thread that reads the store. A call brings its work, which runs here with the reader
 * and fills the answer; a call that waited longer than request_ms is not begun. Names that an
 * answer missed are loaded and the work is done once more. A reader that failed on its file is
 * closed and opened again at the next need, for the file may be another one by then. Nothing is
 * ever written. */
#include "cgi/server/disk.h"

#include <stdlib.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/server/names.h"
#include "cgi/who/people.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

#define ROUND_US    (US_PER_S)
#define WAITING_MAX 1024

struct disk {
	struct cgi *cgi;
	struct actor *me;
	struct actor_ops ops;
	struct reader *reader;
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

static void names_load(struct disk *d)
{
	const struct read_task_filter all = { 0 };
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

static int reader_need(struct disk *d, struct err *err)
{
	int r;

	if (d->reader)
		return 0;
	r = reader_open(d->cgi->param.store, &d->reader, err);
	if (r == E_NOT_FOUND)
		return err_set(err, E_AGAIN, "there is no store at %s yet", d->cgi->param.store);
	if (r == 0)
		names_load(d);
	return r;
}

/* Does something here read differently now? */
static bool names_new_ones(struct disk *d)
{
	uint32_t before = names_changes(d->cgi->names);

	names_load(d);
	return names_changes(d->cgi->names) != before;
}

/* A reader that failed on its file is opened again: the file may be another one now. */
static void reader_doubt(struct disk *d, int code)
{
	if (code != E_IO && code != E_CORRUPT)
		return;
	reader_close(d->reader);
	d->reader = NULL;
}

void disk_work(struct letter *l, void *self)
{
	struct disk *d = self;
	struct call *c = (struct call *)l;
	int r = 0;

	CHECK(c->work && c->suspended); /* nobody else touches it */
	if (clock_mono_us(&clock_machine) > c->deadline_us)
		r = err_set(&c->err, E_TIMEOUT, "it waited too long for its turn");
	if (r == 0)
		r = reader_need(d, &c->err);
	if (r == 0 && names_missed(d->cgi->names))
		names_load(d);
	if (r == 0)
		r = c->work(c, d->reader);
	if (r == 0 && c->names && names_missed(d->cgi->names) && names_new_ones(d)) {
		buf_clear(&c->out);
		r = c->work(c, d->reader);
	}
	if (r < 0 && c->err.code == 0)
		err_set(&c->err, r, "%s", err_text(r));
	reader_doubt(d, r);
	call_resume(c);
}

/* Streams show names too: what they missed is fetched within a second. So are people somebody
 * asked for: another daemon may have changed them. */
static void round_alarm(void *self)
{
	struct disk *d = self;
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

static int disk_init(void *self, struct actor *me, struct err *err)
{
	struct disk *d = self;

	(void)err;
	d->me = me;
	actor_alarm(me, actor_mono_us(me));
	return 0;
}

static void disk_fini(void *self)
{
	struct disk *d = self;

	reader_close(d->reader);
	d->reader = NULL;
}

struct disk *disk_new(struct thread *th, struct cgi *cgi)
{
	struct disk *d = mem_new(sizeof *d);

	d->cgi = cgi;
	d->ops = (struct actor_ops){ .name = "disk",
		                     .letters_max = WAITING_MAX,
		                     .init = disk_init,
		                     .alarm = round_alarm,
		                     .fini = disk_fini };
	d->me = actor_new(th, &d->ops, d);
	return d;
}

void disk_free(struct disk *d)
{
	free(d);
}

struct actor *disk_actor(struct disk *d)
{
	return d->me;
}
