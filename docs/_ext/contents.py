"""The pages of the API list each class and function under "On this page", but not in the contents of the whole.

Sphinx copies the whole contents for every page before it leaves out what is too deep; with thousands of names that is
half of the build.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

API = "reference/api/"


def set_aside(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Keeps the full contents of the pages of the API, and takes the names out of the others' copy."""
    full: dict[str, Any] = getattr(env, "evenhand_contents", {})
    for page, contents in env.tocs.items():
        if page.startswith(API) and any(map(is_name, contents.findall(nodes.list_item))):
            full[page] = contents
            env.tocs[page] = without_names(contents)
    env.evenhand_contents = full  # type: ignore[attr-defined]
    return []


def without_names(contents: nodes.bullet_list) -> nodes.bullet_list:
    """A copy without the items of classes and functions."""
    copy = contents.deepcopy()
    for item in [item for item in copy.findall(nodes.list_item) if is_name(item)]:
        if item.parent is not None:
            item.parent.remove(item)
    for empty in [one for one in copy.findall(nodes.bullet_list) if not one.children and one.parent is not None]:
        empty.parent.remove(empty)
    return copy


def is_name(item: nodes.list_item) -> bool:
    """Whether an item is that of an object: its link is set as code."""
    link = next(iter(item.findall(nodes.reference)), None)
    return link is not None and bool(link.children) and isinstance(link.children[0], nodes.literal)


def bring_back(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """The full contents of a page of the API, for its own margin."""
    from sphinx.environment.adapters.toctree import document_toc

    env = app.env
    full = getattr(env, "evenhand_contents", {})
    if pagename in full:
        slim, env.tocs[pagename] = env.tocs[pagename], full[pagename]
        context["toc"] = app.builder.render_partial(document_toc(env, pagename, app.builder.tags))["fragment"]
        env.tocs[pagename] = slim


def share(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Pages of source code stand nowhere in the contents, so those in one folder show the same."""
    if pagename.startswith("_modules/"):
        original, kept = context["toctree"], app.__dict__.setdefault("evenhand_trees", {})
        folder = pagename.rpartition("/")[0].count("/")

        def toctree(**options: Any) -> Any:
            key = (folder, *sorted(options.items()))
            if key not in kept:
                kept[key] = original(**options)
            return kept[key]

        context["toctree"] = toctree


def setup(app: Sphinx) -> None:
    """Connects them."""
    app.connect("html-page-context", share, priority=400)
    app.connect("env-updated", set_aside)
    app.connect("html-page-context", bring_back, priority=400)  # before the theme reads it
