/* Heredocs of a script, which begin behind the line that names them; and how holes are filled. No
 * value may stand in one: whoever reads it may take it for code. */
#include "sched/shell_impl.h"

#include <string.h>

bool reading__is_hole(const struct reading *x, size_t at)
{
	return x->hole < x->n_holes && x->holes[x->hole] == at;
}

char reading__byte(const struct reading *x, size_t ahead)
{
	return x->at + ahead < x->n ? x->text[x->at + ahead] : '\0';
}

void reading__fill(struct reading *x, enum shell_place place)
{
	x->places[x->hole++] = x->is_lost ? SHELL_LOST : place;
}

void reading__fill_until(struct reading *x, size_t end, enum shell_place place)
{
	while (x->hole < x->n_holes && x->holes[x->hole] < end)
		reading__fill(x, place);
}

void shell__take_delimiter(struct reading *x)
{
	char *to = x->heredocs[x->n_heredocs % HEREDOCS_MAX].delimiter, quote = '\0';
	bool quoted = false, strips = reading__byte(x, 0) == '-';
	size_t n = 0;

	x->at += strips;
	while (reading__byte(x, 0) == ' ' || reading__byte(x, 0) == '\t')
		x->at++;
	for (; x->at < x->n; x->at++) {
		char c = reading__byte(x, 0);
		if (!quote && (strchr(" \t\n;&|<>()", c) || !c))
			break;
		if (reading__is_hole(x, x->at))
			reading__fill(x, SHELL_HEREDOC);
		if (c == quote || (!quote && (c == '\'' || c == '"'))) {
			quote = c == quote ? '\0' : c;
			quoted = true;
			continue;
		}
		if (c == '\\' && quote != '\'') {
			quoted = true;
			continue;
		}
		if (n + 1 < DELIMITER_MAX)
			to[n++] = c;
	}
	to[n] = '\0';
	if (n == 0 || n + 1 == DELIMITER_MAX || x->n_heredocs == HEREDOCS_MAX) {
		x->is_lost = true;
		return;
	}
	x->heredocs[x->n_heredocs].strips = strips;
	x->heredocs[x->n_heredocs++].quoted = quoted;
}

/* The length of the line at x->at, and whether the next one is a part of it. */
static size_t line_length(const struct reading *x, bool quoted, bool *ret_goes_on)
{
	const char *line = x->text + x->at, *end = memchr(line, '\n', x->n - x->at);
	size_t n = end ? (size_t)(end - line) : x->n - x->at, slashes = 0;

	while (slashes < n && line[n - 1 - slashes] == '\\')
		slashes++;
	*ret_goes_on = !quoted && slashes % 2 == 1;
	return n;
}

void shell__skip_heredocs(struct reading *x)
{
	for (size_t i = 0; i < x->n_heredocs; i++) {
		const char *delimiter = x->heredocs[i].delimiter;
		bool over = false, part = false;
		while (!over && x->at < x->n) {
			bool goes_on;
			size_t n = line_length(x, x->heredocs[i].quoted, &goes_on), tabs = 0;
			const char *line = x->text + x->at;
			while (x->heredocs[i].strips && !part && tabs < n && line[tabs] == '\t')
				tabs++;
			over = !part && n - tabs == strlen(delimiter) &&
			       memcmp(line + tabs, delimiter, n - tabs) == 0;
			part = goes_on;
			reading__fill_until(x, x->at + n + 1, SHELL_HEREDOC);
			x->at += n + (x->at + n < x->n);
		}
	}
	x->n_heredocs = 0;
}
