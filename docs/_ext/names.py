"""Where names in docstrings and signatures lead, looked up in one index and not by a search through all objects."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

import faces

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sphinx.application import Sphinx

KINDS = {"obj", "class", "func", "meth", "attr", "data", "exc", "mod"}


class Index:
    """The documented objects by the ends of their full names."""

    def __init__(self, documented: Iterable[str]) -> None:
        self.full = set(documented)
        self.ends: dict[str, list[str]] = {}
        for full in self.full:
            parts = full.split(".")
            for start in range(1, len(parts)):
                self.ends.setdefault(".".join(parts[start:]), []).append(full)

    def meaning(self, target: str, module: str = "", owner: str = "") -> str | None:
        """The one object that a name can mean where it stands, or None.

        Args:
            target: the name.
            module: the module that it stands in.
            owner: the class that it stands in.
        """
        near = (f"{module}.{owner}.{target}", f"{module}.{target}", target)
        for name in (near[0] if owner else target, near[1], near[2]):
            if name in self.full:
                return name
        if f"evenhand.{target}" in self.full:
            return f"evenhand.{target}"
        package, _, name = target.rpartition(".")
        if package in sys.modules and hasattr(sys.modules[package], name):
            thing = getattr(sys.modules[package], name)
            home = f"{getattr(thing, '__module__', package)}.{getattr(thing, '__qualname__', name)}"
            home = home if home in self.full else faces.by_home().get(home, "")
            return home if home in self.full else None
        words = target.split(".")
        ends = self.ends.get(".".join(words[-2:]) if target.startswith("evenhand.") else target, [])
        return ends[0] if len(ends) == 1 else None


class Names(SphinxPostTransform):
    """Makes links of names, before Sphinx would look for them."""

    default_priority = 5

    def run(self, **options: Any) -> None:
        """Replace each name by a link, or by itself where it is not clear what it means."""
        objects: dict[str, Any] = self.env.domains["py"].data["objects"]
        index = self.app.evenhand_index = getattr(self.app, "evenhand_index", None) or Index(objects)
        for node in list(self.document.findall(pending_xref)):
            if node.get("refdomain") == "py" and node.get("reftype") in KINDS:
                name = index.meaning(node["reftarget"], node.get("py:module") or "", node.get("py:class") or "")
                node.replace_self(self.linked(node, name, objects) if name else node.children)

    def linked(self, node: pending_xref, name: str, objects: dict[str, Any]) -> list[nodes.Node]:
        """A link to an object."""
        entry = objects[name]
        inside = node.children[0].deepcopy()
        return [make_refnode(self.app.builder, self.env.docname, entry.docname, entry.node_id, inside, name)]


def setup(app: Sphinx) -> None:
    """Registers the transform."""
    app.add_post_transform(Names)
