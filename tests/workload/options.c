/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/workload/options.h"

#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_DEFAULT 10
#define LOAD_AFTER_MS 300
#define SETTLE_MS 500

void options_help(FILE *out)
{
	fputs("usage: driver [options]      plants faults in a pretended CUDA program\n"
	      "  --faults LIST     which, of those below, by commas (default: all)\n"
	      "  --clean           none\n"
	      "  --truth FILE      write what was planted and called, as JSON\n"
	      "  --seconds N       run that long (10), and until every fault has taken\n"
	      "  --count N         run until the trainer made N launches instead\n"
	      "  --seed N          of all that is random (1)\n"
	      "  --flood N         no scenario: N calls of each kind, as fast as they go\n"
	      "  --rate N          of a flood: so many of each kind a second, not as fast as they go\n"
	      "  --threads N       of a flood (4)\n"
	      "  --dlopen          open the library at run time, wait a little, then use it\n"
	      "  --late-dlopen     open the library at run time and use it at once\n"
	      "  --load-after MS   after how long (300)\n"
	      "  --settle MS       between having the library and its first call (0; with --dlopen 500)\n"
	      "  --priority HOW    realtime, nice or plain (default: the first that is permitted)\n"
	      "  --exit CODE       exit status when all went well (0)\n"
	      "  -q                say nothing\n"
	      "faults:\n",
	      out);
}

static bool number(const char *text, uint64_t max, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *n <= max;
}

enum option_type { TYPE_NUMBER, TYPE_TEXT, TYPE_FLAG };

/* Options are a table: where each is kept, and for numbers the greatest that makes sense. */
struct option_info {
	const char *name;
	enum option_type type;
	size_t at;
	uint64_t max;
};

#define AT(member) offsetof(struct options, member)

static const struct option_info option_infos[] = {
	{"faults", TYPE_TEXT, AT(faults), 0},
	{"truth", TYPE_TEXT, AT(truth), 0},
	{"priority", TYPE_TEXT, AT(priority), 0},
	{"clean", TYPE_FLAG, AT(clean), 0},
	{"dlopen", TYPE_FLAG, AT(dlopen), 0},
	{"late-dlopen", TYPE_FLAG, AT(late_dlopen), 0},
	{"seconds", TYPE_NUMBER, AT(seconds), 86400},
	{"count", TYPE_NUMBER, AT(count), UINT32_MAX},
	{"seed", TYPE_NUMBER, AT(seed), UINT32_MAX},
	{"flood", TYPE_NUMBER, AT(flood), UINT32_MAX},
	{"rate", TYPE_NUMBER, AT(rate), 1000000},
	{"threads", TYPE_NUMBER, AT(threads), 8192},
	{"load-after", TYPE_NUMBER, AT(load_after_ms), 3600000},
	{"settle", TYPE_NUMBER, AT(settle_ms), 3600000},
	{"exit", TYPE_NUMBER, AT(exit_code), 255},
};
#define NOPTIONS (sizeof(option_infos) / sizeof(option_infos[0]))

static int option_set(struct options *opt, const struct option_info *info, const char *text)
{
	char *at = (char *)opt + info->at;
	bool yes = true;
	uint64_t n;

	switch (info->type) {
	case TYPE_FLAG:
		memcpy(at, &yes, sizeof(yes));
		return 0;
	case TYPE_TEXT:
		memcpy(at, &text, sizeof(text));
		return 0;
	case TYPE_NUMBER:
	default:
		if (!number(text, info->max, &n)) {
			fprintf(stderr, "driver: --%s takes a number up to %llu, not '%s'\n", info->name,
				(unsigned long long)info->max, text);
			return EXIT_USAGE;
		}
		memcpy(at, &n, sizeof(n));
		return 0;
	}
}

int options_read(int argc, char **argv, struct options *opt)
{
	struct option long_options[NOPTIONS + 2] = {0};
	int c, index = 0, status;

	*opt = (struct options){.faults = "stall,leak,spike",
				.seconds = SECONDS_DEFAULT,
				.seed = 1,
				.threads = 4,
				.load_after_ms = LOAD_AFTER_MS,
				.settle_ms = UINT64_MAX};

	for (unsigned i = 0; i < NOPTIONS; i++) {
		int argument = option_infos[i].type == TYPE_FLAG ? no_argument : required_argument;

		long_options[i] = (struct option){option_infos[i].name, argument, NULL, 1};
	}
	long_options[NOPTIONS] = (struct option){"help", no_argument, NULL, 'h'};
	while ((c = getopt_long(argc, argv, "hq", long_options, &index)) != -1) {
		if (c == 'h')
			return -1;
		if (c == '?')
			return EXIT_USAGE;
		if (c == 'q')
			opt->quiet = true;
		status = c == 1 ? option_set(opt, &option_infos[index], optarg) : 0;
		if (status)
			return status;
	}
	if (optind < argc) {
		fprintf(stderr, "driver: '%s' is not an option; --help lists them\n", argv[optind]);
		return EXIT_USAGE;
	}
	if (opt->threads == 0) {
		fputs("driver: --threads takes a number of at least 1\n", stderr);
		return EXIT_USAGE;
	}
	if (opt->settle_ms == UINT64_MAX)
		opt->settle_ms = opt->dlopen ? SETTLE_MS : 0;
	return 0;
}
