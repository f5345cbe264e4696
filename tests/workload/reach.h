/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that are defined, or reached, each in another way. They count their calls themselves: reach_made[], of
 * libreach.so, of which each namespace of the dynamic linker has its own.
 */
#ifndef GPUREC_TESTS_WORKLOAD_REACH_H
#define GPUREC_TESTS_WORKLOAD_REACH_H

#define REACH(F)                                                                                                       \
	F(cudaMalloc)               /* two versions of it, at two places */                                            \
	F(cudaFree)                 /* by the PLT, bound when it is first called */                                    \
	F(cudaFreeHost)             /* by the GOT, without a PLT */                                                    \
	F(cudaMemcpy)               /* two names for one place: cudaMemcpy_ptds */                                     \
	F(cudaHostAlloc)            /* jumps to the next one, by the PLT of its own library */                         \
	F(cudaMallocManaged)        /* */                                                                              \
	F(cudaStreamSynchronize)    /* jumps to cuStreamSynchronize, in another library */                             \
	F(cuStreamSynchronize)      /* */                                                                              \
	F(cuLaunchKernel)           /* preloaded, and jumps to the one of the same name behind it */                   \
	F(cuMemAlloc_v2)            /* preloaded, and calls it */                                                      \
	F(cudaMemset)               /* by dlsym() */                                                                   \
	F(cudaEventRecord)          /* by a local name inside its library */                                           \
	F(cudaEventRecordWithFlags) /* whose last act that is: a jump */                                               \
	F(cudaDeviceSynchronize)    /* calls itself, and jumps to itself */                                            \
	F(cudaHostRegister)         /* a local function of the program */                                              \
	F(cudaMemsetAsync)          /* of the library in another namespace of the linker */                            \
	F(cudaMemcpyAsync)          /* of a copy of the library's file */                                              \
	F(cudaStreamQuery)          /* jumps to the next one */                                                        \
	F(cudaEventQuery)           /* which is left by longjmp(), or not */                                           \
	F(cudaGraphLaunch)          /* an IFUNC */

#define REACH_ID(name) REACH_##name,
enum reach { REACH(REACH_ID) REACH_N };

extern unsigned long reach_made[REACH_N];

#define MADE(name) __atomic_fetch_add(&reach_made[REACH_##name], 1, __ATOMIC_RELAXED)

typedef int reach_function(void *at, unsigned long n);
#define REACH_DECLARE(name) reach_function name;
#define REACH_NAME(name) #name,

#endif
