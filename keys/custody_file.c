/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of custody as files: reading, adding a line, copying; and the act on a capture that was judged. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "keys/custody.h"
#include "keys/files.h"
#include "format/base/output_file.h"

#define FILE_MODE 0644
#define LOCK_TRIES 100 /* of 50 ms: who holds the lock writes one line */
#define LOCK_PAUSE_NS 50000000
#define PIECE_BYTES (1u << 20)

int custody_path(char path[PATH_MAX], const char *capture, struct fault *why)
{
	return file_beside(path, capture, CUSTODY_SUFFIX, why);
}

static int lock(int fd, int kind, const char *path, struct fault *why)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, kind | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return fault_errno(why, "%.150s: cannot be locked", path);
		nanosleep(&pause, NULL);
	}
	return fault_set(why, ERR_IO, FAULT_NOWHERE, "%.150s: another program holds it locked; try again", path);
}

/* All bytes of the open file; the caller frees *text. */
static int read_all(int fd, const char *path, char **text, size_t *len, struct fault *why)
{
	struct stat st;
	size_t size;
	char *buf;
	int r;

	if (fstat(fd, &st) < 0)
		return fault_errno(why, "%.150s: cannot be examined", path);
	if (!S_ISREG(st.st_mode))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.150s: not a regular file, so no custody", path);
	if (st.st_size > (off_t)CUSTODY_FILE_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.150s: too large for custody (%lld bytes)", path,
				 (long long)st.st_size);
	size = (size_t)st.st_size;
	buf = malloc(size + 1);
	if (!buf)
		return fault_no_memory(why);
	r = file_fill(fd, path, buf, size, len, why);
	if (r == 0)
		*text = buf;
	else
		free(buf);
	return r;
}

/* 1 with *text; 0: there is no such file. The lock keeps a line that is just being added from looking cut. */
static int read_file(const char *path, char **text, size_t *len, struct fault *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;

	if (fd < 0 && is_absent(errno))
		return 0;
	if (fd < 0)
		return fault_errno(why, "%.150s: cannot be opened", path);
	/* A file system that knows no locks is read as it is. */
	(void)lock(fd, LOCK_SH, path, NULL);
	r = read_all(fd, path, text, len, why);
	close(fd);
	return r < 0 ? r : 1;
}

int custody_read(struct custody *c, const char *path, const struct custody_subject *s, struct fault *why)
{
	char *text = NULL;
	size_t len = 0;
	int r;

	*c = (struct custody){0};
	r = read_file(path, &text, &len, why);
	if (r > 0)
		custody_judge(c, text, file_lines(text, len), s);
	free(text);
	return r;
}

/* Put the line at the end; when that fails, the file is as it was. */
static int write_line(int fd, const char *path, const char *line, size_t n, off_t end, struct fault *why)
{
	ssize_t done;
	int r = 0;

	do {
		done = write(fd, line, n);
	} while (done < 0 && errno == EINTR);
	if (done >= 0 && (size_t)done < n) {
		errno = ENOSPC;
		done = -1;
	}
	if (done < 0 || fsync(fd) < 0) {
		r = fault_errno(why, "%.150s: cannot be written", path);
		(void)!ftruncate(fd, end);
	}
	return r;
}

/* What an extended chain needs of the one that is there. */
static int check_before(struct custody *c, const char *path, const char *text, size_t len,
			const struct custody_subject *s, struct fault *why)
{
	if (len == 0)
		return 0;
	custody_judge(c, text, len, s);
	if (c->why.code == ERR_MEMORY)
		return fault_no_memory(why);
	if (c->state != CUSTODY_INTACT)
		return fault_set(why, ERR_FORGED, FAULT_NOWHERE, "%.100s is not extended: %s: %.120s", path,
				 custody_state_word(c->state), c->why.text);
	if (c->nlines >= CUSTODY_LINES_MAX || len > CUSTODY_FILE_MAX - CUSTODY_LINE_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.150s is full: %zu acts", path, c->nlines);
	return 0;
}

static int append_locked(int fd, const char *path, struct custody_line *l, const struct custody_subject *s,
			 const struct identity *id, struct fault *why)
{
	char line[1 + CUSTODY_LINE_MAX] = "\n", *text = NULL;
	struct custody c = {0};
	size_t len, unended;
	int r = read_all(fd, path, &text, &len, why);

	if (r < 0)
		return r;
	unended = len > 0 && text[len - 1] != '\n'; /* the end of the line before is missing: it is added */
	r = check_before(&c, path, text, file_lines(text, len), s, why);
	if (r == 0) {
		l->number = c.nlines + 1;
		if (c.nlines)
			memcpy(l->previous, c.lines[c.nlines - 1].hash, HASH_BYTES);
		else
			custody_start(l->previous, l->capture_id);
		custody_line_sign(l, id);
		r = write_line(fd, path, line + 1 - unended, unended + custody_line_format(line + 1, l), (off_t)len,
			       why);
	}
	custody_clear(&c);
	free(text);
	return r;
}

int custody_append(const char *path, struct custody_line *l, const struct custody_subject *s, const struct identity *id,
		   struct fault *why)
{
	int fd, r;

	/* No link: who writes as root should not add lines to a file that somebody else chose. */
	fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, FILE_MODE);
	if (fd < 0 && errno == ELOOP)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "%.150s: a link; name the file of custody itself",
				 path);
	if (fd < 0)
		return fault_errno(why, "%.150s: cannot be opened", path);
	r = lock(fd, LOCK_EX, path, why);
	if (r == 0)
		r = append_locked(fd, path, l, s, id, why);
	if (close(fd) < 0 && r == 0)
		r = fault_errno(why, "%.150s: cannot be written", path);
	if (r == 0 && l->number == 1)
		r = sync_folder_of(path) < 0 ? fault_errno(why, "the folder of %.150s cannot be written", path) : 0;
	return r;
}

int custody_copy(const char *from, const char *to, bool replace, struct fault *why)
{
	char source[PATH_MAX], target[PATH_MAX], *text = NULL;
	size_t len = 0;
	int r = custody_path(source, from, why);

	if (r == 0)
		r = custody_path(target, to, why);
	if (r == 0)
		r = read_file(source, &text, &len, why);
	if (r > 0) {
		r = file_make(target, FILE_MODE, replace, text, len, why);
		if (r == 0)
			r = 1;
	}
	free(text);
	return r;
}

int custody_hash_file(uint8_t hash[HASH_BYTES], const struct source *source, struct fault *why)
{
	crypto_generichash_state state;
	uint8_t *piece = malloc(PIECE_BYTES);
	uint64_t at = 0;
	int r = 0;

	if (!piece)
		return fault_no_memory(why);
	crypto_generichash_init(&state, NULL, 0, HASH_BYTES);
	while (r == 0 && at < source->size) {
		size_t n = source->size - at < PIECE_BYTES ? (size_t)(source->size - at) : PIECE_BYTES;

		r = source_read(source, at, piece, n, why);
		if (r == 0)
			crypto_generichash_update(&state, piece, n);
		at += n;
	}
	crypto_generichash_final(&state, hash, HASH_BYTES);
	free(piece);
	return r;
}

bool custody_host_withheld(const struct evidence *e)
{
	for (uint64_t i = 0; e->readable && i < e->reader.nepochs; i++)
		for (uint32_t c = 0; c < e->reader.epochs[i].nchunks; c++)
			if (e->reader.epochs[i].chunks[c].withheld && e->reader.epochs[i].chunks[c].class == CLASS_host)
				return true;
	return false;
}

const struct custody_line *custody_with_host(const struct custody *c)
{
	for (size_t i = 0; i < c->nlines; i++)
		if (strchr(c->lines[i].who, '@'))
			return &c->lines[i];
	return NULL;
}

/*
 * Who, if nobody said: user@host; only the user if the host's name was withheld from the capture. From the file itself:
 * the system's name services may ask a network.
 */
static void name_of_user(char who[CUSTODY_WHO_MAX + 1], bool with_host)
{
	FILE *users = fopen("/etc/passwd", "re");
	const struct passwd *entry = NULL;
	struct utsname host;
	char user[128];

	snprintf(user, sizeof(user), "uid%u", (unsigned)geteuid());
	while (users && (entry = fgetpwent(users)) && entry->pw_uid != geteuid())
		;
	if (entry)
		snprintf(user, sizeof(user), "%s", entry->pw_name);
	if (users)
		fclose(users);
	if (with_host)
		snprintf(who, CUSTODY_WHO_MAX + 1, "%.120s@%.120s", user,
			 uname(&host) == 0 ? host.nodename : "somewhere");
	else
		snprintf(who, CUSTODY_WHO_MAX + 1, "%.120s", user);
}

static int fill_texts(const struct custody_request *q, bool with_host, struct custody_line *l, struct fault *why)
{
	if (q->who && (!*q->who || strlen(q->who) > CUSTODY_WHO_MAX))
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "a name in custody has 1 to %d bytes, not %zu",
				 CUSTODY_WHO_MAX, strlen(q->who));
	if (q->note && strlen(q->note) > CUSTODY_NOTE_MAX)
		return fault_set(why, ERR_INPUT, FAULT_NOWHERE, "a note in custody has at most %d bytes, not %zu",
				 CUSTODY_NOTE_MAX, strlen(q->note));
	if (q->who)
		strcpy(l->who, q->who);
	else
		name_of_user(l->who, with_host);
	strcpy(l->note, q->note ? q->note : "");
	return 0;
}

int custody_record(const struct custody_request *q, const struct evidence *e, const struct identity *id,
		   struct custody_line *l, struct fault *why)
{
	struct custody_line line = {.action = q->action, .verdict = e->verification.verdict, .time_s = time(NULL)};
	const struct custody_subject s = custody_subject_of(e);
	int r;

	if (!e->readable || line.verdict == VERDICT_UNCHECKED || line.verdict >= VERDICT_MALFORMED)
		return fault_set(why, ERR_FORGED, FAULT_NOWHERE, "no act is recorded on a capture that is %s",
				 verdict_word(line.verdict));
	r = fill_texts(q, !custody_host_withheld(e), &line, why);
	if (r == 0)
		r = custody_hash_file(line.file, &e->source, why);
	if (r < 0)
		return r;
	memcpy(line.capture_id, e->reader.header.capture_id, CAPTURE_ID_BYTES);
	memcpy(line.seal, custody_subject_seal(&s), HASH_BYTES);
	r = custody_append(q->path, &line, &s, id, why);
	if (r == 0)
		*l = line;
	return r;
}
