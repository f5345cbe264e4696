/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture opened as evidence: read, verified, its signer looked up in the trust store. What gpuverify judges and
 * what gpureplay and gpuanalyze accept is decided here, once.
 */
#ifndef GPUREC_KEYS_EVIDENCE_H
#define GPUREC_KEYS_EVIDENCE_H

#include <sys/types.h>

#include "format/verify.h"
#include "keys/trust.h"

struct evidence_options {
	const char *const *trust_files; /* --trust PUB: public keys that count as trusted, beside the store */
	size_t ntrust_files;
	const char *const *delegation_files; /* --delegation FILE: authorities' statements, beside the store's */
	size_t ndelegation_files;
	bool unverified;         /* --unverified: accept any verdict, as long as something can be read */
	unsigned nthreads;       /* 0: all cores */
	enum verify_scope scope; /* how far to look; 0: all */
	void (*progress)(uint64_t epoch, uint64_t nepochs); /* how far verifying has come; NULL: nobody asks */
	int fd; /* the capture, already open, of which `path` is then the name; 0: open `path` */
};

/* Not to be copied or moved: the reader points to the source inside. */
struct evidence {
	struct source source;
	struct reader reader; /* readable only if `readable` */
	bool readable;        /* the header could be read */
	struct verification verification;
	char signer[17];       /* key id as minisign prints it: up to 16 hex digits; "" if not readable */
	char signer_name[128]; /* how the trust store, or an authority that it trusts, calls it; "" when not trusted */
	struct trust_answer trust; /* why it is trusted, or why not */
};

/*
 * Open and judge. Returns 0 with the verdict in e->verification (also UNCHECKED for what could not be read); negative
 * only for ERR_KEY / ERR_IO on a file of --trust or --delegation, or the trust store. evidence_close() in every case.
 */
int evidence_judge(struct evidence *e, const char *path, const struct evidence_options *o, struct fault *why);

/*
 * Whether a tool that reads may go on: OK*, UNSEALED (up to its last seal), or anything readable with `unverified`.
 * If not, *why says so in a sentence. UNSEALED with no sealed epoch is refused too: there is nothing to read.
 */
bool evidence_acceptable(const struct evidence *e, const struct evidence_options *o, struct fault *why);

/*
 * One line that every output carries: "OK, signed by 6AD2764B2DBBD4EC (node17)", the same with "(node17, vouched for by
 * KEYID until DATE)", "UNVERIFIED: FORGED ...".
 */
void evidence_sentence(const struct evidence *e, char *buf, size_t size);

/*
 * Permissions for what is made of it: those of the capture, for it reports the same hosts and programs. 0600 where
 * they cannot be read.
 */
mode_t evidence_mode(const struct evidence *e);

void evidence_close(struct evidence *e);

#endif
