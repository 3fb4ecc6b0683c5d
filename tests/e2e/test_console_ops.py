#!/usr/bin/env python3
"""The web console in a browser: what operators do; every page by an accessibility checker (admin-console/web/tests/journeys/operate). TAP; how: console.py."""
import hashlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import console  # noqa: E402
from harness import B, until  # noqa: E402

@console.act
def plugins_of_another_broker(site):
    """A broker b2 with the plugin `odd` and two versions of it beside: -> their sums."""
    folder = site.dir / "plugins"
    folder.mkdir()
    code, sums = (B / "test/plugins/odd.so").read_bytes(), {}
    (folder / "odd.so").write_bytes(code)
    for version in ("1.0-odd", "2.0-odd"):
        one = code.replace(b"0.1-odd\0", version.encode() + b"\0")
        (folder / f"odd-{version}.so").write_bytes(one)
        sums[version] = hashlib.sha256(one).hexdigest()
    site.add_broker("b2", types=("odd:4",), runners_dir=folder)
    return sums


@console.act
def forget_proofs(site):
    """The server begins anew: who has shown a password lately is in memory alone."""
    site.base.restart()
    until("the face is back", site.up)


@console.act
def machine_enrols(site, name, code):
    """As its administrator would there -> the public key that it prints."""
    done = site.run([*site.argv("taskbroker", site.broker_sets(name, ("shell:2",))), "enrol", code])
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(console.main("operate", lambda: console.warehouse("operate")))
