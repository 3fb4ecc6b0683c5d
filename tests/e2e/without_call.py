#!/usr/bin/env python3
"""without_call.py NUMBER PROGRAM [ARGUMENT]... — the program, for which (and for all that it starts)
the kernel does not know the system call of that number: ENOSYS. So does systemd to clone3 in a unit
with RestrictNamespaces=, for a filter cannot read what the flags' pointer leads to."""
import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD, IF_EQUAL, ANSWER = 0x20, 0x15, 0x06  # BPF: a word at an offset; jump; return
RET_ERRNO, RET_ALLOW = 0x00050000, 0x7FFF0000
CLONE3 = 435  # of every machine


def forbid(number):
    rows = [(LOAD, 0, 0, 0), (IF_EQUAL, 0, 1, number), (ANSWER, 0, 0, RET_ERRNO | errno.ENOSYS),
            (ANSWER, 0, 0, RET_ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *r) for r in rows))
    program = ctypes.create_string_buffer(struct.pack("HP", len(rows), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    for words in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
                  (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0)):
        if libc.prctl(*words) != 0:
            raise OSError(ctypes.get_errno(), f"prctl {words[0]}")


if __name__ == "__main__":
    forbid(int(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
