# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium under control: DevTools messages over a pipe, so that nothing but Python is needed.

Every request but the page's own file, every script error and every refused inline piece is kept in `requests` and `problems`.
"""
import base64
import contextlib
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

import xp

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "headless_shell", "google-chrome")
PLACES = ("/usr/lib64/chromium-browser/headless_shell", "/usr/lib/chromium/chromium-headless-shell")


def find():
    for name in (os.environ.get("XP_CHROMIUM"), *NAMES, *PLACES):
        path = name and shutil.which(name)
        if path:
            return path
    raise xp.Skip("no Chromium here; `make setup` installs it where the distribution has a package")


class Browser:
    """One browser with one page. Used as `with browser.Browser() as page`."""

    def __init__(self, width=1200, height=900):
        self.folder = tempfile.mkdtemp(prefix="xprobe-browser-")
        to_read, self.out = os.pipe()
        self.into, to_write = os.pipe()
        command = ["bash", "-c", f'exec 3<&{to_read} 4>&{to_write} "$@"', "chromium", find(), "--headless", "--no-sandbox", "--remote-debugging-pipe",
                   "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run", "--disable-component-update",
                   f"--user-data-dir={self.folder}", f"--window-size={width},{height}"]
        self.process = subprocess.Popen(command, pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.next, self.session = b"", 0, None
        self.requests, self.problems, self.loaded = [], [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.into], [], [], left)[0]:
                raise AssertionError("the browser does not answer")
            data = os.read(self.into, 1 << 16)
            if not data:
                raise xp.Skip("Chromium is here but does not run")
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(message)
        self.note(message.get("method"), message.get("params"))
        return message

    def note(self, method, params):
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"].get("exception", {}).get("description") or params["exceptionDetails"]["text"])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("warning", "error"):
            self.problems.append(params["entry"]["text"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def call(self, method, seconds=20, **params):
        self.next += 1
        number = self.next
        message = {"id": number, "method": method, "params": params, **({"sessionId": self.session} if self.session else {})}
        os.write(self.out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + seconds
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def open(self, path):
        self.requests, self.problems, self.loaded = [], [], False
        self.call("Page.navigate", url=pathlib.Path(path).as_uri())
        deadline = time.monotonic() + 20
        while not self.loaded:
            self.receive(deadline)

    def eval(self, expression):
        """Value of a JavaScript expression in the page, by way of the debugger: the page's own policy does not hold it up."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True)
        assert "exceptionDetails" not in answer, f"{expression}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def click(self, selector):
        x, y = self.eval(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
                         "const r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def hover(self, selector):
        x, y = self.eval(f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                         "return [r.left + r.width / 2, r.top + r.height / 2]; })()")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def key(self, name):
        code = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39}.get(name, 0)
        text = {"Enter": {"text": "\r"}}.get(name, {"text": name} if len(name) == 1 else {})
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, windowsVirtualKeyCode=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def media(self, **features):
        self.call("Emulation.setEmulatedMedia", media=features.pop("media", ""), features=[{"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def size(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def screenshot(self, path, whole=False):
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]))

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.out)
        os.close(self.into)
        for _ in range(20):  # the children of the browser may still be writing
            shutil.rmtree(self.folder, ignore_errors=True)
            if not os.path.exists(self.folder):
                return
            time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
