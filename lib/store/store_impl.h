/* store_impl.h — what implementations of the store have in common. Internal to lib/store. */
#ifndef STORE_STORE_IMPL_H
#define STORE_STORE_IMPL_H

#include "store/batch.h"
#include "store/store_ops.h"

/* Where a batch stands to the last number stored: 1 it is in already, 0 it is next,
 * E_INVALID it leaves a gap or overlaps. */
int store__check_numbers(const struct store_batch *b, uint64_t stored, struct err *err);

/* Of a workflow's document: by its version. */
static inline enum store_doc_kind workflow_kind(uint32_t version)
{
	return version_is_draft(version) ? DOC_DRAFT : DOC_WORKFLOW;
}

#endif
