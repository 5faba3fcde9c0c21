"""Sphinx's settings for the site, which `cargo x site` builds from a copy of the repository's pages."""

import re
from posixpath import dirname, join, normpath

project = "umbel"
copyright = "the umbel authors; MIT or Apache-2.0"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
templates_path = ["docs/site/templates"]
exclude_patterns = ["docs/pictures/README.md", "as-is"]
highlight_language = "none"
# Docstrings mark names as Markdown does.
default_role = "literal"
myst_heading_anchors = 4
# The first page names its pictures in HTML, whose links Sphinx does not follow.
html_extra_path = ["as-is"]
html_theme = "furo"
html_title = "umbel"
html_static_path = ["docs/site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False
html_domain_indices = False
html_show_sphinx = False
html_theme_options = {
    "source_repository": "https://github.com/umbel/umbel/",
    "source_branch": "main",
    "source_directory": "",
}
# Pagefind searches all of the site, Rust's pages included.
html_additional_pages = {"search": "search.html"}
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "special-members": False}

REPOSITORY = "https://github.com/umbel/umbel/blob/main/"
LINK = re.compile(r"(?<=\]\()([^)\s:#]+)")


def in_repository(app, page, source):
    """Lets links to files that are no pages lead to the repository, and those to README.md to the first page."""

    def target(link):
        path = normpath(join(dirname(page), link[1]))
        if path == "README.md":
            return join("/", "index.md")
        is_here = (app.srcdir / path).is_file()
        return link[1] if is_here or link[1].startswith("/") else REPOSITORY + path

    source[0] = LINK.sub(target, source[0]).replace("```rust,ignore", "```rust")


def setup(app):
    app.connect("source-read", in_repository)
    app.connect("builder-inited", lambda app: setattr(app.builder, "search", False))
