"""How `make docs` turns this folder into the site: Sphinx, MyST for Markdown, the theme Furo (decision 0019)."""

from __future__ import annotations

import re
import shutil
from hashlib import sha256
from pathlib import Path

import mermaidx
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

project = "Research Workbench"
extensions = ["myst_parser"]
root_doc = "README"
exclude_patterns = ["deploy"]
suppress_warnings = ["misc.highlighting_failure"]  # csv has no lexer

myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]

html_theme = "furo"
html_title = project
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False


class Mermaid(SphinxDirective):
    """A diagram, drawn as SVG while the site is built, so that pages load no script and nothing from another host."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        source = "\n".join(self.content)
        name = f"diagram-{sha256(source.encode()).hexdigest()[:8]}"
        drawn = mermaidx.render(source).svg()
        drawn = drawn.replace("my-svg", name)
        return [nodes.raw("", f'<figure class="diagram">{drawn}</figure>', format="html")]


def add_sidebar(app: Sphinx, name: str, source: list[str]) -> None:
    """Append tables of contents made of the index page's own lists, so that GitHub shows the lists and nothing else."""
    if name == "README":
        for title, links in re.findall(r"^\*\*(.+?)\*\*\n\n((?:[- ] .+\n)+)", source[0], re.M):
            pages = re.findall(r"\]\(([\w/-]+)\.md\)", links)
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n" + "\n".join(pages) + "\n```\n"
    elif name == "decisions/README":
        source[0] += "\n```{toctree}\n:glob:\n:maxdepth: 1\n\n0*\n```\n"
    elif name == "prompts/README":
        source[0] += "\n```{toctree}\n:glob:\n:maxdepth: 1\n\n*.*\n```\n"


def open_at_the_index(app: Sphinx, error: Exception | None) -> None:
    """Copy the index page to the name that web servers and browsers open by default."""
    if error is None:
        shutil.copy(Path(app.outdir) / "README.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    """Register the diagrams, the sidebar and the copy of the index page."""
    app.add_directive("mermaid", Mermaid)
    app.connect("source-read", add_sidebar)
    app.connect("build-finished", open_at_the_index)
