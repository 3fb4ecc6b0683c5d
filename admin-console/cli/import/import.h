/* import.h — from other schedulers' files to documents.
 *
 * An importer writes YAML to one buffer and says on stderr, line by line, what it could not carry
 * over and why. What comes out passes `sirdar check`.
 */
#ifndef CLI_IMPORT_H
#define CLI_IMPORT_H

#include "admin-console/cli/base/verb.h"

#include "util/buf.h"

struct cJSON;
struct pile;

struct import {
	const char *file;            /* as given */
	const char *project, *group; /* options; group NULL: none */
	const char *name;            /* of what has none of its own */
	bool is_system;              /* a crontab with users */
	const struct cJSON *nodes;   /* ID=NAME; NULL: none */
	struct buf text;             /* what was read */
	struct buf out;
	struct pile *pile;
	size_t left; /* things left out or changed */
};

/* Read the file, run `make`, check what came of it, print. */
int import_run(struct asked *q, void (*make)(struct import *im));
/* Options of all importers; crontab and ects have one more each. */
extern const struct opt import_options[], import_crontab_options[], import_ects_options[];

/* The row of an importer, and what it runs. */
#define IMPORT(name, options) \
	static int import_##name(struct asked *q) \
	{ \
		return import_run(q, make); \
	} \
	const struct verb verb_import_##name = { import_##name, options,      1, 1, "which file?", \
		                                 "one file",    check_no_json }

/* One line on stderr: FILE:WHERE: what. */
__attribute__((format(printf, 3, 4))) void import_note(struct import *im, const char *where,
                                                       const char *fmt, ...);

/* A name that documents take, of any text: odd letters become _. "" gives `otherwise`. The
 * pile's. */
/* `title:` where the name that was made says less than what people called it. */
void import_title(struct import *im, int indent, const char *text, const char *name);
const char *import_name(struct import *im, const char *text, const char *otherwise);
/* The same for what machines compare: ASCII. */
const char *import_word(struct import *im, const char *text, const char *otherwise);
/* A name with a number behind it that keeps it apart from others like it. */
const char *import_numbered(struct import *im, const char *name, int number);

/* `indent` spaces, key: value, quoted where it must be; a text of several lines as a block.
 * Nothing for an empty text. */
void import_put(struct import *im, int indent, const char *key, const char *text);
/* Text with what would be a macro here made plain. */
const char *import_plain(struct import *im, const char *text);

/* Members of JSON, forgiving: a number reads as text. Never NULL. */
const char *import_text(struct import *im, const struct cJSON *o, const char *key);
long long import_number(const struct cJSON *o, const char *key);
/* An object or list, also where it is written as JSON in a string; owned by *o's tree. */
struct cJSON *import_node(struct cJSON *o, const char *key);

#endif
