/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of detached signatures: keys, files and a sample of both, in the current folder. */
#ifndef GPUREC_TESTS_SIGNED_H
#define GPUREC_TESTS_SIGNED_H

#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "keys/files.h"
#include "keys/signature.h"

static inline void put(const char *path, const void *text, size_t len)
{
	struct fault why;

	assert_int_equal(file_make(path, 0644, true, text, len, &why), 0);
}

static inline size_t get(const char *path, char *buf, size_t size)
{
	struct fault why;
	size_t len;

	assert_int_equal(file_read(path, FILE_PUBLIC, buf, size, &len, &why), 0);
	return len;
}

static inline struct identity make_identity(void)
{
	struct identity id;
	struct fault why;

	assert_int_equal(identity_generate(&id, &why), 0);
	return id;
}

/* "file" with some text, signed by a new key into "sig"; the text of the signature into buf. */
static inline size_t sign_sample(struct identity *id, struct public_key *pk, char buf[SIGNATURE_FILE_MAX])
{
	struct fault why;

	*id = make_identity();
	key_of_identity(pk, id);
	put("file", "what was recorded\n", 18);
	assert_int_equal(signature_make("file", "sig", true, id, "no matter", "timestamp:1\tfile:file", &why), 0);
	return get("sig", buf, SIGNATURE_FILE_MAX);
}

#endif
