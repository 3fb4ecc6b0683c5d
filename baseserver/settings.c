/* Settings as people write them, in the units and structs of who is told them: a function for each
 * actor. No setting is judged here (util/param_tables.c), and none is read again. */
#include "baseserver/settings.h"

#include "util/clock.h"
#include "util/param.h"

/* So many transitions are a million that finished: a second or two of a start. */
enum { SAVE_NUMBERS = 4000000, KILL_EXTRA_US = 10000000 };
#define DAY_US (86400 * US_PER_S)

struct commander_settings settings_of_commander(const struct param_baseserver *p)
{
	return (struct commander_settings){ .batch = (size_t)p->command_batch,
		                            .timezone = p->timezone,
		                            .types_dir = p->types_dir,
		                            .secrets_key_file = p->secrets_key_file,
		                            .infra_max = (int)p->infra_max,
		                            .tasks_max = (size_t)p->graph_tasks_max,
		                            .commands_max = (size_t)p->person_commands_max,
		                            .tests_person = (size_t)p->person_tests_max,
		                            .tests_project = (size_t)p->project_tests_max,
		                            .test_run_us = p->test_run_max_ms * US_PER_MS,
		                            .login_tries = p->login_tries_per_minute,
		                            .oidc_issuer = p->oidc_issuer,
		                            .oidc_client = p->oidc_client_id,
		                            .oidc_role = p->oidc_role,
		                            .ldap_url = p->ldap_url,
		                            .ldap_role = p->ldap_role,
		                            .unfinished_max = p->project_unfinished_max,
		                            .budget = { .window = p->window_dates_max,
		                                        .project = p->project_dates_max,
		                                        .year = p->document_year_max,
		                                        .parts = p->document_parts_max } };
}

struct ledger_settings settings_of_ledger(const struct param_baseserver *p)
{
	return (struct ledger_settings){ .ring_slots = (size_t)p->ring_slots,
		                         .batch_max = (size_t)p->commit_batch_max,
		                         .window_us = p->commit_window_us,
		                         .retry_us = 100 * US_PER_MS,
		                         .epoch_us = p->epoch_ms * US_PER_MS,
		                         .renew_us = p->renew_ms * US_PER_MS,
		                         .state_dir = p->state_dir,
		                         .timezone = p->timezone,
		                         .types_dir = p->types_dir };
}

struct logkeeper_settings settings_of_logkeeper(const struct param_baseserver *p)
{
	return (struct logkeeper_settings){ .dir = p->log_dir,
		                            .job_bytes_max = p->log_job_bytes_max,
		                            .retention_us = p->log_retention_days * DAY_US,
		                            .segment_us = p->log_segment_ms * US_PER_MS,
		                            .home = p->log_home[0] ? p->log_home : NULL,
		                            .here_us = p->log_here_ms * US_PER_MS,
		                            .wait_bytes_max = (uint64_t)p->log_home_wait_bytes_max,
		                            .cache_bytes = (uint64_t)p->log_cache_bytes_max };
}

struct maintainer_settings settings_of_maintainer(const struct param_baseserver *p)
{
	return (struct maintainer_settings){ .lose_us = p->lose_ms * US_PER_MS,
		                             .kill_extra_us = KILL_EXTRA_US,
		                             .retention_us = p->retention_days * DAY_US,
		                             .retention_rows = (size_t)p->retention_slice,
		                             .figures_us = p->statistics_days * DAY_US,
		                             .save_numbers = SAVE_NUMBERS,
		                             .grace_us = p->epoch_ms * US_PER_MS,
		                             .beat_us = p->beat_ms * US_PER_MS };
}

static enum proof_rule proof_rule_of(const char *word)
{
	return strcmp(word, "observe") == 0  ? PROOF_OBSERVE
	       : strcmp(word, "always") == 0 ? PROOF_ALWAYS
	                                     : PROOF_REQUIRE;
}

struct worker_settings settings_of_worker(const struct param_baseserver *p)
{
	int64_t idle_ms = p->lose_ms > 2 * p->beat_ms ? p->lose_ms : 2 * p->beat_ms;

	return (struct worker_settings){ .lease_proof = proof_rule_of(p->lease_proof),
		                         .beat_ms = (uint32_t)p->beat_ms,
		                         .fence_ms = (uint32_t)p->fence_ms,
		                         .kill_ms = (uint32_t)p->kill_ms,
		                         .lose_ms = (uint32_t)p->lose_ms,
		                         .handshake_ms = (uint32_t)p->handshake_ms,
		                         .idle_ms = (uint32_t)idle_ms,
		                         .queue_bytes = (size_t)p->session_queue_bytes_max };
}
