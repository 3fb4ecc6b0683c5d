#!/usr/bin/env python3
"""The web console in a browser: what people do twenty times a day, with a notifier that tells a webhook of it, and the links that
it sends (admin-console/web/tests/journeys/everyday). TAP; how: console.py."""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import console  # noqa: E402
from alert_site import AlertSite, came  # noqa: E402


class EverydaySite(AlertSite):
    """Its messages lead to its own console."""

    def make(self, **sets):
        return super().make(console_url=f"http://127.0.0.1:{self.http}", **sets)


@console.act
def told(site, task):
    """-> what the webhook was told of a task, the oldest first: waits for the first."""
    return came(site, "/hook", task)


def make():
    site = EverydaySite("console-everyday", types_dir=console.BIN.parent / "types")
    site.cgi.argv += ["--set", f"web_dir={console.BUILT}"]
    site.start(types=("shell:8", "noop:64"))
    return site, console.facts(site, int(time.time()))


if __name__ == "__main__":
    sys.exit(console.main("everyday", make))
