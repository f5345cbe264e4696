/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why something failed: one code, one place, one sentence.
 *
 * Every function below a main() that can fail returns 0 (or a count) or a negative
 * enum err, and takes a struct fault last, which it fills only on failure.
 */
#ifndef GPUREC_FORMAT_BASE_FAULT_H
#define GPUREC_FORMAT_BASE_FAULT_H

#include <stdint.h>

enum err {
	ERR_NONE = 0,
	ERR_FORMAT = -1,  /* bytes break the format: MALFORMED */
	ERR_FORGED = -2,  /* bytes contradict a seal: FORGED */
	ERR_CUT = -3,     /* the bytes stop in the middle of something */
	ERR_VERSION = -4, /* a version or feature this build does not know */
	ERR_IO = -5,      /* the operating system refused a read, a write, ... */
	ERR_MEMORY = -6,  /* out of memory */
	ERR_EXISTS = -7,  /* the output is already there */
	ERR_INPUT = -8,   /* what the caller passed cannot be used */
	ERR_KEY = -9,     /* a key file cannot be used */
	ERR_DENIED = -10, /* the system does not permit it */
};

struct fault {
	enum err code;
	uint64_t offset; /* byte offset in the input, or FAULT_NOWHERE */
	char text[256];  /* one sentence without the final full stop; printable UTF-8 */
};

#define FAULT_NOWHERE UINT64_MAX

/*
 * Fill *why (which may be NULL) and return `code`, so that a caller can write
 * `return fault_set(why, ERR_FORMAT, at, "...")`. A text that does not fit is cut.
 */
__attribute__((cold, format(printf, 4, 5))) int fault_set(struct fault *why, enum err code, uint64_t offset,
							  const char *fmt, ...);

/* fault_set() with ERR_IO (or ERR_DENIED, ERR_EXISTS, ERR_MEMORY where errno says so) and strerror(errno) appended. */
__attribute__((cold, format(printf, 2, 3))) int fault_errno(struct fault *why, const char *fmt, ...);

/* fault_set() with ERR_MEMORY: an allocation failed. */
__attribute__((cold)) int fault_no_memory(struct fault *why);

/* Put the path before the sentence of a failure `r`, and return it; r == 0: nothing happens. `why` may be NULL. */
__attribute__((cold)) int fault_at_path(struct fault *why, int r, const char *path);

#endif
