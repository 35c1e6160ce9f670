#!/usr/bin/env python3
"""Draws the GPU timelines of a report page (`weft sim --report`) one above the other, as one SVG image.

  timeline_picture.py REPORT.html PICTURE.svg [POLICY...]

Every row of pixels is a GPU, time runs to the right, and colours are queues. The image follows the
reader's light or dark scheme.
"""
import collections
import json
import re
import sys

WIDTH, LEFT, RIGHT, TOP, GAP, BOTTOM = 1000, 8, 8, 30, 34, 26
ROW = 0.9  # pixels for each device
LIGHT = {"page": "#ffffff", "ink": "#1c2128", "muted": "#5a6472", "idle": "#eef0f3", "line": "#d5dae1"}
DARK = {"page": "#12151a", "ink": "#e4e8ee", "muted": "#9aa5b4", "idle": "#1d2229", "line": "#39414d"}
LIGHT_QUEUES = ["#2f6fc4", "#d9722e", "#2f9a78", "#a650b8", "#b98a1c", "#2494ad", "#cf3d5f", "#77808d"]
DARK_QUEUES = ["#6ea6f2", "#f0955c", "#52c49d", "#cf87dc", "#dbb54a", "#5cc3d9", "#f27f99", "#a7b0bc"]


def style():
    def rules(colours, queues):
        named = "".join(f".{name}{{fill:{value}}}" for name, value in colours.items())
        return named + "".join(f".q{i}{{fill:{value}}}" for i, value in enumerate(queues))
    return ("text{font:13px system-ui,'Segoe UI',Roboto,'Liberation Sans',Arial,sans-serif}"
            ".name{font-weight:650;font-size:15px}"
            + rules(LIGHT, LIGHT_QUEUES)
            + "@media (prefers-color-scheme:dark){" + rules(DARK, DARK_QUEUES) + "}")


def human(seconds):
    if seconds >= 2 * 86400:
        return f"{seconds / 86400:.1f} days"
    return f"{seconds / 3600:.1f} h" if seconds >= 2 * 3600 else f"{seconds / 60:.0f} min"


def panel(run, jobs, queue_of, scale, top, height):
    """The rectangles of one run, one path for each queue."""
    line = run["timeline"]
    boxes, at = collections.defaultdict(list), 0
    for job, device, devices, step, length in zip(line["job"], line["device"], line["devices"],
                                                  line["step"], line["length"]):
        at += step
        x, width = LEFT + at * scale, max(length * scale, 0.35)
        y, tall = top + device * ROW, devices * ROW
        boxes[queue_of[jobs[job]]].append(f"M{x:.1f} {y:.1f}h{width:.1f}v{tall:.1f}h-{width:.1f}z")
    idle = f'<rect class="idle" x="{LEFT}" y="{top:.1f}" width="{WIDTH - LEFT - RIGHT}" height="{height:.1f}"/>'
    return idle + "".join(f'<path class="q{queue % 8}" d="{"".join(paths)}"/>'
                          for queue, paths in sorted(boxes.items()))


def picture(data, policies):
    runs = [run for run in data["runs"] if not policies or run["policy"] in policies]
    height = data["cluster"]["devices"] * ROW
    scale = (WIDTH - LEFT - RIGHT) / data["time"]["end"]
    tenants = data["jobs"]["tenant"]
    order = [queue for queue, _ in collections.Counter(tenants).most_common()]
    queue_of = {queue: i for i, queue in enumerate(order)}
    base = runs[0]["jct_s"]["mean"]
    total = TOP + len(runs) * (height + GAP) - GAP + BOTTOM
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total:.0f}" role="img">',
           f"<title>GPU timelines of {len(runs)} policies on the same jobs</title><style>{style()}</style>",
           f'<rect class="page" width="{WIDTH}" height="{total:.0f}" rx="6"/>']
    for i, run in enumerate(runs):
        top = TOP + i * (height + GAP)
        mean = run["jct_s"]["mean"]
        note = f"mean completion {human(mean)}" + (f", {mean / base:.2f}x of {runs[0]['policy']}" if i else "")
        out.append(f'<text class="ink name" x="{LEFT}" y="{top - 9:.1f}">{run["policy"]}</text>')
        out.append(f'<text class="muted" x="{WIDTH - RIGHT}" y="{top - 9:.1f}" text-anchor="end">{note}</text>')
        out.append(panel(run, tenants, queue_of, scale, top, height))
    end_s = data["time"]["end"] * data["time"]["tick"]
    step = 12 * 3600 if end_s < 8 * 86400 else 86400
    for i in range(int(end_s // step) + 1):
        x = LEFT + i * step / data["time"]["tick"] * scale
        text = f"{i * step // 3600} h" if step < 86400 else f"day {i}"
        if x < WIDTH - 60:
            out.append(f'<text class="muted" x="{x:.1f}" y="{total - 9:.1f}">{text}</text>')
    return "".join(out) + "</svg>\n"


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as page:
        found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page.read(), re.S)
    if not found:
        print(f"{arguments[0]}: is no report page of `weft sim --report`", file=sys.stderr)
        return 2
    with open(arguments[1], "w", encoding="utf-8") as out:
        out.write(picture(json.loads(found.group(1)), arguments[2:]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
