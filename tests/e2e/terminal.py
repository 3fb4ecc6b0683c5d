"""A program on a terminal of its own (a pty that changes nothing), and what of its output would
steer a real one."""
import os
import pty
import re
import select
import subprocess
import time
import tty

# Controls but line ends and tabs, DEL, C1, line separators, bidirectional overrides and isolates.
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Done:
    def __init__(self, code, raw):
        self.code, self.raw = code, raw
        self.text = raw.decode("utf-8")  # bytes that are no text are a failure

    def obeyed(self, colours=False):
        """What a terminal would obey, in the output; `colours`: those and CR LF are allowed."""
        text = COLOUR.sub("", self.text).replace("\r\n", "\n") if colours else self.text
        return [text[max(0, m.start() - 30):m.end() + 10] for m in STEERS.finditer(text)]


def on_terminal(argv, env, cwd, typed=None, stdin=True, seconds=60):
    """Run it to its end with stdout and stderr on the terminal (stdin too, unless told); `typed` is
    what a person types."""
    mine, theirs = pty.openpty()
    try:
        tty.setraw(theirs)
        with subprocess.Popen([str(a) for a in argv], stdin=theirs if stdin else subprocess.DEVNULL,
                              stdout=theirs, stderr=theirs, env=env, cwd=cwd) as p:
            os.close(theirs)
            theirs = -1
            if typed is not None:
                os.write(mine, typed.encode())
            raw = read_all(mine, time.monotonic() + seconds, p)
            return Done(p.wait(seconds), raw)
    finally:
        os.close(mine)
        if theirs >= 0:
            os.close(theirs)


def read_all(fd, end, p):
    got = b""
    while time.monotonic() < end:
        ready, _, _ = select.select([fd], [], [], 1)
        if not ready:
            continue
        try:
            some = os.read(fd, 65536)
        except OSError:  # the other side has closed it
            return got
        if not some:
            return got
        got += some
    p.kill()
    raise AssertionError(f"{p.args} goes on; so far: {got[-2000:]!r}")
