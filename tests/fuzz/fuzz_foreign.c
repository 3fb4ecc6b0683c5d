/* Lines of a guest: whatever is taken has its fields in range, whatever is refused a sentence. */
#include <string.h>

#include "util/check.h"

#include "runners/foreign/message.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char why[FOREIGN_WHY_BYTES] = "";
	struct message m;
	int r = message_read((const char *)data, bytes, &m, why);

	CHECK(r == 0 || (r == -1 && why[0] && strlen(why) < sizeof why));
	if (r == 0) {
		CHECK(m.op < OPS && m.permille >= 0 && m.permille <= 1000 && m.concurrency >= 1);
		CHECK(m.op == OP_HELLO || m.op == OP_PONG || m.job >= 1);
		CHECK(m.op != OP_LOG || m.text);
		CHECK(m.op != OP_OUTPUT || (m.name && m.value));
		CHECK(message_verdict(m.verdict) <= RUNNER_NOT_YET);
		struct text t = { 0 };

		text_json(&t, m.text ? m.text : "");
		CHECK(t.len >= 2 && t.at[0] == '"' && t.at[t.len - 1] == '"');
		text_done(&t);
	}
	message_done(&m);
	return 0;
}
