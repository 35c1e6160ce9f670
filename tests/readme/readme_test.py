#!/usr/bin/env python3
"""Runs the commands that the README shows, in order and in one shell, and compares what they print.

  readme_test.py README.md [--weft PROGRAM] [--skip WORDS]...

Commands are the lines that begin with "$ " in ```console blocks; what follows is the expected output.
A line of "…" stands for any lines, "…" in a line for any text. In a block that the comment <!-- numbers vary --> announces, numbers,
identifiers and the width of columns may differ. Every command must exit with 0. --weft replaces
build/release/weft, --skip leaves out commands that contain these words.
"""
import argparse
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

LIMIT_S = 60  # the README promises it
BUILD_LIMIT_S = 1800  # of ./dev
LATE_S = 5
MARK = "readme-test-mark"


class Block:
    def __init__(self, varies):
        self.varies = varies
        self.steps = []  # (line of the README, command, expected lines)


def read_blocks(path):
    blocks, block, varies = [], None, False
    with open(path, encoding="utf-8") as text:
        for number, line in enumerate(text, 1):
            line = line.rstrip("\n")
            if block is None:
                varies = varies or "<!-- numbers vary -->" in line
                if line == "```console":
                    block = Block(varies)
                elif line and "<!--" not in line:
                    varies = False
            elif line == "```":
                blocks.append(block)
                block, varies = None, False
            elif line.startswith("$ "):
                block.steps.append((number, line[2:], []))
            elif block.steps:
                block.steps[-1][2].append(line)
            else:
                raise SystemExit(f"{path}:{number}: output without a command")
    return blocks


def pattern_of(line, varies):
    """What a line of output must look like."""
    if not varies:
        return re.escape(line.rstrip()).replace("…", ".*") + r"\s*"
    words = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "0", line.strip())
    out = ""
    for part in re.split(r"(\s+|[0-9][0-9.,]*(?:e[-+]?[0-9]+)?)", words):
        if not part:
            continue
        if part.isspace():
            out += r"\s+"
        elif part[0].isdigit():
            out += r"[0-9a-f][0-9a-f.,+-]*"
        else:
            out += re.escape(part)
    return r"\s*" + out.replace("…", ".*") + r"\s*"


def first_difference(expected, got, varies):
    """None where the output is as shown, else what differs."""
    rows = [None if line.strip() == "…" else re.compile(pattern_of(line, varies)) for line in expected]

    def matches(i, j):
        while i < len(rows):
            if rows[i] is None:
                return any(matches(i + 1, k) for k in range(j, len(got) + 1))
            if j >= len(got) or not rows[i].fullmatch(got[j]):
                return False
            i, j = i + 1, j + 1
        return j == len(got)

    if matches(0, 0):
        return None
    return "shown:\n  " + "\n  ".join(expected) + "\nprinted:\n  " + "\n  ".join(got)


class Shell:
    """One bash for all commands, so that variables and background jobs last."""

    def __init__(self, folder, environment):
        self.process = subprocess.Popen(
            ["bash", "--norc"], cwd=folder, env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def run(self, command, is_expected):
        """(exit code, lines); the exit code is None where the time limit passed. What a background job
        prints may come late: output that is not as expected is given a few seconds more."""
        self.process.stdin.write(f"{command}\nprintf '{MARK} %d\\n' $?\n")
        self.process.stdin.flush()
        limit_s = BUILD_LIMIT_S if command.startswith("./dev") else LIMIT_S
        code, lines, end = None, [], time.monotonic() + limit_s
        while code is None or (not is_expected(lines) and time.monotonic() < end):
            try:
                line = self.lines.get(timeout=max(end - time.monotonic(), 0.01))
            except queue.Empty:
                break
            if line is None:
                break
            text, mark, number = line.partition(MARK)
            if text or not mark:
                lines.append(text)
            if mark:
                code, end = int(number), min(end, time.monotonic() + LATE_S)
        return code, lines

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def check(path, program, skipped):
    failures = ran = 0
    with tempfile.TemporaryDirectory(prefix="weft-readme-") as home:
        shell = Shell(os.path.dirname(os.path.abspath(path)),
                      {**os.environ, "HOME": home, "TMPDIR": home, "COLUMNS": "100"})
        try:
            for block in read_blocks(path):
                for number, command, expected in block.steps:
                    if any(words in command for words in skipped):
                        print(f"left out: {command}")
                        continue
                    wide = [line for line in expected if len(line) > 100]
                    if wide:
                        failures += 1
                        print(f"{path}:{number}: output wider than 100 columns: {wide[0]}")
                    real = command.replace("build/release/weft", program).replace("/tmp/weft", home)
                    shown = [line.replace("/tmp/weft", home) for line in expected]
                    code, lines = shell.run(
                        real, lambda got: not first_difference(shown, got, block.varies))
                    ran += 1
                    if code is None:
                        print(f"{path}:{number}: '{command}' did not end in time")
                        return ran, failures + 1
                    different = first_difference(shown, lines, block.varies)
                    if code != 0 or different:
                        failures += 1
                        print(f"{path}:{number}: '{command}' exited with {code}\n{different or ''}")
                    else:
                        print(f"as shown: {command}")
        finally:
            shell.close()
    return ran, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("readme")
    parser.add_argument("--weft", default="build/release/weft")
    parser.add_argument("--skip", action="append", default=[])
    arguments = parser.parse_args()
    ran, failures = check(arguments.readme, arguments.weft, arguments.skip)
    print(f"{ran} commands, {failures} not as shown")
    return 1 if failures or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
