/* store_ops.h — what an implementation of the store gives. For those that are one.
 *
 * Each verb has the contract of its namesake in store.h. An implementation embeds
 * `struct store` as its first member.
 */
#ifndef STORE_STORE_OPS_H
#define STORE_STORE_OPS_H

#include "store/audit.h"
#include "store/store.h"
#include "store/tip.h"

struct store_ops {
	const char *prefix; /* of its urls, with the colon */
	bool waits;         /* see store_waits() */
	int (*open)(const char *url_rest, struct store **ret_store, struct err *err);
	void (*close)(struct store *s);
	int (*take_epoch)(struct store *s, const char *who, uint32_t *ret_epoch, struct err *err);
	bool is_exclusive; /* open means alone */
	int (*open_standby)(const char *url_rest, struct store **ret_store, struct err *err);
	int (*lease)(struct store *s, struct store_lease *ret, struct err *err);
	int (*take_lease)(struct store *s, const struct store_lease *seen,
	                  const struct store_lease *mine, uint32_t *ret_epoch, struct err *err);
	int (*renew_lease)(struct store *s, uint32_t epoch, int64_t now_us, struct err *err);
	int (*add_gap)(struct store *s, uint32_t epoch, const struct store_gap *g, uint64_t oldest,
	               struct err *err);
	int (*load_gaps)(struct store *s, uint64_t number,
	                 int (*each)(void *ctx, const struct store_gap *g), void *ctx,
	                 struct err *err);
	int (*give_lease)(struct store *s, uint32_t epoch, int64_t now_us, struct err *err);
	int (*show_node)(struct store *s, const struct store_node *n, struct err *err);
	int (*each_node)(struct store *s, int64_t max_age_us,
	                 int (*each)(void *ctx, const struct store_node *n), void *ctx,
	                 struct err *err);
	int (*now)(struct store *s, int64_t *ret_us, struct err *err); /* NULL: none of its own */
	int (*position)(struct store *s, uint64_t *ret_number, uint32_t *ret_epoch,
	                struct err *err);
	/* NULL: it keeps none, see tip.h */
	int (*tip)(struct store *s, struct store_tip *ret, struct err *err);
	/* The columns of event_cols.def of events after `after`, up to `upto`, by number. */
	int (*events)(struct store *s, uint64_t after, uint64_t upto,
	              int (*each)(void *ctx, const int64_t *columns, size_t n), void *ctx,
	              struct err *err);
	int (*inspect)(struct store *s, int64_t limit_us, struct err *err); /* NULL: no file */
	int (*scrub)(struct store *s, struct store_scrub *at, int64_t limit_us, struct err *err);
	int (*commit)(struct store *s, const struct store_batch *b, struct err *err);
	void (*idle)(struct store *s);
	void (*quiet)(struct store *s); /* NULL: it keeps nothing */
	int (*load_docs)(struct store *s, enum store_doc_kind kind,
	                 int (*each)(void *ctx, const struct store_doc *d), void *ctx,
	                 struct err *err);
	int (*find_workflow)(struct store *s, uint32_t id, uint32_t version,
	                     int (*each)(void *ctx, const struct store_doc *d), void *ctx,
	                     struct err *err);
	int (*load_tasks)(struct store *s, int (*each)(void *ctx, const struct store_task *t),
	                  void *ctx, struct err *err);
	int (*load_live)(struct store *s, int (*each)(void *ctx, const struct instance *i),
	                 void *ctx, struct err *err);
	int (*scan_live)(struct store *s, uint32_t from, size_t max,
	                 int (*each)(void *ctx, uint32_t slot, uint64_t last_number), void *ctx,
	                 struct err *err);
	int (*read_live)(struct store *s, const uint32_t *slots, size_t n,
	                 int (*each)(void *ctx, const struct instance *i), void *ctx,
	                 struct err *err);
	int (*load_outcomes)(struct store *s, int (*each)(void *ctx, const struct store_outcome *o),
	                     void *ctx, struct err *err);
	int (*load_ranges)(struct store *s, bool unsaved,
	                   int (*each)(void *ctx, const struct store_range *r), void *ctx,
	                   struct err *err);
	int (*find_range)(struct store *s, uint32_t task, int64_t run_date, struct store_range *ret,
	                  struct err *err);
	int (*load_commands)(struct store *s, bool unfinished_only,
	                     int (*each)(void *ctx, const struct store_command *c), void *ctx,
	                     struct err *err);
	int (*load_alerts)(struct store *s, int (*each)(void *ctx, const struct store_alert *a),
	                   void *ctx, struct err *err);
	int (*find_done)(struct store *s, struct inst_key key, struct instance *ret,
	                 struct err *err);
	int (*find_command)(struct store *s, const char *request_id,
	                    int (*each)(void *ctx, const struct store_command *c), void *ctx,
	                    struct err *err);
	int (*find_data)(struct store *s, uint64_t last_number, uint32_t generation,
	                 enum inst_data kind, char **ret_body, struct err *err);
	int (*save_outcomes)(struct store *s, uint32_t epoch, const struct store_outcome *o,
	                     size_t n, uint64_t upto_number, struct err *err);
	int (*retain)(struct store *s, uint32_t epoch, const struct store_retention *ask,
	              size_t *ret_rows, struct err *err);
	int (*load_items)(struct store *s, uint64_t command,
	                  int (*each)(void *ctx, const struct store_command_item *i), void *ctx,
	                  struct err *err);
	int (*load_stats)(struct store *s, const struct store_stat_days *days,
	                  int (*each)(void *ctx, const struct store_stat *st), void *ctx,
	                  struct err *err);
	int (*drop_stats)(struct store *s, uint32_t epoch, int32_t day, size_t rows_max,
	                  size_t *ret_rows, struct err *err);
};

struct store {
	const struct store_ops *ops;
	_Atomic bool lacks_days; /* see store_lacks_days() */
	struct audit audit;      /* where the last commit's writing of lb_action stands */
	struct store_tip tip;    /* as read by the transaction under way, or left by the last one */
};

extern const struct store_ops store_mem_ops, store_sqlite_ops;
extern const struct store_ops store_mysql_ops; /* in a module of its own: module.h */

#endif
