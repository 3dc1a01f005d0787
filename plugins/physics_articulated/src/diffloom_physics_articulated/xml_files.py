"""XML of model files, read safely, with a record of all parts that were not used."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path, PurePosixPath

import numpy as np

from diffloom.interfaces import InputError
from diffloom.regular_files import check_texts, read_bytes
from diffloom_physics_articulated.link import Vector

LARGEST = 32 * 2**20
"""Size of the largest file that is accepted [bytes]."""

DEEPEST = 300
"""Depth to which elements may be nested."""

Element = ElementTree.Element


class XmlFile:
    """A file, with a record of the elements and attributes that were read.

    Entities are not expanded: a file that declares any is refused. Files that it names must lie in its own folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.folder = self.path.resolve().parent
        self.root = parse(self.path)
        self._asked: set[tuple[int, str]] = set()
        self._visited: set[int] = {id(self.root)}
        self._copies: dict[int, tuple[Element, Element]] = {}

    def children(self, element: Element, tag: str) -> list[Element]:
        """Return the children with this tag, which count as read; their attributes do not."""
        found = [child for child in element if child.tag == tag]
        self._visited |= {id(child) for child in found}
        return found

    def fill_defaults(self, element: Element, defaults: dict[str, str]) -> Element:
        """Return a copy of the element with defaults; reading the copy counts as reading the element."""
        made = ElementTree.Element(element.tag, {**defaults, **element.attrib})
        self._visited.add(id(element))
        self._copies[id(made)] = (made, element)
        return made

    def leave(self, element: Element) -> None:
        """Mark an element, or a copy with defaults, as not read."""
        self._visited.discard(id(self._copies.get(id(element), (element, element))[1]))

    def text(self, element: Element, key: str, otherwise: str | None = None) -> str | None:
        """Return an attribute, which then counts as read."""
        source = self._copies.get(id(element), (element, element))[1]
        self._asked.add((id(source), key))
        return element.get(key, otherwise)

    def name(self, element: Element, key: str = "name") -> str:
        """Return a required attribute."""
        found = self.text(element, key)
        if found is None:
            raise InputError(f"{self.path.name}: <{element.tag}> has no {key}; expected one")
        return found

    def numbers(self, element: Element, key: str, count: int | None, otherwise: Vector | None = None) -> Vector | None:
        """Return an attribute of ``count`` numbers (any number for None), or ``otherwise`` if it is missing."""
        given = self.text(element, key)
        if given is None:
            return otherwise
        try:
            found = np.array([float(word) for word in given.split()])
        except ValueError:
            found = np.zeros(0)
        if not np.isfinite(found).all() or not len(found) or (count is not None and len(found) != count):
            wanted = "numbers" if count is None else f"{count} numbers"
            raise InputError(f"{self.path.name}: <{element.tag}> {key}: got {given!r}; expected {wanted}")
        return found

    def vector(self, element: Element, key: str, otherwise: tuple[float, ...]) -> Vector:
        """Return an attribute of as many numbers as ``otherwise`` has."""
        found = self.numbers(element, key, len(otherwise))
        return np.array(otherwise) if found is None else found

    def find_file(self, name: str, folder: str = "") -> Path:
        """Return the path of a file that this one names, in its folder or below it."""
        plain = name.partition("://")[2].partition("/")[2] if name.startswith("package://") else name
        where = PurePosixPath(plain.replace("\\", "/"))
        found = (self.folder / folder / where).resolve()
        if "://" in plain or where.is_absolute() or not found.is_relative_to(self.folder):
            raise InputError(f"{self.path.name}: names the file {name!r}; expected one in its own folder or below it")
        if not found.is_file():
            raise InputError(f"{self.path.name}: names the file {name!r}, which is not in {self.folder.name}/")
        return found

    def unread(self) -> tuple[str, ...]:
        """Kinds of elements and attributes that were not read, with how often each occurs."""
        found: dict[str, int] = {}

        def count(what: str) -> None:
            found[what] = found.get(what, 0) + 1

        def walk(element: Element, within: str) -> None:
            here = f"{within}/{element.tag}" if within else str(element.tag)
            for key in element.attrib:
                if (id(element), key) not in self._asked:
                    count(f"{here} {key}={element.get(key)!r}")
            for child in element:
                if id(child) in self._visited:
                    walk(child, here)
                elif isinstance(child.tag, str):
                    count(f"{here}/{child.tag}")

        walk(self.root, "")
        return tuple(what if times == 1 else f"{what} ({times} times)" for what, times in found.items())


def parse(path: Path) -> Element:
    """Return the root of an XML file in UTF-8; a document type is refused, so that nothing is expanded or fetched."""
    data = read_bytes(path, LARGEST, what="model file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise InputError(f"{path.name}: is not text in UTF-8") from cause
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError(
            f"{path.name}: declares a document type or entities, which are not read; remove <!DOCTYPE ...>"
        )
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as cause:
        raise InputError(f"{path.name}: is not XML: {cause}") from cause
    _check_elements(path, root)
    return root


def _check_elements(path: Path, root: Element) -> None:
    """Raise InputError for elements nested too deep, and for parts that lie in other files."""
    level, depth = [root], 1
    while level:
        if depth > DEEPEST:
            raise InputError(f"{path.name}: elements are nested deeper than {DEEPEST}; expected a tree of bodies")
        for element in level:
            check_texts(path.name, element.attrib)
            if str(element.tag).rpartition("}")[2] == "include":
                named = next((value for key, value in element.attrib.items() if key.startswith("file")), "")
                raise InputError(
                    f"{path.name}: <include> of {named!r} is not read; put its content in place of the <include>, or "
                    "save the model as one file (in MuJoCo: mj_saveLastXML)"
                )
        level, depth = [child for element in level for child in element], depth + 1
