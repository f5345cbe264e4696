/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of machine this is, as `fact` rows. */
#ifndef GPUREC_RECORD_HOSTFACTS_H
#define GPUREC_RECORD_HOSTFACTS_H

#include "format/writer.h"

/* One row. */
int fact_tell(struct writer *w, uint64_t at_ns, const char *name, const char *value, struct fault *why);
__attribute__((format(printf, 5, 6))) int fact_tellf(struct writer *w, uint64_t at_ns, struct fault *why,
						     const char *name, const char *fmt, ...);

/* All that the machine says of itself. What cannot be read is left out. */
int hostfacts_tell(struct writer *w, uint64_t at_ns, struct fault *why);

#endif
