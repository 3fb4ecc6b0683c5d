/* failure.h — why an attempt ended badly, in one glance: the broker makes it of what the job
 * printed, the server bounds it, the store keeps it with the transition, people read it.
 *
 * However it came, its texts are UTF-8 without control characters, and within these bytes.
 */
#ifndef UTIL_FAILURE_H
#define UTIL_FAILURE_H

#include <stddef.h>
#include <stdint.h>

struct buf;

#define FAILURE_EXIT_BYTES 160
#define FAILURE_LINE_BYTES 240
#define FAILURE_TAIL_BYTES 1024
#define FAILURE_TAIL_LINES 5

enum failure_class {
#define FAILURE(name, num, lower, text) FC_##name = (num),
#include "tbl/failure.def"
#undef FAILURE
	FC_COUNT
};

struct failure {
	uint8_t class;  /* enum failure_class */
	uint8_t stream; /* of line and tail: 1 standard output, 2 standard error; 0: neither */
	char exit[FAILURE_EXIT_BYTES + 1]; /* how it ended, in words */
	char line[FAILURE_LINE_BYTES + 1]; /* what says why, or "" */
	char tail[FAILURE_TAIL_BYTES + 1]; /* its last lines, each but the last with '\n' */
	uint64_t cpu_us, memory_bytes;     /* of processes; 0: not known */
};

const char *failure_name(uint32_t class); /* "target"; "" where there is none */
const char *failure_text(uint32_t class);
int failure_from_name(const char *name); /* -1: none */
/* What a reason says alone; FC_NONE: nothing. */
enum failure_class failure_of_reason(uint32_t reason);

/* "exit code 127: command not found"; 0.. a status, -n signal n */
void failure_exit_words(int32_t exit_code, char ret[FAILURE_EXIT_BYTES + 1]);
/* Without a digest: from a class, a reason and an exit code alone. */
void failure_guess(uint32_t reason, int32_t exit_code, struct failure *ret);

/* One line, fit to be shown: what is no text is '?', a tab a blank, other control characters are
 * gone, what is too long ends with "...". */
void failure_set_line(char *to, size_t bytes, const char *from, size_t n);
/* Takes out, in place, what the two leave out of a line: colours, control characters. What they
 * kept apart is one word now: `apart`, if it is not 0, takes the place of each. Its new length. */
size_t failure_clean(char *text, size_t n, char apart);
/* The last FAILURE_TAIL_LINES that are not blank, as many as there is room for. */
void failure_set_tail(char ret[FAILURE_TAIL_BYTES + 1], const char *from, size_t n);

/* What failures of one cause have in common: of `class` (its name) and the line, or without one how
 * it ended, numbers, paths and ids left out. Equal ids: one cause. */
struct failure_cause {
	char id[17];                       /* 16 hexadecimal digits, for links and scripts */
	char line[FAILURE_LINE_BYTES + 1]; /* "no such shop: #" */
};
void failure_fold(const char *class, const char *line, const char *exit, struct failure_cause *ret);

/* One object; `token` of the attempt, 0: left out. */
void failure_put(struct buf *out, const char *key, const struct failure *f, uint64_t token);

#endif
