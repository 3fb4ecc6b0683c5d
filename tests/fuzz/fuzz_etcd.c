/* Answers of etcd's gateway: any bytes are read or refused with a reason; what is read is whole. */
#include <string.h>

#include "etcd/hear.h"
#include "util/check.h"
#include "util/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct etcd_answer a = { 0 };
	struct err err = { 0 };
	int r = etcd_hear((const char *)data, bytes, &a, &err);

	if (r < 0) {
		CHECK(err.text[0] && err.code == r);
		return 0;
	}
	for (size_t i = 0; i < a.n; i++)
		CHECK(a.kvs[i].key[a.kvs[i].key_len] == 0 &&
		      a.kvs[i].value[a.kvs[i].value_len] == 0);
	CHECK(strlen(a.cluster) < sizeof a.cluster && strlen(a.why) < sizeof a.why);
	etcd_answer_done(&a);
	return 0;
}
