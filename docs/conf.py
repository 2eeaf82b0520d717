"""Configuration of the documentation: ``python -m sphinx -W --keep-going -b html docs docs/_build/html``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import evenhand

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Evenhand"
author = "the authors of Evenhand"
copyright = "the authors of Evenhand; Apache License 2.0"
version = release = evenhand.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "extension",  # of these pages, in _ext
]
exclude_patterns = ["_build"]
language = "en_GB"

default_role = "py:obj"  # `Policy` in a docstring is a link, or code where there is nothing to link to
add_module_names = False
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 96
autodoc_member_order = "bysource"
autodoc_default_options = {"exclude-members": "model_config", "ignore-module-all": True}
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Fields", "params_style")]
napoleon_use_rtype = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"Evenhand {version}"
html_static_path = ["_static"]
html_css_files = ["evenhand.css"]
html_js_files = ["filter.js", "versions.js"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_baseurl = os.environ.get("READTHEDOCS_CANONICAL_URL", "")
# Where the site is built says where the source is; without it a page shows its own copy.
github = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}".format_map(os.environ) if "GITHUB_REPOSITORY" in os.environ else ""
repository = os.environ.get("READTHEDOCS_GIT_CLONE_URL", github).removesuffix(".git")
if repository:
    branch = os.environ.get("READTHEDOCS_GIT_IDENTIFIER", os.environ.get("GITHUB_REF_NAME", "main"))
    html_theme_options = {"source_repository": repository, "source_branch": branch, "source_directory": "docs/"}
linkcheck_ignore = [r"https?://(127\.0\.0\.1|localhost)"]
linkcheck_anchors = False
pygments_style = "friendly"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
