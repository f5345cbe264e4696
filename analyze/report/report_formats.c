// SPDX-License-Identifier: Apache-2.0
#include "analyze/report/report_formats.h"

#include <string.h>

static const char *const endings[FORMS] = {
	[FORM_TEXT] = ".txt", [FORM_JSON] = ".json", [FORM_SARIF] = ".sarif", [FORM_HTML] = ".html"};

enum form form_of(const char *path)
{
	enum form f = FORM_TEXT;
	size_t n = strlen(path);

	while (f < FORMS && (n <= strlen(endings[f]) || strcmp(path + n - strlen(endings[f]), endings[f]) != 0))
		f++;
	return f;
}

const char *forms_endings(void)
{
	return ".txt, .json, .sarif or .html";
}

void forms_begin(struct forms *f)
{
	f->json.out = &f->out[FORM_JSON];
	f->sarif.out = &f->out[FORM_SARIF];
	f->html.out = &f->out[FORM_HTML];
	if (f->wanted[FORM_JSON])
		report_json_begin(&f->json);
	if (f->wanted[FORM_SARIF])
		report_sarif_begin(&f->sarif);
}

void forms_add(struct forms *f, const struct report *r)
{
	f->nreports++;
	if (f->wanted[FORM_TEXT]) {
		if (f->out[FORM_TEXT].len)
			text_add(&f->out[FORM_TEXT], "\n");
		report_text(r, &f->out[FORM_TEXT]);
	}
	if (f->wanted[FORM_JSON])
		report_json(r, &f->json);
	if (f->wanted[FORM_SARIF])
		report_sarif(r, &f->sarif);
	if (f->wanted[FORM_HTML]) {
		if (f->nreports == 1)
			report_html_begin(&f->html, r);
		report_html(r, f->nreports, &f->html);
	}
}

bool forms_end(struct forms *f)
{
	bool made = true;

	if (f->wanted[FORM_JSON])
		report_json_end(&f->json);
	if (f->wanted[FORM_SARIF])
		report_sarif_end(&f->sarif);
	if (f->wanted[FORM_HTML]) {
		if (f->nreports == 0)
			report_html_begin(&f->html, NULL);
		report_html_end(&f->html);
	}
	for (unsigned i = 0; i < FORMS; i++)
		made &= !f->out[i].failed;
	return made;
}

void forms_clear(struct forms *f)
{
	for (unsigned i = 0; i < FORMS; i++)
		text_clear(&f->out[i]);
	memset(f, 0, sizeof(*f));
}
