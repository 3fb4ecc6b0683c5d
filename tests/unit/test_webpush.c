/* Messages for browsers: the example of RFC 8291 byte for byte, signatures that another library
 * verifies, keys and files that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <sodium.h>

#include "notifier/webpush.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/json_read.h"

/* RFC 8291, section 5 and appendix A. */
static const char text[] = "When I grow up, I want to be a watermelon";
static const char own_scalar[] = "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw";
static const char own_point[] =
	"BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8";
static const char salt_text[] = "DGv6ra1nlYgDCS1FRnbzlw";
static const struct webpush_to to = {
	.endpoint = "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV",
	.p256dh = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpk"
		  "NtoIAiw4",
	.auth = "BTBZMqHH6r4Tts7J_aSIgg",
};
static const char sealed[] =
	"DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYW"
	"AmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgS"
	"xsj_Qulcy4a-fN";

enum { BASE64 = sodium_base64_VARIANT_URLSAFE_NO_PADDING };

static size_t bytes(const char *in, size_t n, unsigned char *out, size_t room)
{
	size_t got = 0;

	assert_int_equal(sodium_base642bin(out, room, in, n, NULL, &got, NULL, BASE64), 0);
	return got;
}

static struct webpush_pair *example_pair(void)
{
	unsigned char scalar[WEBPUSH_SCALAR];
	struct webpush_pair *p = NULL;

	bytes(own_scalar, strlen(own_scalar), scalar, sizeof scalar);
	assert_int_equal(webpush_pair_new(scalar, &p, NULL), 0);
	return p;
}

static void the_example_of_the_rfc_comes_out_byte_for_byte(void **state)
{
	struct webpush_pair *p = example_pair();
	unsigned char salt[WEBPUSH_SALT], want[300];
	struct err err = { 0 };
	struct buf body;

	(void)state;
	buf_init(&body);
	assert_string_equal(webpush_pair_public(p), own_point);
	bytes(salt_text, strlen(salt_text), salt, sizeof salt);
	assert_int_equal(webpush_seal(&to, &(struct webpush_once){ p, salt }, text, strlen(text),
	                              &body, &err),
	                 0);
	size_t n = bytes(sealed, strlen(sealed), want, sizeof want);
	assert_int_equal(body.len, n);
	assert_memory_equal(buf_at(&body), want, n);
	buf_done(&body);
	webpush_pair_free(p);
}

/* --- signed -------------------------------------------------------------------------- */

static void verify(const char *token, size_t n, const char *signature, size_t signature_n,
                   const char *point)
{
	unsigned char raw[64], xy[WEBPUSH_POINT];
	gnutls_datum_t data = { (unsigned char *)(uintptr_t)token, (unsigned)n }, der = { 0 };
	gnutls_pubkey_t key;

	assert_int_equal(bytes(signature, signature_n, raw, sizeof raw), 64);
	assert_int_equal(bytes(point, strlen(point), xy, sizeof xy), sizeof xy);
	gnutls_datum_t r = { raw, 32 }, s = { raw + 32, 32 }, x = { xy + 1, 32 },
		       y = { xy + 33, 32 };
	assert_int_equal(gnutls_encode_rs_value(&der, &r, &s), 0);
	assert_int_equal(gnutls_pubkey_init(&key), 0);
	assert_int_equal(gnutls_pubkey_import_ecc_raw(key, GNUTLS_ECC_CURVE_SECP256R1, &x, &y), 0);
	assert_true(gnutls_pubkey_verify_data2(key, GNUTLS_SIGN_ECDSA_SHA256, 0, &data, &der) >= 0);
	data.data[n / 2] ^= 1; /* the same signature of another text is none */
	assert_true(gnutls_pubkey_verify_data2(key, GNUTLS_SIGN_ECDSA_SHA256, 0, &data, &der) < 0);
	data.data[n / 2] ^= 1;
	gnutls_pubkey_deinit(key);
	gnutls_free(der.data);
}

static void who_sends_is_signed_for_the_services_origin_alone(void **state)
{
	static const char begin[] = "Authorization: vapid t=";
	struct webpush_pair *p = example_pair();
	unsigned char claims[400] = "";
	const struct jval *json = NULL;
	struct buf line;

	(void)state;
	buf_init(&line);
	webpush_sign(p, to.endpoint, "mailto:ops@example.org", 1700000000, &line);
	char *all = (char *)(uintptr_t)buf_str(&line);
	assert_memory_equal(all, begin, strlen(begin));
	char *token = all + strlen(begin), *dot = strrchr(token, '.'), *comma = strchr(token, ',');
	assert_string_equal(comma, ", k=BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocIn"
	                           "mYWAmS6TlzAC8wEqKK6PBru3jl7A8");
	verify(token, (size_t)(dot - token), dot + 1, (size_t)(comma - dot - 1), own_point);
	char *middle = strchr(token, '.') + 1;
	size_t n = bytes(middle, (size_t)(dot - middle), claims, sizeof claims - 1);
	assert_int_equal(jv_parse((char *)claims, n, &json, NULL), 0);
	assert_string_equal(jv_text(json, "aud"), "https://push.example.net");
	assert_string_equal(jv_text(json, "sub"), "mailto:ops@example.org");
	assert_int_equal(jv_int(json, "exp", 0), 1700000000 + 12 * 3600);
	jv_free(json);
	buf_done(&line);
	webpush_pair_free(p);
}

/* --- refused ------------------------------------------------------------------------- */

static void keys_that_are_none_are_refused_with_what_is_wanted(void **state)
{
	static const char cut[] = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6";
	static const char off_curve[] = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTB"
					"Hm4bjyPjs7Vd8pZGH6SRpkNtoIAiw8";
	const struct webpush_to wrong[] = {
		{ to.endpoint, cut, to.auth },         { to.endpoint, off_curve, to.auth },
		{ to.endpoint, "", to.auth },          { to.endpoint, "****", to.auth },
		{ to.endpoint, to.p256dh, "AAAA" },    { to.endpoint, to.p256dh, "" },
		{ to.endpoint, to.p256dh, to.p256dh },
	};
	struct err err = { 0 };

	(void)state;
	assert_int_equal(webpush_check(&to, &err), 0);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		assert_int_equal(webpush_check(&wrong[i], &err), E_INVALID);
		assert_non_null(strstr(err.text, i < 4 ? "p256dh: want" : "auth: want"));
	}
}

static void a_text_that_no_service_takes_is_refused(void **state)
{
	static const char much[WEBPUSH_TEXT_MAX + 1];
	static const unsigned char salt[WEBPUSH_SALT];
	struct webpush_pair *p = example_pair();
	struct err err = { 0 };
	struct buf body;

	(void)state;
	buf_init(&body);
	assert_int_equal(webpush_seal(&to, &(struct webpush_once){ p, salt }, much, sizeof much,
	                              &body, &err),
	                 E_TOO_BIG);
	assert_int_equal(body.len, 0);
	assert_int_equal(webpush_seal(&to, &(struct webpush_once){ p, salt }, much, sizeof much - 1,
	                              &body, &err),
	                 0);
	assert_true(body.len <= 4096);
	buf_done(&body);
	webpush_pair_free(p);
}

/* --- the file ------------------------------------------------------------------------ */

static char folder[64], path[80];

static int folder_begin(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/sirdar-webpush-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof path, "%s/push.key", folder);
	return 0;
}

static int folder_end(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static void the_pair_is_made_once_and_stays(void **state)
{
	struct webpush_pair *first = NULL, *again = NULL;
	struct err err = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(webpush_pair_file(path, &first, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(webpush_pair_file(path, &again, &err), 0);
	assert_string_equal(webpush_pair_public(first), webpush_pair_public(again));
	webpush_pair_free(again);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(webpush_pair_file(path, &again, &err), E_FORBIDDEN);
	webpush_pair_free(first);
}

static void a_file_that_holds_no_key_is_not_written_over(void **state)
{
	struct webpush_pair *p = NULL;
	struct err err = { 0 };

	(void)state;
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", f); /* zero is no key */
	fclose(f);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(webpush_pair_file(path, &p, &err), E_INVALID);
	assert_non_null(strstr(err.text, "push.key: want a private key of P-256"));
	assert_null(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_of_the_rfc_comes_out_byte_for_byte),
		cmocka_unit_test(who_sends_is_signed_for_the_services_origin_alone),
		cmocka_unit_test(keys_that_are_none_are_refused_with_what_is_wanted),
		cmocka_unit_test(a_text_that_no_service_takes_is_refused),
		cmocka_unit_test_setup_teardown(the_pair_is_made_once_and_stays, folder_begin,
		                                folder_end),
		cmocka_unit_test_setup_teardown(a_file_that_holds_no_key_is_not_written_over,
		                                folder_begin, folder_end),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
