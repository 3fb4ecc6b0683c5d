/* show.h — rows of the store and events of the wire, as the API's JSON (docs/api.md).
 *
 * One function prints one kind of row, so that a task or an instance looks the same in a list,
 * alone and in a stream. Each prints a whole object, or a member's value, unless it says otherwise;
 * where it names tasks by their ids it asks `n` (names.h), and a name that is not known yet is
 * null: the miss is remembered, and who reads the store looks it up and prints once more
 * (call.names). Times are RFC 3339 in UTC beside a label in the task's own zone. Thread: any that
 * has the buffer; `n` has its own lock. */
#ifndef CGI_SHOW_H
#define CGI_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/instance.h"
#include "sirdar.pb-c.h"

struct buf;
struct names;
struct read_action;
struct read_event;
struct store_command;
struct store_command_item;
struct store_doc;
struct store_link;
struct store_range;
struct store_task;
struct workflow_set;

/* "17.1772323200" or with ".part". */
#define ID_TEXT_MAX 48
void key_text(struct inst_key k, char ret[ID_TEXT_MAX]);
bool key_read(const char *text, struct inst_key *ret);

/* Members of an object: id, task, label, ... `version`: of the task, 0: any. */
void show_key(struct buf *b, struct names *n, struct inst_key k, uint32_t version);
void show_instance(struct buf *b, struct names *n, const struct instance *i);
/* Dates left out together, as their first one, with `dates` (that have no row) and `last_date`. */
void show_range(struct buf *b, struct names *n, const struct store_range *r);
void show_event(struct buf *b, struct names *n, const struct read_event *e);
/* A whole message of an event stream. */
void show_wire_event(struct buf *b, struct names *n, const Sirdar__Event *e);
/* `of`: its workflow's document, which says its cron; NULL: that is left out. */
void show_task(struct buf *b, const struct store_task *t, const struct workflow_set *of);
/* A workflow's document alone in a set, for workflow_set_free(); NULL: it cannot be read. */
struct workflow_set *show_flow(const struct store_doc *d);
void show_link(struct buf *b, struct names *n, const struct store_link *l);
/* `body`: with its text, which lists leave out. */
void show_doc(struct buf *b, const struct store_doc *d, bool body);
/* `args`: with its arguments, likewise. */
void show_command(struct buf *b, const struct store_command *c, bool args);
void show_action(struct buf *b, const struct read_action *a);
void show_item(struct buf *b, struct names *n, const struct store_command_item *i);

const char *task_state_name(uint8_t state);

#endif
