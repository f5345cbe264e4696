/* SPDX-License-Identifier: Apache-2.0 */
#include "format/base/fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int fault_set(struct fault *why, enum err code, uint64_t offset, const char *fmt, ...)
{
	va_list args;

	if (!why)
		return code;
	why->code = code;
	why->offset = offset;
	va_start(args, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, args);
	va_end(args);
	return code;
}

static enum err code_of_errno(int e)
{
	switch (e) {
	case EACCES:
	case EPERM:
		return ERR_DENIED;
	case EEXIST:
		return ERR_EXISTS;
	case ENOMEM:
		return ERR_MEMORY;
	default:
		return ERR_IO;
	}
}

int fault_errno(struct fault *why, const char *fmt, ...)
{
	int e = errno;
	enum err code = code_of_errno(e);
	char said[192];
	va_list args;

	va_start(args, fmt);
	vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
	return fault_set(why, code, FAULT_NOWHERE, "%s: %s", said, strerror(e));
}

int fault_no_memory(struct fault *why)
{
	return fault_set(why, ERR_MEMORY, FAULT_NOWHERE, "out of memory");
}

int fault_at_path(struct fault *why, int r, const char *path)
{
	struct fault inner;

	if (r == 0 || !why)
		return r;
	inner = *why;
	return fault_set(why, (enum err)r, inner.offset, "%.120s: %s", path, inner.text);
}
