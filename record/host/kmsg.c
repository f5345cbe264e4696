/* SPDX-License-Identifier: Apache-2.0 */
#include "record/host/kmsg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/host/procfs_internal.h"
#include "record/row.h"

#define RECORD_MAX 8192 /* the kernel's CONSOLE_EXT_LOG_MAX: longer ones are cut by it */
#define MARK "NVRM: Xid ("
#define FACILITY_BITS 3 /* below them the level */

static const char *find(const char *from, const char *end, const char *what)
{
	return memmem(from, (size_t)(end - from), what, strlen(what));
}

/* prefix ; text: priority, sequence number, time, flags; behind the line come others that begin with a blank. */
bool kmsg_parse_xid(const char *record, size_t n, struct xid *x)
{
	const char *end = record + n, *at = record, *text, *close, *pid;
	uint64_t value;

	memset(x, 0, sizeof(*x));
	if (!procfs_take_number(&at, end, 10, UINT32_MAX, &value) || value >> FACILITY_BITS)
		return false;
	text = memchr(at, ';', (size_t)(end - at));
	if (!text)
		return false;
	text++;
	at = memchr(text, '\n', (size_t)(end - text));
	end = at ? at : end;
	at = find(text, end, MARK);
	if (at != text)
		return false;
	at += strlen(MARK);
	close = find(at, end, "): ");
	if (!close)
		return false;
	if (close - at > 4 && !strncmp(at, "PCI:", 4))
		at += 4;
	while (at + x->text_bytes < close && at[x->text_bytes] != ' ' && x->text_bytes < sizeof(x->pci) - 1)
		x->text_bytes++;
	memcpy(x->pci, at, x->text_bytes);
	at = close + 3;
	if (!procfs_take_number(&at, end, 10, UINT32_MAX, &value))
		return false;
	x->code = (uint32_t)value;
	pid = find(at, end, "pid=");
	if (pid) {
		pid += 4;
		pid += pid < end && *pid == '\'';
		if (procfs_take_number(&pid, end, 10, UINT32_MAX, &value))
			x->pid = (uint32_t)value;
	}
	x->text = text;
	x->text_bytes = (size_t)(end - text);
	return true;
}

#define NAME_MARK "name="
#define COMM_BYTES_MAX 15 /* the kernel's TASK_COMM_LEN without its NUL: what the driver prints as the name */

/* A name ends before a comma and a blank. It may have these itself, so the last ones in its greatest length count. */
size_t kmsg_without_name(char *out, size_t size, const struct xid *x)
{
	const char *end = x->text + x->text_bytes, *name = find(x->text, end, NAME_MARK), *rest, *at;
	int n;

	if (!name)
		return (size_t)snprintf(out, size, "%.*s", (int)x->text_bytes, x->text);
	name += strlen(NAME_MARK);
	rest = end - name > COMM_BYTES_MAX ? name + COMM_BYTES_MAX : end;
	for (at = name; at <= name + COMM_BYTES_MAX && at + 1 < end; at++)
		if (at[0] == ',' && at[1] == ' ')
			rest = at;
	n = snprintf(out, size, "%.*s(process)%.*s", (int)(name - x->text), x->text, (int)(end - rest), rest);
	return (size_t)n < size ? (size_t)n : size - 1;
}

int kmsg_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0)
		(void)lseek(fd, 0, SEEK_END);
	return fd;
}

static int emit(struct writer *w, const struct xid *x, uint64_t at_ns, struct fault *why)
{
	char line[RECORD_MAX + sizeof("(process)")];
	struct row row = row_of(KIND_xid, at_ns);

	row.v[F_xid_code] = x->code;
	row.v[F_xid_pid] = x->pid;
	row_text(&row, F_xid_pci, x->pci);
	row_bytes(&row, F_xid_text, line, kmsg_without_name(line, sizeof(line), x));
	return row_emit(&row, w, why);
}

int kmsg_take(int fd, struct writer *w, uint64_t at_ns, struct fault *why)
{
	char record[RECORD_MAX];
	struct xid x;
	ssize_t n;
	int r = 0;

	while (r == 0) {
		n = read(fd, record, sizeof(record)); /* one record */
		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue; /* older ones were overwritten: what is left comes next */
		if (n <= 0)
			break;
		if (kmsg_parse_xid(record, (size_t)n, &x))
			r = emit(w, &x, at_ns, why);
	}
	return r;
}
