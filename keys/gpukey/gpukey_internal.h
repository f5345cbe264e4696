/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of gpukey share: its subcommands, and what several of them need. Part of that program, of no library.
 */
#ifndef GPUREC_KEYS_GPUKEY_INTERNAL_H
#define GPUREC_KEYS_GPUKEY_INTERNAL_H

#include "format/base/escape.h"
#include "keys/files.h"
#include "keys/identity.h"
#include "keys/trust.h"
#include "keys/tool/tool.h"

#define SHOWN_PATH_MAX (PATH_MAX * ESCAPE_GROWTH + 1)
#define GPUKEY_REVOKED_MAX (REVOCATION_REASON_MAX * ESCAPE_GROWTH + 64)

/* Subcommands: each takes argv from its own name on and returns the program's exit status. */
int gpukey_generate(int argc, char **argv);
int gpukey_list(int argc, char **argv);
int gpukey_show(int argc, char **argv);
int gpukey_trust(int argc, char **argv);
int gpukey_untrust(int argc, char **argv);
int gpukey_sign(int argc, char **argv);
int gpukey_check(int argc, char **argv);
int gpukey_delegate(int argc, char **argv);
int gpukey_revoke(int argc, char **argv);

/* gpukey sign --custody. */
struct gpukey_custody {
	const char *action; /* NULL: none is to be recorded */
	const char *name, *note;
};
/* Whether there is such an act; -1 with *status if not. */
int gpukey_custody_action(const char *word, int *status);
/* Add a line to `output` (NULL: CAPTURE.custody) and print what to hand on. */
int gpukey_custody_sign(const struct gpukey_custody *c, const char *capture, const char *output,
			const struct identity *id, struct fault *why);

/* Read options into `settings`: index of the first of at most `max` operands, or -1 with *status. */
int gpukey_operands(const struct tool_options *o, int argc, char **argv, void *settings, int max, int *status);
/* Three lines for people: the public key, its id and its fingerprint. */
void gpukey_print_key(const struct public_key *pk);
/* Says so, and returns the exit status. */
int gpukey_no_memory(void);
/* Whether there is such a file, or a link to nowhere. */
bool gpukey_exists(const char *path);
/* Whether an entry of the store has this name or key id; the first that has, or NULL. */
bool gpukey_matches(const struct trusted *t, const char *what);
const struct trusted *gpukey_find(const struct trust_list *list, const char *what);
/* Whether `len` characters may be a public key, or most of one. */
bool gpukey_is_like_base64(const char *what, size_t len);
/* ERR_KEY for what is no file and was perhaps to be a public key, of which a part was lost on the way. */
int gpukey_check_base64(const char *what, struct fault *why);
/* The key that `what` means: base64, a name or key id of the store, or a file; NULL: this host's own. */
int gpukey_key_meant(struct public_key *pk, const char *what, const struct trust_list *list, struct fault *why);

/* What a file means to be, judged by how it begins. */
enum gpukey_sort { GPUKEY_OTHER, GPUKEY_DELEGATION, GPUKEY_REVOCATIONS };
enum gpukey_sort gpukey_sort_of(const char *path);
/* The key that signs statements: from a file, or (secret NULL) this host's, which is not made for the purpose. */
int gpukey_signer(struct identity *id, const char *secret, int passphrase_fd, struct fault *why);
/* The name of a file in the store: as said; else as the file at `path` is called without suffix; else `otherwise`. */
void gpukey_store_name(char name[TRUST_NAME_MAX + 1], const char *said, const char *path, const char *suffix,
		       const char *otherwise);
/* Take a delegation, or a revocation list, into the store, and say so. */
int gpukey_trust_delegation(const char *path, const char *said, struct fault *why);
int gpukey_trust_revocations(const char *path, const char *said, struct fault *why);
/* Print the store's delegations and revocation lists; the exit status. */
int gpukey_list_statements(const struct trust_list *list);
/* Print what delegations of the store say about a key. */
void gpukey_show_delegations(const struct trust_list *list, const struct public_key *host);
/*
 * "revoked: REASON", "revoked since DATE: REASON", as the store's lists report a key, or (pk NULL) of the delegation
 * of that hash; "" if they do not.
 */
const char *gpukey_revoked(char buf[GPUKEY_REVOKED_MAX], const struct trust_list *list, const struct public_key *pk,
			   const uint8_t *hash);
/* Remove those that `what` names; how many. */
int gpukey_untrust_statements(const struct trust_list *list, const char *what, struct fault *why);

#endif
