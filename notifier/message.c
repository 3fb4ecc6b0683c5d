/* Alerts in words, from the rows of alert.def: the line and the details are the same for every
 * channel, which only cuts and escapes them. A message tells at most LINES_MAX alerts and says
 * how many more there are. An alert is kept in the outbox as JSON with its texts, so that it
 * reads the same after the task was renamed or retired. */
#include "notifier/message.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "sched/label.h"
#include "sched/when.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_put.h"
#include "util/json_read.h"

enum { LINES_MAX = 20 };

static const struct {
	const char *word, *text[2];
	int severity;
	bool lasts;
} happenings[] = {
#define ALERT(name, word, severity, lasts, en, zh) { word, { en, zh }, severity, lasts },
#include "tbl/alert.def"
#undef ALERT
};

/* English and Chinese, in that order. */
static const struct {
	const char *task, *run_date, *exit_code, *attempt, *generation, *reason, *note, *at, *more,
		*others, *ended, *cause;
} labels[2] = {
	{ "Task", "Run date", "Exit status", "Attempt", "Generation", "Reason", "Note", "At",
	  "more", "alerts, the first:", "Ended", "Cause" },
	{ "任务", "运行日期", "退出码", "第几次尝试", "第几代", "原因", "说明", "时间", "条未列出",
	  "条告警，第一条：", "结束方式", "原因行" },
};

const char *happening_word(enum happening h)
{
	return happenings[h].word;
}

int happening_severity(enum happening h)
{
	return happenings[h].severity;
}

bool happening_lasts(enum happening h)
{
	return happenings[h].lasts;
}

int happening_from_word(const char *word)
{
	for (int i = 0; i < HP_COUNT; i++)
		if (strcmp(happenings[i].word, word) == 0)
			return i;
	return -1;
}

static const char *alert_label(const struct alert *a, char ret[static LABEL_TEXT])
{
	return a->label[0] ? a->label : when_print(a->run_date, ret);
}

static void put_failure(const struct alert_failure *f, struct buf *out)
{
	put_open(out, "failure", '{');
	put_text(out, "class", f->class);
	put_text(out, "exit", f->exit);
	put_text(out, "line", f->line && f->line[0] ? f->line : NULL);
	put_close(out, '}');
}

void alert_print(const struct alert *a, struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "event", happening_word(a->what));
	put_text(out, "task", a->task);
	put_text(out, "title", a->title);
	put_int(out, "task_id", a->task_id);
	put_int(out, "run_date", a->run_date);
	put_text(out, "label", a->label);
	put_int(out, "generation", a->generation);
	put_int(out, "attempt", a->attempt);
	put_int(out, "exit_code", a->exit_code);
	put_text(out, "reason", a->reason);
	put_text(out, "note", a->note);
	if (a->failure.class && a->failure.class[0])
		put_failure(&a->failure, out);
	put_int(out, "at_us", a->at_us);
	put_int(out, "number", (int64_t)a->number);
	if (a->after_us)
		put_int(out, "after_us", a->after_us);
	put_close(out, '}');
}

int alert_read(const struct jval *json, struct alert *ret)
{
	int what = happening_from_word(jv_str(json, "event"));
	const struct jval *f = jv_get(json, "failure");

	*ret = (struct alert){ .what = what < 0 ? HP_TEST : (enum happening)what,
		               .task = jv_str(json, "task"),
		               .title = jv_str(json, "title"),
		               .reason = jv_str(json, "reason"),
		               .note = jv_str(json, "note"),
		               .label = jv_str(json, "label"),
		               .failure = { jv_str(f, "class"), jv_str(f, "exit"),
		                            jv_str(f, "line") },
		               .run_date = jv_int(json, "run_date", 0),
		               .at_us = jv_int(json, "at_us", 0),
		               .number = (uint64_t)jv_int(json, "number", 0),
		               .task_id = (uint32_t)jv_int(json, "task_id", 0),
		               .generation = (uint32_t)jv_int(json, "generation", 0),
		               .attempt = (uint32_t)jv_int(json, "attempt", 0),
		               .after_us = jv_int(json, "after_us", 0),
		               .exit_code = (int32_t)jv_int(json, "exit_code", 0) };
	return what < 0 ? -1 : 0;
}

static void put_one(const struct alert *a, int zh, struct buf *out)
{
	char label[LABEL_TEXT];

	buf_printf(out, a->title[0] ? "%s (%s) " : "%s ", a->task, a->title);
	buf_printf(out, "%s %s", alert_label(a, label), happenings[a->what].text[zh]);
}

void message_subject(const struct alert *const *alerts, size_t n, int zh, struct buf *out)
{
	CHECK(n > 0 && (zh == 0 || zh == 1));
	buf_puts(out, "[sirdar] ");
	if (n > 1)
		buf_printf(out, "%zu %s ", n, labels[zh].others);
	put_one(alerts[0], zh, out);
}

static void put_line(const char *label, const char *value, struct buf *out)
{
	if (value && value[0])
		buf_printf(out, "  %s: %s\n", label, value);
}

static bool of_node(const struct alert *a)
{
	return a->what >= HP_JOINED;
}

void alert_link(const struct alert *a, const char *url, struct buf *out)
{
	char label[LABEL_TEXT];

	if (!url[0] || a->what == HP_TEST || of_node(a))
		return;
	size_t n = strlen(url);
	buf_put(out, url, n - (url[n - 1] == '/'));
	label_path(out, a->task, alert_label(a, label), a->generation, a->attempt);
}

/* "exit code 3" */
static bool is_plain(const struct alert *a)
{
	return a->exit_code > 0 && a->failure.exit && !strpbrk(a->failure.exit, ":,");
}

static void put_details(const struct alert *a, int zh, const char *url, struct buf *out)
{
	char at[WHEN_TEXT];
	struct buf link;

	if (!of_node(a))
		buf_printf(out, "  %s: %" PRIu32 ", %s: %" PRIu32 "\n", labels[zh].attempt,
		           a->attempt, labels[zh].generation, a->generation);
	if (!is_plain(a)) /* else the exit status says as much */
		put_line(labels[zh].ended, a->failure.exit, out);
	put_line(labels[zh].cause, a->failure.line, out);
	if (a->exit_code)
		buf_printf(out, "  %s: %" PRId32 "\n", labels[zh].exit_code, a->exit_code);
	put_line(labels[zh].reason, a->reason, out);
	put_line(labels[zh].note, a->note, out);
	buf_printf(out, "  %s: %s\n", labels[zh].at, when_print(a->at_us / US_PER_S, at));
	buf_init(&link);
	alert_link(a, url, &link);
	if (link.len)
		buf_printf(out, "  %s\n", buf_str(&link));
	buf_done(&link);
}

void message_text(const struct alert *const *alerts, size_t n, int zh, const char *url,
                  struct buf *out)
{
	for (size_t i = 0; i < n && i < LINES_MAX; i++) {
		put_one(alerts[i], zh, out);
		buf_putc(out, '\n');
		put_details(alerts[i], zh, url, out);
	}
	if (n > LINES_MAX)
		buf_printf(out, "+ %zu %s\n", n - LINES_MAX, labels[zh].more);
}
