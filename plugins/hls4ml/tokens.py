"""The C++ files of an hls4ml project as tokens: which files are read, and which directives they may have.

A preprocessor is not run. Read are the .cpp that includes parameters.h, the files of the folder that it
includes, each once, and the scales.h that another .cpp includes, a wrapper. The headers of hls4ml itself and
of the HLS tools are not read. What another compiler option, or another order of the files, could change is
refused.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from trigemu.api import TrigemuError, excerpt, read_bounded

#: A piece of C++, and where it is: file and line.
Token = tuple[str, str]

#: The most files, their bytes together, and headers or conditions in each other.
_MAX_FILES, _MAX_BYTES, _MAX_DEPTH = 200, 2**23, 20
_COMMENT = re.compile(r'"[^"\n]*"|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)
_TOKEN = re.compile(r'[A-Za-z_]\w*|\.?\d(?:[eE][+-]|[\w.])*|::|"[^"]*"|\S', re.ASCII)
#: In place of a comment of several lines, at the end of the first.
_BROKEN = "\f"
_DIRECTIVE = re.compile(r"#\s*(\w*)\s*(.*)", re.ASCII)
_DEFINE = re.compile(r"([A-Za-z_]\w*)(?:\s+(\d+))?", re.ASCII)
_INCLUDE = re.compile(r'"([^"<>\0]{1,200})"|<[\w./+-]+>', re.ASCII)
_NETWORK = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"(?:[^"\n]*/)?parameters\.h"', re.MULTILINE)
#: The headers of hls4ml and of the HLS tools.
_EXTERNAL = re.compile(r"(?:.*/)?(?:(?:nnet_utils|nn_utils|ap_types)/.*|(?:ap|hls)_\w+\.h)", re.ASCII)
#: What is synthesised decides: weights are those of the headers.
_OPTIONS = {"__SYNTHESIS__": True, "LOAD_WEIGHTS_FROM_TXT": False, "LOAD_WEIGHTS_FROM_TEXT": False}
#: What hls4ml writes for a simulation alone: it loads weights from text, and saves results.
_SIMULATED = re.compile(
    r"(?:static bool loaded_weights = (?:true|false) ; |if \( ! loaded_weights \) \{ |"
    r"loaded_weights = true ; |\} |\w+ \w+ \[ \w* \] ; |"
    r"nnet :: \w+_from_txt < \w+ , \w+ > \( \w+ , \"\w+\.txt\" \) ; |"
    r"nnet :: save_layer_output < \w+ > \( \w+ , \"\w+\" , [\w *]+ \) ; )*",
    re.ASCII,
)


class Files:
    """The files of a project in a folder.

    Attributes
    ----------
    root : Path
        The folder of the C++, which projects have in `firmware`.
    read : list of Path
        The files that were read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        firmware = folder / "firmware"
        self.root = firmware if firmware.is_dir() else folder
        self.read: list[Path] = []
        self._size = 0
        self._macros: dict[str, str] = {}
        self._tokens: list[Token] = []

    def text(self, file: Path) -> str:
        """Return the content of a file of the folder; raise TrigemuError if it cannot be read."""
        try:
            if not file.resolve().is_relative_to(self._folder.resolve()):
                raise TrigemuError(f"{file}: is a link out of {self._folder}: copy what it refers to")
            content = read_bounded(file, _MAX_BYTES)
        except (OSError, RuntimeError) as error:
            raise TrigemuError(f"{file}: cannot be read: {getattr(error, 'strerror', error)}") from None
        self._size += len(content)
        self.read.append(file)
        if self._size > _MAX_BYTES or len(self.read) > _MAX_FILES:
            raise TrigemuError(
                f"{file}: a project may have {_MAX_FILES} files of {_MAX_BYTES} bytes together"
            )
        return content.decode("utf-8", "replace")

    def tokens(self) -> list[Token]:
        """Return the tokens of the network and of its scales; raise TrigemuError for what is not known."""
        texts = {file: self.text(file) for file in self._sources()}
        networks = [file for file, text in texts.items() if _NETWORK.search(_without_comments(text))]
        if len(networks) != 1:
            names = " and ".join(map(str, networks)) or "none"
            raise TrigemuError(
                f"{self.root}: expected one .cpp file that includes parameters.h, the network, not {names}"
            )
        self._add(networks[0], texts.pop(networks[0]), 0)
        for file, text in texts.items():
            self._add_scales(file, text)
        for scales in (self.root / "scales.h", self.root / "NN" / "scales.h"):
            if scales.is_file() and scales not in self.read:
                raise TrigemuError(
                    f"{scales}: no .cpp file includes it: add the wrapper of the network, or remove it"
                )
        return self._tokens

    def _sources(self) -> list[Path]:
        """Return the .cpp files of the folder, and of NN in it."""
        found: list[Path] = []
        try:
            for folder in (self.root, self.root / "NN"):
                found += sorted(folder.glob("*.cpp"))
        except OSError as error:
            raise TrigemuError(f"{self.root}: cannot be read: {error.strerror}") from None
        if not found:
            raise TrigemuError(
                f"{self.root}: has no .cpp files: expected the folder that hls4ml wrote, with "
                f"defines.h, parameters.h and the .cpp of the network"
            )
        return found

    def _add(self, file: Path, text: str, depth: int) -> None:
        """Add the tokens of a file, and of those that it includes."""
        if wrong := re.search(r"\\[ \t\r]*$|\?\?[/=(!]", text, re.MULTILINE):
            where = f"{file}:{text.count(chr(10), 0, wrong.start()) + 1}"
            raise TrigemuError(f"{where}: {wrong[0]!r}: lines that are joined are not read")
        lines = _without_comments(text).split("\n")
        #: Of each condition around a line: whether it is taken, None for the guard of a header.
        taken: list[bool | None] = []
        simulated: list[Token] = []
        for number, line in enumerate(lines, 1):
            where = f"{file}:{number}"
            match = _DIRECTIVE.fullmatch(line.strip())
            if not match:
                words = [(self._macros.get(word, word), where) for word in _TOKEN.findall(line)]
                (simulated if False in taken else self._tokens).extend(words)
                continue
            name, value = match.groups()
            if len(taken) > _MAX_DEPTH:
                raise TrigemuError(f"{where}: more than {_MAX_DEPTH} conditions in each other")
            if name == "ifndef" and _follows(lines, number, value):
                self._guard(value, where)
                taken.append(None)
            elif name in ("ifdef", "ifndef"):
                taken.append(self._is_taken(name, value, taken, where))
            elif name == "else" and taken and taken[-1] is not None:
                taken[-1] = not taken[-1]
            elif name == "endif" and taken:
                taken.pop()
            elif False in taken and name != "pragma":
                raise TrigemuError(f"{where}: #{name} in a part that is not synthesised is not read")
            elif name == "include":
                self._include(file, value, where, depth)
            elif name == "define":
                self._define(value, where)
            elif name != "pragma" or value.split()[:1] not in (["HLS"], ["once"]) or _BROKEN in line:
                raise TrigemuError(f"{where}: the directive {excerpt(line.strip())!r} is not read")
        if taken:
            raise TrigemuError(f"{file}:{len(lines)}: an #endif is missing")
        if not _SIMULATED.fullmatch("".join(f"{word} " for word, _ in simulated)):
            raise TrigemuError(
                f"{simulated[0][1]}: what is not synthesised does more than load weights and save results"
            )

    def _is_taken(self, directive: str, name: str, taken: list[bool | None], where: str) -> bool:
        if name not in _OPTIONS or False in taken:
            raise TrigemuError(
                f"{where}: #{directive} {excerpt(name)}: whether this holds is not known: expected the guard "
                f"of a header, or {', '.join(_OPTIONS)}"
            )
        return _OPTIONS[name] == (directive == "ifdef")

    def _guard(self, name: str, where: str) -> None:
        if name in self._macros:
            raise TrigemuError(f"{where}: {excerpt(name)} is the guard of another header too, or a number")
        self._macros[name] = ""

    def _define(self, text: str, where: str) -> None:
        match = _DEFINE.fullmatch(text)
        if not match or match[1] in _OPTIONS or (not match[2] and match[1] not in self._macros):
            raise TrigemuError(f"{where}: #define {excerpt(text)}: expected a name and a whole number")
        name, value = match[1], match[2] or ""
        before = self._macros.setdefault(name, value)
        if before != value:
            raise TrigemuError(f"{where}: {name} is defined twice, before as {before or 'a guard'}")

    def _include(self, file: Path, text: str, where: str, depth: int) -> None:
        match = _INCLUDE.fullmatch(text)
        if not match:
            raise TrigemuError(f"{where}: #include {excerpt(text)}: expected a name")
        name = match[1]
        if not name or _EXTERNAL.fullmatch(name):
            return
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts:
            raise TrigemuError(f"{where}: includes {excerpt(name)!r}, which may be out of {self._folder}")
        places = (file.parent / path, self.root / path, file.parent / path.name)
        found = next((place for place in places if place.is_file()), None)
        if found is None:
            raise TrigemuError(f"{where}: there is no {excerpt(name)!r} in {file.parent}")
        if found in self.read:
            return
        if depth >= _MAX_DEPTH:
            raise TrigemuError(f"{where}: more than {_MAX_DEPTH} headers that include each other")
        self._add(found, self.text(found), depth + 1)

    def _add_scales(self, file: Path, text: str) -> None:
        """Add the scales that a wrapper includes; the rest of it is not read."""
        inside = 0
        for number, line in enumerate(_without_comments(text).split("\n"), 1):
            if not (match := _DIRECTIVE.fullmatch(line.strip())):
                continue
            inside += match[1].startswith("if") - (match[1] == "endif")
            if match[1] != "include" or PurePosixPath(match[2].strip('"')).name != "scales.h":
                continue
            where = f"{file}:{number}"
            if inside:
                raise TrigemuError(f"{where}: scales.h is included under a condition")
            self._include(file, match[2], where, 0)


def _without_comments(text: str) -> str:
    def without(match: re.Match[str]) -> str:
        lines = match[0].count("\n")
        return match[0] if match[0][0] == '"' else _BROKEN + "\n" * lines if lines else " "

    return _COMMENT.sub(without, text)


def _follows(lines: list[str], number: int, name: str) -> bool:
    """Return whether the next line that is not blank defines a name, as the guard of a header does."""
    line = next((lines[at] for at in range(number, len(lines)) if lines[at].strip()), "")
    return re.fullmatch(rf"#\s*define\s+{re.escape(name)}", line.strip()) is not None
