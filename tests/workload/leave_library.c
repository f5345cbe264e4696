/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two functions of CUDA's runtime inside which anything may happen: they call what they are given, if anything. And one
 * whose calls have stacks.
 */
#include <stddef.h>

int cudaStreamSynchronize(void (*inside)(void));
int cudaEventSynchronize(void (*inside)(void));
int cudaMalloc(void **to, size_t n);

int cudaStreamSynchronize(void (*inside)(void))
{
	if (inside)
		inside();
	return 0;
}

int cudaEventSynchronize(void (*inside)(void))
{
	if (inside)
		inside();
	return 0;
}

int cudaMalloc(void **to, size_t n)
{
	*to = (void *)0x1000;
	return n ? 0 : 1;
}
