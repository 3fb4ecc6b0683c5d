/* The tables of the format: of each section its rows, of each row its fields.
 *
 * A field's place in its table is its number for good: new ones come last, also in event_cols.def
 * and instance_cols.def, whose columns are fields as they stand there. tests/lint/journal.py finds
 * a member of these structs that is neither a field nor said to be none (NO_FIELD). */
#include "store/journal/rows.h"

#include <string.h>

#include "store/batch.h"
#include "store/journal/journal.h"
#include "util/check.h"

/* Each array of a batch is a section, or one of live, done, reopened and events. */
_Static_assert(sizeof(struct store_batch) ==
                       offsetof(struct store_batch, events) +
                               (4 + SECTION_ARRAYS) * (sizeof(void *) + sizeof(size_t)),
               "a member of struct store_batch has no section in the journal's record");

#define NO_FIELD(s, member, why) _Static_assert(sizeof(((s *)0)->member) > 0, "");
#define STATE_FIELD(s, member) \
	{ \
		.name = #member, .at = offsetof(s, member), .type = FIELD_STATE \
	}
#define BEFORE_FIELD(s, member) \
	{ \
		.name = #member, .at = offsetof(s, member), .type = FIELD_STATE_BEFORE \
	}
#define BYTES_FIELD(s, member, len) \
	{ \
		.name = #member, .at = offsetof(s, member), .len_at = offsetof(s, len), \
		.type = FIELD_BYTES \
	}
#define LIMITED_FIELD(s, member, limit) \
	{ \
		.name = #member, .at = offsetof(s, member), .type = FIELD_TYPE(((s *)0)->member), \
		.below = (limit) \
	}
#define RUN_FIELD \
	{ \
		.name = "run", .type = FIELD_RUN \
	}
#define KIND(s, table) \
	{ \
		.fields = (table), .n = sizeof(table) / sizeof *(table), .bytes = sizeof(s) \
	}
#define HOT_KIND(s, name, text_bits) \
	{ \
		.fields = name##_fields, .n = sizeof name##_fields / sizeof *name##_fields, \
		.bases = name##_bases, .n_bases = sizeof name##_bases / sizeof *name##_bases, \
		.bytes = sizeof(s), .numbers = name##_numbers, .texts = (text_bits) \
	}

/* ---- events: where the columns of event_cols.def are in a transition */
#define EVENT_MEMBER_number        FIELD(struct transition, number)
#define EVENT_MEMBER_prev          FIELD(struct transition, prev)
#define EVENT_MEMBER_task_id       FIELD(struct transition, inst.key.task)
#define EVENT_MEMBER_curr_run_date FIELD(struct transition, inst.key.run_date)
#define EVENT_MEMBER_part          FIELD(struct transition, inst.key.part)
#define EVENT_MEMBER_at_us         FIELD(struct transition, at_us)
#define EVENT_MEMBER_event         LIMITED_FIELD(struct transition, event, EV_COUNT)
#define EVENT_MEMBER_from_status   BEFORE_FIELD(struct transition, from)
#define EVENT_MEMBER_to_status     STATE_FIELD(struct transition, to)
#define EVENT_MEMBER_reason        LIMITED_FIELD(struct transition, reason, RE_COUNT)
#define EVENT_MEMBER_actor_kind    FIELD(struct transition, actor_kind)
#define EVENT_MEMBER_epoch         FIELD(struct transition, epoch)
#define EVENT_MEMBER_session       FIELD(struct transition, session)
#define EVENT_MEMBER_cause         FIELD(struct transition, cause)
#define EVENT_MEMBER_generation    FIELD(struct transition, inst.generation)
#define EVENT_MEMBER_revision      FIELD(struct transition, inst.revision)
#define EVENT_MEMBER_attempt       FIELD(struct transition, inst.attempt)
#define EVENT_MEMBER_broker_id     FIELD(struct transition, inst.broker)
#define EVENT_MEMBER_token         FIELD(struct transition, inst.token)
#define EVENT_MEMBER_exit_code     FIELD(struct transition, inst.exit_code)

enum {
	EVENT_run,
	EVENT_note,
#define ECOL(column, value) EVENT_##column,
#include "store/event_cols.def"
#undef ECOL
};

static const struct field event_fields[] = {
	[EVENT_run] = RUN_FIELD,
	[EVENT_note] = FIELD(struct transition, note),
#define ECOL(column, value) [EVENT_##column] = EVENT_MEMBER_##column,
#include "store/event_cols.def"
#undef ECOL
};

static const struct field_base event_bases[] = { { EVENT_number, EXPECT_NEXT, 0 } };

static void event_numbers(const void *row, int64_t v[])
{
	const struct transition *t = row;

	v[EVENT_run] = v[EVENT_note] = 0;
#define ECOL(column, value) v[EVENT_##column] = (int64_t)(value);
#include "store/event_cols.def"
#undef ECOL
}

NO_FIELD(struct transition, kind, "only TK_INSTANCE is an event")
NO_FIELD(struct transition, data, "SECTION_DATA")
NO_FIELD(struct transition, data_kind, "SECTION_DATA")
NO_FIELD(struct transition, slot, "its image has it")
NO_FIELD(struct transition, mono_us, "of the process that granted")
NO_FIELD(struct transition, ref, "in memory")
NO_FIELD(struct transition, row, "of other kinds")
NO_FIELD(struct transition, machine, "of the process that granted")
NO_FIELD(struct transition, lane, "of the process that granted")
NO_FIELD(struct transition, keeps_proofs, "of the process that granted")
NO_FIELD(struct transition, left_out, "it is then no event")

/* ---- images: the columns of instance_cols.def, the state and the slot */
enum {
	INST_run,
	INST_where,
	INST_slot,
	INST_state,
#define COL(column, member, lo, hi) INST_##column,
#include "store/instance_cols.def"
#undef COL
};

static const struct field image_fields[] = {
	[INST_run] = RUN_FIELD,
	[INST_where] = LIMITED_FIELD(struct image_row, where, IMAGE_REOPENED << 1),
	[INST_slot] = FIELD(struct image_row, inst.slot),
	[INST_state] = STATE_FIELD(struct image_row, inst.state),
#define COL(column, member, lo, hi) [INST_##column] = FIELD(struct image_row, inst.member),
#include "store/instance_cols.def"
#undef COL
};

/* By field. */
static const struct field_base image_bases[] = {
	{ INST_slot, EXPECT_NEXT, 0 },
	{ INST_state, EXPECT_EVENT, EVENT_to_status },
	{ INST_task_id, EXPECT_EVENT, EVENT_task_id },
	{ INST_curr_run_date, EXPECT_EVENT, EVENT_curr_run_date },
	{ INST_part, EXPECT_EVENT, EVENT_part },
	{ INST_due, EXPECT_EVENT, EVENT_curr_run_date },
	{ INST_token, EXPECT_EVENT, EVENT_token },
	{ INST_last_number, EXPECT_EVENT, EVENT_number },
	{ INST_generation, EXPECT_EVENT, EVENT_generation },
	{ INST_revision, EXPECT_EVENT, EVENT_revision },
	{ INST_broker_id, EXPECT_EVENT, EVENT_broker_id },
	{ INST_exit_code, EXPECT_EVENT, EVENT_exit_code },
	{ INST_attempt, EXPECT_EVENT, EVENT_attempt },
};

static void image_numbers(const void *of, int64_t v[])
{
	const struct image_row *row = of;

	v[INST_run] = 0;
	v[INST_where] = row->where;
	v[INST_slot] = row->inst.slot;
	v[INST_state] = state_number((enum state)row->inst.state);
#define COL(column, member, lo, hi) v[INST_##column] = (int64_t)row->inst.member;
#include "store/instance_cols.def"
#undef COL
}

NO_FIELD(struct instance, marks, "the ledger's own, in memory")

/* ---- the seldom rows */
static const struct field data_fields[] = {
	FIELD(struct data_row, number),
	LIMITED_FIELD(struct data_row, kind, ID_FAILURE + 1),
	FIELD(struct data_row, body),
};

static const struct field range_fields[] = {
	RUN_FIELD,
	FIELD(struct store_range, number),
	FIELD(struct store_range, task),
	FIELD(struct store_range, version),
	FIELD(struct store_range, lo),
	FIELD(struct store_range, hi),
	FIELD(struct store_range, dates),
	FIELD(struct store_range, taken),
	FIELD(struct store_range, at_us),
	FIELD(struct store_range, reason),
	FIELD(struct store_range, priority),
};

static const struct field taken_fields[] = {
	FIELD(struct store_taken, number),
	FIELD(struct store_taken, dates),
};

static const struct field task_fields[] = {
	FIELD(struct store_task, id),
	FIELD(struct store_task, workflow_id),
	FIELD(struct store_task, version),
	FIELD(struct store_task, state),
	FIELD(struct store_task, frozen),
	FIELD(struct store_task, anchor),
	FIELD(struct store_task, online_from),
	FIELD(struct store_task, planned_through),
	FIELD(struct store_task, quarantined_us),
	FIELD(struct store_task, name),
	FIELD(struct store_task, type),
	FIELD(struct store_task, owner),
	FIELD(struct store_task, title),
	FIELD(struct store_task, workflow_title),
	FIELD(struct store_task, zone),
	FIELD(struct store_task, grain),
	FIELD(struct store_task, cycle_s),
	FIELD(struct store_task, start_s),
	FIELD(struct store_task, end_s),
	FIELD(struct store_task, priority),
};

NO_FIELD(struct store_task, stale, "in memory: the row is to be written soon")

static const struct field links_of_fields[] = {
	{ .name = "task", .at = 0, .type = FIELD_U32 },
};

static const struct field link_fields[] = {
	FIELD(struct store_link, from),        FIELD(struct store_link, to),
	FIELD(struct store_link, depend_type), FIELD(struct store_link, window),
	FIELD(struct store_link, on),          FIELD(struct store_link, strategy),
	FIELD(struct store_link, n),
};

static const struct field doc_fields[] = {
	LIMITED_FIELD(struct store_doc, kind, DOC_END),
	FIELD(struct store_doc, id),
	FIELD(struct store_doc, version),
	FIELD(struct store_doc, retired),
	FIELD(struct store_doc, name),
	BYTES_FIELD(struct store_doc, body, body_len),
	FIELD(struct store_doc, actor),
	FIELD(struct store_doc, at_us),
};

NO_FIELD(struct store_doc, title, "read with lists, never written")
NO_FIELD(struct store_doc, is_draft, "read with lists, never written")

static const struct field command_fields[] = {
	FIELD(struct store_command, id),         FIELD(struct store_command, request_id),
	FIELD(struct store_command, actor),      FIELD(struct store_command, kind),
	FIELD(struct store_command, args),       FIELD(struct store_command, told),
	FIELD(struct store_command, error),      FIELD(struct store_command, state),
	FIELD(struct store_command, created_us), FIELD(struct store_command, ended_us),
	FIELD(struct store_command, total),      FIELD(struct store_command, done),
	FIELD(struct store_command, failed),     FIELD(struct store_command, cursor),
	FIELD(struct store_command, projects),
};

static const struct field item_fields[] = {
	RUN_FIELD,
	FIELD(struct store_command_item, command),
	FIELD(struct store_command_item, key.task),
	FIELD(struct store_command_item, key.run_date),
	FIELD(struct store_command_item, key.part),
	FIELD(struct store_command_item, code),
	FIELD(struct store_command_item, text),
};

static const struct field alert_fields[] = {
	FIELD(struct store_alert, id),       FIELD(struct store_alert, kind),
	FIELD(struct store_alert, subject),  FIELD(struct store_alert, body),
	FIELD(struct store_alert, run_date), FIELD(struct store_alert, since_us),
	FIELD(struct store_alert, ended_us), FIELD(struct store_alert, acked_us),
	FIELD(struct store_alert, acked_by), FIELD(struct store_alert, ack_note),
	FIELD(struct store_alert, task),     FIELD(struct store_alert, generation),
	FIELD(struct store_alert, attempt),  FIELD(struct store_alert, severity),
	FIELD(struct store_alert, ack),      RUN_FIELD,
};

static const struct field stat_fields[] = {
	FIELD(struct store_stat, day),         FIELD(struct store_stat, task),
	STATE_FIELD(struct store_stat, state), FIELD(struct store_stat, bucket),
	FIELD(struct store_stat, count),       FIELD(struct store_stat, sum_us),
};

static const struct row_kind kinds[SECTION_END] = {
	[SECTION_EVENTS] = HOT_KIND(struct transition, event, UINT64_C(1) << EVENT_note),
	[SECTION_IMAGES] = HOT_KIND(struct image_row, image, 0),
	[SECTION_DATA] = KIND(struct data_row, data_fields),
	[SECTION_RANGES] = KIND(struct store_range, range_fields),
	[SECTION_TAKEN] = KIND(struct store_taken, taken_fields),
	[SECTION_TASKS] = KIND(struct store_task, task_fields),
	[SECTION_LINKS_OF] = KIND(uint32_t, links_of_fields),
	[SECTION_LINKS] = KIND(struct store_link, link_fields),
	[SECTION_DOCS] = KIND(struct store_doc, doc_fields),
	[SECTION_COMMANDS] = KIND(struct store_command, command_fields),
	[SECTION_ITEMS] = KIND(struct store_command_item, item_fields),
	[SECTION_ALERTS] = KIND(struct store_alert, alert_fields),
	[SECTION_STATS] = KIND(struct store_stat, stat_fields),
};

#define ARRAY(section, rows) \
	{ \
		(section), offsetof(struct store_batch, rows), \
			offsetof(struct store_batch, n_##rows) \
	}

const struct section_array section_arrays[SECTION_ARRAYS] = {
	ARRAY(SECTION_RANGES, ranges),     ARRAY(SECTION_TAKEN, taken),
	ARRAY(SECTION_TASKS, tasks),       ARRAY(SECTION_LINKS_OF, links_of),
	ARRAY(SECTION_LINKS, links),       ARRAY(SECTION_DOCS, docs),
	ARRAY(SECTION_COMMANDS, commands), ARRAY(SECTION_ITEMS, items),
	ARRAY(SECTION_ALERTS, alerts),     ARRAY(SECTION_STATS, stats),
};

const struct row_kind *section_rows(enum section s)
{
	CHECK(s > SECTION_LONGS && s < SECTION_END);
	return &kinds[s];
}

void section_begin(enum section s, const struct journal_head *h, int64_t v[FIELDS_MAX])
{
	memset(v, 0, FIELDS_MAX * sizeof *v);
	if (s == SECTION_EVENTS) {
		v[EVENT_number] = (int64_t)(h->first - 1);
		v[EVENT_at_us] = h->at_us;
		v[EVENT_epoch] = h->epoch;
	} else if (s == SECTION_IMAGES) {
		v[INST_created_us] = v[INST_started_us] = v[INST_ended_us] = h->at_us;
	}
}

const char *section_name(enum section s)
{
	static const char *const names[SECTION_END] = {
		[SECTION_LONGS] = "long texts",  [SECTION_EVENTS] = "events",
		[SECTION_IMAGES] = "images",     [SECTION_DATA] = "data",
		[SECTION_RANGES] = "ranges",     [SECTION_TAKEN] = "taken",
		[SECTION_TASKS] = "tasks",       [SECTION_LINKS_OF] = "links of",
		[SECTION_LINKS] = "links",       [SECTION_DOCS] = "documents",
		[SECTION_COMMANDS] = "commands", [SECTION_ITEMS] = "items",
		[SECTION_ALERTS] = "alerts",     [SECTION_STATS] = "statistics",
	};

	return s > 0 && s < SECTION_END ? names[s] : "head";
}

const char *section_array_of(const struct store_batch *b, const struct section_array *a,
                             size_t *ret_n)
{
	const char *rows;

	memcpy(&rows, (const char *)b + a->rows_at, sizeof rows);
	memcpy(ret_n, (const char *)b + a->n_at, sizeof *ret_n);
	return rows;
}
