"""How Sphinx makes the site: Markdown (MyST), the theme furo, equations as MathML that browsers set themselves.

Nothing is loaded from a network when a page is read: no script that sets equations, no fonts, no search service.
"""

from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util.logging import getLogger

import regard

LOG = getLogger(__name__)
project, author, release = "regard", "the regard authors", regard.__version__
project_copyright = "the regard authors, Apache-2.0"
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
highlight_language = "text"
nitpicky = True
suppress_warnings = ["toc.not_included"]  # what a page of the menu links to need not be in the menu
html_theme = "furo"
html_title = "regard"
html_copy_source = False
html_use_index = False
html_show_search_summary = False  # it would be fetched, which a page from a file may not
html_math_renderer = "mathml"
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {"footer_icons": [], "navigation_with_keys": True}


def inline(writer: Any, node: nodes.math) -> None:
    """$x$ as MathML."""
    writer.body.append(_mathml(node))
    raise nodes.SkipNode


def display(writer: Any, node: nodes.math_block) -> None:
    """$$x$$ as MathML, in a box that scrolls where a screen is narrow."""
    writer.body.append(f'<div class="equation">{_mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def _mathml(node: nodes.Element, as_block: bool = False) -> str:
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as wrong:
        LOG.warning(f"{wrong} in {node.astext()}", location=node)
        return f"<code>{escape(node.astext())}</code>"


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True}
