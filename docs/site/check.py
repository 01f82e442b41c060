"""Checks a built site: every relative link leads to a file, and its anchor to an element there; no page loads anything from
the network. usage: check.py FOLDER. Exit status 1 with a line for each fault."""

import html.parser
import os
import pathlib
import re
import sys
import urllib.parse

LOADS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "object": "data",
    "embed": "src",
}
SHEETS = {"stylesheet", "icon", "preload", "prefetch", "preconnect"}


class Page(html.parser.HTMLParser):
    """The anchors of a page, its links and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self.feed(path.read_text(encoding="utf-8", errors="replace"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors.update(
            v for k, v in attrs if v and (k == "id" or (k == "name" and tag == "a"))
        )
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "link" and SHEETS & set((values.get("rel") or "").split()):
            self.loads.append(values.get("href") or "")
        if values.get(LOADS.get(tag, "")):
            self.loads.append(values[LOADS[tag]])


def faults_of(root, path, page, pages):
    """What is wrong on one page."""
    for target in page.loads:
        if urllib.parse.urlsplit(target).netloc:
            yield f"loads {target} from the network"
    for target in page.links + page.loads:
        parts = urllib.parse.urlsplit(target)
        if parts.scheme or parts.netloc or target.startswith("javascript:"):
            continue
        name = urllib.parse.unquote(parts.path)
        file = pathlib.Path(os.path.normpath(path.parent / name)) if name else path
        if file.is_dir():
            file = file / "index.html"
        if not file.is_file():
            yield f"{target}: no such file"
        elif root not in file.parents:
            yield f"{target}: leads out of the site"
        elif parts.fragment and file in pages:
            anchor = urllib.parse.unquote(parts.fragment)
            if anchor not in pages[file].anchors and not anchor.startswith("letter_"):
                yield f"{target}: no element of this name"


def sheet_faults(root, path):
    """What a style sheet loads from elsewhere."""
    text = re.sub(
        r"/\*.*?\*/", "", path.read_text(encoding="utf-8", errors="replace"), flags=re.DOTALL
    )
    for target in re.findall(r"url\(\s*['\"]?([^'\")]+)", text) + re.findall(
        r"@import\s+['\"]([^'\"]+)", text
    ):
        if target.startswith("data:"):
            continue
        if re.match(r"[a-z]+:|/", target):
            yield f"loads {target} from elsewhere"
        elif not (path.parent / re.split("[?#]", target)[0]).is_file():
            yield f"{target}: no such file"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    faults = []
    for path, page in pages.items():
        faults += [
            f"{path.relative_to(root)}: {fault}" for fault in faults_of(root, path, page, pages)
        ]
    for path in sorted(root.rglob("*.css")):
        faults += [f"{path.relative_to(root)}: {fault}" for fault in sheet_faults(root, path)]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(
        f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(faults)} of them wrong"
    )
    return 1 if faults or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
