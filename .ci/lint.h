/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For clang-tidy only (-include): what these functions' contracts say and no analyzer can see from another file, that
 * they return an error. Without it, every output that is "set only on success" looks uninitialized after a failure.
 */
#include "format/base/fault.h"

#define fault_set(why, code, ...) ((void)fault_set(why, code, __VA_ARGS__), (code))
#define fault_errno(...) ((void)fault_errno(__VA_ARGS__), ERR_IO)
#define fault_no_memory(why) ((void)fault_no_memory(why), ERR_MEMORY)
