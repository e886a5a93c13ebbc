"""Runs a program on a new pseudo-terminal: standard input is typed into it, and standard output is what it shows."""

import os
import pty
import sys

status = os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:]))
# Shells use the same exit code for a program that a signal ended.
sys.exit(status if status >= 0 else 128 - status)
