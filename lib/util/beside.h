/* beside.h — where this program's files are: as installed, under any prefix, and as built.
 */
#ifndef UTIL_BESIDE_H
#define UTIL_BESIDE_H

/* The folder NAME of the files that came with this program, in full. NULL: there is none.
 *
 *   owns  the caller's, free()
 */
char *beside_program(const char *name);

#endif
