/* SPDX-License-Identifier: Apache-2.0 */
#include "keys/tool/reach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keys/custody.h"
#include "keys/delegation.h"
#include "keys/files.h"
#include "keys/signature.h"
#include "keys/store.h"

static const struct {
	const char *path;
	unsigned rights;
} of_system[] = {
	{"/dev/tty", LANDLOCK_READ | LANDLOCK_WRITE}, /* a passphrase is asked for */
	{"/dev/null", LANDLOCK_READ | LANDLOCK_WRITE},
	{"/dev/urandom", LANDLOCK_READ},            /* where there is no getrandom(2) */
	{"/etc/passwd", LANDLOCK_READ},             /* the user's name in custody */
	{"/sys/devices/system/cpu", LANDLOCK_READ}, /* the C library, for how many there are */
};

static const char *const beside[] = {"", CUSTODY_SUFFIX, DELEGATION_SUFFIX, SIGNATURE_SUFFIX, REVOCATIONS_SUFFIX};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int reach_store(struct landlock *l, bool make, struct fault *why)
{
	static const char *const folders[] = {NULL, "trust"};
	char path[PATH_MAX];
	int r = store_path(path, "trust/", why);

	/* Without a home there is no store; who needs it says so. */
	if (r < 0)
		return make ? r : 0;
	if (make)
		r = file_make_folders(path, why);
	/* By its own name, too: it may be a link that leads out of the folder above. */
	for (size_t i = 0; i < COUNT(folders) && r == 0; i++) {
		r = store_path(path, folders[i], why);
		if (r == 0)
			r = landlock_allow(l, path, make ? LANDLOCK_MAKE : LANDLOCK_READ, why);
		if (r == 0)
			r = store_system_path(path, folders[i], why);
		if (r == 0)
			r = landlock_allow(l, path, LANDLOCK_READ, why);
	}
	return r;
}

int reach_begin(struct landlock *l, bool make, struct fault *why)
{
	int r = landlock_open(l, LANDLOCK_DENY_READING | LANDLOCK_DENY_SIGNALS, why);

	for (size_t i = 0; i < COUNT(of_system) && r == 0; i++)
		r = landlock_allow(l, of_system[i].path, of_system[i].rights, why);
	return r == 0 ? reach_store(l, make, why) : r;
}

int reach_files(struct landlock *l, const char *const *paths, size_t n, struct fault *why)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = landlock_allow(l, paths[i], LANDLOCK_READ, why);
	return r;
}

int reach_trusted(struct landlock *l, const char *const *args, size_t n, struct fault *why)
{
	unsigned roles;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = landlock_allow(l, roles_of_argument(&roles, args[i]), LANDLOCK_READ, why);
	return r;
}

int reach_capture(struct landlock *l, const char *path, struct fault *why)
{
	char file[PATH_MAX];
	int n, r = 0;

	for (size_t i = 0; i < COUNT(beside) && r == 0; i++) {
		n = snprintf(file, sizeof(file), "%s%s", path, beside[i]);
		if (n >= 0 && n < PATH_MAX)
			r = landlock_allow(l, file, LANDLOCK_READ, why);
	}
	return r;
}

int reach_output(struct landlock *l, const char *path, struct fault *why)
{
	char folder[PATH_MAX];

	file_folder(folder, path);
	return landlock_allow(l, folder, LANDLOCK_MAKE, why);
}

int reach_scratch(struct landlock *l, char scratch[PATH_MAX], struct fault *why)
{
	const char *tmp = secure_getenv("TMPDIR");
	char made[PATH_MAX];
	int n, r;

	tmp = tmp && *tmp == '/' ? tmp : "/var/tmp";
	n = snprintf(made, sizeof(made), "%s/gpurec.XXXXXX", tmp);
	if (n < 0 || n >= PATH_MAX || !mkdtemp(made))
		return fault_errno(why, "no folder for temporary files can be made in %.100s; set TMPDIR", tmp);
	strcpy(scratch, made);
	r = landlock_allow(l, scratch, LANDLOCK_MAKE, why);
	if (r == 0)
		r = landlock_allow(l, tmp, LANDLOCK_RMDIR, why);
	if (r == 0 && setenv("SQLITE_TMPDIR", scratch, 1) < 0)
		r = fault_no_memory(why);
	return r;
}

void reach_scratch_end(const char *scratch)
{
	if (*scratch)
		rmdir(scratch);
}
