/* SPDX-License-Identifier: Apache-2.0 */
/* The form of LZ4 frame that docs/FORMAT.md asks for, for tests that make frames without the writer. */
#ifndef GPUREC_TESTS_TOOLS_LZ4_FORM_H
#define GPUREC_TESTS_TOOLS_LZ4_FORM_H

#include <lz4frame.h>
#include <stddef.h>

/* Of n bytes; the size of blocks is the caller's choice. */
static inline LZ4F_preferences_t captures_form(size_t n)
{
	LZ4F_preferences_t prefs = LZ4F_INIT_PREFERENCES;

	prefs.frameInfo.blockMode = LZ4F_blockIndependent;
	prefs.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
	prefs.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled;
	prefs.frameInfo.contentSize = n;
	return prefs;
}

#endif
