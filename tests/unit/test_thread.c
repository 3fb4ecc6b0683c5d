/* rt/thread and rt/stream, on real threads: letters, alarms, stopping, one writer and readers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rt/actor.h"
#include "rt/stream.h"
#include "rt/thread.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"

enum { LETTERS = 20000, WAIT_US = 20 * 1000000 };

struct number {
	struct letter letter;
	struct box *to;
	int from, value;
};

/* An actor that notes what it gets. */
struct box {
	struct actor *me;
	int last[4]; /* of each sender */
	_Atomic int got, discarded, turns, finis;
	_Atomic int64_t rang_us;
	int64_t ring_at_us;
	bool out_of_order, elsewhere, refuse_init;
	struct box *send_to;
	int send, sent;
	int from;
	struct stream_reader *in;
	uint64_t sum, seen;
};

static bool wait_for(_Atomic int *what, int least)
{
	int64_t until = clock_mono_us(&clock_machine) + WAIT_US;

	while (atomic_load(what) < least)
		if (clock_mono_us(&clock_machine) > until)
			return false;
	return true;
}

static void on_number(struct letter *l, void *self)
{
	struct number *n = (struct number *)l;
	struct box *b = self;

	b->elsewhere = b->elsewhere || !actor_here(b->me);
	b->out_of_order = b->out_of_order || n->value <= b->last[n->from];
	b->last[n->from] = n->value;
	free(n);
	atomic_fetch_add(&b->got, 1);
}

static void off_number(struct letter *l)
{
	struct number *n = (struct number *)l;

	atomic_fetch_add(&n->to->discarded, 1);
	free(n);
}

static int send_number(struct box *to, int from, int value)
{
	struct number *n = mem_new(sizeof *n);

	n->letter.deliver = on_number;
	n->letter.discard = off_number;
	n->to = to;
	n->from = from;
	n->value = value;
	int r = actor_post_credit(to->me, &n->letter);
	if (r < 0)
		free(n);
	return r;
}

static int box_init(void *self, struct actor *me, struct err *err)
{
	struct box *b = self;

	b->me = me;
	if (b->refuse_init)
		return err_set(err, E_LIMIT, "not today");
	if (b->ring_at_us)
		actor_alarm(me, b->ring_at_us);
	return 0;
}

static void box_turn(void *self)
{
	struct box *b = self;

	atomic_fetch_add(&b->turns, 1);
	for (int i = 0; i < 50 && b->sent < b->send; i++)
		if (send_number(b->send_to, b->from, ++b->sent) < 0)
			return;
	if (b->sent < b->send)
		actor_wake(b->me);
	for (const uint64_t *v; b->in && (v = stream_peek(b->in)); stream_next(b->in)) {
		b->sum += *v;
		b->seen++;
		atomic_fetch_add(&b->got, 1);
	}
}

static void box_alarm(void *self)
{
	struct box *b = self;

	atomic_store(&b->rang_us, actor_mono_us(b->me));
	atomic_fetch_add(&b->got, 1);
}

static void box_fini(void *self)
{
	atomic_fetch_add(&((struct box *)self)->finis, 1);
}

static const struct actor_ops box_ops = { .name = "box",
	                                  .letters_max = 1 << 20,
	                                  .init = box_init,
	                                  .turn = box_turn,
	                                  .alarm = box_alarm,
	                                  .fini = box_fini };

static struct thread *thread_with(struct box *b, const char *name)
{
	struct thread *th = thread_new(name, &clock_machine);

	b->me = actor_new(th, &box_ops, b);
	return th;
}

static void letters_of_several_threads_arrive_once_and_in_their_order(void **state)
{
	struct box to = { 0 }, from[3] = { 0 };
	struct thread *th = thread_with(&to, "to"), *senders[3];
	struct err err = { 0 };

	(void)state;
	assert_int_equal(thread_start(th, &err), 0);
	for (int i = 0; i < 3; i++) {
		from[i] = (struct box){ .send_to = &to, .send = LETTERS, .from = i };
		senders[i] = thread_with(&from[i], "from");
		assert_int_equal(thread_start(senders[i], &err), 0);
	}
	for (int i = 1; i <= 1000; i++) /* and those of a thread without actors */
		assert_int_equal(send_number(&to, 3, i), 0);
	assert_true(wait_for(&to.got, 3 * LETTERS + 1000));
	for (int i = 0; i < 3; i++) {
		thread_stop(senders[i]);
		thread_free(senders[i]);
	}
	thread_stop(th);
	assert_int_equal(to.got, 3 * LETTERS + 1000);
	assert_false(to.out_of_order);
	assert_false(to.elsewhere);
	assert_int_equal(to.finis, 1);
	thread_free(th);
}

static void a_stopped_thread_refuses_letters_and_loses_none_silently(void **state)
{
	struct err err = { 0 };

	(void)state;
	for (int round = 0; round < 50; round++) {
		struct box to = { 0 }, from = { .send_to = &to, .send = LETTERS };
		struct thread *th = thread_with(&to, "to"), *sender = thread_with(&from, "from");
		assert_int_equal(thread_start(th, &err), 0);
		assert_int_equal(thread_start(sender, &err), 0);
		assert_true(wait_for(&to.got, round));
		thread_stop(th);
		assert_int_equal(send_number(&to, 1, 1), E_CLOSED);
		thread_stop(sender);
		/* the one that met E_CLOSED was counted as sent, and freed by its sender */
		int kept = to.got + to.discarded;
		assert_true(from.sent == kept || from.sent == kept + 1 || from.sent == LETTERS);
		thread_free(sender);
		thread_free(th);
	}
}

static void stopping_works_in_every_state(void **state)
{
	struct box never = { 0 }, twice = { 0 }, refusing = { .refuse_init = true }, before = { 0 };
	struct thread *a = thread_with(&never, "never"), *b = thread_with(&twice, "twice");
	struct thread *c = thread_with(&before, "refusing");
	struct err err = { 0 };

	(void)state;
	thread_stop(NULL);
	thread_free(NULL);
	thread_stop(a);
	thread_free(a);
	assert_int_equal(never.finis, 0);
	assert_int_equal(thread_start(b, &err), 0);
	thread_stop(b);
	thread_stop(b);
	thread_free(b);
	assert_int_equal(twice.finis, 1);
	refusing.me = actor_new(c, &box_ops, &refusing);
	assert_int_equal(thread_start(c, &err), E_LIMIT);
	assert_int_equal(before.finis, 1);
	assert_int_equal(refusing.finis, 1); /* also after a failed init */
	thread_free(c);
}

static void an_alarm_never_rings_early(void **state)
{
	struct err err = { 0 };

	(void)state;
	for (int ms = 1; ms <= 16; ms *= 2) {
		struct box b = { .ring_at_us = clock_mono_us(&clock_machine) + ms * US_PER_MS };
		struct thread *th = thread_with(&b, "alarm");
		assert_int_equal(thread_start(th, &err), 0);
		assert_true(wait_for(&b.got, 1));
		thread_stop(th);
		assert_true(b.rang_us >= b.ring_at_us);
		assert_int_equal(b.got, 1); /* once */
		thread_free(th);
	}
}

struct writer {
	struct actor *me;
	struct stream *s;
	uint64_t next, end;
	bool sleeps; /* until a reader makes room */
};

static int writer_init(void *self, struct actor *me, struct err *err)
{
	(void)err;
	((struct writer *)self)->me = me;
	return 0;
}

static void writer_turn(void *self)
{
	struct writer *w = self;

	if (w->sleeps)
		stream_want_room(w->s, w->me);
	while (w->next < w->end && stream_room(w->s) > 0) {
		*(uint64_t *)stream_slot(w->s) = ++w->next;
		uint64_t number = stream_publish(w->s);
		if (number % 7 == 0 || w->next == w->end)
			stream_durable(w->s, number);
	}
	stream_wake(w->s);
	if (w->next < w->end && !w->sleeps)
		actor_wake(w->me);
}

static const struct actor_ops writer_ops = {
	.name = "writer", .letters_max = 8, .init = writer_init, .turn = writer_turn
};

static void write_and_read(bool sleeps, uint64_t records)
{
	struct box inner = { 0 }, outer = { 0 };
	struct writer w = { .s = stream_new(64, sizeof(uint64_t), 1000, NULL),
		            .end = records,
		            .sleeps = sleeps };
	struct thread *tw = thread_new("writer", &clock_machine);
	struct thread *ti = thread_with(&inner, "inner"), *to = thread_with(&outer, "outer");
	struct err err = { 0 };

	w.me = actor_new(tw, &writer_ops, &w);
	inner.in = stream_reader_new(w.s, STREAM_INNER, inner.me);
	outer.in = stream_reader_new(w.s, STREAM_OUTER, outer.me);
	assert_int_equal(thread_start(ti, &err), 0);
	assert_int_equal(thread_start(to, &err), 0);
	assert_int_equal(thread_start(tw, &err), 0);
	assert_true(wait_for(&inner.got, records));
	assert_true(wait_for(&outer.got, records));
	thread_stop(tw);
	thread_stop(ti);
	thread_stop(to);
	assert_int_equal(inner.sum, records * (records + 1) / 2);
	assert_int_equal(outer.sum, inner.sum);
	assert_int_equal(stream_last(w.s), 1000 + records);
	assert_int_equal(stream_seen(outer.in), 1000 + records);
	thread_free(tw);
	thread_free(ti);
	thread_free(to);
	stream_free(w.s);
}

static void readers_on_other_threads_see_every_record_once(void **state)
{
	(void)state;
	write_and_read(false, 200000);
}

static void a_writer_that_waits_for_room_is_woken_by_the_reader_that_makes_it(void **state)
{
	(void)state;
	write_and_read(true, 50000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(letters_of_several_threads_arrive_once_and_in_their_order),
		cmocka_unit_test(a_stopped_thread_refuses_letters_and_loses_none_silently),
		cmocka_unit_test(stopping_works_in_every_state),
		cmocka_unit_test(an_alarm_never_rings_early),
		cmocka_unit_test(readers_on_other_threads_see_every_record_once),
		cmocka_unit_test(a_writer_that_waits_for_room_is_woken_by_the_reader_that_makes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
