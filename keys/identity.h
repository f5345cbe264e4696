/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity that signs captures: the host's own, made at first use, or one from a key file.
 *
 * Call before confining: the first use makes folders and files. Wipe as soon as writer_open() has signed.
 */
#ifndef GPUREC_KEYS_IDENTITY_H
#define GPUREC_KEYS_IDENTITY_H

#include <limits.h>

#include "keys/minisign.h"

/* Where an identity came from. */
struct identity_origin {
	bool made;           /* it did not exist before this call */
	char path[PATH_MAX]; /* of the secret key file */
	char name[128];      /* when made: how the trust store calls it from now on */
};

/*
 * path: a minisign secret key file; NULL: the host's (HOME/host.key, see keys/store.h), which is made when absent, its
 * public half put beside it and into the trust store. Of two processes that make it at once one wins and both
 * get the same key. passphrase_fd: where the passphrase of an encrypted key is read from; -1: the terminal.
 *
 * Fills *id (its memory is locked if the system allows) and *from. On failure *id holds nothing secret. ERR_KEY: the
 * file cannot serve; ERR_IO, ERR_DENIED; ERR_INPUT: no passphrase.
 */
int identity_load(struct identity *id, const char *path, int passphrase_fd, struct identity_origin *from,
		  struct fault *why);

/*
 * Make the host's identity; passphrase NULL: not encrypted. ERR_EXISTS: there is one, and `replace` is false. Else as
 * identity_load(). What the old key signed stays trusted.
 */
int identity_make_host(struct identity *id, bool replace, const char *passphrase, struct identity_origin *from,
		       struct fault *why);

/* Both halves as minisign files, the secret one with mode 0600. ERR_EXISTS unless `replace`. */
int identity_write(const struct identity *id, const char *secret_path, const char *public_path, bool replace,
		   const char *passphrase, struct fault *why);

/* Zero it and unlock its memory. Fine on one that is wiped or was never loaded. */
void identity_wipe(struct identity *id);

/*
 * What to show a person about an identity that was just made: two lines without newlines, its id and fingerprint, and
 * the command that trusts it on another machine.
 */
void identity_introduce(const struct identity *id, const struct identity_origin *from, char *what, size_t what_size,
			char *command, size_t command_size);

#endif
