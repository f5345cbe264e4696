/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mkcap: a capture from a script, for tests. It goes through format/writer.h, so what comes out is sealed like the
 * recorder's own; only the events are reported instead of seen. All in one file, so that anybody can build it.
 *
 *	mkcap [-o OUT.cap] [-k SECRETKEY] [--pub FILE] [--no-end] [SCRIPT]        (SCRIPT absent or "-": stdin)
 *
 *	-o FILE      the capture; replaced if it is there (default: out.cap)
 *	-k FILE      sign with this secret key file (one without a password) instead of a fixed key for tests
 *	--pub FILE   write the signer's public key, in minisign's format: what gpukey trust and --trust take
 *	--no-end     as if the recorder had been killed after the last epoch line: no END, later rows are dropped
 *
 *	mkcap --narrow IN.cap -o OUT.cap [--withhold CLASS,...] [--from TIME] [--to TIME]
 *
 * makes no capture but a narrower copy of one, through format/narrow.h. Times as in a script; '+' adds the default
 * start (1000s), whatever IN's own is.
 *
 * A script has one statement a line; '#' begins a comment line; empty lines are fine.
 *
 *	probe ID NAME KIND     a line of the probe table (KIND "-": yields nothing of its own). Ids ascend. Before
 *	                       all else. Without any, the table `default_probes` below is used
 *	start BOOT WALL        the clocks when recording began (default: 1000s 1800000000s). Before rows
 *	KIND field=value ...   a row: any kind of format/kinds.h; fields not named are 0 or "". `probe` may be a
 *	                       name; not named for a call, it is the first probe of that kind
 *	repeat N STEP KIND f=v ...
 *	                       N such rows, `at` growing by STEP each time; a value A~B grows by B each time
 *	lost PROBE CAUSE N     N more of this counter of format/kinds.h; `fired` grows too if CAUSE counts losses
 *	self CPU RSS RING WRITTEN
 *	                       what the following seals say about the recorder itself
 *	asleep DELTA           the monotonic clock is so much behind the boot clock: seen in the next seals
 *	jump DELTA             the wall clock is set forward (-DELTA: back) by so much: seen in the next seals
 *	epoch END              seal the epoch [end of the one before, END); rows from END on stay for the next
 *	pace LENGTH            from now on, seal by itself each LENGTH; rows must then come in time order
 *	series HEX             the capture is the first one of this series: 32 hex digits. Before rows
 *	challenge HEX          bytes for the header, as of gpurec --challenge. Before rows
 *	by-process             chunks are separated by process, as with gpurec --by-process. Before rows
 *	next FILE              seal what is open, and go on in FILE, as a recorder does with --rotate; --no-end is of
 *	                       the last capture alone
 *	end REASON [STATUS]    END: a name of REASONS in format/kinds.h; STATUS: wait(2) status of the command.
 *	                       Seals what is still open. Without the line: `end interrupted`
 *
 * Numbers: decimal or 0x..., negative for signed fields; times and durations 17ns 17us 1.5ms 2s; sizes 4K 64M 1G;
 * a leading '+' adds the start's boot time: `at=+1.5s`. Texts: "..." with \xNN \n \t \" \\; no quotes if no blanks.
 * `fired` and `recorded` are kept from the rows.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "format/narrow.h"

static const struct {
	const char *name;
	uint16_t kind;
} default_probes[] = {
	{"sched_switch", KIND_switch},
	{"sched_waking", KIND_waking},
	{"futex", KIND_futex},
	{"process_fork", KIND_fork},
	{"process_exec", KIND_exec},
	{"process_exit", KIND_exit},
	{"cudaLaunchKernel", KIND_launch},
	{"cudaMalloc", KIND_alloc},
	{"cudaFree", KIND_free},
	{"cudaMemcpy", KIND_copy},
	{"cudaMemset", KIND_set},
	{"cudaStreamSynchronize", KIND_wait},
	{"cudaLaunchKernelExC", KIND_launch},
	{"cudaMallocAsync", KIND_alloc},
	{"cudaMallocManaged", KIND_alloc},
	{"cudaMallocHost", KIND_alloc},
	{"cudaHostAlloc", KIND_alloc},
	{"cudaFreeAsync", KIND_free},
	{"cudaFreeHost", KIND_free},
	{"cudaMemcpyAsync", KIND_copy},
	{"cudaMemsetAsync", KIND_set},
	{"cudaDeviceSynchronize", KIND_wait},
	{"cudaEventSynchronize", KIND_wait},
	{"page_fault", KIND_fault},
	{"oom_kill", KIND_oom},
	{"ncclAllReduce", KIND_collective},
	{"ncclCommInitRank", KIND_collective},
	{"quota_throttled", KIND_throttled},
	{"signal_sent", KIND_signal},
	{"thread_state", KIND_state},
	{"call_in_flight", KIND_in_flight},
	{"library_mapped", 0},
};

struct staged {
	uint64_t at_ns;
	size_t probe; /* index in the schema's table */
};

struct maker {
	const char *out_path, *script_path;
	unsigned line;
	bool no_end, ended;
	struct identity id;
	struct origin origin;
	struct writer *w;
	struct probe probes[PROBES_MAX];
	size_t nprobes;
	struct schema schema; /* made when the writer is */
	uint64_t start_boot_ns, start_wall_ns;
	int64_t jump_ns;
	uint64_t asleep_ns;
	uint64_t begin_ns, last_ns, pace_ns;
	struct self_stats self;
	uint64_t *counters;     /* [probe index * schema.ncounters + counter index] */
	struct counter *sealed; /* the same as the writer wants it */
	struct staged *staged;
	size_t nstaged, staged_room;
};

__attribute__((format(printf, 2, 3), noreturn)) static void die(const struct maker *m, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "mkcap: ");
	if (m->line > 0)
		fprintf(stderr, "%s:%u: ", m->script_path, m->line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static void *grow(const struct maker *m, void *p, size_t n, size_t size)
{
	p = reallocarray(p, n, size);
	if (!p)
		die(m, "out of memory");
	return p;
}

/* A word up to blank or, if `stop`, up to that character; quoted texts are unescaped in place. NULL at the line's end.
 */
static char *next_word(const struct maker *m, char **p, char stop, size_t *len)
{
	char *s = *p, *from, *to;
	bool quoted = false;

	while (*s == ' ' || *s == '\t')
		s++;
	if (!*s)
		return NULL;
	from = to = s;
	if (*s == '"') {
		quoted = true;
		s++;
	}
	while (*s && (quoted ? *s != '"' : !isspace((unsigned char)*s) && (!stop || *s != stop))) {
		if (quoted && *s == '\\') {
			char hex[3] = {s[1] == 'x' ? s[2] : 0, s[1] == 'x' && s[2] ? s[3] : 0, 0};

			if (isxdigit((unsigned char)hex[0]) && isxdigit((unsigned char)hex[1])) {
				*to++ = (char)strtoul(hex, NULL, 16);
				s += 4;
				continue;
			}
			if (!s[1] || !strchr("nt\"\\", s[1]))
				die(m, "unknown escape \\%c", s[1]);
			*to++ = s[1] == 'n' ? '\n' : s[1] == 't' ? '\t' : s[1];
			s += 2;
			continue;
		}
		*to++ = *s++;
	}
	if (quoted && *s != '"')
		die(m, "a text without its closing quote");
	*p = *s ? s + 1 : s;
	if (stop && *s != stop)
		die(m, "'%.*s': expected NAME%cVALUE", (int)(to - from), from, stop);
	*len = (size_t)(to - from);
	*to = '\0';
	return from;
}

static char *need_word(const struct maker *m, char **p, const char *what)
{
	size_t len;
	char *w = next_word(m, p, 0, &len);

	if (!w)
		die(m, "%s is missing", what);
	return w;
}

static uint64_t number_part(const struct maker *m, const char *text, char **rest)
{
	static const struct {
		const char *suffix;
		uint64_t factor;
	} units[] = {{"ns", 1},      {"us", 1000},   {"ms", 1000000}, {"s", 1000000000},
		     {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}};
	bool hex = text[0] == '0' && text[1] == 'x';
	uint64_t value, fraction = 0, scale = 1;
	size_t n;

	if (!isdigit((unsigned char)*text))
		die(m, "'%s' is no number", text);
	errno = 0;
	value = strtoull(text, rest, hex ? 16 : 10);
	if (errno)
		die(m, "'%s' is too large", text);
	if (!hex && **rest == '.') {
		for (++*rest; isdigit((unsigned char)**rest); ++*rest, scale *= 10)
			fraction = fraction * 10 + (uint64_t)(**rest - '0');
	}
	n = strcspn(*rest, "~");
	for (size_t i = 0; n > 0 && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].suffix) == n && !strncmp(*rest, units[i].suffix, n)) {
			*rest += n;
			return value * units[i].factor + fraction * units[i].factor / scale;
		}
	}
	if (scale > 1)
		die(m, "'%s': a fraction needs a unit", text);
	return value;
}

/* "A" or, if `step`, "A~B". */
static uint64_t number(const struct maker *m, const char *text, uint64_t *step)
{
	char *rest;
	const char *s = text + (*text == '+' || *text == '-');
	uint64_t value = number_part(m, s, &rest);

	if (*text == '-')
		value = 0 - value;
	if (*text == '+')
		value += m->start_boot_ns;
	if (step && *rest == '~')
		*step = number_part(m, rest + 1, &rest);
	if (*rest)
		die(m, "'%s' is no number", text);
	return value;
}

static const struct kind *kind_by_name(const struct schema *s, const char *name)
{
	for (size_t i = 0; i < s->nkinds; i++)
		if (!strcmp(s->kinds[i].name, name))
			return &s->kinds[i];
	return NULL;
}

static size_t probe_by_name(const struct maker *m, const char *name)
{
	for (size_t i = 0; i < m->schema.nprobes; i++)
		if (!strcmp(m->schema.probes[i].name, name))
			return i;
	die(m, "no probe is called '%s'", name);
}

static size_t probe_by_kind(const struct maker *m, uint16_t kind)
{
	for (size_t i = 0; i < m->schema.nprobes; i++)
		if (m->schema.probes[i].kind == kind)
			return i;
	die(m, "no probe yields rows of this kind");
}

static uint64_t *counter_at(const struct maker *m, size_t probe, uint8_t id)
{
	for (size_t i = 0; i < m->schema.ncounters; i++)
		if (m->schema.counters[i].id == id)
			return &m->counters[probe * m->schema.ncounters + i];
	die(m, "the schema lacks counter %u", id);
}

static struct clock_anchor anchor_at(const struct maker *m, uint64_t boot_ns)
{
	uint64_t passed_ns = boot_ns - m->start_boot_ns;

	return (struct clock_anchor){.boot_ns = boot_ns,
				     .wall_ns = m->start_wall_ns + passed_ns + (uint64_t)m->jump_ns,
				     .mono_ns = boot_ns - m->asleep_ns};
}

static void open_writer(struct maker *m)
{
	struct clock_anchor start = {m->start_boot_ns, m->start_wall_ns, m->start_boot_ns};
	struct sink sink;
	struct fault why;

	if (m->w)
		return;
	if (!m->nprobes) {
		for (size_t i = 0; i < sizeof(default_probes) / sizeof(default_probes[0]); i++) {
			struct probe *p = &m->probes[m->nprobes++];

			snprintf(p->name, sizeof(p->name), "%s", default_probes[i].name);
			p->id = (uint16_t)(i + 1);
			p->kind = default_probes[i].kind;
		}
	}
	if (schema_build(&m->schema, m->probes, m->nprobes, &why))
		die(m, "%s", why.text);
	m->counters = calloc(m->nprobes * m->schema.ncounters, sizeof(*m->counters));
	m->sealed = calloc(m->nprobes * m->schema.ncounters, sizeof(*m->sealed));
	if (!m->counters || !m->sealed)
		die(m, "out of memory");
	if (sink_open_file(&sink, m->out_path, true, &why) ||
	    writer_open_from(&m->w, sink, &m->id, m->probes, m->nprobes, &start, &m->origin, &why))
		die(m, "%s: %s", m->out_path, why.text);
	m->begin_ns = m->last_ns = m->start_boot_ns;
}

static uint32_t collect_counters(const struct maker *m)
{
	uint32_t n = 0;

	for (size_t p = 0; p < m->nprobes; p++) {
		for (size_t c = 0; c < m->schema.ncounters; c++) {
			uint64_t value = m->counters[p * m->schema.ncounters + c];

			if (value)
				m->sealed[n++] = (struct counter){m->probes[p].id, m->schema.counters[c].id, value};
		}
	}
	return n;
}

static void seal(struct maker *m, uint64_t end_ns)
{
	struct clock_anchor anchor = anchor_at(m, end_ns);
	struct fault why;
	size_t kept = 0;

	for (size_t i = 0; i < m->nstaged; i++) {
		if (m->staged[i].at_ns >= end_ns) {
			m->staged[kept++] = m->staged[i];
			continue;
		}
		++*counter_at(m, m->staged[i].probe, COUNTER_fired);
		++*counter_at(m, m->staged[i].probe, COUNTER_recorded);
	}
	m->nstaged = kept;
	if (writer_seal(m->w, end_ns, &anchor, &m->self, m->sealed, collect_counters(m), &why))
		die(m, "epoch: %s", why.text);
	m->begin_ns = end_ns;
}

static void stage(struct maker *m, const struct kind *k, const uint64_t *v, const char *const *text)
{
	struct fault why;

	while (m->pace_ns && v[0] >= m->begin_ns + m->pace_ns)
		seal(m, m->begin_ns + m->pace_ns);
	if (writer_add(m->w, k->id, v, text, &why))
		die(m, "%s: %s", k->name, why.text);
	if (v[0] > m->last_ns)
		m->last_ns = v[0];
	if (!(k->flags & KIND_COUNTED))
		return;
	if (m->nstaged == m->staged_room) {
		m->staged_room = m->staged_room ? m->staged_room * 2 : 1024;
		m->staged = grow(m, m->staged, m->staged_room, sizeof(*m->staged));
	}
	m->staged[m->nstaged].at_ns = v[0];
	m->staged[m->nstaged].probe = probe_by_kind(m, k->id);
	for (size_t i = 0; k->flags == KIND_CALL && i < m->nprobes; i++)
		if (m->probes[i].id == v[F_call_probe])
			m->staged[m->nstaged].probe = i;
	m->nstaged++;
}

static size_t field_by_name(const struct maker *m, const struct kind *k, const char *name)
{
	for (size_t i = 0; i < k->nfields; i++)
		if (!strcmp(k->fields[i].name, name))
			return i;
	die(m, "%s has no field '%s'", k->name, name);
}

static void do_row(struct maker *m, const char *word, char *p, uint64_t count, uint64_t at_step)
{
	const struct kind *k;
	uint64_t v[FIELDS_MAX] = {0}, step[FIELDS_MAX] = {at_step};
	const char *text[FIELDS_MAX];
	char *name, *value;
	size_t len;

	open_writer(m);
	k = kind_by_name(&m->schema, word);
	if (!k)
		die(m, "'%s' is neither a statement nor a kind of event", word);
	for (size_t i = 0; i < FIELDS_MAX; i++)
		text[i] = "";
	if (k->flags == KIND_CALL)
		v[F_call_probe] = m->probes[probe_by_kind(m, k->id)].id;
	while ((name = next_word(m, &p, '=', &len))) {
		size_t f = field_by_name(m, k, name);

		value = isspace((unsigned char)*p) || !*p ? NULL : next_word(m, &p, 0, &len);
		if (k->fields[f].encoding == ENC_TEXT) {
			text[f] = value ? value : "";
			v[f] = value ? len : 0;
		} else if (!value) {
			die(m, "%s= has no value", name);
		} else if (!strcmp(k->fields[f].name, "probe") && !isdigit((unsigned char)*value)) {
			v[f] = m->probes[probe_by_name(m, value)].id;
		} else {
			v[f] = number(m, value, &step[f]);
		}
	}
	for (; count > 0; count--) {
		stage(m, k, v, text);
		for (size_t i = 0; i < k->nfields; i++)
			v[i] += k->fields[i].encoding == ENC_TEXT ? 0 : step[i];
	}
}

static void do_repeat(struct maker *m, char *p)
{
	uint64_t count = number(m, need_word(m, &p, "the count"), NULL);
	uint64_t step_ns = number(m, need_word(m, &p, "the step"), NULL);
	char *kind = need_word(m, &p, "the kind");

	do_row(m, kind, p, count, step_ns);
}

static void do_probe(struct maker *m, char *p)
{
	struct probe *probe = &m->probes[m->nprobes];
	struct schema bare;
	struct fault why;
	const struct kind *k;
	char *kind;

	if (m->w || m->nprobes == PROBES_MAX)
		die(m, "probe lines come first, and at most %d", PROBES_MAX);
	if (schema_build(&bare, NULL, 0, &why))
		die(m, "%s", why.text);
	probe->id = (uint16_t)number(m, need_word(m, &p, "the id"), NULL);
	snprintf(probe->name, sizeof(probe->name), "%s", need_word(m, &p, "the name"));
	kind = need_word(m, &p, "the kind");
	k = kind_by_name(&bare, kind);
	if (!k && strcmp(kind, "-") != 0)
		die(m, "no kind is called '%s'", kind);
	probe->kind = k ? k->id : 0;
	m->nprobes++;
	schema_clear(&bare);
}

static void do_start(struct maker *m, char *p)
{
	if (m->w)
		die(m, "start comes before every row");
	m->start_boot_ns = 0;
	m->start_boot_ns = number(m, need_word(m, &p, "the boot time"), NULL);
	m->start_wall_ns = number(m, need_word(m, &p, "the wall time"), NULL);
}

static void do_lost(struct maker *m, char *p)
{
	const char *probe, *cause;
	uint64_t n;

	open_writer(m);
	probe = need_word(m, &p, "the probe");
	cause = need_word(m, &p, "the cause");
	n = number(m, need_word(m, &p, "the number"), NULL);
	for (size_t i = 0; i < m->schema.ncounters; i++) {
		const struct counter_type *c = &m->schema.counters[i];

		if (strcmp(c->name, cause) != 0)
			continue;
		*counter_at(m, probe_by_name(m, probe), c->id) += n;
		if (c->role == ROLE_LOST)
			*counter_at(m, probe_by_name(m, probe), COUNTER_fired) += n;
		return;
	}
	die(m, "no counter is called '%s'", cause);
}

static void do_self(struct maker *m, char *p)
{
	m->self.cpu_ns = number(m, need_word(m, &p, "CPU"), NULL);
	m->self.rss_bytes = number(m, need_word(m, &p, "RSS"), NULL);
	m->self.ring_high_bytes = number(m, need_word(m, &p, "RING"), NULL);
	m->self.written_bytes = number(m, need_word(m, &p, "WRITTEN"), NULL);
}

static void do_asleep(struct maker *m, char *p)
{
	m->asleep_ns += number(m, need_word(m, &p, "DELTA"), NULL);
}

static void do_jump(struct maker *m, char *p)
{
	m->jump_ns += (int64_t)number(m, need_word(m, &p, "DELTA"), NULL);
}

static void do_epoch(struct maker *m, char *p)
{
	open_writer(m);
	seal(m, number(m, need_word(m, &p, "the end"), NULL));
}

static void do_pace(struct maker *m, char *p)
{
	open_writer(m);
	m->pace_ns = number(m, need_word(m, &p, "the length"), NULL);
}

static void do_series(struct maker *m, char *p)
{
	const char *hex = need_word(m, &p, "the series");
	size_t n = 0;

	if (m->w)
		die(m, "series comes before every row");
	if (sodium_hex2bin(m->origin.series, SERIES_ID_BYTES, hex, strlen(hex), NULL, &n, NULL) || n != SERIES_ID_BYTES)
		die(m, "'%s' is not %d hex digits", hex, 2 * SERIES_ID_BYTES);
	m->origin.has_series = true;
}

static void do_challenge(struct maker *m, char *p)
{
	const char *hex = need_word(m, &p, "the challenge");

	if (m->w)
		die(m, "challenge comes before every row");
	if (sodium_hex2bin(m->origin.challenge, CHALLENGE_BYTES_MAX, hex, strlen(hex), NULL, &m->origin.challenge_bytes,
			   NULL))
		die(m, "'%s' is not at most %d hex digits", hex, 2 * CHALLENGE_BYTES_MAX);
}

static void do_by_process(struct maker *m, char *p)
{
	(void)p;
	if (m->w)
		die(m, "by-process comes before every row");
	m->origin.by_process = true;
}

/* What is open is sealed; the anchor of the END that may follow. */
static struct clock_anchor seal_open(struct maker *m)
{
	open_writer(m);
	if (m->last_ns >= m->begin_ns)
		seal(m, m->last_ns + 1);
	return anchor_at(m, m->begin_ns);
}

static void do_next(struct maker *m, char *p)
{
	const char *path = need_word(m, &p, "the file");
	struct clock_anchor anchor = seal_open(m);
	struct writer *next;
	struct sink sink;
	struct fault why;

	if (writer_prepare_end(m->w, REASON_rotated, NULL, &anchor, m->sealed, collect_counters(m), &why) ||
	    sink_open_file(&sink, path, true, &why) ||
	    writer_continue(&next, sink, &m->id, m->probes, m->nprobes, m->w, anchor.wall_ns, &why) ||
	    writer_put_end(m->w, &why))
		die(m, "%s: %s", path, why.text);
	writer_close(m->w);
	m->w = next;
	memset(m->counters, 0, m->nprobes * m->schema.ncounters * sizeof(*m->counters));
}

static void finish(struct maker *m, enum reason reason, const int *status)
{
	struct clock_anchor anchor = seal_open(m);
	struct fault why;

	if (writer_end(m->w, reason, status, &anchor, m->sealed, collect_counters(m), &why))
		die(m, "end: %s", why.text);
	m->ended = true;
}

static void do_end(struct maker *m, char *p)
{
	static const struct {
		const char *name;
		enum reason id;
	} reasons[] = {
#define R(id, name, text) {#name, REASON_##name},
		REASONS(R)
#undef R
	};
	char *name = need_word(m, &p, "the reason"), *status_word;
	size_t len;
	int status;

	status_word = next_word(m, &p, 0, &len);
	status = status_word ? (int)number(m, status_word, NULL) : 0;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (!strcmp(reasons[i].name, name)) {
			m->ended = m->no_end;
			if (m->no_end)
				return;
			finish(m, reasons[i].id, status_word ? &status : NULL);
			return;
		}
	}
	die(m, "no reason is called '%s'", name);
}

static const struct {
	const char *name;
	void (*run)(struct maker *m, char *rest);
} statements[] = {
	{"probe", do_probe},   {"start", do_start},         {"repeat", do_repeat}, {"lost", do_lost}, {"self", do_self},
	{"asleep", do_asleep}, {"jump", do_jump},           {"epoch", do_epoch},   {"pace", do_pace}, {"end", do_end},
	{"series", do_series}, {"challenge", do_challenge}, {"next", do_next},
	{"by-process", do_by_process},
};

static void run_line(struct maker *m, char *p)
{
	char *word;
	size_t len;

	p[strcspn(p, "\r\n")] = '\0';
	while (isspace((unsigned char)*p))
		p++;
	if (*p == '#' || !*p)
		return;
	if (m->ended)
		die(m, "nothing can follow the end");
	word = next_word(m, &p, 0, &len);
	for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
		if (!strcmp(statements[i].name, word)) {
			statements[i].run(m, p);
			return;
		}
	}
	do_row(m, word, p, 1, 0);
}

static void run_script(struct maker *m)
{
	FILE *f = strcmp(m->script_path, "-") ? fopen(m->script_path, "re") : stdin;
	char *line = NULL;
	size_t room = 0;

	if (!f)
		die(m, "%s: %s", m->script_path, strerror(errno));
	while (getline(&line, &room, f) >= 0) {
		m->line++;
		run_line(m, line);
	}
	if (ferror(f))
		die(m, "cannot read on: %s", strerror(errno));
	if (f != stdin)
		fclose(f);
	free(line);
	m->line = 0;
}

static void test_identity(struct identity *id)
{
	uint8_t seed[crypto_sign_SEEDBYTES];

	memset(seed, 0x67, sizeof(seed));
	crypto_sign_seed_keypair(id->public_key, id->secret_key, seed);
	memcpy(id->keynum, "\x01TESTKEY", KEYNUM_BYTES);
}

/* A minisign secret key made with -W: "Ed", no kdf, ..., then in the clear key number, secret and public key. */
static void load_identity(struct maker *m, const char *path)
{
	enum { KEYNUM_AT = 54, SECRET_AT = KEYNUM_AT + KEYNUM_BYTES, SECRET_FILE_BYTES = 158 };
	uint8_t key[SECRET_FILE_BYTES];
	char comment[1024], text[1024];
	size_t len = 0;
	FILE *f = fopen(path, "re");

	if (!f)
		die(m, "%s: %s", path, strerror(errno));
	if (!fgets(comment, sizeof(comment), f) || !fgets(text, sizeof(text), f) ||
	    sodium_base642bin(key, sizeof(key), text, strlen(text), "\r\n", &len, NULL,
			      sodium_base64_VARIANT_ORIGINAL) != 0 ||
	    len != sizeof(key) || memcmp(key, "Ed\0", 4) != 0)
		die(m, "%s is no secret key without a password", path);
	fclose(f);
	memcpy(m->id.keynum, key + KEYNUM_AT, KEYNUM_BYTES);
	memcpy(m->id.secret_key, key + SECRET_AT, SECRET_KEY_BYTES);
	memcpy(m->id.public_key, key + SECRET_AT + SECRET_KEY_BYTES - PUBLIC_KEY_BYTES, PUBLIC_KEY_BYTES);
}

static void write_public_key(const struct maker *m, const char *path)
{
	uint8_t key[2 + KEYNUM_BYTES + PUBLIC_KEY_BYTES] = "Ed";
	char text[sodium_base64_ENCODED_LEN(sizeof(key), sodium_base64_VARIANT_ORIGINAL)];
	FILE *f = fopen(path, "we");

	memcpy(key + 2, m->id.keynum, KEYNUM_BYTES);
	memcpy(key + 2 + KEYNUM_BYTES, m->id.public_key, PUBLIC_KEY_BYTES);
	sodium_bin2base64(text, sizeof(text), key, sizeof(key), sodium_base64_VARIANT_ORIGINAL);
	if (!f || fprintf(f, "untrusted comment: mkcap test key\n%s\n", text) < 0 || fclose(f))
		die(m, "%s: %s", path, strerror(errno));
}

struct narrower {
	const char *in_path, *classes;
	struct narrowing what;
};

static void narrow_capture(const struct maker *m, struct narrower *n)
{
	static const struct {
		const char *name;
		uint32_t id;
	} classes[] = {
#define C(id, name) {#name, id},
		CLASSES(C)
#undef C
	};
	struct source source;
	struct reader r;
	struct sink sink;
	struct fault why;
	uint64_t nwithheld;

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		const char *at = n->classes ? strstr(n->classes, classes[i].name) : NULL;

		n->what.classes |= at ? 1u << classes[i].id : 0;
	}
	if (source_open_file(&source, n->in_path, &why) || reader_open(&r, &source, &why) ||
	    sink_open_file(&sink, m->out_path, true, &why) || narrow(&r, &n->what, sink, &nwithheld, &why))
		die(m, "%s: %s", n->in_path, why.text);
	printf("%" PRIu64 " chunks withheld\n", nwithheld);
	reader_close(&r);
	source_close(&source);
}

struct arguments {
	const char *pub, *key;
	struct narrower narrower;
};

static void read_arguments(struct maker *m, struct arguments *a, int argc, char **argv)
{
	static const struct option options[] = {{"pub", required_argument, NULL, 'p'},
						{"no-end", no_argument, NULL, 'n'},
						{"output", required_argument, NULL, 'o'},
						{"key", required_argument, NULL, 'k'},
						{"narrow", required_argument, NULL, 'N'},
						{"withhold", required_argument, NULL, 'W'},
						{"from", required_argument, NULL, 'F'},
						{"to", required_argument, NULL, 'T'},
						{0}};
	int c;

	while ((c = getopt_long(argc, argv, "o:k:", options, NULL)) >= 0) {
		if (c == 'o')
			m->out_path = optarg;
		else if (c == 'k')
			a->key = optarg;
		else if (c == 'p')
			a->pub = optarg;
		else if (c == 'n')
			m->no_end = true;
		else if (c == 'N')
			a->narrower.in_path = optarg;
		else if (c == 'W')
			a->narrower.classes = optarg;
		else if (c == 'F')
			a->narrower.what.from_ns = number(m, optarg, NULL);
		else if (c == 'T')
			a->narrower.what.to_ns = number(m, optarg, NULL);
		else
			exit(2);
	}
	if (optind < argc)
		m->script_path = argv[optind];
}

int main(int argc, char **argv)
{
	static struct maker m = {.out_path = "out.cap",
				 .script_path = "-",
				 .start_boot_ns = 1000000000000,
				 .start_wall_ns = 1800000000000000000};
	struct arguments a = {.narrower.what.to_ns = UINT64_MAX};

	read_arguments(&m, &a, argc, argv);
	if (sodium_init() < 0)
		die(&m, "libsodium cannot start");
	if (a.narrower.in_path) {
		narrow_capture(&m, &a.narrower);
		return 0;
	}
	test_identity(&m.id);
	if (a.key)
		load_identity(&m, a.key);
	if (a.pub)
		write_public_key(&m, a.pub);
	run_script(&m);
	if (!m.ended && !m.no_end)
		finish(&m, REASON_interrupted, NULL);
	writer_close(m.w);
	free(m.counters);
	free(m.sealed);
	free(m.staged);
	schema_clear(&m.schema);
	return 0;
}
