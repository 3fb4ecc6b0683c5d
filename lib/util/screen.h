/* screen.h — what a program says to people goes through visible.h: names, notes and messages of
 * others cannot steer their terminal. One place for a whole program: screen_open() puts the
 * filter under stdout and stderr; everything that is printed there passes it.
 *
 * Writes to the descriptors themselves do not: log_line() escapes its own lines.
 * Thread: open before threads; printing as stdio does.
 */
#ifndef UTIL_SCREEN_H
#define UTIL_SCREEN_H

#include <stdio.h>

/* First thing in main(). What is printed is text for people, a terminal or not. Descriptors 0 to 2
 * that came closed are /dev/null from here on; what is printed there is lost as on a full disk. */
void screen_open(void);

/* What is printed on stdout is what the program is for: where some of it was lost, the program
 * ends with one line that says so, and with 1 where it would have ended with 0. A constant. */
void screen_vouch(const char *program);

/* What comes on this stream is data: byte by byte, but for a terminal. `to`: stdout, stderr. */
void screen_data(FILE *to);
/* As data; a terminal shows its colours too, and is back to its own after the last of it. */
void screen_output(FILE *to);

/* The program's own colours and cursor movements: past the filter. A constant, or what
 * screen_keep() has kept. */
void screen_steer(FILE *to, const char *sequence);

struct buf;

/* From here on what would go out on `to`, filtered and with the program's own colours, is
 * appended to `kept` instead, which is the caller's; NULL: it goes out again. */
void screen_keep(FILE *to, struct buf *kept);

#endif
