/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "keys/tool/tool.h"

#define NS_PER_S 1000000000ull
#define CELLS 30
#define AFTER_NS 300000000ull
#define EACH_NS 100000000ull

static struct {
	const char *what;
	bool wanted, shown;
	uint64_t begin_ns, next_ns;
} tool_bar;

void tool_progress_begin(const char *what)
{
	const char *term = getenv("TERM");

	tool_bar.wanted = !tool_quiet && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
	if (!tool_bar.wanted)
		return;
	tool_bar.what = what;
	tool_bar.begin_ns = clock_ns(CLOCK_MONOTONIC);
	tool_bar.next_ns = tool_bar.begin_ns + AFTER_NS;
}

void tool_progress(uint64_t done, uint64_t all)
{
	static const char cells[] = "##############################";
	uint64_t now;
	int filled;

	if (!tool_bar.wanted || all == 0 || done > all)
		return;
	now = clock_ns(CLOCK_MONOTONIC);
	if (now < tool_bar.next_ns)
		return;
	tool_bar.next_ns = now + EACH_NS;
	tool_bar.shown = true;
	filled = (int)(done * CELLS / all);
	fprintf(stderr, "\r\033[K%s [%.*s%*s] %3d %%", tool_bar.what, filled, cells, CELLS - filled, "",
		(int)(done * 100 / all));
	/* A guess by what was done until now, once that is enough to go by. */
	if (done * 20 >= all)
		fprintf(stderr, ", %llu s left",
			(unsigned long long)((double)(now - tool_bar.begin_ns) * (double)(all - done) / (double)done /
						     NS_PER_S +
					     0.5));
}

void tool_progress_end(void)
{
	if (tool_bar.shown)
		fputs("\r\033[K", stderr);
	tool_bar.shown = tool_bar.wanted = false;
}
