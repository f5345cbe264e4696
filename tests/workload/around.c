/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations inside allocations, whose user stacks are known: one in each of around_library.c's ways, called by
 * framed(), hidden() or jumped(), by middle(), outermost() and main(); then all three inside each other.
 */
#include <stddef.h>

typedef int inside(void *at, unsigned long bytes);

int cudaMalloc(void **at, unsigned long bytes);
int cudaHostAlloc(void **at, unsigned long bytes, unsigned flags);
int cudaMallocManaged(void **at, unsigned long bytes, unsigned flags);

static volatile int result;

static __attribute__((noinline)) int framed(inside *then)
{
	void *p = (void *)then;

	result = cudaMalloc(&p, 1);
	return result;
}

static __attribute__((noinline)) int hidden(inside *then)
{
	void *p = (void *)then;

	result = cudaHostAlloc(&p, 2, 0);
	return result;
}

static __attribute__((noinline)) int jumped(inside *then)
{
	void *p = (void *)then;

	result = cudaMallocManaged(&p, 4, 1);
	return result;
}

static __attribute__((noinline)) int middle(int way, inside *then)
{
	static int (*const ways[])(inside *) = {framed, hidden, jumped};
	int r = ways[way](then);

	result++;
	return r;
}

static __attribute__((noinline)) int outermost(int way, inside *then)
{
	int r = middle(way, then);

	result++;
	return r;
}

static int third(void *at, unsigned long bytes)
{
	int r = outermost(0, NULL);

	(void)at, (void)bytes;
	result++;
	return r;
}

static int second(void *at, unsigned long bytes)
{
	int r = outermost(1, third);

	(void)at, (void)bytes;
	result++;
	return r;
}

int main(void)
{
	for (int way = 0; way < 3; way++)
		outermost(way, NULL);
	outermost(2, second);
	return 0;
}
