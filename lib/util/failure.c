/* The parts of a digest, bounded and cleaned: the same code where it is made and where it is
 * judged, so that a broker that lies gets no more into a page than an honest one. Pure. */
#include "util/failure.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "util/buf.h"
#include "util/check.h"
#include "util/json_put.h"
#include "util/utf8.h"

static const struct {
	const char *name, *text;
} classes[FC_COUNT] = {
#define FAILURE(name, num, lower, text) [FC_##name] = { lower, text },
#include "tbl/failure.def"
#undef FAILURE
};

enum failure_reason {
#define REASON(name, num, lower, text) FR_##name = (num),
#include "tbl/reason.def"
#undef REASON
};

const char *failure_name(uint32_t class)
{
	return class < FC_COUNT ? classes[class].name : "";
}

const char *failure_text(uint32_t class)
{
	return class < FC_COUNT ? classes[class].text : "";
}

int failure_from_name(const char *name)
{
	for (int i = FC_NONE + 1; i < FC_COUNT; i++)
		if (strcmp(classes[i].name, name) == 0)
			return i;
	return -1;
}

enum failure_class failure_of_reason(uint32_t reason)
{
	switch (reason) {
#define FAILURE_REASON(reason, class) \
	case FR_##reason: \
		return FC_##class;
#include "tbl/failure_reason.def"
#undef FAILURE_REASON
	default:
		return FC_NONE;
	}
}

static const char *reason_words(uint32_t reason)
{
	switch (reason) {
#define REASON(name, num, lower, text) \
	case (num): \
		return text;
#include "tbl/reason.def"
#undef REASON
	default:
		return "";
	}
}

/* By the names that kill(1) takes; its numbers are those of every Linux that runs us. */
static const char *signal_name(int number)
{
	static const char *const names[] = {
		[1] = "HUP",   [2] = "INT",   [3] = "QUIT",  [4] = "ILL",   [5] = "TRAP",
		[6] = "ABRT",  [7] = "BUS",   [8] = "FPE",   [9] = "KILL",  [10] = "USR1",
		[11] = "SEGV", [12] = "USR2", [13] = "PIPE", [14] = "ALRM", [15] = "TERM",
		[24] = "XCPU", [25] = "XFSZ", [31] = "SYS",
	};
	size_t at = (size_t)number;

	return number > 0 && at < sizeof names / sizeof names[0] && names[at] ? names[at] : "?";
}

void failure_exit_words(int32_t exit_code, char ret[FAILURE_EXIT_BYTES + 1])
{
	static const struct {
		int32_t code;
		const char *words;
	} shell[] = { { 126, "the command cannot be run" }, { 127, "command not found" } };
	int signal = exit_code < 0 ? -exit_code : exit_code - 128;
	int n = 0;

	if (exit_code >= 0)
		n = snprintf(ret, FAILURE_EXIT_BYTES, "exit code %d", exit_code);
	if (exit_code < 0 || (signal > 0 && signal < 32))
		snprintf(ret + n, FAILURE_EXIT_BYTES - (size_t)n, "%skilled by signal %d (%s)",
		         n ? ": " : "", signal, signal_name(signal));
	for (size_t i = 0; i < sizeof shell / sizeof shell[0]; i++)
		if (shell[i].code == exit_code)
			snprintf(ret + n, FAILURE_EXIT_BYTES - (size_t)n, ": %s", shell[i].words);
}

void failure_guess(uint32_t reason, int32_t exit_code, struct failure *ret)
{
	char words[FAILURE_EXIT_BYTES + 1] = "";
	enum failure_class class = failure_of_reason(reason);
	const char *why = class || !exit_code ? reason_words(reason) : "";

	*ret = (struct failure){ .class = (uint8_t)(class ? class : FC_USER) };
	if (exit_code)
		failure_exit_words(exit_code, words);
	snprintf(ret->exit, sizeof ret->exit, "%s%s%.100s", why, *why && *words ? ", " : "", words);
}

/* --- texts ---------------------------------------------------------------------------------- */

enum { ESCAPE = 0x1b };

static bool is_blank(char c)
{
	return ((unsigned char)c <= ' ' && c != ESCAPE) || c == 0x7f;
}

/* A colour, or a move of a terminal: ESC [ ... and a letter. */
static size_t escape_bytes(const char *p, size_t n)
{
	size_t i = 2;

	if (n < 2 || p[1] != '[')
		return 1;
	while (i < n && (p[i] < '@' || p[i] > '~') && p[i] >= ' ')
		i++;
	return i < n ? i + 1 : n;
}

/* No text, or what steers a terminal; *ret_step bytes of it are one of those. */
static bool is_unshown(const char *from, size_t n, size_t *ret_step)
{
	const uint8_t *p = (const uint8_t *)from;
	size_t is = utf8_char(p, n);
	bool is_c1 = is == 2 && p[0] == 0xc2 && p[1] < 0xa0;

	*ret_step = *p == ESCAPE ? escape_bytes(from, n) : is ? is : 1;
	return (*p < ' ' && *p != '\t' && *p != '\n') || *p == 0x7f || is_c1;
}

size_t failure_clean(char *text, size_t n, char apart)
{
	size_t len = 0;

	for (size_t i = 0, step; i < n; i += step) {
		if (is_unshown(text + i, n - i, &step)) {
			if (apart)
				text[len++] = apart;
			continue;
		}
		memmove(text + len, text + i, step);
		len += step;
	}
	return len;
}

void failure_set_line(char *to, size_t bytes, const char *from, size_t n)
{
	static const char more[] = "...";
	size_t len = 0;

	CHECK(bytes > sizeof more);
	while (n && is_blank(*from))
		from++, n--;
	while (n && is_blank(from[n - 1]))
		n--;
	for (size_t i = 0, step; i < n; i += step) {
		const uint8_t *p = (const uint8_t *)from + i;
		size_t is = utf8_char(p, n - i);

		if (is_unshown(from + i, n - i, &step) || *p == '\n' ||
		    (len == 0 && is_blank(from[i])))
			continue;
		if (len + step >= bytes) {
			len = len > bytes - sizeof more ? bytes - sizeof more : len;
			len -= utf8_unfinished((const uint8_t *)to, len);
			memcpy(to + len, more, sizeof more);
			return;
		}
		if (*p == '\t' || !is)
			to[len] = *p == '\t' ? ' ' : '?';
		else
			memcpy(to + len, from + i, is);
		len += step;
	}
	to[len] = '\0';
}

/* The last line that is not blank; *n is what is before it. False: there is none. */
static bool last_line(const char *from, size_t *n, const char **ret, size_t *ret_n)
{
	while (*n && is_blank(from[*n - 1]))
		--*n;
	size_t end = *n;

	while (*n && from[*n - 1] != '\n')
		--*n;
	*ret = from + *n;
	*ret_n = end - *n;
	return end > 0;
}

void failure_set_tail(char ret[FAILURE_TAIL_BYTES + 1], const char *from, size_t n)
{
	char line[FAILURE_TAIL_BYTES / 2]; /* two long ones have room */
	size_t at = FAILURE_TAIL_BYTES, len, bytes;
	const char *text;

	ret[at] = '\0';
	for (int i = 0; i < FAILURE_TAIL_LINES && last_line(from, &n, &text, &bytes); i++) {
		failure_set_line(line, sizeof line, text, bytes);
		len = strlen(line);
		if (len + 1 > at)
			break;
		if (at < FAILURE_TAIL_BYTES)
			ret[--at] = '\n';
		memcpy(ret + (at -= len), line, len);
	}
	memmove(ret, ret + at, FAILURE_TAIL_BYTES + 1 - at);
}

void failure_put(struct buf *out, const char *key, const struct failure *f, uint64_t token)
{
	static const char *const streams[] = { NULL, "stdout", "stderr" };

	put_open(out, key, '{');
	put_text(out, "class", failure_name(f->class));
	put_text(out, "exit", f->exit);
	put_text(out, "line", f->line[0] ? f->line : NULL);
	put_text(out, "stream", f->stream < 3 ? streams[f->stream] : NULL);
	put_text(out, "tail", f->tail[0] ? f->tail : NULL);
	if (f->cpu_us)
		put_int(out, "cpu_us", (int64_t)f->cpu_us);
	if (f->memory_bytes)
		put_int(out, "memory_bytes", (int64_t)f->memory_bytes);
	if (token)
		put_id(out, "token", token);
	put_close(out, '}');
}
