/* box.h — a job that sees nothing of the other jobs of its project: namespaces of its own.
 *
 * The keeper's child becomes this very program once more, as the project's user, with an empty
 * environment, and that one makes the box and begins the job in it. Its words are
 * `BOX_OPTION FD PLACE FILES N PATH... WORD...`: FD has the job's environment, each word ended by a
 * zero; N paths of the program, in order.
 */
#ifndef KEEPER_BOX_H
#define KEEPER_BOX_H

struct err;

#define BOX_OPTION "--box"
enum { BOX_WORDS = 6, BOX_FD = 3 }; /* words before the paths; FD, where it was started */

/* main() of that process: how the job ended is how it ends. 125: there is no box, and no job. */
int box_main(int argc, char **argv);

/* Does this machine's kernel give a user without rights what a box is made of? Tried by a child.
 * E_MACHINE, with what it refuses. */
int box_check(struct err *err);

#endif
