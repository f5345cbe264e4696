/* SPDX-License-Identifier: Apache-2.0 */
/* What is withheld from a capture, as runs: of which class, which epochs, what time. */
#ifndef GPUREC_REPLAY_VERIFY_WITHHELD_H
#define GPUREC_REPLAY_VERIFY_WITHHELD_H

#include <stdio.h>

#include "format/base/json.h"
#include "format/reader.h"
#include "replay/verify/summary.h"

/* Call `each` for every run of a class in the first `nepochs` epochs, in the order of time. How many there are. */
uint64_t withheld_runs(const struct reader *r, uint64_t nepochs, uint8_t class,
		       void (*each)(void *arg, const struct withheld_run *run), void *arg);

/* Wall-clock time of a boot-clock time, for people: to the second. */
const char *wall_second(char buf[64], const struct reader *r, uint64_t boot_ns);

/* A time since recording began: "+1.400000000 s". Returns `buf`, of which 48 bytes are enough. */
char *since_start(char *buf, size_t size, const struct reader *r, uint64_t boot_ns);

/* "epoch 3", "epochs 3 to 7". Returns `buf`, of which 64 bytes are enough. */
char *epochs_words(char *buf, size_t size, uint64_t first, uint64_t last);

/* The lines of a verdict, and its member "withheld". */
void withheld_print(FILE *f, const struct reader *r, const struct summary *s);
void withheld_json(struct json *j, const struct reader *r, const struct summary *s);

#endif
