/* SPDX-License-Identifier: Apache-2.0 */
#include "format/cursor.h"

#include <stdlib.h>
#include <string.h>

#include "format/chunk.h"
#include "format/layout.h"

/* A loaded group with rows left. */
struct head {
	uint64_t at_ns; /* of its next row */
	uint32_t row;   /* which one that is */
	uint32_t group; /* index in the chunk's groups, which ascend by kind */
};

/* Some rows of a group with columns, by row: see columns_block(). */
struct block {
	uint64_t *v;
	size_t pitch;
	uint32_t first, end; /* rows that are there */
};

/*
 * One lane for each class, and part: their chunks follow each other in time, so one loaded chunk a lane is enough to
 * merge, however long the epoch is.
 */
struct lane {
	uint32_t next;                    /* index of the chunk to load next */
	uint32_t end;                     /* index after the last chunk of this class and part */
	struct head heads[KINDS_MAX + 1]; /* by time, then by group; behind them one that is later than all */
	size_t nheads;
	struct block blocks[KINDS_MAX];
	struct content content;
};

struct cursor {
	const struct reader *reader;
	bool unverified;
	uint64_t epoch;   /* index; = nepochs: at the end */
	bool marked;      /* the mark of `epoch` has been given, its lanes are set */
	uint64_t from_ns; /* rows before this are passed over */
	uint64_t to_ns;   /* and those from this on */
	uint64_t nbefore; /* rows of the epochs before */
	uint64_t npassed; /* rows of this epoch that were given or passed over */
	bool unnumbered;
	bool limited;                   /* asked for less than all */
	bool wanted[KINDS_MAX];         /* by the kind's place in the schema: its rows are to be given */
	uint32_t fields[KINDS_MAX];     /* what to decode */
	bool class_wanted[CLASSES_MAX]; /* something of it is to be decoded */
	struct lane *lanes;             /* one for each class and part that the epoch has */
	size_t nlanes;
	struct lane *first; /* the one with the next row; NULL: to be found out */
	struct lane *rival; /* the one that would have it otherwise; NULL: none */
	/* If there is a first lane: the group of the next row. All rows before until_ns are of it. */
	const struct rows *rows;
	struct block *block;
	uint64_t until_ns;
	bool given; /* they are to be given */
	bool ready; /* and have no texts. False without a first lane */
	/*
	 * While that goes on, cursor_next() alone goes from row to row. What else there is of the position (the first
	 * lane's head, npassed) stays behind; settle() brings it up.
	 */
	struct {
		uint32_t row, end;     /* the next row; those before `end` are in the block, with one behind them */
		const uint64_t *at_ns; /* by row */
		const uint64_t *v;     /* of the next row */
		size_t pitch;
		const struct kind *shape;
		const struct epoch *epoch;
		uint64_t base; /* a row's number, less its place in the group */
	} run;
	/* Of the latest event, if its kind has texts. */
	uint64_t values[FIELDS_MAX];
	const char *texts[FIELDS_MAX];
};

static const uint64_t no_values[FIELDS_MAX];
static const char *const no_texts[FIELDS_MAX];

bool event_text_is(const struct event *ev, size_t field, const char *text)
{
	return ev->text[field] && ev->v[field] == strlen(text) && memcmp(ev->text[field], text, strlen(text)) == 0;
}

int cursor_open(struct cursor **cur, const struct reader *r, bool unverified, struct fault *why)
{
	struct cursor *c = calloc(1, sizeof(*c));

	if (c)
		c->lanes = calloc(EPOCH_LANES_MAX, sizeof(*c->lanes));
	if (!c || !c->lanes) {
		free(c);
		return fault_no_memory(why);
	}
	c->reader = r;
	c->unverified = unverified;
	c->to_ns = UINT64_MAX;
	*cur = c;
	return 0;
}

void cursor_close(struct cursor *cur)
{
	if (!cur)
		return;
	for (size_t i = 0; i < EPOCH_LANES_MAX; i++) {
		content_free(&cur->lanes[i].content);
		for (size_t g = 0; g < KINDS_MAX; g++)
			free(cur->lanes[i].blocks[g].v);
	}
	free(cur->lanes);
	free(cur);
}

void cursor_ask(struct cursor *cur, const struct cursor_wish *wish)
{
	const struct schema *s = &cur->reader->header.schema;

	cur->to_ns = wish->to_ns;
	cur->unnumbered = wish->unnumbered;
	cur->limited = wish->fields != NULL;
	memset(cur->class_wanted, 0, sizeof(cur->class_wanted));
	for (size_t k = 0; k < s->nkinds; k++) {
		cur->wanted[k] = !wish->fields || wish->fields[k];
		cur->fields[k] = wish->fields ? wish->fields[k] : UINT32_MAX;
		/* To be counted in its place, a row must be there with its time. */
		if (!cur->unnumbered)
			cur->fields[k] |= 1;
		if (cur->fields[k])
			cur->class_wanted[s->kinds[k].class % CLASSES_MAX] = true;
	}
}

/* Rows of an epoch that are there. */
static uint64_t rows_of(const struct epoch *e)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < e->nchunks; i++)
		if (!e->chunks[i].withheld)
			n += e->chunks[i].nrows;
	return n;
}

/* Whether there is anything in it to be given. */
static bool epoch_is_wanted(const struct cursor *cur, const struct epoch *e)
{
	const struct schema *s = &cur->reader->header.schema;

	for (uint32_t i = 0; cur->limited && i < e->ncounts; i++) {
		const struct kind *k = schema_kind(s, e->counts[i].kind);

		if (k && cur->wanted[k - s->kinds])
			return true;
	}
	return !cur->limited;
}

static int set_lanes(struct cursor *cur, const struct epoch *e, struct fault *why)
{
	cur->nlanes = 0;
	cur->npassed = 0;
	if (!epoch_is_wanted(cur, e))
		return 0;
	for (uint32_t i = 0; i < e->nchunks; i++) {
		struct lane *lane;

		if (i == 0 || e->chunks[i].class != e->chunks[i - 1].class ||
		    e->chunks[i].part != e->chunks[i - 1].part) {
			if (cur->nlanes == EPOCH_LANES_MAX)
				return fault_set(why, ERR_FORMAT, e->seal_offset,
						 "an epoch has more than %d classes and parts", EPOCH_LANES_MAX);
			lane = &cur->lanes[cur->nlanes++];
			lane->next = i;
			lane->nheads = 0;
		}
		cur->lanes[cur->nlanes - 1].end = i + 1;
	}
	return 0;
}

static inline bool head_before(const struct head *a, const struct head *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->group < b->group);
}

/* Those behind the first are in order. Most have their next row much later: it takes few steps. */
static inline void sort_in_first(struct head *first)
{
	const struct head head = *first;

	for (; head_before(first + 1, &head); first++)
		first[0] = first[1];
	*first = head;
}

/* Room for rows of the groups that are decoded by and by. */
static int lane_blocks(struct lane *lane, struct fault *why)
{
	const size_t bytes = sizeof(uint64_t) * COLUMNS_BLOCK * FIELDS_MAX;

	for (size_t g = 0; g < lane->content.ngroups; g++) {
		struct block *b = &lane->blocks[g];

		if (!lane->content.groups[g].columns)
			continue;
		if (!b->v)
			b->v = malloc(bytes);
		if (!b->v)
			return fault_no_memory(why);
		b->pitch = kind_nvalues(lane->content.groups[g].kind);
		memset(b->v, 0, sizeof(uint64_t) * COLUMNS_BLOCK * b->pitch);
		b->first = b->end = 0;
	}
	return 0;
}

/* Pass over the rows before from_ns in a chunk just loaded: so many. */
static uint64_t lane_start(struct lane *lane, uint64_t from_ns)
{
	uint64_t npassed = 0;

	lane->nheads = 0;
	for (uint32_t g = 0; g < lane->content.ngroups; g++) {
		const struct rows *rows = &lane->content.groups[g];
		uint32_t i = 0;

		while (i < rows->nrows && rows->v[i] < from_ns)
			i++;
		if (i < rows->nrows)
			lane->heads[lane->nheads++] = (struct head){.at_ns = rows->v[i], .row = i, .group = g};
		npassed += i;
	}
	lane->heads[lane->nheads] = (struct head){.at_ns = UINT64_MAX, .group = UINT32_MAX};
	for (size_t i = lane->nheads; i-- > 0;)
		sort_in_first(&lane->heads[i]);
	return npassed;
}

/* Make the lane stand on a row, loading chunks as needed; or be at its end. */
static int lane_fill(struct cursor *cur, struct lane *lane, const struct epoch *e, struct fault *why)
{
	while (lane->nheads == 0 && lane->next < lane->end) {
		const struct chunk *chunk = &e->chunks[lane->next];
		bool skipped = cur->limited && !cur->class_wanted[chunk->class % CLASSES_MAX];

		if (chunk->withheld) {
			skipped = true;
		} else if (chunk->last_ns < cur->from_ns) {
			skipped = true;
			cur->npassed += chunk->nrows;
		} else if (chunk->first_ns >= cur->to_ns) {
			lane->next = lane->end; /* so do all that follow */
			break;
		}
		if (!skipped) {
			int r = content_load_fields(&lane->content, cur->reader, e, lane->next, !cur->unverified,
						    cur->limited ? cur->fields : NULL, why);

			if (r == 0)
				r = lane_blocks(lane, why);
			if (r < 0)
				return r;
			cur->npassed += lane_start(lane, cur->from_ns);
		}
		lane->next++;
	}
	return 0;
}

/* Out of line, for it is done once for many rows. */
static __attribute__((noinline)) void block_fill(struct block *b, const struct rows *rows, uint32_t row)
{
	b->first = row;
	b->end = rows->nrows - row < COLUMNS_BLOCK ? rows->nrows : row + COLUMNS_BLOCK;
	columns_block(rows, row, b->end - row, b->v, b->pitch);
}

/* A row of a kind with texts. What this build knows and the capture does not has stayed 0. */
static void gather_row(struct cursor *cur, const struct rows *rows, uint32_t row)
{
	size_t nfields = rows->kind->nfields;

	memset(cur->values, 0, sizeof(cur->values));
	memset(cur->texts, 0, sizeof(cur->texts));
	for (size_t f = 0; f < nfields; f++) {
		cur->values[f] = rows->v[f * rows->nrows + row];
		cur->texts[f] = rows->text[f * rows->nrows + row];
	}
}

static void give_mark(const struct epoch *e, struct event *ev)
{
	*ev = (struct event){.kind = KIND_epoch, .at_ns = e->begin_ns, .epoch = e, .v = no_values, .text = no_texts};
}

/* The time of the next row of a lane that has one. */
static uint64_t next_ns(const struct lane *lane)
{
	return lane->heads[0].at_ns;
}

static uint16_t next_kind(const struct lane *lane)
{
	return lane->content.groups[lane->heads[0].group].kind->id;
}

/* Whether lane `a`, which has rows, comes before `b`, which has some or is NULL. */
static bool comes_before(const struct lane *a, const struct lane *b)
{
	if (!b || next_ns(a) < next_ns(b))
		return true;
	if (next_ns(a) != next_ns(b) || next_kind(a) != next_kind(b))
		return next_ns(a) == next_ns(b) && next_kind(a) < next_kind(b);
	return a < b; /* of two parts the lower one */
}

/* Another group of the first lane may be next, or another lane: see who it is, and for how long. */
static void look_at_first(struct cursor *cur)
{
	struct lane *lane = cur->first;
	const struct head *head = lane->heads;
	uint64_t until_ns = head[1].at_ns < cur->to_ns ? head[1].at_ns : cur->to_ns;

	cur->ready = false;
	cur->run.end = 0;
	if (!lane->nheads || !comes_before(lane, cur->rival)) {
		cur->first = NULL;
		return;
	}
	cur->rows = &lane->content.groups[head->group];
	cur->block = &lane->blocks[head->group];
	cur->until_ns = cur->rival && next_ns(cur->rival) < until_ns ? next_ns(cur->rival) : until_ns;
	cur->given = head->at_ns < cur->to_ns &&
		     (!cur->limited || cur->wanted[cur->rows->kind - cur->reader->header.schema.kinds]);
	cur->ready = cur->given && cur->rows->columns;
}

/* The first lane is on another row now: as look_at_first(). */
static void move_on(struct cursor *cur)
{
	struct lane *lane = cur->first;
	struct head *head = lane->heads;

	if (head->row < cur->rows->nrows)
		sort_in_first(head);
	else
		memmove(head, head + 1, lane->nheads-- * sizeof(*head));
	look_at_first(cur);
}

/* Beyond the next row; the one behind it mostly is of the same group. */
static inline void pass_row(struct cursor *cur)
{
	struct head *head = cur->first->heads;
	uint32_t row = head->row + 1;

	cur->npassed++;
	head->row = row;
	if (row < cur->rows->nrows) {
		head->at_ns = cur->rows->v[row];
		if (head->at_ns < cur->until_ns)
			return;
	}
	move_on(cur);
}

/* The next row, but for its values. */
static int give_row(struct cursor *cur, struct event *ev, const uint64_t *v, const char *const *text)
{
	ev->kind = cur->rows->kind->id;
	ev->at_ns = next_ns(cur->first);
	ev->shape = cur->rows->kind;
	ev->epoch = cur->reader->epochs + cur->epoch;
	ev->v = v;
	ev->text = text;
	pass_row(cur);
	ev->last = cur->first && next_ns(cur->first) > ev->at_ns;
	ev->number = cur->unnumbered ? 0 : cur->nbefore + cur->npassed;
	return 1;
}

/*
 * The next row is ready: those that follow it, as far as they are in the block, are for cursor_next(). Nothing is
 * decoded for that: the values of the row just given may be there.
 */
static inline void begin_run(struct cursor *cur)
{
	const struct rows *rows = cur->rows;
	const struct block *b = cur->block;
	uint32_t row = cur->first->heads->row;

	if (row >= b->end)
		return;
	cur->run.row = row;
	cur->run.end = b->end < rows->nrows ? b->end : rows->nrows - 1;
	cur->run.at_ns = rows->v;
	cur->run.v = b->v + (row - b->first) * b->pitch;
	cur->run.pitch = b->pitch;
	cur->run.shape = rows->kind;
	cur->run.epoch = cur->reader->epochs + cur->epoch;
	cur->run.base = cur->nbefore + cur->npassed + 1 - row;
}

/* As begin_run() had it, up to where cursor_next() has come. */
static inline void settle(struct cursor *cur)
{
	struct head *head;

	if (!cur->run.end)
		return;
	head = cur->first->heads;
	cur->npassed += cur->run.row - head->row;
	head->row = cur->run.row;
	head->at_ns = cur->run.at_ns[head->row];
	cur->run.end = 0;
}

static int give_with_texts(struct cursor *cur, struct event *ev)
{
	gather_row(cur, cur->rows, cur->first->heads->row);
	return give_row(cur, ev, cur->values, cur->texts);
}

/* The next row, which is ready. */
static inline int give_ready(struct cursor *cur, struct event *ev)
{
	struct block *b = cur->block;
	uint32_t row = cur->first->heads->row;

	if (row >= b->end)
		block_fill(b, cur->rows, row);
	give_row(cur, ev, b->v + (row - b->first) * b->pitch, no_texts);
	if (cur->ready)
		begin_run(cur);
	return 1;
}

/* Find out which lane has the next row, loading what is needed for that; at the epoch's end none has. */
static int find_lanes(struct cursor *cur, const struct epoch *e, struct fault *why)
{
	struct lane *first = NULL, *rival = NULL;

	for (size_t i = 0; i < cur->nlanes; i++) {
		struct lane *lane = &cur->lanes[i];
		int r = lane_fill(cur, lane, e, why);

		if (r < 0)
			return r;
		if (lane->nheads == 0)
			continue;
		if (comes_before(lane, first)) {
			rival = first;
			first = lane;
		} else if (comes_before(lane, rival)) {
			rival = lane;
		}
	}
	cur->first = first;
	cur->rival = rival;
	if (first)
		look_at_first(cur);
	return 0;
}

/* The next row of the open epoch: 1; none left: 0; or an error. */
static int next_row(struct cursor *cur, const struct epoch *e, struct event *ev, struct fault *why)
{
	for (;;) {
		int r = cur->first ? 0 : find_lanes(cur, e, why);

		if (r < 0)
			return r;
		if (!cur->first || next_ns(cur->first) >= cur->to_ns)
			return 0;
		if (cur->ready)
			return give_ready(cur, ev);
		if (cur->given)
			return give_with_texts(cur, ev);
		pass_row(cur);
	}
}

/* To the mark of an epoch. */
static void go_to(struct cursor *cur, uint64_t epoch)
{
	cur->epoch = epoch;
	cur->marked = false;
	cur->first = NULL;
	cur->ready = false;
	cur->run.end = 0;
}

/* The next mark, or row that has to be looked for. Out of line: it is rare. */
static __attribute__((noinline)) int look_further(struct cursor *cur, struct event *ev, struct fault *why)
{
	while (cur->epoch < cur->reader->nepochs) {
		const struct epoch *e = &cur->reader->epochs[cur->epoch];
		int r;

		if (e->begin_ns >= cur->to_ns) {
			cur->epoch = cur->reader->nepochs;
			break;
		}
		if (!cur->marked) {
			r = set_lanes(cur, e, why);
			if (r < 0)
				return r;
			cur->marked = true;
			give_mark(e, ev);
			return 1;
		}
		r = next_row(cur, e, ev, why);
		if (r != 0)
			return r;
		cur->nbefore += rows_of(e);
		go_to(cur, cur->epoch + 1);
	}
	return 0;
}

/* Where no run goes on. */
static __attribute__((noinline)) int find_next(struct cursor *cur, struct event *ev, struct fault *why)
{
	settle(cur);
	return cur->ready ? give_ready(cur, ev) : look_further(cur, ev, why);
}

int cursor_next(struct cursor *cur, struct event *ev, struct fault *why)
{
	uint32_t row = cur->run.row;
	uint64_t next_ns;

	/* A row of a run, if the one behind it belongs to the run, too. */
	if (row >= cur->run.end)
		return find_next(cur, ev, why);
	next_ns = cur->run.at_ns[row + 1];
	if (next_ns >= cur->until_ns)
		return find_next(cur, ev, why);
	ev->kind = cur->run.shape->id;
	ev->at_ns = cur->run.at_ns[row];
	ev->last = next_ns > ev->at_ns;
	ev->shape = cur->run.shape;
	ev->epoch = cur->run.epoch;
	ev->v = cur->run.v;
	ev->text = no_texts;
	ev->number = cur->unnumbered ? 0 : cur->run.base + row;
	cur->run.row = row + 1;
	cur->run.v += cur->run.pitch;
	return 1;
}

uint64_t cursor_npassed(const struct cursor *cur)
{
	return cur->nbefore + (cur->epoch < cur->reader->nepochs ? cur->npassed : 0);
}

void cursor_seek(struct cursor *cur, uint64_t at_ns)
{
	uint64_t lo = 0, hi = cur->reader->nepochs;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (cur->reader->epochs[mid].end_ns <= at_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	go_to(cur, lo);
	cur->from_ns = at_ns;
	cur->nbefore = 0;
	while (lo-- > 0)
		cur->nbefore += rows_of(&cur->reader->epochs[lo]);
}

void cursor_seek_number(struct cursor *cur, uint64_t number)
{
	uint64_t nbefore = 0, e = 0, n;

	for (; e < cur->reader->nepochs; e++, nbefore += n) {
		n = rows_of(&cur->reader->epochs[e]);
		if (number <= nbefore + n)
			break;
	}
	go_to(cur, e);
	cur->from_ns = 0;
	cur->nbefore = nbefore;
}
