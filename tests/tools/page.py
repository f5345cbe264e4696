#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""page.py PAGE.html...: whether pages are what docs/REPORTS.md says of them, without a browser. Exit status 1: not.

Well-formed XML; nothing that runs, fetches or sends; the policy, whose hash is the style sheet's; every picture told in
words; every reference leads somewhere; verdict first.
"""
import base64
import hashlib
import re
import sys
import xml.etree.ElementTree as ElementTree

XHTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
ELEMENTS = {XHTML + n for n in """html head meta title style body main h1 h2 h3 h4 p div b strong dl dt dd ol ul li a code
    article figure figcaption table caption thead tbody tr th td details summary footer""".split()} | {
    SVG + n for n in "svg title desc rect line text defs pattern marker path".split()}
ATTRIBUTES = set("""class id lang charset name content http-equiv href scope data-label role aria-hidden width height x y x1
    x2 y1 y2 text-anchor patternUnits patternTransform transform viewBox refX refY markerWidth markerHeight orient d""".split())
POLICY = "default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'"


def faults(path):
    with open(path, "rb") as f:
        page = f.read().decode("utf-8")
    if not page.startswith("<!DOCTYPE html>\n"):
        yield "it does not begin with its document type"
    root = ElementTree.fromstring(page)
    parents = {child: parent for parent in root.iter() for child in parent}
    for e in root.iter():
        if e.tag not in ELEMENTS:
            yield "there is an element %s" % e.tag
        for name, value in e.attrib.items():
            if name not in ATTRIBUTES:
                yield "%s has an attribute %s" % (e.tag, name)
            if name == "href" and not value.startswith("#"):
                yield "a link leads out: %s" % value
    style = root.find("%shead/%sstyle" % (XHTML, XHTML)).text
    for word in ("url(", "@import", "@font-face", "image-set(", "src("):
        left = re.sub(r"url\(#[a-z]+\)", "", style)
        if word in left:
            yield "the style sheet fetches: %s" % word
    policy = [m.get("content") for m in root.iter(XHTML + "meta") if m.get("http-equiv") == "Content-Security-Policy"]
    want = POLICY % base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    if policy != [want]:
        yield "its policy is %s, not %s" % (policy, want)
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    if len(ids) != len(set(ids)):
        yield "an id stands there twice"
    for e in root.iter():
        for target in [e.get("href", "")] + re.findall(r"url\((#[a-z]+)\)", " ".join(e.attrib.values())):
            if target and target[1:] not in ids:
                yield "%s leads nowhere" % target
    for svg in root.iter(SVG + "svg"):
        if svg.get("class") == "picture":
            told = [svg.find(SVG + "title"), svg.find(SVG + "desc")]
            if any(t is None or not (t.text or "").strip() for t in told):
                yield "a picture is not told in words"
            if parents[svg].tag != XHTML + "figure" or parents[svg].find(XHTML + "figcaption") is None:
                yield "a picture has no caption"
            if told[0] is not None and told[0].text == "Where the time went, second by second":
                stands, over = {}, 0
                for e in svg.iter(SVG + "rect"):
                    top, high = int(e.get("y")), int(e.get("height"))
                    if e.get("class") == "over":
                        over += 1
                    elif stands.setdefault(e.get("x"), [top + high])[-1] != top + high:
                        yield "a part stands not on the one below it"
                    else:
                        stands[e.get("x")].append(top)
                if not stands or len(stands) > over or len({column[0] for column in stands.values()}) != 1:
                    yield "its columns are not whole"
        elif svg.get("aria-hidden") != "true":
            yield "an ornament is read out"
        for e in svg.iter():
            for name in ("x", "x1", "x2", "width"):
                value = e.get(name, "")
                if value.endswith("%") and not 0 <= float(value[:-1]) <= 100:
                    yield "%s of %s is %s: out of the picture" % (name, e.tag, value)
            if e.tag == SVG + "rect" and e.get("x", "").endswith("%") and e.get("width", "").endswith("%"):
                if float(e.get("x")[:-1]) + float(e.get("width")[:-1]) > 100.0001:
                    yield "a shape ends out of the picture"
    for main in root.iter(XHTML + "main"):
        titles = [h.text for h in main.iter(XHTML + "h2")]
        order = [t for t in ("Where the time went", "What matters most", "Findings", "Calls", "What the capture could not see",
                             "Health of the GPUs", "Evidence", "Rules and settings") if t in titles]
        if titles != order or "What matters most" not in titles or "Calls" not in titles:
            yield "its sections are %s" % titles
        if main[0].get("class", "").split()[:1] != ["verdict"] or main[1].tag != XHTML + "h1":
            yield "the verdict and the run do not come first"


def main():
    bad = 0
    for path in sys.argv[1:]:
        try:
            found = list(faults(path))
        except (ElementTree.ParseError, UnicodeDecodeError) as e:
            found = ["it is not well-formed: %s" % e]
        for fault in found[:10]:
            bad += 1
            print("%s: %s" % (path, fault))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
