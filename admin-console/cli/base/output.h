/* output.h — how an answer is shown: --output and --color, for every command at once.
 *
 * Commands know tables and JSON (cli->json). YAML and names are made of the JSON that a command
 * prints, on its way out (cli_print()).
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct buf;

enum output { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML, OUTPUT_NAME };

/* The words of --output, in that order, and of --color; NULL ends them. */
extern const char *const output_words[];
extern const char *const color_words[];

/* False: it is none of the words. */
bool output_set(const char *word, enum output *ret);
bool color_set(const char *word);

bool output_is(enum output is);
/* What names an item that has no id of its own: a member of it. NULL: not known. */
void output_named_by(const char *key);
enum { OUTPUT_WHY_BYTES = 300 };
/* JSON as --output wants it. False: it is too large to be turned; why says so. */
bool output_turn(struct buf *json, char why[OUTPUT_WHY_BYTES]);
/* May a table on stdout have colours? */
bool color_is_on(void);

#endif
