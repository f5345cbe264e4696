// SPDX-License-Identifier: Apache-2.0
/* The page: its frame, what stands first (verdict, run, what matters most), and the evidence. */
#include "analyze/report/report_html.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/facts/handover.h"
#include "format/base/units.h"
#include "keys/tool/tool.h"

/* Nothing may be fetched, run or sent; of styles only the one that has this hash counts. */
static void add_policy(struct html *h)
{
	uint8_t hash[crypto_hash_sha256_BYTES];
	char base64[sodium_base64_ENCODED_LEN(sizeof(hash), sodium_base64_VARIANT_ORIGINAL)];

	crypto_hash_sha256(hash, (const unsigned char *)report_style, strlen(report_style));
	sodium_bin2base64(base64, sizeof(base64), hash, sizeof(hash), sodium_base64_VARIANT_ORIGINAL);
	html_empty(h, "meta", NULL);
	html_attribute(h, "http-equiv", "Content-Security-Policy");
	html_attribute(h, "content", "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'",
		       base64);
}

static void add_meta(struct html *h, const char *name, const char *content)
{
	html_empty(h, "meta", NULL);
	html_attribute(h, "name", "%s", name);
	html_attribute(h, "content", "%s", content);
}

/* What all pictures share: the hatching of what is unknown, the head of an arrow. */
static void add_definitions(struct html *h)
{
	html_open(h, "svg", "swatch");
	html_attribute(h, "xmlns", "http://www.w3.org/2000/svg");
	html_attribute(h, "width", "0");
	html_attribute(h, "height", "0");
	html_attribute(h, "aria-hidden", "true");
	html_open(h, "defs", NULL);
	html_literal(
		h, "<pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
		   "patternTransform=\"rotate(45)\"><line class=\"hatch\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\"/>"
		   "</pattern>"
		   "<marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
		   "orient=\"auto\"><path class=\"head\" d=\"M0 0 L8 4 L0 8 z\"/></marker>");
	html_close(h);
	html_close(h);
}

/* So that tabs can be distinguished. */
static void add_title(struct html *h, const struct report *first)
{
	struct report_facts facts;
	struct text t = {0};

	if (first) {
		report_gather(first, &facts, h->out);
		report_run(first, &facts, &t);
		text_add(&t, " - gpurec");
	} else {
		text_add(&t, "gpurec report");
	}
	html_open(h, "title", NULL);
	html_take(h, &t);
	html_close(h);
}

void report_html_begin(struct html *h, const struct report *first)
{
	text_add(h->out, "<!DOCTYPE html>\n");
	html_open(h, "html", NULL);
	html_attribute(h, "xmlns", "http://www.w3.org/1999/xhtml");
	html_attribute(h, "lang", "en");
	html_open(h, "head", NULL);
	html_empty(h, "meta", NULL);
	html_attribute(h, "charset", "utf-8");
	add_policy(h);
	add_meta(h, "viewport", "width=device-width, initial-scale=1");
	add_meta(h, "referrer", "no-referrer");
	add_meta(h, "generator", "gpuanalyze " TOOL_VERSION);
	add_title(h, first);
	html_open(h, "style", NULL);
	html_literal(h, report_style);
	html_close(h);
	html_close(h);
	html_open(h, "body", NULL);
	add_definitions(h);
}

void report_html_end(struct html *h)
{
	html_close_to(h, 0);
}

static void add_fact(struct html *h, const char *name, const char *class, struct text *value)
{
	html_element(h, "dt", NULL, "%s", name);
	html_open(h, "dd", NULL);
	if (class)
		html_open(h, "code", class);
	html_take(h, value);
	if (class)
		html_close(h);
	html_close(h);
}

/* The same where the capture contains it. */
static void add_reported(struct html *h, const char *name, struct text *value)
{
	if (value->len || value->failed)
		add_fact(h, name, NULL, value);
}

/* Green only where nothing is missing. */
static const char *verdict_class(const struct page *p)
{
	if (engine_context(p->r->engine)->unverified)
		return "verdict bad";
	return completeness_is_full(&p->facts.complete) ? "verdict" : "verdict doubt";
}

/* A thin strip: what it means, who says so, and where the rest stands. */
static void add_verdict(struct page *p)
{
	struct text meaning = {0};
	char sentence[512];

	evidence_sentence(p->r->evidence, sentence, sizeof(sentence));
	report_meaning(p->r, &p->facts, &meaning);
	html_open(p->h, "div", verdict_class(p));
	html_open(p->h, "b", NULL);
	if (engine_context(p->r->engine)->unverified)
		html_string(p->h, "UNVERIFIED: ");
	html_take(p->h, &meaning);
	html_close(p->h);
	html_text(p->h, " %s. ", sentence);
	html_open(p->h, "a", NULL);
	html_attribute(p->h, "href", "#r%u-evidence", p->number);
	html_string(p->h, "Evidence");
	html_close(p->h);
	html_close(p->h);
}

static void add_recorded(struct page *p, struct text *t)
{
	const struct reader *reader = &p->r->evidence->reader;
	char wall[64];

	wall_text(wall, reader->header.start_wall_ns);
	text_add(t, "%s, for ", wall);
	text_add_ns(t, p->facts.end_ns > p->facts.begin_ns ? p->facts.end_ns - p->facts.begin_ns : 0);
	report_cut(p->r, t);
	text_add(t, "; ");
	report_count(t, engine_nevents(p->r->engine), "event");
	text_add(t, " in ");
	report_count(t, p->facts.nepochs, "epoch");
	add_fact(p->h, "Recorded", NULL, t);
}

static void add_ended(struct page *p, struct text *t)
{
	const char *reason = p->facts.ended ? reason_text(p->r->evidence->reader.end.reason) : NULL;

	if (p->r->stopped)
		text_add(t, "read only up to where it breaks");
	else if (p->facts.ended)
		text_add(t, "%s", reason ? reason : "for a reason of a later version");
	else
		text_add(t, "no end seal: analysed up to the last seal");
	add_fact(p->h, "Ended", NULL, t);
}

/* `trust` may be NULL: not asked, for the chain does not hold. */
static void add_custody_line(struct page *p, const struct custody_line *l, const struct trust_answer *trust)
{
	char wall[64], id[KEY_ID_CHARS + 1], *dot;
	struct html *h = p->h;

	wall_text(wall, l->time_s > 0 ? (uint64_t)l->time_s * 1000000000U : 0);
	dot = strchr(wall, '.');
	if (dot)
		*dot = 0;
	html_open(h, "li", NULL);
	html_text(h, "%s UTC: %s by ", wall, custody_action_word(l->action));
	html_captured(h, l->who, strlen(l->who));
	html_text(h, ", who found it %s; signed by %s", verdict_word(l->verdict), key_id(id, l->key.keynum));
	if (trust && trust->trust >= TRUST_DIRECT)
		html_text(h, " (%s), trusted here", trust->name);
	else if (trust)
		html_string(h, ", not trusted here");
	if (l->note[0]) {
		html_string(h, ": ");
		html_captured(h, l->note, strlen(l->note));
	}
	html_close(h);
}

static void add_custody(struct page *p)
{
	const struct handover *hand = p->r->custody;
	const struct custody *c = hand && hand->there ? &hand->chain : NULL;
	struct html *h = p->h;

	html_element(h, "dt", NULL, "Custody");
	html_open(h, "dd", NULL);
	if (!c) {
		html_string(h, "no chain of custody lies beside the capture");
	} else {
		html_element(h, "strong", NULL, "%s", custody_state_word(c->state));
		html_text(h, ", %zu act%s", c->nlines, plural(c->nlines));
		if (c->state != CUSTODY_INTACT)
			html_text(h, ": %s", c->why.text);
		html_open(h, "ol", "first");
		for (size_t i = 0; i < c->nlines; i++)
			add_custody_line(p, &c->lines[i], hand->trust ? &hand->trust[i] : NULL);
		html_close(h);
	}
	html_close(h);
}

void page_head(struct page *p)
{
	const struct about *about = &engine_context(p->r->engine)->names->about;
	struct html *h = p->h;
	struct text t = {0};

	add_verdict(p);
	report_run(p->r, &p->facts, &t);
	html_open(h, "h1", NULL);
	html_take(h, &t);
	html_close(h);
	html_open(h, "dl", "run");
	if (p->r->file)
		text_add_escaped(&t, p->r->file, strlen(p->r->file));
	add_reported(h, "File", &t);
	about_add_host(about, &t);
	add_reported(h, "Host", &t);
	about_add_gpus(about, &t);
	add_reported(h, "GPUs", &t);
	about_add_command(about, &t);
	add_reported(h, "Command", &t);
	about_add_authority(about, &t);
	add_reported(h, "Authority", &t);
	add_recorded(p, &t);
	add_ended(p, &t);
	html_close(h);
}

void page_evidence(struct page *p)
{
	struct html *h = p->h;
	struct text t = {0};

	html_open(h, "h2", NULL);
	html_attribute(h, "id", "r%u-evidence", p->number);
	html_string(h, "Evidence");
	html_close(h);
	html_open(h, "dl", NULL);
	add_custody(p);
	text_add(&t, "%s", p->facts.capture_id);
	add_fact(h, "Capture", "mono", &t);
	text_add(&t, "%s", p->facts.last_seal[0] ? p->facts.last_seal : "none");
	add_fact(h, "Last seal", "mono", &t);
	text_add(&t, "gpuanalyze %s, %d rules built in", TOOL_VERSION, NRULES);
	if (p->r->user_rules && p->r->user_rules->n) {
		text_add(&t, ", ");
		report_count(&t, p->r->user_rules->n, "rule");
		text_add(&t, " of the user");
	}
	add_fact(h, "Judged by", NULL, &t);
	text_add(&t, "%s", p->facts.rules_hash);
	add_fact(h, "Rules and settings", "mono", &t);
	html_close(h);
}

void page_summary(struct page *p)
{
	const struct finding *worst[SUMMARY_MAX];
	unsigned n = report_summary(p->r, worst, SUMMARY_MAX);
	struct html *h = p->h;
	struct text nothing = {0};

	html_element(h, "h2", NULL, "What matters most");
	if (n) {
		html_open(h, "ol", "first");
		for (unsigned i = 0; i < n; i++) {
			size_t at = 0;

			while (p->r->findings->all[at] != worst[i])
				at++;
			html_open(h, "li", severity_name(worst[i]->severity));
			html_element(h, "b", NULL, "%s", severity_name(worst[i]->severity));
			html_string(h, " ");
			html_bytes(h, text_string(&worst[i]->headline), worst[i]->headline.len);
			html_string(h, ". ");
			html_open(h, "a", NULL);
			html_attribute(h, "href", "#r%u-f%zu", p->number, at + 1);
			html_text(h, "Finding %zu", at + 1);
			html_close(h);
			html_close(h);
		}
		html_close(h);
	}
	if (report_nothing(p->r, &p->facts, &nothing)) {
		html_open(h, "p", NULL);
		html_take(h, &nothing);
		html_string(h, ".");
		html_close(h);
	}
	picture_overview(h, p->r, &p->facts);
}

static void add_foot(struct page *p)
{
	html_open(p->h, "footer", NULL);
	html_text(
		p->h,
		"Made by gpuanalyze %s. The same capture, rules, settings and version produce the same page, byte for "
		"byte. It holds no script and fetches nothing. Times are the host's, on the boot clock.",
		TOOL_VERSION);
	html_close(p->h);
}

void report_html(const struct report *r, unsigned number, struct html *h)
{
	struct page p = {.h = h, .r = r, .number = number};

	report_gather(r, &p.facts, h->out);
	html_open(h, "main", NULL);
	html_attribute(h, "id", "r%u", number);
	page_head(&p);
	page_ledger(&p);
	page_summary(&p);
	page_findings(&p);
	page_calls(&p);
	page_unseen(&p);
	page_evidence(&p);
	page_rules(&p);
	add_foot(&p);
	html_close(h);
}
