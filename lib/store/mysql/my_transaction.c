/* A transaction of the writer: it locks the leader's row first and proves the epoch by it. A lost
 * connection is made anew before, and the position is read under that lock: a COMMIT whose answer
 * was lost is in by then, or will never be. Between my_begin() and my_end() the server is asked
 * after each statement whether the transaction still stands (my_still_in). */
#include <inttypes.h>

#include "store/mysql/mysql.h"
#include "util/check.h"
#include "util/err.h"

int my_ask_leader(struct my_store *s, int64_t *ret_epoch, int64_t *ret_number, struct err *err)
{
	/* Waits for a commit whose answer was lost, if it is still on its way. */
	int r = row_tip(&s->rows, ROW_TIP_LOCKED, &s->base.tip, err);

	if (r == 0) {
		*ret_epoch = s->base.tip.epoch;
		*ret_number = (int64_t)s->base.tip.number;
	}
	return r;
}

static int transaction_prove(struct my_store *s, uint32_t epoch, uint64_t *ret_number,
                             struct err *err)
{
	int64_t now = 0, number = 0;
	int r = my_ask_leader(s, &now, &number, err);

	if (r == 0 && epoch && now != epoch)
		return err_set(err, E_EPOCH, "epoch %" PRIu32 " is over, the store has %" PRId64,
		               epoch, now);
	if (r == 0 && ret_number)
		*ret_number = (uint64_t)number;
	return r;
}

int my_begin(struct my_store *s, uint32_t epoch, uint64_t *ret_number, struct err *err)
{
	CHECK(!s->is_proven);
	int r = my_ready(s, err);

	if (r == 0)
		r = my_do(s, err, "START TRANSACTION", "");
	if (r < 0)
		return r;
	r = transaction_prove(s, epoch, ret_number, err);
	s->is_proven = r == 0;
	return r < 0 ? my_end(s, r, err) : 0;
}

int my_stamp(struct my_store *s, struct err *err)
{
	return my_do(s, err, "UPDATE lb_leader SET beat = beat + 1 WHERE id = 1", "");
}

int my_end(struct my_store *s, int r, struct err *err)
{
	s->is_proven = false;
	if (r >= 0)
		return my_do(s, err, "COMMIT", "");
	/* A connection that cannot take it back is closed: the server then does. */
	if (s->db && my_do(s, NULL, "ROLLBACK", "") < 0)
		my_hang_up(s);
	return r;
}
