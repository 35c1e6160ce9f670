#!/usr/bin/env python3
"""Every link of the project's pages leads somewhere, and the README reaches every page of docs/.

  links_test.py ROOT
"""
import os
import re
import sys
import unicodedata


def without_code(text):
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors_of(text):
    """The fragments that headings of a Markdown page have on its web page."""
    found, seen = set(), {}
    for title in re.findall(r"^#{1,6} +(.+?) *#*$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title.replace("`", ""))
        kept = "".join(c for c in title.lower()
                       if c in " -_" or unicodedata.category(c)[0] in "LN")
        slug = kept.replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found


def links_of(text):
    shown = without_code(text)
    return (re.findall(r"\]\(([^)\s]+)\)", shown)
            + re.findall(r"(?:src|srcset|href)=\"([^\"]+)\"", shown))


def read(path):
    with open(path, encoding="utf-8") as page:
        return page.read()


def main(root):
    pages = [os.path.join(root, name) for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    docs = sorted(os.path.join(root, "docs", name) for name in os.listdir(os.path.join(root, "docs"))
                  if name.endswith(".md"))
    wrong, linked = [], set()
    for page in pages + docs:
        for link in links_of(read(page)):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, fragment = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            where = os.path.relpath(page, root)
            if not os.path.exists(target):
                wrong.append(f"{where}: {link}: there is no {os.path.relpath(target, root)}")
            elif fragment and target.endswith(".md") and fragment not in anchors_of(read(target)):
                wrong.append(f"{where}: {link}: there is no heading #{fragment}")
            if page == pages[0]:
                linked.add(target)
    wrong += [f"README.md: does not link to {os.path.relpath(page, root)}"
              for page in docs if page not in linked]
    print("\n".join(wrong) or f"{len(pages + docs)} pages, every link leads somewhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")))
