"""Ports for daemons that a test starts, and starts again: not of those that the kernel gives to who connects. Such a one may be
taken by somebody else's connection between the look and the daemon's own bind, or while the daemon is down."""
import secrets
import socket
from pathlib import Path

LEAST = 10000
LEAST_WIDTH = 4000


def given_by_the_kernel():
    """-> the first port that it gives to connections."""
    try:
        return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError):
        return 0


def free_port():
    first = given_by_the_kernel()
    for _ in range(200):
        port = LEAST + secrets.randbelow(first - LEAST) if first >= LEAST + LEAST_WIDTH else 0
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return s.getsockname()[1]
            except OSError:
                continue
    raise OSError(f"no free port from {LEAST} to {first}")
