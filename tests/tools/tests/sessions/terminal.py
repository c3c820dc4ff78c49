"""Runs a command on a pseudo terminal, presses keys, and says how the terminal was left.

    terminal.py END COMMAND...

END is `key` to leave by pressing q, or the number of a signal to be sent. Before that, $TEST_WAIT must have been shown.
The report is one JSON object.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time


def main():
    end, command = sys.argv[1], sys.argv[2:]
    master, slave = pty.openpty()
    size(slave, 24, 80)
    before = termios.tcgetattr(slave)
    child = os.fork()
    if child == 0:
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for number in (0, 1, 2):
            os.dup2(slave, number)
        os.environ["TERM"] = os.environ.get("TEST_TERM", "xterm-256color")
        os.execv(command[0], command)
    seen = b""
    seen += read_until(master, b"default/two")
    seen += read_until(master, os.environ.get("TEST_WAIT", "").encode())
    raw = termios.tcgetattr(slave)[3] & termios.ICANON == 0
    os.write(master, b"s")
    seen += read_until(master, b"allocations]")
    mark = len(seen)
    # Frames are written as differences; a new size has the whole of one written, with columns that now have room.
    size(slave, 40, 120)
    os.killpg(child, signal.SIGWINCH)
    seen += read_until(master, b"PKT/S OUT")
    if end == "key":
        os.write(master, b"q")
    else:
        os.kill(child, int(end))
    seen += read_until(master, b"\x1b[?1049l")
    code = wait(child)
    seen += drain(master)
    after = termios.tcgetattr(slave)
    text = seen.decode(errors="replace")
    print(json.dumps({
        "code": code,
        "raw": raw,
        "restored": before[:4] == after[:4],
        "entered": "\x1b[?1049h" in text,
        "left": "\x1b[?1049l" in text,
        "cursor": text.rstrip().endswith("\x1b[?25h"),
        "sorted": "allocations]" in text,
        "resized": b"PKT/S OUT" in seen[mark:],
        "coloured": "\x1b[38;5;" in text or "\x1b[31" in text or "\x1b[33" in text,
        "text": text[-2000:],
    }))


def size(terminal, rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def read_until(master, wanted, patience=20):
    seen = b""
    deadline = time.monotonic() + patience
    while wanted not in seen and time.monotonic() < deadline:
        if select.select([master], [], [], 0.2)[0]:
            try:
                seen += os.read(master, 65536)
            except OSError:
                break
    return seen


def drain(master):
    seen = b""
    while select.select([master], [], [], 0.2)[0]:
        try:
            more = os.read(master, 65536)
        except OSError:
            break
        if not more:
            break
        seen += more
    return seen


def wait(child, patience=10):
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


main()
