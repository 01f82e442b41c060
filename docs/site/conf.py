"""The site of the documentation: Sphinx with MyST over the Markdown of docs/, as it stands. Run by docs/site/docs.sh.

MyST reads CommonMark, as code hosts do, and makes the same anchors of headings. Every broken link, missing anchor and page
outside of the navigation is a warning, and docs.sh makes warnings errors.
"""

import os
import pathlib

HERE = pathlib.Path(__file__).parent

project = "libuvmpolicy"
copyright = "the libuvmpolicy authors, MIT licence"  # Sphinx knows it by this name
release = os.environ.get("UVMP_VERSION", "")
extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
exclude_patterns = ["site"]
myst_heading_anchors = 4
myst_enable_extensions = []
highlight_language = "none"
pygments_style = "friendly"
pygments_dark_style = "monokai"
html_theme = "furo"
html_title = f"libuvmpolicy {release}"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_extra_path = [os.environ["UVMP_API"]] if "UVMP_API" in os.environ else []
html_show_sphinx = False
html_copy_source = False
# The theme writes them for readers who chose the dark colours and for systems that are dark.
dark_colours = {
    "color-foreground-primary": "#d7dbe0",
    "color-foreground-secondary": "#a3a9b1",
    "color-foreground-muted": "#8b919a",
    "color-foreground-border": "#666c74",
    "color-background-primary": "#14171a",
    "color-background-secondary": "#1b1f23",
    "color-background-hover": "#22272c",
    "color-background-hover--transparent": "#22272c00",
    "color-background-border": "#333a41",
    "color-background-item": "#4a525a",
    "color-brand-primary": "#6cb2ff",
    "color-brand-content": "#7fbbff",
    "color-problematic": "#ff7b72",
    "color-highlight-on-target": "#33310f",
    "color-highlighted-background": "#12395f",
    "color-code-background": "#1e2226",
    "color-code-foreground": "#e3e6e9",
}
html_theme_options = {"sidebar_hide_name": False, "dark_css_variables": dark_colours}


def navigation():
    """The trees of pages, in MyST's words; the Markdown of docs/ has none of them."""
    lines = []
    for line in (HERE / "navigation.txt").read_text().splitlines():
        if line.startswith("## "):
            if lines:
                lines.append("```")
            lines += ["", "```{toctree}", ":hidden:", f":caption: {line[3:]}", ""]
        elif line and not line.startswith("#"):
            lines.append(line)
    return "\n".join(lines + ["```", ""])


def read(_app, docname, source):
    if docname == "index":
        source[0] += navigation()
    if docname in ("index", "headers") and html_extra_path:
        source[
            0
        ] += '\n<p><a class="reference" href="api/index.html">Reference of the API</a>, made from the headers.</p>\n'


def setup(app):
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
