"""Modules that Debian packages for its own interpreter, where `python3` of this machine is another one."""
import importlib
import os
import sys

DEBIAN = "/usr/bin/python3"


def want(*names):
    """Go on if they are there; else the same program once more, by Debian's interpreter."""
    try:
        for name in names:
            importlib.import_module(name)
    except ImportError:
        if os.path.realpath(sys.executable) == os.path.realpath(DEBIAN) or not os.path.exists(DEBIAN):
            raise
        os.execv(DEBIAN, [DEBIAN, *sys.argv])
