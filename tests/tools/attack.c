// SPDX-License-Identifier: Apache-2.0
/*
 * attack: try to deceive gpuverify.
 *
 *	attack --list                          the attacks: name, attacker, expected verdict, what is done
 *	attack NAME IN.cap OUT.cap [OPTION]...
 *	  --seed N       another place of the same attack (default 1)
 *	  --other FILE   a second capture, for those that take something of it
 *	  --key FILE     a session's secret key, hex: what a thief of the key that the last seal announced has
 *	  --pub FILE     write the public key that an insider signs with, to be trusted by the judge
 *	  --secret FILE  write the session key that the last seal of OUT.cap announced, if it was signed anew
 *
 * Exit status: 0 OUT.cap is written; 1 this capture has not what the attack takes; 2 usage; 3 could not do it.
 */
#include <errno.h>
#include <getopt.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/attacks.h"

static const char *const attackers[ATTACKERS] = {"anyone", "forger", "insider", "thief"};

static const char *expected(const struct attack *a)
{
	return a->verdict == ATTACK_SAME      ? "SAME"
	       : a->verdict == ATTACK_REFUSED ? "REFUSED"
					      : verdict_word((enum verdict)a->verdict);
}

static void list(void)
{
	for (size_t i = 0; i < ATTACK_LISTS; i++)
		for (const struct attack *a = attack_lists[i]; a->name; a++)
			printf("%-26s %-8s %-11s %s\n", a->name, attackers[a->attacker], expected(a), a->what);
}

static int fail(const char *path)
{
	fprintf(stderr, "attack: %s: %s\n", path, strerror(errno));
	return 3;
}

static int read_all(const char *path, struct bytes *out)
{
	FILE *f = fopen(path, "re");
	uint8_t buf[65536];
	size_t n;
	int r = 0;

	if (!f)
		return fail(path);
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		bytes_add(out, buf, n);
	if (ferror(f))
		r = fail(path);
	fclose(f);
	return r;
}

static int write_all(const char *path, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "we");
	int r = !f || fwrite(bytes, 1, n, f) != n;

	if (f)
		r |= fclose(f) != 0;
	return r ? fail(path) : 0;
}

static int write_public_key(const char *path)
{
	struct identity id;
	uint8_t key[2 + KEYNUM_BYTES + PUBLIC_KEY_BYTES] = "Ed";
	char base64[sodium_base64_ENCODED_LEN(sizeof(key), sodium_base64_VARIANT_ORIGINAL)], text[256];

	attack_identity(&id);
	memcpy(key + 2, id.keynum, KEYNUM_BYTES);
	memcpy(key + 2 + KEYNUM_BYTES, id.public_key, PUBLIC_KEY_BYTES);
	sodium_bin2base64(base64, sizeof(base64), key, sizeof(key), sodium_base64_VARIANT_ORIGINAL);
	snprintf(text, sizeof(text), "untrusted comment: attacker's key\n%s\n", base64);
	return write_all(path, text, strlen(text));
}

static int write_secret(const char *path, const struct bytes *capture)
{
	uint8_t public_key[PUBLIC_KEY_BYTES], secret_key[SECRET_KEY_BYTES];
	char hex[2 * SECRET_KEY_BYTES + 1];
	struct source src;
	struct reader r;
	struct fault why;

	source_open_memory(&src, capture->data, capture->len);
	if (reader_open(&r, &src, &why) < 0) {
		fprintf(stderr, "attack: no session key: %s\n", why.text);
		return 1;
	}
	attack_session_key(r.nepochs, public_key, secret_key);
	reader_close(&r);
	sodium_bin2hex(hex, sizeof(hex), secret_key, sizeof(secret_key));
	return write_all(path, hex, strlen(hex));
}

struct request {
	struct bytes in, other, key;
	uint8_t stolen[SECRET_KEY_BYTES];
	const char *pub, *secret;
	struct attempt attempt;
};

static int read_options(struct request *q, int argc, char **argv)
{
	static const struct option options[] = {{"seed", required_argument, NULL, 's'},
						{"other", required_argument, NULL, 'o'},
						{"key", required_argument, NULL, 'k'},
						{"pub", required_argument, NULL, 'p'},
						{"secret", required_argument, NULL, 'S'},
						{"list", no_argument, NULL, 'l'},
						{0}};
	size_t n = 0;
	int c, r = 0;

	while (r == 0 && (c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (c == 'l') {
			list();
			exit(0);
		}
		if (c == 's')
			q->attempt.seed = strtoull(optarg, NULL, 0);
		else if (c == 'o')
			r = read_all(optarg, &q->other);
		else if (c == 'k')
			r = read_all(optarg, &q->key);
		else if (c == 'p')
			q->pub = optarg;
		else if (c == 'S')
			q->secret = optarg;
		else
			r = 2;
	}
	if (r == 0 && q->key.len) {
		if (sodium_hex2bin(q->stolen, sizeof(q->stolen), (const char *)q->key.data, q->key.len, " \n", &n,
				   NULL) != 0 ||
		    n != sizeof(q->stolen)) {
			fprintf(stderr, "attack: --key: not a session's secret key in hex\n");
			r = 2;
		}
		q->attempt.stolen = q->stolen;
	}
	if (r == 0 && optind + 3 != argc) {
		fprintf(stderr, "attack: NAME IN.cap OUT.cap, please; --list shows the names\n");
		r = 2;
	}
	return r;
}

static int run(struct request *q, char **operands)
{
	const struct attack *attack = attack_by_name(operands[0]);
	struct fault why;
	int r;

	if (!attack) {
		fprintf(stderr, "attack: no attack is called '%s'; --list shows them\n", operands[0]);
		return 2;
	}
	r = read_all(operands[1], &q->in);
	if (r)
		return r;
	q->attempt.bytes = q->in.data;
	q->attempt.len = q->in.len;
	if (q->other.len) {
		q->attempt.other = q->other.data;
		q->attempt.other_len = q->other.len;
	}
	if (attack_run(attack, &q->attempt, &why) < 0) {
		fprintf(stderr, "attack: %s: %s\n", operands[0], why.text);
		return why.code == ERR_INPUT ? 1 : 3;
	}
	r = write_all(operands[2], q->attempt.out.data, q->attempt.out.len);
	if (r == 0 && q->pub)
		r = write_public_key(q->pub);
	if (r == 0 && q->secret)
		r = write_secret(q->secret, &q->attempt.out);
	if (r == 0)
		printf("%s %s: %s\n", expected(attack), operands[2], attack->what);
	return r;
}

int main(int argc, char **argv)
{
	static struct request q = {.attempt.seed = 1};
	int r = sodium_init() < 0 ? 3 : read_options(&q, argc, argv);

	if (r == 0)
		r = run(&q, argv + optind);
	bytes_free(&q.in);
	bytes_free(&q.other);
	bytes_free(&q.key);
	bytes_free(&q.attempt.out);
	return r;
}
