#!/usr/bin/env python3
"""What a build costs, in CPU seconds of the compiler, which a busy machine does not change much.

  build_times.py record FILE COMMAND...   run a compiler, append what it used to FILE
  build_times.py measure FILE BUILD COMMAND...
      run COMMAND, which builds the folder BUILD with `record` as its compiler launcher, and print
      what all of it used, and the slowest targets, sources and headers

`./dev build --times` is the way to call it.
"""
import collections
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time

ROWS = 15
FEWEST_USERS = 3  # a header that fewer compilations read is not worth a look
MOST_HEADERS = 200


def record(path, command):
    begin = time.monotonic()
    child = os.spawnvp(os.P_NOWAIT, command[0], command)
    _, status, used = os.wait4(child, 0)
    output = command[command.index("-o") + 1] if "-o" in command else command[-1]
    row = {"output": output, "cpu_s": used.ru_utime + used.ru_stime,
           "wall_s": time.monotonic() - begin, "memory_mb": used.ru_maxrss / 1024}
    with open(path, "a") as log:
        log.write(json.dumps(row) + "\n")
    return os.waitstatus_to_exitcode(status)


def read_rows(path):
    """The last compilation of each output."""
    with open(path) as log:
        return {row["output"]: row for row in map(json.loads, log)}


def sources_of(build, output):
    """The files that a unity source includes, or the object's own name."""
    unity = os.path.join(build, output.removesuffix(".o"))
    if "/Unity/" in output and os.path.exists(unity):
        with open(unity) as text:
            names = re.findall(r'#include "([^"]+)"', text.read())
        root = os.path.dirname(os.path.dirname(os.path.abspath(build)))
        return [os.path.relpath(name, root) for name in names]
    return [re.sub(r"^.*\.dir/", "", output).removesuffix(".o")]


def target_of(output):
    found = re.search(r"CMakeFiles/([^/]+)\.dir/", output)
    return found.group(1) if found else output


def headers_by_users(build):
    """How many compilations read each file, with one of them for its flags."""
    deps = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True,
                          check=True).stdout
    users, example, output = collections.Counter(), {}, ""
    for line in deps.splitlines():
        if line.startswith("    "):
            name = os.path.normpath(os.path.join(build, line.strip()))
            users[name] += 1
            example.setdefault(name, output)
        elif ": #deps" in line:
            output = line.split(": #deps")[0]
    return users, example


def direct_includes(root):
    """What sources of the project write after #include <...>, and the project's own headers."""
    found = set()
    for top in ("src", "apps", "tests", "fuzz", "bindings"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith((".h", ".cc")):
                    with open(os.path.join(folder, name)) as text:
                        found.update(re.findall(r"^#include [<\"]([^>\"]+)[>\"]", text.read(), re.M))
    return found


def flags_by_output(build):
    with open(os.path.join(build, "compile_commands.json")) as commands:
        split = [shlex.split(row["command"]) for row in json.load(commands)]
    return {words[words.index("-o") + 1]: words for words in split}


def alone_s(build, command, header):
    """CPU seconds to parse a header by itself, with the flags of a compilation that reads it."""
    start = next(i for i, word in enumerate(command) if re.search(r"(c|g|clang)\+\+[-0-9]*$", word))
    words, skip = [command[start]], False
    for word in command[start + 1:]:
        if skip:
            skip = False
        elif word in ("-o", "-c", "-MF", "-MT"):
            skip = True
        elif word != "-MD":
            words.append(word)
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as source:
        source.write(f"#include <{header}>\n")
        source.flush()
        before = os.times()
        subprocess.run([*words, "-fsyntax-only", "-w", source.name], cwd=build,
                       stderr=subprocess.DEVNULL, check=False)
        after = os.times()
    return (after.children_user + after.children_system
            - before.children_user - before.children_system)


def header_rows(build):
    root = os.path.dirname(os.path.dirname(os.path.abspath(build)))
    users, example = headers_by_users(build)
    commands = flags_by_output(build)
    rows = []
    for include in direct_includes(root):
        names = [n for n in users if n.endswith("/" + include)]
        if not names:
            continue
        name = max(names, key=lambda n: users[n])
        if users[name] >= FEWEST_USERS and example[name] in commands:
            rows.append((users[name], include, name))
    # Most compilations first; a header that everybody reads is worth timing before a rare one.
    rows = sorted(rows, reverse=True)[:MOST_HEADERS]
    timed = [(count * alone_s(build, commands[example[name]], include), count, include)
             for count, include, name in rows]
    return sorted(timed, reverse=True)


def measure(path, build, command):
    begin = time.monotonic()
    status = subprocess.run(command, check=False).returncode
    used = os.times()
    if status != 0:
        return status
    rows = read_rows(path)
    total = sum(row["cpu_s"] for row in rows.values())
    whole = used.children_user + used.children_system
    by_target = collections.Counter()
    for output, row in rows.items():
        by_target[target_of(output)] += row["cpu_s"]
    print(f"the whole build: {whole / 60:.1f} CPU minutes, "
          f"{(time.monotonic() - begin) / 60:.1f} minutes on {os.cpu_count()} cores")
    print(f"compiled: {len(rows)} units in {total / 60:.1f} CPU minutes; "
          f"{(whole - total) / 60:.1f} for archives, links and checks")
    print(f"\n{'CPU s':>7}  {'share':>6}  target")
    for name, seconds in by_target.most_common(ROWS):
        print(f"{seconds:7.1f}  {100 * seconds / total:4.1f} %  {name}")
    print(f"\n{'CPU s':>7}  {'MB':>6}  source (the first of a batch and how many more)")
    for output, row in sorted(rows.items(), key=lambda item: -item[1]["cpu_s"])[:ROWS]:
        names = sources_of(build, output)
        more = f" + {len(names) - 1}" if len(names) > 1 else ""
        print(f"{row['cpu_s']:7.1f}  {row['memory_mb']:6.0f}  {target_of(output)}: {names[0]}{more}")
    print(f"\n{'CPU s':>7}  {'units':>6}  header (units that read it x seconds to parse it alone)")
    for seconds, count, include in header_rows(build)[:ROWS]:
        print(f"{seconds:7.1f}  {count:6}  {include}")
    return 0


def main(arguments):
    if len(arguments) >= 3 and arguments[0] == "record":
        return record(arguments[1], arguments[2:])
    if len(arguments) >= 4 and arguments[0] == "measure":
        return measure(arguments[1], arguments[2], arguments[3:])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
