/* The kinds of commands, a row each: its arguments, who may give it, what it means for an instance
 * and for a definition, which documents it writes, what it does at once. schema/tbl/command.def
 * has what clients may know of a kind; here is how the commander carries it out. What a row leaves
 * out the kind does not do (commander_kind.h). */
#include "baseserver/command/begin.h"
#include "baseserver/command/commander_impl.h"
#include "util/check.h"

static const struct kind kinds[CK_COUNT] = {
	/* --- definitions ------------------------------------------------------------------ */
	[CK_APPLY] = { .keys = { "documents", "retire", "retire_calendars", "retire_libraries",
	                         "detach", "from", "prune", "preview" },
	               .parse = apply__parse,
	               .within = within_apply,
	               .begin = apply__begin,
	               .is_large = true },
	[CK_RETIRE] = { .keys = { "selection", "detach", "running" },
	                .parse = retire_parse,
	                .check = check_retire,
	                .decide = decide_offline,
	                .change = change_offline,
	                .edited = retire_edited,
	                .sweep = SWEEP_AFTER_EDIT,
	                .retires = true },
	[CK_ONLINE] = { .keys = { "selection", "from" },
	                .change = change_online,
	                .print = cmd_print_online },
	[CK_OFFLINE] = { .keys = { "selection", "detach" },
	                 .check = check_offline,
	                 .decide = decide_offline,
	                 .change = change_offline,
	                 .sweep = SWEEP_AFTER_EDIT },

	[CK_WORKFLOW_QUARANTINE] = { .keys = { "selection" }, .change = change_quarantine },
	[CK_WORKFLOW_RELEASE] = { .keys = { "selection" }, .change = change_release },

	/* --- definitions, or instances ----------------------------------------------------- */
	[CK_FREEZE] = { .keys = { "selection" },
	                .decide = decide_freeze,
	                .change = change_freeze,
	                .edited = freeze_edited },
	/* Their rows first, else they might start as they were. */
	[CK_UNFREEZE] = { .keys = { "selection" },
	                  .decide = decide_unfreeze,
	                  .change = change_unfreeze,
	                  .sweep = SWEEP_BEFORE_EDIT },

	/* --- instances --------------------------------------------------------------------- */
	[CK_REDO] = { .keys = { "selection", "mode", "scope", "running", "body", "priority",
	                        "params", "failed_parts" },
	              .parse = redo_parse,
	              .fills = true,
	              .decide = decide_redo,
	              .sources = FEED_DONE,
	              .has_children = true,
	              .has_scope = true },
	[CK_BACKFILL] = { .keys = { "selection", "parallel", "order", "dependencies", "finished",
	                            "running", "priority", "stop_on_failure", "off_plan",
	                            "params" },
	                  .parse = backfill_parse,
	                  .resolve = backfill_resolve,
	                  .fills = true,
	                  .decide = decide_backfill,
	                  .sources = FEED_PLAN | FEED_DONE | FEED_BARE,
	                  .wants_dates = true,
	                  .has_children = true },
	[CK_KILL] = { .keys = { "selection", "grace_ms" },
	              .decide = decide_kill,
	              .has_children = true },
	[CK_FORCE_SUCCESS] = { .keys = { "selection" },
	                       .decide = decide_force,
	                       .sources = FEED_PLAN | FEED_DONE,
	                       .has_children = true },
	[CK_PRIORITY] = { .keys = { "selection", "priority" },
	                  .parse = priority_parse,
	                  .decide = decide_priority },
	[CK_SKIP] = { .keys = { "selection" },
	              .decide = decide_skip,
	              .sources = FEED_PLAN,
	              .has_children = true },
	[CK_RUN_NOW] = { .keys = { "selection", "off_plan", "params" },
	                 .fills = true,
	                 .decide = decide_run_now,
	                 .sources = FEED_PLAN | FEED_DONE | FEED_BARE,
	                 .is_manual = true },
	[CK_ENQUEUE] = { .keys = { "selection" },
	                 .decide = decide_enqueue,
	                 .sources = FEED_PLAN,
	                 .is_manual = true },
	/* With a document it is judged first: SWEEP_AFTER_EDIT, else there is no edit. */
	[CK_TEST_RUN] = { .keys = { "selection", "document" },
	                  .parse = order__parse_draft,
	                  .fills = true,
	                  .decide = decide_test_run,
	                  .sources = FEED_PLAN | FEED_DONE,
	                  .begin = draft__begin,
	                  .sweep = SWEEP_AFTER_EDIT,
	                  .is_manual = true,
	                  .beside_plan = true },
	[CK_DECLARE_DEAD] = { .keys = { "selection" },
	                      .decide = decide_declare,
	                      .has_children = true },

	/* --- brokers, nodes, this server ----------------------------------------------------- */
	[CK_LOG_LEVEL] = { .keys = { "level", "brokers", "type" },
	                   .parse = level_parse,
	                   .act = level_act },
	[CK_BROKER_DRAIN] = { .keys = { "brokers" }, .parse = brokers_parse, .act = drain_act },
	[CK_BROKER_UNDRAIN] = { .keys = { "brokers" }, .parse = brokers_parse, .act = undrain_act },
	[CK_NODE_FORGET] = { .keys = { "node" }, .parse = node_parse, .act = node_act },
	[CK_STEP_DOWN] = { .act = step_down_act },

	/* --- pools, target servers, plugins --------------------------------------------------- */
	[CK_POOL_SET] = { .keys = { "pool", "size" },
	                  .parse = order__parse_pool,
	                  .begin = pool__begin },
	[CK_POOL_REMOVE] = { .keys = { "pool" }, .parse = order__parse_pool, .begin = pool__begin },
	[CK_QUOTA_SET] = { .keys = { "project", "running" },
	                   .parse = order__parse_pool,
	                   .within = within_quota,
	                   .begin = pool__begin },
	[CK_SERVER_SET] = { .keys = { "server", "kind", "host", "port", "user", "database", "extra",
	                              "concurrency", "projects", "password" },
	                    .parse = order__parse_target,
	                    .begin = target__begin,
	                    .hides = { "password" } },
	[CK_SERVER_REMOVE] = { .keys = { "server" },
	                       .parse = order__parse_target,
	                       .begin = target__begin },
	[CK_SERVER_REKEY] = { .parse = order__parse_target, .begin = target__begin },
	[CK_PLUGIN_REGISTER] = { .keys = { "type", "version", "sha256", "abi", "brokers",
	                                   "groups" },
	                         .parse = broker_types_parse,
	                         .begin = plugin__begin },
	[CK_PLUGIN_ENABLE] = { .keys = { "type", "version", "brokers", "groups" },
	                       .parse = broker_types_parse,
	                       .begin = plugin__begin },
	[CK_PLUGIN_DRAIN] = { .keys = { "type" },
	                      .parse = order__parse_plugin,
	                      .begin = plugin__begin },
	[CK_PLUGIN_ROLLBACK] = { .keys = { "type", "own" },
	                         .parse = order__parse_plugin,
	                         .begin = plugin__begin },
	[CK_PLUGIN_REMOVE] = { .keys = { "type", "version" },
	                       .parse = order__parse_plugin,
	                       .begin = plugin__begin },
	[CK_PLUGIN_RELEASE] = { .keys = { "type", "brokers" },
	                        .parse = broker_types_parse,
	                        .act = release_act },

	/* --- peers ---------------------------------------------------------------------------- */
	[CK_PEER_SET] = { .keys = { "peer", "kind", "groups", "types", "projects", "expires",
	                            "state" },
	                  .parse = peer_parse,
	                  .begin = peer__begin },
	[CK_PEER_REVOKE] = { .keys = { "peer" }, .parse = peer_parse, .begin = peer__begin },
	[CK_PEER_INVITE] = { .keys = { "peer", "kind", "groups", "types", "projects", "expires",
	                               "id", "secret" },
	                     .parse = peer_invite_parse,
	                     .begin = peer__invite,
	                     .hides = { "secret" } },
	[CK_PEER_KEY] = { .keys = { "peer", "key", "invite", "former" },
	                  .parse = peer_key_parse,
	                  .begin = peer__key },
	[CK_PEER_APPROVE] = { .keys = { "peer", "fingerprint" },
	                      .parse = peer_key_parse,
	                      .begin = peer__approve },

	[CK_PROJECT_TRUST] = { .keys = { "project" },
	                       .parse = order__parse_pool,
	                       .within = within_quota,
	                       .begin = trust__begin },
	[CK_PROJECT_UNTRUST] = { .keys = { "project" },
	                         .parse = order__parse_pool,
	                         .within = within_quota,
	                         .begin = trust__begin },

	/* --- people --------------------------------------------------------------------------- */
	[CK_USER_SET] = { .keys = { "user", "role", "projects", "rights", "mail", "phone", "chat",
	                            "full_name", "disabled", "secret", "source", "subject",
	                            "groups", "since" },
	                  .parse = order__parse_person,
	                  .begin = person__begin,
	                  .hides = { "secret" } },
	[CK_USER_REMOVE] = { .keys = { "user" },
	                     .parse = order__parse_person,
	                     .begin = person__begin },
	[CK_GROUP_SET] = { .keys = { "group", "role", "projects", "rights", "members",
	                             "description", "source", "external" },
	                   .parse = order__parse_person,
	                   .begin = person__begin },
	[CK_GROUP_REMOVE] = { .keys = { "group" },
	                      .parse = order__parse_person,
	                      .begin = person__begin },
	[CK_TOKEN_SET] = { .keys = { "token", "owner", "role", "projects", "rights", "app", "hash",
	                             "created", "expires", "since" },
	                   .parse = order__parse_person,
	                   .begin = person__begin,
	                   .hides = { "hash" } },
	[CK_TOKEN_REMOVE] = { .keys = { "token" },
	                      .parse = order__parse_person,
	                      .begin = person__begin },
	[CK_DEVICE_SET] = { .keys = { "device", "owner", "endpoint", "p256dh", "auth", "label",
	                              "least", "language", "created" },
	                    .parse = order__parse_person,
	                    .begin = person__begin,
	                    .hides = { "auth", "endpoint" } },
	[CK_DEVICE_REMOVE] = { .keys = { "device" },
	                       .parse = order__parse_person,
	                       .begin = person__begin },
	/* What the web server has done already: recorded, and nothing besides. */
	[CK_SESSION_END] = { .keys = { "user", "sessions" }, .parse = order__parse_web },
	[CK_TOKEN_END] = { .keys = { "token", "app" }, .parse = order__parse_web },
	[CK_PREFERENCES_SET] = { .keys = { "user", "version", "value" },
	                         .parse = order__parse_web,
	                         .begin = preferences__begin,
	                         .hides = { "value" },
	                         .is_private = true },

	/* --- alerts ------------------------------------------------------------ */
	[CK_ALERT_ACK] = { .keys = { "alert", "note" },
	                   .parse = order__parse_alert,
	                   .within = within_later,
	                   .act = alert__ack },
	[CK_SILENCE_ADD] = { .keys = { "project", "workflow", "task", "kind", "from", "until",
	                               "reason" },
	                     .resolve = order__parse_silence,
	                     .within = within_silence,
	                     .begin = silence__begin },
	[CK_SILENCE_REMOVE] = { .keys = { "silence" },
	                        .resolve = order__parse_silence,
	                        .within = within_later,
	                        .begin = silence__begin },

	/* --- other commands ------------------------------------------------------------ */
	[CK_COMMAND_PAUSE] = { .keys = { "command" }, .parse = steer_parse, .act = pause_act },
	[CK_COMMAND_RESUME] = { .keys = { "command" }, .parse = steer_parse, .act = resume_act },
	[CK_COMMAND_CANCEL] = { .keys = { "command" }, .parse = steer_parse, .act = cancel_act },
};

/* A kind that has no row, or half of one, would say "done" and do nothing. */
static void check_row(enum command_kind k)
{
	const struct kind *row = &kinds[k];
	enum acts_on on = command_acts_on(k);

	CHECK((on == ON_DOCUMENTS) == (row->begin && !row->decide));
	CHECK((on != ON_INSTANCES && on != ON_EITHER) || row->decide);
	CHECK((on == ON_TASKS || on == ON_EITHER) == (row->change != NULL));
	CHECK((on != ON_BROKERS && on != ON_COMMANDS) || row->act);
	CHECK(row->sweep == SWEEP_NONE || row->decide);
	CHECK(!row->edited || row->change);
}

const struct kind *command_kinds(void)
{
	for (int k = 0; k < CK_COUNT; k++)
		check_row((enum command_kind)k);
	return kinds;
}
