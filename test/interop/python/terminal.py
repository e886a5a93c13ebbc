"""Runs a program on a pseudo-terminal of its own: standard input is what is typed, standard output what is shown."""

import os
import pty
import sys

status = os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:]))
# As shells do it for a program that a signal ended.
sys.exit(status if status >= 0 else 128 - status)
