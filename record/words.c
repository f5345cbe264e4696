/* SPDX-License-Identifier: Apache-2.0 */
#include "record/words.h"

#include <stddef.h>

#include "record/counters.h"

const char *loss_words(uint8_t counter)
{
	static const struct {
		uint8_t counter;
		const char *words;
	} table[] = {
		{COUNTER_ring_full, "the buffer was full (--ring makes it bigger)"},
		{COUNTER_no_state, "the kernel gave no memory for the thread's state"},
		{COUNTER_too_deep, "more nested calls than are followed"},
		{COUNTER_no_entry, "begun before recording was"},
		{COUNTER_thread_exit, "the thread ended inside the call"},
		{COUNTER_in_flight, "not ended when recording did"},
		{COUNTER_no_return, "left by a jump or an exception"},
		{COUNTER_not_staged, "gpurec had no memory for it"},
		{COUNTER_sampled_out, "left out by --sample"},
		{COUNTER_over_rate, "left out by --max-rate"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].counter == counter)
			return table[i].words;
	return counter_name(counter);
}
