/* Every commit of a test goes through its journal record and back.
 *
 * store_commit() of all test programs is the one below (they are linked with
 * --wrap=store_commit): what a store has taken is packed, read back, compared field by field, and
 * packed again to the same bytes. The product does not have it. */
#include "tests/support/journal_twice.h"

#include <stdlib.h>
#include <string.h>

#include "store/journal/journal.h"
#include "store/journal/rows.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"

int __real_store_commit(struct store *s, const struct store_batch *b, struct err *err);
int __wrap_store_commit(struct store *s, const struct store_batch *b, struct err *err);

static bool text_same(const struct field *f, const void *a, const void *b)
{
	size_t n = 0, m = 0;
	const char *x = field_text(f, a, &n), *y = field_text(f, b, &m);

	return !x == !y && n == m && (!x || memcmp(x, y, n) == 0);
}

/* The first field that differs, or NULL. */
static const char *row_differs(const struct row_kind *k, const void *a, const void *b)
{
	int64_t x[FIELDS_MAX], y[FIELDS_MAX];

	row_numbers(k, a, x);
	row_numbers(k, b, y);
	for (size_t i = 0; i < k->n; i++)
		if (x[i] != y[i] || !text_same(&k->fields[i], a, b))
			return k->fields[i].name;
	return NULL;
}

static const char *arrays_differ(const struct store_batch *a, const struct store_batch *b)
{
	for (size_t i = 0; i < SECTION_ARRAYS; i++) {
		const struct row_kind *k = section_rows(section_arrays[i].section);
		size_t n, m;
		const char *x = section_array_of(a, &section_arrays[i], &n);
		const char *y = section_array_of(b, &section_arrays[i], &m);

		if (n != m)
			return section_name(section_arrays[i].section);
		for (size_t j = 0; j < n; j++) {
			const char *field = row_differs(k, x + j * k->bytes, y + j * k->bytes);
			if (field)
				return field;
		}
	}
	return NULL;
}

static const struct transition *event_from(const struct store_batch *b, size_t *at)
{
	while (*at < b->n_events && b->events[*at]->kind != TK_INSTANCE)
		++*at;
	return *at < b->n_events ? b->events[(*at)++] : NULL;
}

static const char *events_differ(const struct store_batch *a, const struct store_batch *b)
{
	const struct transition *x, *y;
	size_t i = 0, j = 0;
	const char *field = NULL;

	while ((x = event_from(a, &i)), (y = event_from(b, &j)), x && y && !field) {
		field = row_differs(section_rows(SECTION_EVENTS), x, y);
		if (!field &&
		    (!x->data != !y->data ||
		     (x->data && (x->data_kind != y->data_kind || strcmp(x->data, y->data) != 0))))
			field = "data";
	}
	return field ? field : x || y ? "events" : NULL;
}

struct images {
	const struct instance *const *list;
	size_t n;
};

static int by_key(const void *a, const void *b)
{
	const struct instance *x = *(const struct instance *const *)a;
	const struct instance *y = *(const struct instance *const *)b;

	if (x->key.task != y->key.task)
		return x->key.task < y->key.task ? -1 : 1;
	if (x->key.run_date != y->key.run_date)
		return x->key.run_date < y->key.run_date ? -1 : 1;
	return x->key.part < y->key.part ? -1 : x->key.part > y->key.part;
}

static const struct instance **sorted(const struct images *of)
{
	const struct instance **list = mem_array(of->n + 1, sizeof *list);

	if (of->n) {
		memcpy(list, of->list, of->n * sizeof *list);
		qsort(list, of->n, sizeof *list, by_key);
	}
	return list;
}

static const char *images_differ(const struct images *a, const struct images *b)
{
	if (a->n != b->n)
		return "images";
	const struct instance **x = sorted(a), **y = sorted(b);
	const char *field = NULL;
	for (size_t i = 0; i < a->n && !field; i++) {
		const struct image_row p = { .inst = *x[i] }, q = { .inst = *y[i] };
		field = row_differs(section_rows(SECTION_IMAGES), &p, &q);
	}
	free(x);
	free(y);
	return field;
}

const char *journal_differs(const struct store_batch *a, const struct store_batch *b)
{
	const struct images of_a[] = { { a->live, a->n_live },
		                       { a->done, a->n_done },
		                       { a->reopened, a->n_reopened } };
	const struct images of_b[] = { { b->live, b->n_live },
		                       { b->done, b->n_done },
		                       { b->reopened, b->n_reopened } };
	const char *field = NULL;

	if (a->epoch != b->epoch || a->at_us != b->at_us || a->first != b->first ||
	    a->last != b->last)
		return "head";
	for (int i = 0; i < 3 && !field; i++)
		field = images_differ(&of_a[i], &of_b[i]);
	if (!field)
		field = events_differ(a, b);
	return field ? field : arrays_differ(a, b);
}

/* Every piece of `bytes`; the last one must be the end. */
static const char *take_all(struct journal_reader *r, const struct buf *bytes)
{
	static struct err err;
	struct journal_head h;
	int code = 0;

	err = (struct err){ 0 };
	for (size_t at = 0; at < bytes->len && code == 0; at += h.length) {
		code = journal_head_read(buf_at(bytes) + at, bytes->len - at, &h, &err);
		if (code == 0)
			code = journal_take(r, buf_at(bytes) + at, h.length, &err);
		if (code == 1 && at + h.length < bytes->len)
			return "pieces after the one that ends the record";
	}
	return code < 0 ? err.text : code == 0 ? "a record without an end" : NULL;
}

/* What was read is packed again: the bytes are the same. */
static const char *again(struct journal_packer *p, struct journal_place place,
                         const struct store_batch *b, const struct buf *once)
{
	struct buf bytes;

	buf_init(&bytes);
	journal_pack(p, &place, b, &bytes);
	const bool same = bytes.len == once->len &&
	                  memcmp(buf_at(&bytes), buf_at(once), once->len) == 0;
	buf_done(&bytes);
	return same ? NULL : "other bytes, packed again";
}

const char *journal_twice(const struct store_batch *b)
{
	const struct journal_place from = { .store = "sixteen bytes it", .seq = 7, .before = 9 };
	struct journal_place place = from;
	struct journal_packer *p = journal_packer_new();
	struct journal_reader *r = journal_reader_new(&from);
	struct buf once;

	buf_init(&once);
	journal_pack(p, &place, b, &once);
	const char *wrong = take_all(r, &once);
	if (!wrong)
		wrong = journal_differs(b, journal_batch(r));
	if (!wrong)
		wrong = again(p, from, journal_batch(r), &once);
	if (!wrong && journal_reader_place(r).before != place.before)
		wrong = "another place";
	buf_done(&once);
	journal_reader_free(r);
	journal_packer_free(p);
	return wrong;
}

int __wrap_store_commit(struct store *s, const struct store_batch *b, struct err *err)
{
	int r = __real_store_commit(s, b, err);
	const char *wrong = r == 0 ? journal_twice(b) : NULL;

	if (wrong)
		check_failed(__FILE__, __LINE__, wrong);
	return r;
}
