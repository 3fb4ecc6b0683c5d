/* What both sides of an enrolment make of texts: the halves of a code, and what is signed. */
#include <string.h>

#include "util/buf.h"
#include "wire/enrol.h"

bool enrol_code_parse(const char *code, char ret_id[INVITE_ID_TEXT], uint8_t ret_key[KEY_BYTES])
{
	size_t n = INVITE_ID_TEXT - 1;

	if (strlen(code) != INVITE_CODE_TEXT - 1 || code[n] != '-' ||
	    strspn(code, "0123456789abcdef") != n ||
	    strspn(code + n + 1, "0123456789abcdef") != KEY_BYTES)
		return false;
	memcpy(ret_id, code, n);
	ret_id[n] = 0;
	memcpy(ret_key, code + n + 1, KEY_BYTES);
	return true;
}

void enrol_text(const uint8_t proof[SESSION_PROOF_BYTES], const char *name,
                const uint8_t key[PAIR_BYTES], struct buf *out)
{
	static const char what[] = "sirdar enrol";

	buf_put(out, what, sizeof what);
	buf_put(out, proof, SESSION_PROOF_BYTES);
	buf_put(out, key, PAIR_BYTES);
	buf_puts(out, name);
}
