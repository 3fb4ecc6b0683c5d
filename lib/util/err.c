/* The rows of err.def as data: text, HTTP status, may it be tried again. And failures with a text
 * of their own: it is cut to what fits and is always whole UTF-8. NULL for an err is fine
 * everywhere, and the code comes back, so that a failure is one return statement. */
#include "util/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/utf8.h"

static const struct row {
	int code, http;
	bool retry;
	const char *name, *text;
} rows[] = {
#define ERR(name, num, http, retry, text) { -(num), http, retry, #name, text },
#include "tbl/err.def"
#undef ERR
};

static const struct row *row_of(int code)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (rows[i].code == code)
			return &rows[i];
	return NULL;
}

int(err_set)(struct err *err, int code, const char *fmt, ...)
{
	if (!err)
		return code;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	utf8_clean(err->text); /* "%.80s" may have cut a character */
	err->code = code;
	return code;
}

int(err_wrap)(struct err *err, int code, const char *where)
{
	if (!err)
		return code;
	char was[sizeof err->text];
	memcpy(was, err->text, sizeof was);
	snprintf(err->text, sizeof err->text, "%.120s: %.270s", where, was);
	utf8_clean(err->text);
	err->code = code;
	return code;
}

int(err_sys)(struct err *err, int code, int errnum, const char *fmt, ...)
{
	if (!err)
		return code;
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(err->text, sizeof err->text, fmt, ap);
	va_end(ap);
	size_t at = n < 0 ? 0 : (size_t)n;
	const char *text = strerrordesc_np(errnum); /* static, safe in threads */
	if (at < sizeof err->text)
		snprintf(err->text + at, sizeof err->text - at, ": %s", text ? text : "?");
	utf8_clean(err->text);
	err->code = code;
	return code;
}

const char *err_text(int code)
{
	const struct row *r = row_of(code);
	return r ? r->text : code == 0 ? "no error" : "unknown error";
}

const char *err_name(int code)
{
	const struct row *r = row_of(code);
	return r ? r->name : code == 0 ? "OK" : "UNKNOWN";
}

int err_http(int code)
{
	const struct row *r = row_of(code);
	return r ? r->http : 500;
}

bool err_retryable(int code)
{
	const struct row *r = row_of(code);
	return r && r->retry;
}

int err_of_errno(int errnum)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
		return E_NOT_FOUND;
	case EACCES:
	case EPERM:
		return E_FORBIDDEN;
	case EAGAIN:
	case EMFILE:
	case ENFILE:
		return E_LIMIT;
	case ENOMEM:
		return E_NOMEM;
	case ENOSPC:
	case EDQUOT:
		return E_FULL;
	case E2BIG:
	case EINVAL:
	case ENOEXEC:
	case ELOOP:
	case ENAMETOOLONG:
		return E_INVALID;
	default:
		return E_IO;
	}
}
