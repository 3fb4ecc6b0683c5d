/* The line of `why`: which gate an instance waits at, in words and as JSON.
 *
 * A row of why.def has the gate, a code for programs, the line for people with its arguments in
 * braces, and what opens the gate. A caller sets the code, adds the arguments that the line names,
 * and prints: the words come from the row alone. Who waits for what is found out by the actors. */
#include "baseserver/model/why.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/instance.h"
#include "sched/when.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/json_put.h"
#include "util/utf8.h"

static const struct {
	int gate;
	const char *code, *line, *opens;
} table[] = {
#define WHY(name, gate, code, line, opens) { gate, code, line, opens },
#include "tbl/why.def"
#undef WHY
};

static const char *const gate_names[] = {
	"",
	"online",
	"frozen",
	"due",
	"dependencies",
	"serialisation",
	"task concurrency",
	"quota",
	"pools",
	"task type",
	"broker",
	"slots",
	"turn",
};

void why_set(struct why_line *w, enum why_code code)
{
	CHECK(code < sizeof table / sizeof table[0]);
	w->code = code;
	w->is_narrow = false;
	w->n = 0;
	w->expected_us = 0;
}

void why_text(struct why_line *w, const char *key, const char *fmt, ...)
{
	va_list ap;

	CHECK(w->n < WHY_ARGS);
	w->args[w->n].key = key;
	w->args[w->n].is_number = false;
	va_start(ap, fmt);
	vsnprintf(w->args[w->n].text, sizeof w->args[w->n].text, fmt, ap);
	utf8_clean(w->args[w->n].text);
	va_end(ap);
	w->n++;
}

void why_number(struct why_line *w, const char *key, int64_t value)
{
	why_text(w, key, "%" PRId64, value);
	w->args[w->n - 1].is_number = true;
}

int why_gate(enum why_code code)
{
	return table[code].gate;
}

const char *why_gate_name(int gate)
{
	CHECK(gate >= 0 && gate < (int)(sizeof gate_names / sizeof gate_names[0]));
	return gate_names[gate];
}

/* An argument as it stands in a line: states by people's words, names stay for programs. */
static const char *arg_words(const char *key, size_t len, const char *text)
{
	enum state st;

	if (len == 5 && strncmp(key, "state", len) == 0 && state_from_name(text, &st) &&
	    strcmp(text, state_name(st)) == 0)
		return state_word(st);
	return text;
}

static void print_arg(const struct why_line *w, const char *key, size_t len, struct buf *out)
{
	for (size_t i = 0; i < w->n; i++)
		if (strlen(w->args[i].key) == len && strncmp(w->args[i].key, key, len) == 0)
			buf_puts(out, arg_words(key, len, w->args[i].text));
}

static void print_words(const struct why_line *w, const char *words, struct buf *out)
{
	const char *end;

	for (const char *at = words; *at; at = end) {
		end = at + strcspn(at, "{");
		buf_put(out, at, (size_t)(end - at));
		if (!*end)
			return;
		at = end + 1;
		end = at + strcspn(at, "}");
		CHECK(*end); /* each brace of why.def is closed */
		print_arg(w, at, (size_t)(end - at), out);
		end++;
	}
}

void why_print_line(const struct why_line *w, struct buf *out)
{
	print_words(w, table[w->code].line, out);
}

void why_print(const struct why_line *w, struct buf *out)
{
	struct buf line, opens;

	put_int(out, "gate", why_gate(w->code));
	put_text(out, "gate_name", why_gate_name(why_gate(w->code)));
	put_text(out, "code", table[w->code].code);
	put_open(out, "args", '{');
	for (size_t i = 0; i < w->n; i++)
		if (w->args[i].is_number)
			put_int(out, w->args[i].key, strtoll(w->args[i].text, NULL, 10));
		else
			put_text(out, w->args[i].key, w->args[i].text);
	put_close(out, '}');
	buf_init(&line);
	buf_init(&opens);
	why_print_line(w, &line);
	print_words(w, table[w->code].opens, &opens);
	put_text(out, "line", buf_str(&line));
	put_text(out, "opens", buf_str(&opens));
	put_time_us(out, "expected", w->expected_us);
	buf_done(&line);
	buf_done(&opens);
}
