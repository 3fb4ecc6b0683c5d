#!/usr/bin/env python3
"""The web console in a browser: what developers see and draw (admin-console/web/tests/journeys/develop). TAP; how: console.py."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import console  # noqa: E402

if __name__ == "__main__":
    sys.exit(console.main("develop", lambda: console.warehouse("develop")))
