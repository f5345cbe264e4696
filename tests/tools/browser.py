#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at a page in headless Chromium, and says in TAP what it saw. Used by tests/cli/report_browser.sh.

	browser.py CHROMIUM OUTDIR PAGE.html...

Chromium is spoken to over a pair of pipes (DevTools protocol, a NUL after each JSON message): nothing is installed,
nothing listens. Screenshots and the PDF are left in OUTDIR, named PAGE-WIDTH-SCHEME.png, for a person to look at.
"""
import base64, json, os, subprocess, sys

WIDTHS = {"phone": 360, "desktop": 1280}
SCHEMES = ("light", "dark")
LEAST_CONTRAST = 4.5


class Browser:
    def __init__(self, program, folder):
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()

        def wire():  # in the child: commands come on descriptor 3, answers go to 4
            a, b = os.dup(to_read), os.dup(from_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--disable-component-update",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--font-render-hinting=none", "--user-data-dir=" + folder,
             "about:blank"],
            preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.out = os.fdopen(to_write, "wb", buffering=0)
        self.into = os.fdopen(from_read, "rb")
        self.number = 0
        self.session = None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(domain + ".enable")

    def receive(self):
        message = bytearray()
        while True:
            byte = self.into.read(1)
            if not byte:
                raise RuntimeError("chromium ended")
            if byte == b"\0":
                return json.loads(message)
            message += byte

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(method + ": " + json.dumps(answer["error"]))
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        while True:
            for i, event in enumerate(self.events):
                if event.get("method") == method:
                    return self.events.pop(i)
            self.events.append(self.receive())

    def ask(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:400])
        return answer["result"].get("value")

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def check(self, good, sentence, detail=""):
        self.count += 1
        print(("ok" if good else "not ok"), self.count, "-", sentence)
        if not good:
            self.failed += 1
            for line in str(detail).splitlines()[:20]:
                print("#", line)
        sys.stdout.flush()


# What is wider than the page, or reaches out of it.
OVERFLOW = """(() => {
  const wide = document.documentElement.clientWidth, out = [];
  if (document.documentElement.scrollWidth > wide) out.push('the page is ' + document.documentElement.scrollWidth + ' wide');
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('thead') && getComputedStyle(e.closest('thead')).position === 'absolute') continue;
    const r = e.getBoundingClientRect();
    if (r.width && (r.right > wide + 1 || r.left < -1))
      out.push(e.tagName + '.' + (e.getAttribute('class') || '') + ' ' + Math.round(r.left) + '..' + Math.round(r.right) + ': ' +
        (e.textContent || '').slice(0, 60));
  }
  return out.slice(0, 10);
})()"""

# Letters that run over each other: labels of one picture.
COLLISIONS = """(() => {
  const out = [];
  for (const svg of document.querySelectorAll('svg.picture')) {
    const boxes = [...svg.querySelectorAll('text')].map(t => [t, t.getBoundingClientRect()]);
    for (let i = 0; i < boxes.length; i++)
      for (let k = i + 1; k < boxes.length; k++) {
        const a = boxes[i][1], b = boxes[k][1];
        if (a.width && b.width && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)
          out.push(boxes[i][0].textContent + ' / ' + boxes[k][0].textContent);
      }
  }
  return out.slice(0, 10);
})()"""

# Letters in a colour that is made for what is under them stay on it.
ON_SHAPES = """(() => {
  const out = [];
  for (const t of document.querySelectorAll('svg text.on-bar')) {
    const a = t.getBoundingClientRect(), x = (a.left + a.right) / 2, y = (a.top + a.bottom) / 2;
    const under = [...t.closest('svg').querySelectorAll('rect:not(.call)')].map(r => r.getBoundingClientRect())
      .filter(b => b.left <= x && x <= b.right && b.top <= y && y <= b.bottom);
    if (!under.some(b => b.left <= a.left + 1 && a.right <= b.right + 1))
      out.push(t.textContent + ' is wider than what it stands on');
  }
  return out.slice(0, 10);
})()"""

# Contrast of letters with what is behind them, by WCAG's formula. In pictures: the shape under their middle.
CONTRAST = """(() => {
  const probe = document.createElement('canvas').getContext('2d');
  const rgb = c => { const m = c.match(/[\\d.]+/g); return m ? m.map(Number) : [0, 0, 0, 0]; };
  const lum = c => { const f = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); };
    return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
  const ratio = (a, b) => { const x = lum(a), y = lum(b); return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const solid = c => c.length > 2 && (c.length < 4 || c[3] > 0.99);
  const behind = e => { for (let p = e; p; p = p.parentElement) { const c = rgb(getComputedStyle(p).backgroundColor);
    if (solid(c)) return c; } return [255, 255, 255]; };
  const out = []; let least = 99, n = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, e = node.parentElement;
    if (!node.textContent.trim() || ['STYLE', 'title', 'desc'].includes(e.tagName)) continue;
    const range = document.createRange(); range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    const style = getComputedStyle(e), svg = e.closest('svg');
    const ink = rgb(svg ? style.fill : style.color);
    let paper = behind(svg ? svg.parentElement : e);
    if (svg) {
      for (const under of document.elementsFromPoint(box.left + box.width / 2, box.top + box.height / 2)) {
        if (under.tagName !== 'rect' || under.closest('svg') !== svg) continue;
        const fill = getComputedStyle(under).fill;
        if (!fill.startsWith('url')) { paper = rgb(fill); break; }
      }
    }
    const got = ratio(ink, paper); n++;
    least = Math.min(least, got);
    if (got < LEAST) out.push(got.toFixed(2) + ': ' + node.textContent.trim().slice(0, 40) + ' (' + e.tagName + '.' + (e.getAttribute('class') || '') + ')');
  }
  return {least: least, n: n, bad: out.slice(0, 10)};
})()""".replace("LEAST", str(LEAST_CONTRAST)).replace("  const probe = document.createElement('canvas').getContext('2d');\n", "")

# A script and an image that somebody smuggled in: neither may come to anything.
SMUGGLE = """new Promise(done => {
  const blocked = [];
  document.addEventListener('securitypolicyviolation', e => blocked.push(e.effectiveDirective));
  const s = document.createElement('script'); s.textContent = 'window.smuggled = 1'; document.body.append(s);
  const i = document.createElement('img'); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i);
  const t = document.createElement('style'); t.textContent = 'body{display:none}'; document.head.append(t);
  setTimeout(() => { s.remove(); i.remove(); t.remove(); done({ran: !!window.smuggled, hidden: getComputedStyle(document.body).display === 'none',
    blocked: blocked.sort()}); }, 300);
})"""


def look(browser, tap, page, folder):
    name = os.path.splitext(os.path.basename(page))[0]
    browser.events.clear()
    browser.call("Page.navigate", url="file://" + os.path.abspath(page))
    browser.wait_for("Page.loadEventFired")
    for word, width in WIDTHS.items():
        for scheme in SCHEMES:
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1,
                         mobile=word == "phone")
            high = browser.ask("document.documentElement.scrollHeight")
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=min(high, 16000), deviceScaleFactor=1,
                         mobile=word == "phone")
            browser.ask("for (const d of document.querySelectorAll('details')) d.open = %s" %
                        ("true" if scheme == "dark" else "false"))
            what = "%s, %s, %s" % (name, word, scheme)
            over = browser.ask(OVERFLOW)
            tap.check(not over, what + ": nothing reaches out of the page", "\n".join(over))
            over = browser.ask(COLLISIONS)
            tap.check(not over, what + ": no labels run over each other", "\n".join(over))
            over = browser.ask(ON_SHAPES)
            tap.check(not over, what + ": letters on shapes stay on them", "\n".join(over))
            seen = browser.ask(CONTRAST)
            tap.check(seen["n"] > 0 and not seen["bad"],
                      what + ": letters stand out from what is behind them (least %.1f)" % seen["least"],
                      "\n".join(seen["bad"]))
            shot = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
            with open(os.path.join(folder, "%s-%s-%s.png" % (name, word, scheme)), "wb") as out:
                out.write(base64.b64decode(shot["data"]))
    browser.call("Emulation.clearDeviceMetricsOverride")
    pdf = base64.b64decode(browser.call("Page.printToPDF", printBackground=False)["data"])
    with open(os.path.join(folder, name + ".pdf"), "wb") as out:
        out.write(pdf)
    tap.check(pdf.startswith(b"%PDF-") and len(pdf) > 5000, name + ": it prints", "%d bytes" % len(pdf))
    tap.check(browser.ask("document.scripts.length + document.querySelectorAll('[style],iframe,object,embed,img,link').length") == 0,
              name + ": there is no script, frame, image or link in it")
    on = browser.ask("[...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).filter(a => /^on|^(src|style)$/.test(a.name) || "
                     "(/href$/.test(a.name) && !a.value.startsWith('#'))).map(a => a.name)")
    tap.check(on == [], name + ": no attribute runs, styles or fetches anything", on)
    smuggled = browser.ask(SMUGGLE)
    tap.check(not smuggled["ran"] and not smuggled["hidden"] and len(smuggled["blocked"]) == 3,
              name + ": a script, an image and a style put into it are stopped by its policy", smuggled)
    asked = [e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
    asked = [u for u in asked if not u.startswith("file://" + os.path.abspath(page)) and "127.0.0.1:9/" not in u]
    tap.check(not asked, name + ": nothing else was asked for", "\n".join(asked))
    spoken = [e for e in browser.events if e.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled")]
    tap.check(not spoken, name + ": nothing in it ran", spoken)


def main():
    program, folder, pages = sys.argv[1], sys.argv[2], sys.argv[3:]
    tap = Tap()
    browser = Browser(program, os.path.join(folder, "profile"))
    try:
        for page in pages:
            look(browser, tap, page, folder)
    finally:
        browser.close()
    print("1..%d" % tap.count)
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())
