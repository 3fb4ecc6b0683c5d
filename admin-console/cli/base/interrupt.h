/* interrupt.h — Ctrl-C ends a waiting and nothing else; once more it ends the program. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>

void interrupt_begin(void); /* from here on it is noticed */
bool interrupt_came(void);
void interrupt_end(void); /* as before */

#endif
