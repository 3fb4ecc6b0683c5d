"""Firefox, led by its own protocol (Marionette): no driver of somebody else's is needed.

    fox = Firefox(folder)          Debian's firefox-esr, without a window; it reaches loopback only
    fox.go(url); fox.find("css").click(); fox.fill("css", "text"); fox.js("return document.title")
    fox.wait("what", "css" or a function); fox.complaints(); fox.close()
"""
import itertools
import json
import os
import socket
import subprocess
import time
from pathlib import Path

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # W3C WebDriver, section 12: its name in an answer
# All that is not loopback goes to a proxy that is not there; a browser asks its maker much, else.
PREFERENCES = {
    "marionette.port": 0, "network.proxy.type": 1, "network.proxy.http": "127.0.0.1", "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1", "network.proxy.ssl_port": 9, "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False, "app.update.enabled": False, "toolkit.telemetry.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False, "browser.shell.checkDefaultBrowser": False,
    "browser.safebrowsing.malware.enabled": False, "browser.safebrowsing.phishing.enabled": False, "intl.accept_languages": "en",
}
WAIT_S = 60


class Firefox:
    def __init__(self, folder, program="firefox-esr"):
        folder = Path(folder)
        folder.mkdir(parents=True)
        (folder / "user.js").write_text("".join(f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in PREFERENCES.items()))
        self.log = (folder / "log").open("w")
        self.process = subprocess.Popen([program, "--headless", "--marionette", "--remote-allow-system-access", "--profile", str(folder)],
                                        env={**os.environ, "HOME": str(folder), "MOZ_DISABLE_CONTENT_SANDBOX": "1"},
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.numbers = itertools.count()
        port = folder / "MarionetteActivePort"
        self.wait("it listens", lambda: port.exists() and port.read_text().strip())
        self.peer = socket.create_connection(("127.0.0.1", int(port.read_text())))
        self._take()  # its greeting
        self("WebDriver:NewSession", capabilities={"alwaysMatch": {"acceptInsecureCerts": False}})
        self("WebDriver:SetWindowRect", width=1440, height=900)

    def _take(self):
        size = b""
        while not size.endswith(b":"):
            size += self._bytes(1)
        return json.loads(self._bytes(int(size[:-1])))

    def _bytes(self, n):
        got = b""
        while len(got) < n:
            more = self.peer.recv(n - len(got))
            if not more:
                raise EOFError("Firefox is gone")
            got += more
        return got

    def __call__(self, command, **arguments):
        text = json.dumps([0, next(self.numbers), command, arguments])
        self.peer.sendall(f"{len(text.encode())}:{text}".encode())
        _, _, error, answer = self._take()
        if error:
            raise AssertionError(f"{command} {arguments}: {error['error']}: {error['message']}")
        return answer.get("value", answer) if isinstance(answer, dict) else answer

    def go(self, url):
        self("WebDriver:Navigate", url=url)

    def js(self, script, *args):
        return self("WebDriver:ExecuteScript", script=script, args=list(args))

    def has(self, css):
        return self.js("return !!document.querySelector(arguments[0])", css)

    def wait(self, what, until):
        """Until a selector is there, or a function says so."""
        deadline = time.monotonic() + WAIT_S
        while not (self.has(until) if isinstance(until, str) else until()):
            assert time.monotonic() < deadline, f"not within {WAIT_S} s: {what}"
            time.sleep(0.05)

    def find(self, css):
        self.wait(css, css)
        return self("WebDriver:FindElement", using="css selector", value=css)[ELEMENT]

    def click(self, css):
        self("WebDriver:ElementClick", id=self.find(css))

    def fill(self, css, text):
        self("WebDriver:ElementClear", id=self.find(css))
        self("WebDriver:ElementSendKeys", id=self.find(css), text=text)

    def complaints(self):
        """What the browser's console holds against pages of http: errors of scripts, violated policies, lost requests."""
        self("Marionette:SetContext", value="chrome")
        said = self.js("""return Services.console.getMessageArray().filter(m => m instanceof Ci.nsIScriptError
            && !(m.flags & Ci.nsIScriptError.warningFlag) && /^http:/.test(m.sourceName)).map(m => m.toString())""")
        self("Marionette:SetContext", value="content")
        return said

    def close(self):
        try:
            self("Marionette:Quit", flags=["eForceQuit"])
        except (OSError, EOFError, AssertionError):
            pass
        self.peer.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
