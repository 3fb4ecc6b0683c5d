/* why.h — the first closed gate of an instance: a code, what its line says, and when it is
 * expected to open (schema/tbl/why.def). Plain data, filled by the actor that knows.
 */
#ifndef BASESERVER_WHY_H
#define BASESERVER_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum why_code {
#define WHY(name, gate, code, line, opens) WHY_##name,
#include "tbl/why.def"
#undef WHY
	WHY_COUNT
};

enum { WHY_ARGS = 6 };

struct why_line {
	enum why_code code;
	bool is_narrow; /* WHY_SLOTS: none that may have it takes work; who does, may not */
	size_t n;
	struct {
		const char *key; /* as in the line's {key}; a literal */
		bool is_number;
		char text[300];
	} args[WHY_ARGS];
	int64_t expected_us; /* wall us; 0: nobody knows */
};

void why_set(struct why_line *w, enum why_code code); /* no arguments yet */
__attribute__((format(printf, 3, 4))) void why_text(struct why_line *w, const char *key,
                                                    const char *fmt, ...);
void why_number(struct why_line *w, const char *key, int64_t value);

int why_gate(enum why_code code);    /* 1..12; 0: none is closed */
const char *why_gate_name(int gate); /* "dependencies"; "" for 0 */
/* The line for people. */
void why_print_line(const struct why_line *w, struct buf *out);
/* Members of an open JSON object: gate, gate_name, code, args, line, opens, expected. */
void why_print(const struct why_line *w, struct buf *out);

#endif
