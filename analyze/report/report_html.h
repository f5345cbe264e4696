/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the page, between report_html*.c. */
#ifndef GPUREC_ANALYZE_REPORT_REPORT_HTML_H
#define GPUREC_ANALYZE_REPORT_REPORT_HTML_H

#include "analyze/report/pictures.h"

/* One report of the page, which may hold several. */
struct page {
	struct html *h;
	const struct report *r;
	struct report_facts facts;
	unsigned number; /* of the report, from 1 */
};

void page_head(struct page *p);     /* verdict, the run */
void page_ledger(struct page *p);   /* where the time went */
void page_summary(struct page *p);  /* what matters most */
void page_findings(struct page *p); /* with their pictures */
void page_calls(struct page *p);
void page_unseen(struct page *p);
void page_evidence(struct page *p); /* custody, hashes */
void page_rules(struct page *p);

#endif
