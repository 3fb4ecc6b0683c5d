/* name.h — which texts are names.
 *
 * A name is what people call a project, a workflow, a task or a step of a pipeline: letters and
 * digits of any script, in Unicode's normal form C. A word is what machines compare elsewhere too
 * (a task type, a parameter, a pool, a calendar, a broker, a user): ASCII. Names are compared
 * byte by byte; name_fold() says which ones look alike to people.
 */
#ifndef SCHED_NAME_H
#define SCHED_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define NAME_BYTES_MAX 64 /* of one name, or word, in UTF-8 */
#define NAME_MARKS_MAX 4  /* in a row: no script needs more on one letter */

enum { NAME_WHY_BYTES = 200 };

/* As regular expressions of ECMA 262, without ^ and $: all words and no other; all names and some
 * other texts, for a script cannot be judged so. */
#define WORD_PATTERN "[A-Za-z_][A-Za-z0-9_.-]*"
#define NAME_PATTERN "[^\\u0000-@\\[-\\^`{-\\u007f][^\\u0000-,/:-@\\[-\\^`{-\\u007f]*"

/* Why `text` is no name, to stand behind "'TEXT' is not a name: "; NULL: it is one. */
const char *name_wrong(const char *text, char ret_why[NAME_WHY_BYTES]);
bool name_ok(const char *text);
/* The same for words. */
const char *word_wrong(const char *text, char ret_why[NAME_WHY_BYTES]);
bool word_ok(const char *text);

/* The same for titles, what is shown besides a name: one line of anything that is seen. */
const char *title_wrong(const char *text, char ret_why[NAME_WHY_BYTES]);

/* A name of at most `max` bytes made of any text: each run of what no name may have becomes
 * one _. "": no letter and no digit is left. Different texts may make the same name. */
void name_make(const char *text, size_t max, char ret[NAME_BYTES_MAX + 1]);

/* What is only tried (sched/workflow.h) has a sign that no name has, after its project. */
#define NAME_TEST '~'
static inline bool name_is_test(const char *full)
{
	const char *slash = strchr(full, '/');

	return slash && strchr(slash, NAME_TEST);
}

/* How many bytes of a text to show where it may be long: whole characters. */
int name_shown(const char *text);

/* `text` in normal form C: the caller's, free(). NULL: it is so already, or is no UTF-8. */
char *name_nfc(const char *text);
/* What two names share that people would take for one: normal form KC without case. Of a name, or
 * of several with a / between. The caller's, free(). */
char *name_fold(const char *text);

#endif
