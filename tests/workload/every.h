/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every function of the probe table, as lists of names: RUNTIME_EVERY(ONE, TWO), ... They come from the table itself,
 * so that what is added there is tested. Include with ONE(id, name, kind, ...) and TWO(id, name, suffix, kind, ...)
 * defined, and EVERY_RUNTIME, EVERY_DRIVER or EVERY_NCCL.
 */
#ifdef EVERY_RUNTIME
#include "record/probe/probes_runtime.h"
#endif
#ifdef EVERY_DRIVER
#include "record/probe/probes_driver.h"
#endif
#ifdef EVERY_NCCL
#include "record/probe/probes_nccl.h"
#endif
