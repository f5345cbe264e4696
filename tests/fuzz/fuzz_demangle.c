/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for people. Whatever the bytes: it ends, it stays within the room, what does not demangle comes out as it went
 * in, and more room never makes another text.
 */
#include <string.h>

#include "replay/demangle/demangle.h"
#include "tests/fuzz/fuzz.h"

static const char long_name[] =
	"_ZSt16__introsort_loopIPN4llvm3cfg6UpdateIPNS0_10BasicBlockEEElN9__gnu_cxx5__ops15_Iter_comp_iterIZNS1_15Le"
	"galizeUpdatesIS4_EEvNS0_8ArrayRefINS2_IT_EEEERNS0_15SmallVectorImplISD_EEbbEUlRKS5_SJ_E_EEEvSC_SC_T0_T1_";

#define SMALL 40

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	const char *name = (const char *)bytes;
	const size_t room = (size_t)2 * DEMANGLED_MAX;
	char *large = malloc(room), *small = malloc(SMALL);
	bool done;
	size_t kept = n < room - 1 ? n : room - 1;

	MUST(large && small);
	done = demangle(name, n, large, room);
	MUST(memchr(large, 0, room));
	MUST(done || (!memcmp(large, name, kept) && large[kept] == '\0'));
	if (demangle(name, n, small, SMALL))
		MUST(done && !strcmp(small, large));
	else
		MUST(!memcmp(small, name, n < SMALL - 1 ? n : SMALL - 1));
	free(large);
	free(small);
	return 0;
}

unsigned fuzz_seeds(void (*give)(void *arg, const uint8_t *bytes, size_t n), void *arg)
{
	static const char *const seeds[] = {
		"_Z4axpyPff+0x1b",
		"_Z1fIJiPcEEvDpRKT_",
		"_ZN2at6native10elementwiseILi4ENS0_11FillFunctorIfEENS_6detail5ArrayIPcLi1EEEEEviT0_T1_",
		"_ZN1AcvT_I1BEEv.isra.0.part.3",
		"_ZZ4mainENKUlvE_clEv",
		"_Z1fM1AFvvERA10_KiDv4_fDnDF16_",
		"_Z1fILb1ELj5ELln7ELc65EEvDTcl1gfp_EE",
		"_ZThn16_NSt3mapISsiSt4lessISsESaISt4pairIKSsiEEEixEOSs",
		long_name,
		"_Z1fIXsr3stdE5valueI1aEEXquL_Z1gEngLi1EstiEEvDpT_",
	};
	unsigned n = sizeof(seeds) / sizeof(seeds[0]);

	for (unsigned i = 0; i < n; i++)
		give(arg, (const uint8_t *)seeds[i], strlen(seeds[i]));
	return n;
}
