/* The logkeeper: what is answered is on the disk; executions of an attempt are apart; who follows
 * goes along; logs of releases before segments are read, and moved when they go on. */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "baseserver/model/front.h"
#include "baseserver/net/logkeeper.h"
#include "rt/actor.h"
#include "rt/thread.h"
#include "tests/support/child.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

enum { LIMIT = 4096, FOLLOWERS = 1000 };

static int64_t now_us;

static int64_t clock_now(void *ctx)
{
	(void)ctx;
	return now_us;
}

static const struct clock test_clock = { clock_now, clock_now, NULL };
static const struct actor_ops me_ops = { .name = "me", .letters_max = 4096 };

static char *dir;

struct place {
	struct thread *th;
	struct logkeeper *k;
	struct actor *me;
	int code; /* of the last answer */
	uint64_t have;
	size_t acks;
	struct buf text; /* all that was read or followed */
	bool is_end;
	char said[128];
	size_t given; /* answers to readers */
};

static void start(struct place *p)
{
	struct logkeeper_settings set = { dir, LIMIT, 24 * 3600 * US_PER_S };
	struct err err = { 0 };

	memset(p, 0, sizeof *p);
	buf_init(&p->text);
	p->th = thread_new("test", &test_clock);
	if (logkeeper_new(p->th, &set, &p->k, &err) < 0)
		fail_msg("%s", err.text);
	p->me = actor_new(p->th, &me_ops, p);
	assert_int_equal(thread_sim_start(p->th, NULL), 0);
}

static void stop(struct place *p)
{
	thread_stop(p->th);
	logkeeper_free(p->k);
	thread_free(p->th);
	buf_done(&p->text);
}

static void again(struct place *p)
{
	stop(p);
	start(p);
}

static int dir_set(void **state)
{
	(void)state;
	log_level_set(LOG_ERROR);
	now_us = 1000 * US_PER_S;
	dir = dir_make();
	return 0;
}

static int dir_gone(void **state)
{
	(void)state;
	dir_remove(dir);
	free(dir);
	return 0;
}

static void on_answer(struct letter *l, void *self)
{
	struct place *p = self;
	struct log_put *put = (struct log_put *)l;

	p->code = put->code;
	p->have = put->have;
	p->acks++;
	free(put);
}

static struct log_name name_of(uint32_t attempt, uint32_t stream)
{
	return (struct log_name){ { 3600, 7, 0 }, 1, attempt, stream, 0 };
}

static void post(struct place *p, enum log_rule rule, uint64_t token, uint64_t offset,
                 const char *text, bool end)
{
	struct log_put *put = mem_new(sizeof *put + strlen(text));

	put->reply_to = rule == LOG_CLAIM ? NULL : p->me;
	put->answered = on_answer;
	put->rule = rule;
	put->token = token;
	put->broker = 3;
	put->name = name_of(1, 1);
	put->offset = offset;
	put->end = end;
	put->bytes = strlen(text);
	memcpy(put->data, text, put->bytes);
	assert_int_equal(logkeeper_put(p->k, put), 0);
}

static int put_as(struct place *p, enum log_rule rule, uint64_t token, uint64_t offset,
                  const char *text, bool end)
{
	size_t acks = p->acks;

	post(p, rule, token, offset, text, end);
	thread_sim_run(p->th);
	assert_int_equal(p->acks, acks + (rule != LOG_CLAIM));
	return p->code;
}

static void on_given(struct letter *l, void *self)
{
	struct place *p = self;
	struct log_get *g = (struct log_get *)l;

	p->given++;
	p->code = g->code;
	p->is_end = g->end;
	snprintf(p->said, sizeof p->said, "%s", g->text);
	/* A log that begins anew is read anew. */
	if (g->offset < p->text.len)
		buf_clear(&p->text);
	buf_put(&p->text, g->data, g->bytes);
	log_get_free(g);
}

static void get(struct place *p, struct log_name n, uint64_t token, bool follow)
{
	struct log_get *g = mem_new(sizeof *g);

	buf_clear(&p->text);
	g->reply_to = p->me;
	g->answered = on_given;
	g->id = 1;
	g->name = n;
	g->name.token = token;
	g->follow = follow;
	assert_int_equal(logkeeper_get(p->k, g), 0);
	thread_sim_run(p->th);
}

static void shows(struct place *p, uint64_t token, const char *want)
{
	get(p, name_of(1, 1), token, false);
	assert_int_equal(p->code, 0);
	assert_string_equal(buf_str(&p->text), want);
}

static void what_was_answered_is_there_after_a_crash(void **state)
{
	struct place p;

	(void)state;
	start(&p);
	assert_int_equal(put_as(&p, LOG_HOLDER, 5, 0, "hello ", false), 0);
	assert_int_equal(p.have, 6);
	/* Many in one turn: each is answered. */
	for (int i = 0; i < 100; i++)
		post(&p, LOG_HOLDER, 5, 6 + (uint64_t)i, "x", i == 99);
	thread_sim_run(p.th);
	assert_int_equal(p.acks, 101);
	assert_int_equal(p.have, 106);
	again(&p);
	get(&p, name_of(1, 1), 0, false);
	assert_int_equal(p.text.len, 106);
	assert_true(p.is_end);
	/* What comes again changes nothing, what is ahead is refused with what there is. */
	assert_int_equal(put_as(&p, LOG_HOLDER, 5, 0, "hello ", false), 0);
	assert_int_equal(p.have, 106);
	assert_int_equal(put_as(&p, LOG_HOLDER, 5, 200, "y", false), E_CONFLICT);
	assert_int_equal(p.have, 106);
	stop(&p);
}

static void executions_of_an_attempt_have_logs_of_their_own(void **state)
{
	struct place p;

	(void)state;
	start(&p);
	assert_int_equal(put_as(&p, LOG_HOLDER, 5, 0, "first", false), 0);
	shows(&p, 0, "first");
	put_as(&p, LOG_CLAIM, 9, 0, "", false);
	for (int i = 0; i < 2; i++) {
		/* Granted, and has printed nothing: the former one's is not its. */
		get(&p, name_of(1, 1), 0, false);
		assert_int_equal(p.code, E_NOT_FOUND);
		get(&p, name_of(0, 1), 0, false);
		assert_int_equal(p.code, E_NOT_FOUND);
		shows(&p, 5, "first");
		again(&p);
	}
	assert_int_equal(put_as(&p, LOG_HOLDER, 9, 0, "second", true), 0);
	/* What comes late, with a proof, is its own log's. */
	assert_int_equal(put_as(&p, LOG_HOLDER, 5, 5, " and late", true), 0);
	for (int i = 0; i < 2; i++) {
		shows(&p, 0, "second");
		shows(&p, 5, "first and late");
		shows(&p, 9, "second");
		again(&p);
	}
	stop(&p);
}

static void a_tail_is_taken_of_what_its_broker_has_begun_only(void **state)
{
	struct place p;

	(void)state;
	start(&p);
	assert_int_equal(put_as(&p, LOG_TAIL, 5, 0, "forged", false), E_STALE);
	assert_int_equal(put_as(&p, LOG_HOLDER, 5, 0, "first", false), 0);
	assert_int_equal(put_as(&p, LOG_TAIL, 5, 5, " rest", false), 0);
	assert_int_equal(put_as(&p, LOG_TAIL, 6, 0, "forged", false), E_STALE);
	again(&p);
	assert_int_equal(put_as(&p, LOG_TAIL, 5, 10, " more", false), 0);
	shows(&p, 0, "first rest more");
	stop(&p);
}

static void who_follows_goes_along_and_over_to_the_next_execution(void **state)
{
	struct place p;

	(void)state;
	start(&p);
	assert_int_equal(put_as(&p, LOG_HOLDER, 5, 0, "one ", false), 0);
	get(&p, name_of(1, 1), 0, true);
	assert_string_equal(buf_str(&p.text), "one ");
	assert_int_equal(put_as(&p, LOG_HOLDER, 5, 4, "two", false), 0);
	assert_string_equal(buf_str(&p.text), "one two");
	put_as(&p, LOG_CLAIM, 9, 0, "", false);
	assert_int_equal(put_as(&p, LOG_HOLDER, 5, 7, " late", false), 0);
	assert_string_equal(buf_str(&p.text), "one two");
	assert_int_equal(put_as(&p, LOG_HOLDER, 9, 0, "again", true), 0);
	assert_string_equal(buf_str(&p.text), "again");
	assert_true(p.is_end);
	stop(&p);
}

static int fds_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void a_thousand_readers_follow_without_a_descriptor_each(void **state)
{
	struct place p;

	(void)state;
	start(&p);
	assert_int_equal(put_as(&p, LOG_HOLDER, 5, 0, "one ", false), 0);
	int before = fds_open();
	for (int i = 0; i < FOLLOWERS; i++)
		get(&p, name_of(1, 1), 0, true);
	assert_int_equal(fds_open(), before);
	p.given = 0;
	assert_int_equal(put_as(&p, LOG_HOLDER, 5, 4, "two", true), 0);
	assert_int_equal(p.given, FOLLOWERS);
	assert_true(p.is_end);
	stop(&p);
}

static void beyond_its_limit_a_log_is_cut_and_the_job_goes_on(void **state)
{
	struct place p;
	char text[1001];

	(void)state;
	start(&p);
	memset(text, 'x', 1000);
	text[1000] = '\0';
	for (uint64_t i = 0; i < 10; i++) {
		assert_int_equal(put_as(&p, LOG_HOLDER, 5, i * 1000, text, i == 9), 0);
		assert_int_equal(p.have, i * 1000 + 1000);
	}
	get(&p, name_of(1, 1), 0, false);
	assert_int_equal(p.text.len, LIMIT);
	assert_true(p.is_end);
	stop(&p);
}

/* --- of releases before segments --- */

static void file(const char *name, const char *text)
{
	char *path = mem_fmt("%s/%s", dir, name);

	for (char *at = path + strlen(dir) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	free(path);
}

static bool is_file(const char *name)
{
	char *path = mem_fmt("%s/%s", dir, name);
	bool is_there = access(path, F_OK) == 0;

	free(path);
	return is_there;
}

static void logs_in_files_are_read_and_move_when_they_go_on(void **state)
{
	struct place p;
	struct log_survey s;

	(void)state;
	file("7/3600.0/1.1.out", "old words");
	file("7/3600.0/1.1.owner", "0000000000000005 3");
	file("7/3600.0/1.2.err", "ended");
	file("7/3600.0/1.2.err.end", "");
	start(&p);
	shows(&p, 0, "old words");
	assert_false(p.is_end);
	get(&p, name_of(0, 2), 0, true);
	assert_string_equal(buf_str(&p.text), "ended");
	assert_true(p.is_end);
	logkeeper_survey(p.k, &s);
	assert_int_equal(s.all, 1);
	/* Its broker goes on where it was. */
	get(&p, name_of(1, 1), 0, true);
	assert_int_equal(put_as(&p, LOG_TAIL, 5, 9, ", new ones", true), 0);
	assert_int_equal(p.have, 19);
	assert_string_equal(buf_str(&p.text), "old words, new ones");
	assert_false(is_file("7/3600.0/1.1.out"));
	assert_true(is_file("7/3600.0/1.2.err"));
	again(&p);
	shows(&p, 0, "old words, new ones");
	get(&p, name_of(0, 2), 0, false);
	assert_string_equal(buf_str(&p.text), "ended");
	/* Another execution of that attempt: the former one's words stay its own. */
	file("7/3600.0/1.1.out", "old words");
	file("7/3600.0/1.1.owner", "0000000000000004 2");
	again(&p);
	put_as(&p, LOG_CLAIM, 9, 0, "", false);
	shows(&p, 4, "old words");
	shows(&p, 5, "old words, new ones");
	stop(&p);
}

#define ONE(test) cmocka_unit_test_setup_teardown(test, dir_set, dir_gone)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ONE(what_was_answered_is_there_after_a_crash),
		ONE(executions_of_an_attempt_have_logs_of_their_own),
		ONE(a_tail_is_taken_of_what_its_broker_has_begun_only),
		ONE(who_follows_goes_along_and_over_to_the_next_execution),
		ONE(a_thousand_readers_follow_without_a_descriptor_each),
		ONE(beyond_its_limit_a_log_is_cut_and_the_job_goes_on),
		ONE(logs_in_files_are_read_and_move_when_they_go_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
