/* baseserver/net/worker: what slow clients are told, and how long commands come in pieces. */
#include "tests/unit/worker_place.h"

/* --- slow clients ------------------------------------------------------------------------- */

static void happens(struct place *p, int64_t n)
{
	struct inst_key key = { 0, TASK, 0 };

	for (int64_t i = 0; i < n; i++) {
		key.run_date += 60;
		ask(&p->f, ASK_CREATE, key, 0);
		if (i % 50 == 0)
			pass(p, 2);
	}
	pass(p, 2);
	pass(p, 2);
}

static void who_reads_slowly_gets_all_that_is_still_kept(void **state)
{
	enum { MANY = 3000 };
	struct place p;

	(void)state;
	start(&p);
	struct session *s = subscriber(&p);
	s->queued = QUEUE_BYTES;
	happens(&p, MANY);
	assert_int_equal(s->events, 0);
	s->queued = 0;
	pass(&p, 100); /* nobody says that it has read: the worker looks again */
	assert_int_equal(s->events, MANY);
	assert_int_equal(s->gaps, 0);
	assert_false(s->has_holes);
	stop(&p);
}

static void what_waits_to_be_written_holds_events_back_by_session_queue_bytes_max(void **state)
{
	struct place p;

	(void)state;
	start_with(&p, "session_queue_bytes_max=1M");
	struct session *s = subscriber(&p);
	s->queued = QUEUE_BYTES;
	happens(&p, 10);
	assert_int_equal(s->events, 10);
	stop(&p);
}

static void who_falls_behind_too_far_is_told_of_the_gap_and_has_no_other(void **state)
{
	enum { MISSED = 300 };
	struct place p;

	(void)state;
	start(&p);
	struct session *s = subscriber(&p);
	uint64_t before = stream_last(ledger_stream(p.f.ledger));
	s->queued = QUEUE_BYTES;
	happens(&p, RING + MISSED);
	s->queued = 0;
	pass(&p, 100);
	assert_int_equal(s->gaps, 1);
	assert_int_equal(s->events, RING);
	assert_int_equal(s->first, before + MISSED + 1);
	assert_false(s->has_holes);
	stop(&p);
}

static void a_number_from_another_past_is_a_gap(void **state)
{
	Sirdar__Subscribe m = SIRDAR__SUBSCRIBE__INIT;
	struct place p;

	(void)state;
	start(&p);
	struct session *s = greet(&p, CLIENT, "cgi");
	m.from_number = 1000000;
	hear(&p, s, FR_SUBSCRIBE, &m);
	assert_true(s->gaps == 1 && s->events == 0);
	happens(&p, 1);
	assert_true(s->gaps == 1 && s->events == 1);
	stop(&p);
}

/* --- how far commands are ----------------------------------------------------------------- */

static void news(struct place *p, uint64_t id, enum command_state state, int64_t done)
{
	const struct command_news n = { id, 100, done, 0, state };

	worker_news(p->worker, &n);
	thread_sim_run(p->f.th);
}

static void a_new_state_is_told_at_once_and_progress_together(void **state)
{
	struct place p;

	(void)state;
	start(&p);
	struct session *s = subscriber(&p);
	news(&p, 1, CS_RUNNING, 0);
	assert_string_equal(s->told, "1 running 0 of 100");
	news(&p, 1, CS_RUNNING, 10);
	news(&p, 1, CS_RUNNING, 20);
	assert_int_equal(s->news, 1);
	for (int i = 0; i < 30; i++)
		pass(&p, 10);
	assert_int_equal(s->news, 2);
	assert_string_equal(s->told, "1 running 20 of 100");
	news(&p, 1, CS_RUNNING, 30);
	news(&p, 1, CS_DONE, 100);
	assert_int_equal(s->news, 3);
	assert_string_equal(s->told, "1 done 100 of 100");
	stop(&p);
}

static void who_subscribes_hears_what_ended_meanwhile(void **state)
{
	struct place p;

	(void)state;
	start(&p);
	news(&p, 7, CS_DONE, 100);
	struct session *s = subscriber(&p);
	assert_string_equal(s->told, "7 done 100 of 100");
	struct session *other = greet(&p, CLIENT, "notifier");
	news(&p, 8, CS_FAILED, 3);
	assert_int_equal(other->news, 0);
	assert_string_equal(s->told, "8 failed 3 of 100");
	stop(&p);
}

/* --- arguments in pieces ------------------------------------------------------------------ */

static int piece(struct session *s, uint64_t id, uint64_t total, uint64_t offset, size_t bytes)
{
	static uint8_t data[1000];
	Sirdar__Piece m = SIRDAR__PIECE__INIT;

	m.id = id;
	m.total = total;
	m.offset = offset;
	m.data.data = data;
	m.data.len = bytes;
	return s->ops->on_frame(s->ctx, s, FR_PIECE, &m);
}

static int command(struct session *s, uint64_t id, uint64_t args_bytes)
{
	Sirdar__Command m = SIRDAR__COMMAND__INIT;

	m.id = id;
	m.kind = (char *)(uintptr_t) "apply";
	m.args_bytes = args_bytes;
	return s->ops->on_frame(s->ctx, s, FR_COMMAND, &m);
}

static void pieces_out_of_order_or_of_another_size_than_said_are_a_fault(void **state)
{
	struct place p = { 0 };

	(void)state;
	start(&p);
	struct session *s = greet(&p, CLIENT, "face");
	assert_int_equal(piece(s, 1, 3000, 0, 1000), 0);
	assert_int_equal(piece(s, 1, 3000, 1000, 1000), 0);
	assert_int_equal(s->taken, 2000);
	assert_int_equal(piece(s, 1, 3000, 1000, 1000), E_PROTOCOL); /* once more */
	assert_int_equal(piece(s, 1, 3001, 2000, 1000), E_PROTOCOL);
	assert_int_equal(piece(s, 1, 3000, 2500, 500), E_PROTOCOL); /* one is left out */
	assert_int_equal(piece(s, 1, 3000, 2000, 0), E_PROTOCOL);
	assert_int_equal(piece(s, 2, 900, 0, 1000), E_PROTOCOL);  /* more than was said */
	assert_int_equal(piece(s, 3, 900, 100, 800), E_PROTOCOL); /* of nothing that began */
	assert_int_equal(command(s, 1, 3000), E_PROTOCOL);        /* one is missing */
	assert_int_equal(piece(s, 1, 3000, 2000, 1000), 0);
	assert_int_equal(command(s, 1, 2999), E_PROTOCOL);
	assert_int_equal(command(s, 4, 10), E_PROTOCOL); /* there are none */
	leave(s);
	stop(&p);
}

static void pieces_are_bounded_by_command_by_session_and_in_all(void **state)
{
	enum { HALF = SESSION_ARGS_BYTES_MAX / 2 };
	struct place p = { 0 };

	(void)state;
	start(&p);
	struct session *a = greet(&p, CLIENT, "a"), *b = greet(&p, CLIENT, "b");
	struct session *c = greet(&p, CLIENT, "c");
	assert_int_equal(piece(a, 1, ARGS_BYTES_MAX + 1, 0, 1000), 0);
	assert_int_equal(a->code, E_TOO_BIG);
	assert_int_equal(piece(a, 1, ARGS_BYTES_MAX + 1, 1000, 1000), 0); /* was under way */
	assert_int_equal(command(a, 1, ARGS_BYTES_MAX + 1), 0);           /* answered already */
	assert_int_equal(piece(a, 2, HALF, 0, 1000), 0);
	assert_int_equal(piece(a, 3, HALF, 0, 1000), 0);
	assert_int_equal(a->taken, 1000);
	assert_int_equal(piece(a, 4, 1000, 0, 1000), 0);
	assert_int_equal(a->code, E_BUSY);
	assert_int_equal(piece(b, 1, HALF, 0, 1000), 0);
	assert_int_equal(piece(b, 2, HALF, 0, 1000), 0);
	assert_int_equal(piece(c, 1, 1000, 0, 1000), 0);
	assert_int_equal(c->code, E_BUSY);
	assert_int_equal(piece(b, 2, 0, 0, 0), 0); /* not wanted any more */
	assert_int_equal(piece(c, 2, HALF, 0, 1000), 0);
	assert_int_equal(c->taken, 1000);
	leave(a); /* in the middle */
	assert_int_equal(piece(b, 3, HALF, 0, 1000), 0);
	b->taken = c->taken = 0;
	assert_int_equal(piece(c, 3, HALF, 0, 1000), 0);
	assert_int_equal(c->taken, 1000);
	leave(b);
	leave(c);
	stop(&p);
}

static void who_stops_in_the_middle_of_his_pieces_makes_room_for_others(void **state)
{
	enum { HALF = SESSION_ARGS_BYTES_MAX / 2 };
	struct place p = { 0 };

	(void)state;
	start(&p);
	struct session *a = greet(&p, CLIENT, "a"), *b = greet(&p, CLIENT, "b");
	struct session *c = greet(&p, CLIENT, "c");
	for (uint64_t id = 1; id <= 2; id++) {
		assert_int_equal(piece(a, id, HALF, 0, 1000), 0);
		assert_int_equal(piece(b, id, HALF, 0, 1000), 0);
	}
	pass(&p, 29000);
	assert_int_equal(piece(b, 1, HALF, 1000, 1000), 0);
	assert_int_equal(piece(c, 1, 1000, 0, 1000), 0);
	assert_int_equal(c->code, E_BUSY);
	pass(&p, 2000);
	assert_int_equal(piece(c, 2, 1000, 0, 1000), 0);
	assert_int_equal(c->taken, 1000);
	assert_int_equal(a->code, E_TIMEOUT);
	assert_int_equal(piece(a, 1, HALF, 1000, 1000), 0); /* was under way */
	assert_int_equal(piece(b, 1, HALF, 2000, 1000), 0); /* goes on */
	assert_int_equal(b->taken, 3000);
	leave(a);
	leave(b);
	leave(c);
	stop(&p);
}

/* --- peers --------------------------------------------------------------------------------- */

static void who_is_not_the_notifier_tells_no_alerts_and_the_notifier_reads_no_logs(void **state)
{
	static const char *const names[] = { "face", "tool" };
	Sirdar__Query alerts = SIRDAR__QUERY__INIT;
	Sirdar__Told told = SIRDAR__TOLD__INIT;
	Sirdar__Answer reply = SIRDAR__ANSWER__INIT;
	Sirdar__LogRead log = SIRDAR__LOG_READ__INIT;
	struct place p = { 0 };

	(void)state;
	start(&p);
	for (size_t i = 0; i < 2; i++) {
		struct session *s = greet(&p, CLIENT, names[i]);
		assert_int_equal(s->ops->on_frame(s->ctx, s, FR_ALERTS, &alerts), E_PROTOCOL);
		assert_int_equal(s->ops->on_frame(s->ctx, s, FR_TOLD, &told), E_PROTOCOL);
		assert_int_equal(s->ops->on_frame(s->ctx, s, FR_REPLY, &reply), E_PROTOCOL);
	}
	struct session *bell = greet(&p, CLIENT, "notifier");
	assert_int_equal(bell->ops->on_frame(bell->ctx, bell, FR_TOLD, &told), 0);
	assert_int_equal(bell->ops->on_frame(bell->ctx, bell, FR_LOG_READ, &log), E_PROTOCOL);
	assert_int_equal(piece(bell, 1, 3000, 0, 1000), E_PROTOCOL);
	stop(&p);
}

static void know(struct place *p, const char *name, const char *body)
{
	static uint32_t version;
	struct store_doc d = { .kind = DOC_PEER,
		               .id = 1,
		               .version = ++version,
		               .name = name,
		               .body = body,
		               .body_len = strlen(body) };

	worker_peer(p->worker, &d);
	pass(p, 1);
}

static void a_document_ends_all_sessions_of_its_name_that_it_does_not_allow(void **state)
{
	struct place p = { 0 };

	(void)state;
	start(&p);
	struct session *broker = greet(&p, BROKER, "b1"), *loader = greet(&p, LOADER, "b1");
	struct session *other = greet(&p, LOADER, "b2");
	know(&p, "b1", "{\"kind\":\"broker\",\"state\":\"active\",\"types\":[\"t\"]}");
	loader->may_end = true;
	know(&p, "b1", "{\"kind\":\"broker\",\"state\":\"active\",\"types\":[\"u\"]}");
	assert_int_equal(loader->ended, E_PEER);
	assert_int_equal(broker->ended, 0);
	broker->may_end = true;
	know(&p, "b1", "{\"kind\":\"broker\",\"state\":\"revoked\"}");
	assert_int_equal(broker->ended, E_PEER);
	assert_int_equal(other->ended, 0);
	/* What is no state that we know lets nobody in. */
	other->may_end = true;
	know(&p, "b2", "{\"kind\":\"broker\"}");
	assert_int_equal(other->ended, E_PEER);
	stop(&p);
}

int main(void)
{
	log_open("test", LOG_ERROR);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_state_is_told_at_once_and_progress_together),
		cmocka_unit_test(who_subscribes_hears_what_ended_meanwhile),
		cmocka_unit_test(who_reads_slowly_gets_all_that_is_still_kept),
		cmocka_unit_test(
			what_waits_to_be_written_holds_events_back_by_session_queue_bytes_max),
		cmocka_unit_test(who_falls_behind_too_far_is_told_of_the_gap_and_has_no_other),
		cmocka_unit_test(a_number_from_another_past_is_a_gap),
		cmocka_unit_test(pieces_out_of_order_or_of_another_size_than_said_are_a_fault),
		cmocka_unit_test(pieces_are_bounded_by_command_by_session_and_in_all),
		cmocka_unit_test(who_stops_in_the_middle_of_his_pieces_makes_room_for_others),
		cmocka_unit_test(
			who_is_not_the_notifier_tells_no_alerts_and_the_notifier_reads_no_logs),
		cmocka_unit_test(a_document_ends_all_sessions_of_its_name_that_it_does_not_allow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
