# SPDX-License-Identifier: Apache-2.0
"""The page at "/" in Chromium: figures that move, a digit that is drawn with the mouse, and its answer.
Skipped (exit code 77) without Chromium. With a second argument the page is pictured there."""

import base64
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

import serving

COMMAND = sys.argv[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """Chromium without a window, driven through its debugging pipe: JSON and a zero byte per message, on
    descriptors 3 and 4."""

    def __init__(self, folder):
        (self.their_in, self.out), (self.into, self.their_out) = os.pipe(), os.pipe()
        own = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
               "--remote-debugging-pipe", f"--user-data-dir={folder}", "--window-size=1100,900",
               "about:blank"]
        self.process = subprocess.Popen(["bash", "-c", f'exec "$@" 3<&{self.their_in} 4>&{self.their_out}',
                                         "bash", CHROMIUM, *own],
                                        pass_fds=(self.their_in, self.their_out), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(self.their_in)
        os.close(self.their_out)
        self.number, self.session, self.buffer = 0, None, b""

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.buffer:
                more = os.read(self.into, 1 << 20)
                if not more:
                    sys.exit("Chromium ended")
                self.buffer += more
            text, self.buffer = self.buffer.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, url):
        target = self.call("Target.createTarget", url=url)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def value(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def wait_for(self, expression, seconds=60):
        until = time.monotonic() + seconds
        while not (got := self.value(expression)):
            if time.monotonic() > until:
                sys.exit(f"never true: {expression}\n{self.value('document.body.innerText')}")
            time.sleep(0.1)
        return got

    def mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)


def expect(condition, what):
    if not condition:
        sys.exit(what)


def main():
    if not CHROMIUM:
        print("skipped: no Chromium")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder, serving.Server(COMMAND, "--demo") as server:
        browser = Browser(folder)
        try:
            browser.open(server.url("/"))
            row = "[...document.querySelectorAll('#models tr')].map(r => [...r.children].map(c => c.textContent))"
            browser.wait_for(f"{row}.some(r => r[0] === 'digits' && r[2] === 'ready')")
            expect(browser.value("byId('ready').textContent") == "ready",
                   "the page does not say that the server is ready")
            browser.wait_for("document.querySelector('#form-digits canvas') !== null")

            # A zero, drawn with the mouse.
            box = browser.value("(r => [r.left, r.top, r.width, "
                                "r.height])(document.querySelector('#form-digits "
                                "canvas').getBoundingClientRect())")
            ring = [(box[0] + box[2] * (0.5 + 0.22 * math.sin(a)), box[1] + box[3] * (0.5 - 0.38 * math.cos(a)))
                    for a in (i * math.pi / 20 for i in range(41))]
            browser.mouse("mousePressed", *ring[0])
            for place in ring[1:]:
                browser.mouse("mouseMoved", *place)
            browser.mouse("mouseReleased", *ring[-1])
            bars = ("[...document.querySelectorAll('#form-digits .bars div:not(.faint)')]"
                    ".map(d => [d.children[0].textContent, d.children[2].textContent])")
            browser.wait_for(f"{bars}.length === 10")
            shown = [int(value) for _, value in browser.value(bars)]

            # The same from outside the page, from the pixels of the canvas.
            cells = browser.value("(c => { const p = c.getContext('2d').getImageData(0, 0, c.width, "
                                  "c.height), s = c.width / 8, all = [];"
                                  "for (let y = 0; y < 8; y++) for (let x = 0; x < 8; x++) { let dark = 0;"
                                  "for (let i = 0; i < s * s; i++) dark += 255 - p.data[4 * ((y * s + "
                                  "Math.floor(i / s)) * c.width + x * s + i % s)];"
                                  "all.push(Math.round(-128 + 128 * dark / (255 * s * s))); } return all; "
                                  "})(document.querySelector('#form-digits canvas'))")
            expect(max(cells) > -40 and min(cells) == -128, f"nothing was drawn: {cells}")
            body, headers = serving.binary_request(bytes(c & 255 for c in cells))
            status, data, headers = server.post("/v2/models/digits/infer", body, headers)
            expected = [c - 256 if c > 127 else c for c in data[int(headers["Inference-Header-Content-Length"]) :]]
            expect(shown == expected, f"the page shows {shown}, the server says {expected}")
            expect(shown.index(max(shown)) == 0, f"a zero is taken for something else: {shown}")

            # Figures follow what others ask.
            for _ in range(300):
                server.post("/v2/models/digits/infer", *serving.binary_request(bytes(64)))
            browser.wait_for(f"{row}.some(r => Number(r[3]) > 0 && Number(r[5]) > 0 && Number(r[6]) >= "
                             f"Number(r[5]))", 20)
            expect(browser.value("byId('problem').textContent") == "", "the page tells of a problem")
            loaded = browser.value("performance.getEntriesByType('resource').map(r => r.name).filter(n => "
                                   "!n.startsWith(location.origin))")
            expect(loaded == [], f"the page asks others: {loaded}")
            if len(sys.argv) > 2:
                picture = browser.call("Page.captureScreenshot", format="png")["data"]
                with open(sys.argv[2], "wb") as file:
                    file.write(base64.b64decode(picture))
        finally:
            browser.process.kill()
            browser.process.wait()


main()
