/* What people read: subjects, texts, mails, and the outbox that keeps them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "notifier/devices.h"
#include "notifier/message.h"
#include "notifier/outbox.h"
#include "notifier/payload.h"
#include "notifier/push.h"
#include "notifier/webpush.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/json_read.h"

static const struct alert one = { .what = HP_FAILED,
	                          .title = "",
	                          .task = "shop/daily/load",
	                          .reason = "attempts used up",
	                          .note = "disk \"full\"\n",
	                          .label = "2026-03-01",
	                          .run_date = 1772323200,
	                          .at_us = 1772323201500000,
	                          .number = 77,
	                          .generation = 2,
	                          .attempt = 3,
	                          .exit_code = -9,
	                          .failure = { "resource", "memory limit of 64 MB reached",
	                                       "MemoryError" } };

static void an_alert_comes_back_as_it_was_kept(void **state)
{
	struct alert back;
	const struct jval *root = NULL;
	struct buf b;

	(void)state;
	buf_init(&b);
	alert_print(&one, &b);
	assert_int_equal(jv_parse(buf_str(&b), b.len, &root, NULL), 0);
	assert_int_equal(alert_read(root, &back), 0);
	assert_int_equal(back.what, one.what);
	assert_string_equal(back.task, one.task);
	assert_string_equal(back.note, one.note);
	assert_string_equal(back.label, one.label);
	assert_int_equal(back.run_date, one.run_date);
	assert_int_equal(back.at_us, one.at_us);
	assert_int_equal(back.number, one.number);
	assert_int_equal(back.exit_code, one.exit_code);
	assert_string_equal(back.failure.class, one.failure.class);
	assert_string_equal(back.failure.exit, one.failure.exit);
	assert_string_equal(back.failure.line, one.failure.line);
	jv_free(root);
	buf_done(&b);
}

static void a_title_stands_beside_the_task_and_comes_back(void **state)
{
	struct alert titled = one, back;
	const struct alert *list[] = { &titled };
	struct buf b;

	(void)state;
	titled.title = "夜间装载";
	buf_init(&b);
	message_subject(list, 1, 0, &b);
	assert_non_null(strstr(buf_str(&b), "shop/daily/load (夜间装载) "));
	buf_clear(&b);
	alert_print(&titled, &b);
	const struct jval *json = NULL;
	assert_int_equal(jv_parse(buf_str(&b), b.len, &json, NULL), 0);
	assert_int_equal(alert_read(json, &back), 0);
	assert_string_equal(back.title, titled.title);
	jv_free(json);
	buf_done(&b);
}

static void every_happening_has_a_word_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < HP_COUNT; i++)
		assert_int_equal(happening_from_word(happening_word((enum happening)i)), i);
	assert_int_equal(happening_from_word("nothing"), -1);
}

static void a_link_opens_the_very_attempt_and_other_alerts_have_none(void **state)
{
	static const struct {
		enum happening what;
		const char *task, *label, *url, *link;
	} rows[] = {
		{ HP_FAILED, "shop/daily/load", "2026-03-01", "https://c",
		  "https://c/p/shop/daily/load/2026-03-01?run=2&attempt=3" },
		{ HP_LATE, "shop/daily/load", "2026-10-25 02:30 (2)", "https://c/",
		  "https://c/p/shop/daily/load/2026-10-25%2002%3A30%20%282%29?run=2&attempt=3" },
		{ HP_FAILED, "a/\xe8\xa3\x85?/#", "2026-W09", "https://c",
		  "https://c/p/a/%E8%A3%85%3F/%23/2026-W09?run=2&attempt=3" },
		{ HP_FAILED, "a/b/c", "", "https://c", /* of an earlier release: the instant */
		  "https://c/p/a/b/c/2026-03-01T00%3A00%3A00Z?run=2&attempt=3" },
		{ HP_FAILED, "a/b/c", "2026-03-01", "", "" },
		{ HP_TEST, "sirdar", "", "https://c", "" },
		{ HP_JOINED, "base b1", "", "https://c", "" },
	};
	struct buf b;

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct alert a = one;
		a.what = rows[i].what;
		a.task = rows[i].task;
		a.label = rows[i].label;
		buf_init(&b);
		alert_link(&a, rows[i].url, &b);
		assert_string_equal(buf_str(&b), rows[i].link);
		buf_done(&b);
	}
}

static void a_long_list_is_cut_and_says_so(void **state)
{
	const struct alert *many[25];
	struct buf b;
	size_t lines = 0;

	(void)state;
	for (size_t i = 0; i < 25; i++)
		many[i] = &one;
	buf_init(&b);
	message_text(many, 25, 0, "", &b);
	for (const char *p = buf_str(&b); (p = strstr(p, "failed\n")); p++)
		lines++;
	assert_int_equal(lines, 20);
	assert_non_null(strstr(buf_str(&b), "+ 5 more"));
	assert_null(strstr(buf_str(&b), "://"));
	buf_done(&b);
}

/* --- mail ------------------------------------------------------------------------- */

static void put_mail(const char *task, bool zh, struct buf *body)
{
	static const struct channel mail = { .type = CH_MAIL,
		                             .name = "mail",
		                             .url = "smtp://127.0.0.1",
		                             .from = "a@example.org",
		                             .user = "",
		                             .password = "",
		                             .secret = "",
		                             .chat = "",
		                             .language = "" };
	struct alert a = one;
	const struct alert *alerts[] = { &a };
	struct payload_ask ask = { .channel = &mail,
		                   .who = "b@example.org",
		                   .console_url = "",
		                   .zh = zh,
		                   .alerts = alerts,
		                   .n = 1 };
	struct buf url, header;

	a.task = task;
	buf_init(&url);
	buf_init(&header);
	payload_print(&ask, &url, &header, body);
	buf_done(&url);
	buf_done(&header);
}

static char *unfolded(const char *from, const char *end)
{
	struct buf all;

	buf_init(&all);
	for (const char *p = from; p < end; p++) {
		if (p[0] != '\r') {
			buf_putc(&all, *p);
			continue;
		}
		assert_true(p[1] == '\n' && p[2] == ' ' && p[3] > ' ');
		p++;
	}
	char *text = mem_str(buf_str(&all));
	buf_done(&all);
	return text;
}

/* The subject as a reader sees it: plain, or of encoded words, each of which is whole UTF-8. */
static char *subject_of(const char *mail)
{
	const char *at = strstr(mail, "Subject: "), *end = strstr(mail, "\r\nMIME-Version");
	struct buf all;

	assert_non_null(at);
	assert_non_null(end);
	if (!strstr(at, "=?UTF-8?B?") || strstr(at, "=?UTF-8?B?") > end)
		return unfolded(at + strlen("Subject: "), end);
	buf_init(&all);
	while ((at = strstr(at, "=?UTF-8?B?")) && at < end) {
		const char *stop = strstr(at + 10, "?=");
		unsigned char bytes[64];
		size_t n = 0;
		assert_true(stop - at + 2 <= 75);
		assert_int_equal(sodium_base642bin(bytes, sizeof bytes, at + 10,
		                                   (size_t)(stop - at - 10), NULL, &n, NULL,
		                                   sodium_base64_VARIANT_ORIGINAL),
		                 0);
		assert_int_not_equal(bytes[0] & 0xc0, 0x80);
		buf_put(&all, bytes, n);
		at = stop;
	}
	char *text = mem_str(buf_str(&all));
	buf_done(&all);
	return text;
}

static void a_subject_of_any_length_is_split_between_characters(void **state)
{
	char task[400];

	(void)state;
	for (size_t n = 1; n < 90; n++) {
		struct buf body, want;
		const struct alert *alerts[1];
		struct alert a = one;
		size_t at = 0;
		for (size_t i = 0; i < n; i++) { /* one, two and three bytes by turns */
			const char *c = i % 3 == 0 ? "x" : i % 3 == 1 ? "é" : "日";
			memcpy(task + at, c, strlen(c) + 1);
			at += strlen(c);
		}
		a.task = task;
		alerts[0] = &a;
		buf_init(&body);
		buf_init(&want);
		put_mail(task, true, &body);
		message_subject(alerts, 1, 1, &want);
		char *got = subject_of(buf_str(&body));
		assert_string_equal(got, buf_str(&want));
		free(got);
		buf_done(&body);
		buf_done(&want);
	}
}

static void a_subject_is_encoded_only_where_it_must_be(void **state)
{
	static const struct {
		const char *task;
		bool is_plain;
	} rows[] = {
		{ "shop/nightly/load", true },
		{ "shop/nightly/load with words that go on and on until one line of a head is full "
		  "and then some",
		  true },
		{ "a-name-without-a-blank-that-is-longer-than-a-line-of-a-head-has-letters-for-it-"
		  "all",
		  true },
		{ "=?UTF-8?B?Zm9yZ2Vk?=", false },
		{ "two  blanks", false },
		{ "wang-der-j\303\274ngere", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct alert a = one;
		const struct alert *alerts[] = { &a };
		struct buf body, want;

		a.task = rows[i].task;
		buf_init(&body);
		buf_init(&want);
		put_mail(rows[i].task, false, &body);
		message_subject(alerts, 1, 0, &want);
		const char *mail = buf_str(&body), *at = strstr(mail, "Subject: ");
		char *got = subject_of(mail);
		assert_string_equal(got, buf_str(&want));
		assert_int_equal(strncmp(at, "Subject: =?", 11) != 0, rows[i].is_plain);
		for (const char *p = at, *end = strstr(at, "\r\nMIME"); p < end;
		     p = strchr(p, '\n') + 1)
			assert_true(strcspn(p, "\r") <= 90);
		free(got);
		buf_done(&body);
		buf_done(&want);
	}
}

static void lines_of_a_mail_end_as_the_standard_says(void **state)
{
	struct buf body;

	(void)state;
	buf_init(&body);
	put_mail("a/b/c", false, &body);
	const char *text = buf_str(&body);
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		assert_true(p > text && p[-1] == '\r');
	assert_non_null(strstr(text, "\r\n\r\na/b/c 2026-03-01 failed\r\n"));
	buf_done(&body);
}

/* --- every kind, through every channel, in both languages -------------------------------- */

/* The longest a provider takes, of the text that people read. */
static const size_t limits[CH_COUNT] = { [CH_DINGTALK] = 20000,
	                                 [CH_WECOM] = 2048,
	                                 [CH_FEISHU] = 20480,
	                                 [CH_SLACK] = 40000,
	                                 [CH_TELEGRAM] = 4096 };

static const char *text_of_body(const struct jval *root, enum channel_type type)
{
	switch (type) {
	case CH_DINGTALK:
	case CH_WECOM:
		return jv_text(jv_get(root, "text"), "content");
	case CH_FEISHU:
		return jv_text(jv_get(root, "content"), "text");
	case CH_SLACK:
	case CH_TELEGRAM:
	case CH_WEBHOOK:
	case CH_SCRIPT:
	case CH_FILE:
	case CH_BELL:
		return jv_text(root, "text");
	case CH_PAGERDUTY:
		return jv_text(jv_get(root, "payload"), "summary");
	default:
		return "";
	}
}

static void no_control(const char *text, bool lines)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		assert_true((*p >= 0x20 && *p != 0x7f) || (lines && (*p == '\n' || *p == '\t')));
}

static void mail_is_well_formed(const char *mail, const char *want)
{
	char *subject = subject_of(mail);
	size_t line = 0;

	no_control(subject, false);
	assert_non_null(strstr(subject, want));
	assert_true(strstr(mail, "\r\n\r\n") > strstr(mail, "Subject: "));
	for (const char *p = mail; *p; p++) {
		assert_true(*p != '\n' || p[-1] == '\r');
		line = *p == '\n' ? 0 : line + 1;
		assert_true(line < 998);
	}
	free(subject);
}

/* What is sealed; that it opens: test_webpush, e2e-push. */
static void push_is_well_formed(struct payload_ask *ask, const char *words, bool zh)
{
	static const char *const keys[] = { "title", "body", "path", "tag", "lang" };
	const struct device device = { .zh = zh };
	struct push_target target = { .device = &device, .alert = INT64_MAX };
	const struct jval *root = NULL;
	struct buf text;

	ask->push = &target;
	buf_init(&text);
	push_text(ask, "sirdar-9223372036854775807", &text);
	assert_true(text.len <= WEBPUSH_TEXT_MAX);
	assert_int_equal(jv_parse(buf_str(&text), text.len, &root, NULL), 0);
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		assert_non_null(jv_text(root, keys[i]));
		no_control(jv_text(root, keys[i]), true);
	}
	assert_true(ask->n > 1 || strstr(jv_text(root, "title"), words));
	jv_free(root);
	buf_done(&text);
}

static void letter_is_well_formed(const struct channel *c, const struct alert *a, size_t n, bool zh)
{
	const struct alert *alerts[60];
	struct payload_ask ask = { .channel = c,
		                   .who = "b@example.org",
		                   .console_url = "https://c",
		                   .zh = zh,
		                   .alerts = alerts,
		                   .n = n,
		                   .now_us = 1 };
	struct buf url, header, body, name;
	const struct jval *root = NULL;

	for (size_t i = 0; i < n; i++)
		alerts[i] = a;
	buf_init(&url);
	buf_init(&header);
	buf_init(&body);
	buf_init(&name);
	message_subject(alerts, 1, zh, &name); /* ends with the words of the kind */
	const char *words = strstr(buf_str(&name), a->label) + strlen(a->label);
	if (c->type == CH_PUSH) {
		push_is_well_formed(&ask, words, zh);
		buf_done(&name);
		return;
	}
	payload_print(&ask, &url, &header, &body);
	assert_null(strpbrk(buf_str(&header), "\r\n"));
	if (c->type == CH_MAIL) {
		mail_is_well_formed(buf_str(&body), words);
	} else {
		assert_int_equal(jv_parse(buf_str(&body), body.len, &root, NULL), 0);
		const char *text = text_of_body(root, c->type);
		assert_non_null(text);
		no_control(text, true);
		assert_true(c->type == CH_ALERTMANAGER || *text);
		assert_true(!limits[c->type] || strlen(text) <= limits[c->type]);
		if (c->type == CH_SLACK)
			assert_null(strchr(text, '<'));
		if (c->type == CH_FEISHU)
			assert_null(strstr(text, "<at"));
		if (c->type == CH_PAGERDUTY)
			assert_true(strlen(text) <= 1024 &&
			            strlen(jv_text(root, "dedup_key")) <= 255);
		jv_free(root);
	}
	buf_done(&url);
	buf_done(&header);
	buf_done(&body);
	buf_done(&name);
}

static void every_kind_by_every_channel_in_both_languages_is_well_formed(void **state)
{
	static const char nasty[] =
		"\x1b[31m<!channel> <at user_id=\"all\"></at> & \xe5\xa4\xb1\r\n\x01";
	char note[4000], task[200];

	(void)state;
	memset(note, 'x', sizeof note - 1);
	note[sizeof note - 1] = 0;
	memcpy(note, nasty, sizeof nasty - 1);
	snprintf(task, sizeof task, "shop/daily/%0150d", 7);
	for (int type = 0; type < CH_COUNT; type++)
		for (int what = 0; what < HP_COUNT; what++)
			for (int way = 0; way < 8; way++) {
				struct channel c = { .type = (enum channel_type)type,
					             .name = "c",
					             .url = "https://x",
					             .from = "a@example.org",
					             .user = "",
					             .password = "",
					             .secret = way & 4 ? "s" : "",
					             .chat = "1",
					             .language = "" };
				struct alert a = one;
				a.what = (enum happening)what;
				a.note = way & 2 ? note : "";
				a.task = way & 2 ? task : "broker b\x01\n2";
				letter_is_well_formed(&c, &a, way & 2 ? 60 : 1, way & 1);
			}
}

static void an_answer_with_an_error_code_is_no_success(void **state)
{
	(void)state;
	assert_true(payload_taken(CH_DINGTALK, "{\"errcode\":0}", 13));
	assert_false(payload_taken(CH_DINGTALK, "{\"errcode\":310000}", 18));
	assert_false(payload_taken(CH_FEISHU, "<html>", 6));
	assert_true(payload_taken(CH_SLACK, "ok", 2));
}

/* --- the outbox ------------------------------------------------------------------- */

static char *new_dir(void)
{
	const char *tmp = getenv("TMPDIR"); /* the suite's own, which tests/run removes */
	char *dir = mem_fmt("%s/sirdar-outbox-XXXXXX", tmp ? tmp : "/tmp");

	assert_non_null(mkdtemp(dir));
	return dir;
}

static int count(void *ctx, const struct outbox_letter *l)
{
	assert_string_equal(l->recipient, "mail:me");
	++*(int *)ctx;
	return 0;
}

static int due(struct outbox *o)
{
	struct err err;
	int n = 0;

	assert_int_equal(outbox_due(o, 1000, 10, count, &n, &err), 0);
	return n;
}

static void what_was_under_way_waits_again_after_a_crash(void **state)
{
	char *dir = new_dir();
	struct outbox_letter l = { .key = "7:mail:me", .recipient = "mail:me", .body = "{}" };
	struct outbox *o = NULL;
	struct err err;
	int64_t cursor = 0;

	(void)state;
	assert_int_equal(outbox_open(dir, &o, &err), 0);
	assert_int_equal(outbox_cursor(o, &cursor, &err), 0);
	assert_int_equal(cursor, -1);
	assert_int_equal(outbox_begin(o, &err), 0);
	assert_int_equal(outbox_put(o, &l, &err), 0);
	assert_int_equal(outbox_put(o, &l, &err), 0); /* the same event, read twice */
	assert_int_equal(outbox_move(o, 7, &err), 0);
	assert_int_equal(outbox_end(o, 0, &err), 0);
	assert_int_equal(due(o), 1);
	assert_int_equal(outbox_take(o, 1, &err), 0);
	assert_int_equal(due(o), 0);
	outbox_close(o);
	assert_int_equal(outbox_open(dir, &o, &err), 0);
	assert_int_equal(outbox_cursor(o, &cursor, &err), 0);
	assert_int_equal(cursor, 7);
	assert_int_equal(due(o), 1);
	struct outbox *second = NULL;
	assert_int_equal(outbox_open(dir, &second, &err), E_BUSY);
	assert_int_equal(outbox_settle(o, 1, &(struct settled){ LETTER_SENT, 5, 0, "" }, &err), 0);
	assert_int_equal(due(o), 0);
	outbox_close(o);
	free(dir);
}

static void what_fails_in_the_middle_leaves_nothing_behind(void **state)
{
	char *dir = new_dir();
	struct outbox_letter l = { .key = "8:mail:me", .recipient = "mail:me", .body = "{}" };
	struct outbox *o = NULL;
	struct err err;
	int64_t cursor = 0;

	(void)state;
	assert_int_equal(outbox_open(dir, &o, &err), 0);
	assert_int_equal(outbox_begin(o, &err), 0);
	assert_int_equal(outbox_put(o, &l, &err), 0);
	assert_int_equal(outbox_move(o, 8, &err), 0);
	assert_int_equal(outbox_end(o, E_IO, &err), E_IO);
	assert_int_equal(due(o), 0);
	assert_int_equal(outbox_cursor(o, &cursor, &err), 0);
	assert_int_equal(cursor, -1);
	outbox_close(o);
	free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_alert_comes_back_as_it_was_kept),
		cmocka_unit_test(a_title_stands_beside_the_task_and_comes_back),
		cmocka_unit_test(every_happening_has_a_word_of_its_own),
		cmocka_unit_test(a_link_opens_the_very_attempt_and_other_alerts_have_none),
		cmocka_unit_test(a_long_list_is_cut_and_says_so),
		cmocka_unit_test(a_subject_of_any_length_is_split_between_characters),
		cmocka_unit_test(a_subject_is_encoded_only_where_it_must_be),
		cmocka_unit_test(lines_of_a_mail_end_as_the_standard_says),
		cmocka_unit_test(every_kind_by_every_channel_in_both_languages_is_well_formed),
		cmocka_unit_test(an_answer_with_an_error_code_is_no_success),
		cmocka_unit_test(what_was_under_way_waits_again_after_a_crash),
		cmocka_unit_test(what_fails_in_the_middle_leaves_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
