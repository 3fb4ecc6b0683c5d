#!/usr/bin/env python3
"""A bounded fork storm: children that double-fork, change session, and fork again."""
import os
import signal
import sys
import time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
DEPTH, WIDTH = 4, 3
depth = 0
while depth < DEPTH:
    children = [os.fork() for _ in range(WIDTH)] if depth == 0 else [os.fork(), os.fork()]
    if 0 not in children:
        break
    os.setsid()
    depth += 1
if depth == 0:
    print("ready", flush=True)
time.sleep(600)
sys.exit(0)
