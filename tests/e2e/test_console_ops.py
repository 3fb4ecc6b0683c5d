#!/usr/bin/env python3
"""The web console in a browser: what operators do; every page by an accessibility checker (admin-console/web/tests/journeys/operate). TAP; how: console.py."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import console  # noqa: E402

if __name__ == "__main__":
    sys.exit(console.main("operate", lambda: console.warehouse("operate")))
