/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a CPU was busy, from the switches that the kernel reports: the rule, which the tests run as well.
 *
 * Kernels have been seen that run no tracing program for as long as a thread of some process is on the CPU (the init
 * process of a virtual machine): they report the switch to such a thread, and not the one away from it. It may
 * be one to the idle task. Hence what is believed is checked against the kernel's own account: how often its idle task
 * was switched away from. A CPU that was busy once is proven to have been so ever since if the idle task is not on it
 * and was switched away from no more often than then. Which other switches were left out does not matter.
 *
 * Includes nothing: who includes it has __u64, bool and __always_inline.
 */
#ifndef GPUREC_BPF_BUSY_H
#define GPUREC_BPF_BUSY_H

/*
 * What a CPU has done is one word, so that another CPU reads it whole: while it idles, how long it was busy, and this
 * bit; while it is busy, the time minus that.
 */
#define BUSY_IDLE (1ULL << 63)

struct busy {
	__u64 word;   /* as said above */
	__u64 idled;  /* how often it had ended to idle, by the kernel's account, at a time since when the word holds */
	__u64 proven; /* it was busy for at least so long */
};

static __always_inline __u64 busy_until(__u64 word, __u64 now_ns)
{
	if (word & BUSY_IDLE)
		return word & ~BUSY_IDLE;
	return now_ns > word ? now_ns - word : 0;
}

/* The CPU begins or ends to idle, or is seen for the first time. */
static __always_inline void busy_turn(struct busy *b, __u64 now_ns, __u64 idled, bool was_idle, bool idles, bool first)
{
	__u64 busy = busy_until(b->word, now_ns);

	if (first)
		busy = 0;
	else if (!(b->word & BUSY_IDLE) && (was_idle || idled != b->idled))
		busy = b->proven; /* it began to idle at a time that nobody knows */
	b->proven = busy;
	/* In this order: who reads the word before has the older count, which proves less. */
	*(volatile __u64 *)&b->word = idles ? BUSY_IDLE | busy : now_ns - busy;
	*(volatile __u64 *)&b->idled = idled;
}

/*
 * Whether the CPU may have idled though the word says that it is busy. The count must have been read after the idle
 * task was looked for, which is counted before it leaves the CPU, and both after the time that the word is asked for.
 */
static __always_inline bool busy_missed(const struct busy *b, __u64 word, bool idles, __u64 idled)
{
	return !(word & BUSY_IDLE) && (idles || idled != *(const volatile __u64 *)&b->idled);
}

/* It is known again what the CPU does: it idled or was busy, at a moment before the time and the count were read. */
static __always_inline void busy_mend(struct busy *b, __u64 word, __u64 now_ns, bool idles, __u64 idled)
{
	__u64 mended = idles ? BUSY_IDLE | b->proven : now_ns - b->proven;

	if (__sync_val_compare_and_swap(&b->word, word, mended) == word)
		*(volatile __u64 *)&b->idled = idled;
}

#endif
