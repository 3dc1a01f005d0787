"""Source generation from specialised pipelines, for one target.

A launch becomes a call of a separate function, a *pass*: on the CPU a loop over elements, on CUDA a kernel. Loops in
functions of their own compile to better code than loops inside a pipeline. On the CPU a team of threads executes the
pipeline together and shares each pass (see backends/thread_team.py), because starting threads for every pass would take
longer than many passes do. The serial target is a team of one thread, which does every pass as a whole.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import NamedTuple

from ..backends.cuda_compilers import is_mlir
from ..backends.plain_numba import SHARED
from .prune import accessor, rebuild_text
from .read import Launch, Source, copy_node, launches_in, local_paths

#: Implicit leading arguments of pipelines and passes, by target.
_CARRIED = {"cuda": ("_dl_stream",), "cpu": ("_dl_team", "_dl_member")}

#: Most parameters of a CUDA kernel: they may take 32,764 bytes, and an array of four axes takes 104.
MOST_PARAMETERS = 310

#: Most parameters with numba-cuda-mlir, which loads all of them before it branches to a launch: with more, those of the
#: other launches spill.
MOST_PARAMETERS_BY_MLIR = 160

HEADER = '''"""{title}

Generated from the pipelines and device functions of the modules named below; edit those, not this.

{modules}
"""
'''


class PassLaunch(NamedTuple):
    """Launch inside a CPU pass.

    ``args`` are the arguments of its body, ``used`` the parameters that the pass takes for them, and ``heads`` the
    statements that build the former from the latter.
    """

    number: int
    body: str
    args: list[str]
    used: list[str]
    heads: list[str]
    lanes: bool
    rest: bool


class KernelLaunch(NamedTuple):
    """Launch inside a CUDA kernel.

    ``args`` are the arguments of its body as source text; ``texts`` gives the kernel's parameters by their text in the
    pipeline.
    """

    launch: Launch
    args: list[str]
    texts: dict[str, str]


def generate(source: Source, entry: str, target: str, title: str) -> str:
    """Return the source text in which function ``entry`` runs that pipeline on ``target``, "cpu" or "cuda"."""
    writer = _Writer(source, entry, target)
    functions = [writer.function(name) for name in source.functions]
    modules = sorted({str(getattr(value, "__module__", "")) for value in source.names.values()} - {"", "builtins"})
    head = HEADER.format(title=title, modules="\n".join(modules))
    devices = [text for name, text in zip(source.functions, functions, strict=True) if not source.is_pipeline(name)]
    pipelines = [text for name, text in zip(source.functions, functions, strict=True) if source.is_pipeline(name)]
    return "\n\n".join([head, *devices, *writer.passes, *pipelines]) + "\n"


class _Writer(ast.NodeTransformer):
    """Writer of one program's source."""

    def __init__(self, source: Source, entry: str, target: str) -> None:
        self.source, self.entry, self.target = source, entry, target
        self.places = _count_copies(source, entry)
        self.pipeline = entry
        self.passes: list[str] = []
        self.views: dict[str, ast.expr] = {}  # on CUDA: slices by the variables of a pipeline that name them

    def function(self, name: str) -> str:
        """Return the text of function ``name`` with its launches replaced by calls of passes."""
        tree = copy_node(self.source.functions[name])
        if not self.source.is_pipeline(name):
            return ast.unparse(ast.fix_missing_locations(tree))
        self.views, self.pipeline = {}, name
        self.generic_visit(tree)
        ast.fix_missing_locations(tree)
        tree.args.args[:0] = [ast.arg(extra) for extra in _CARRIED[self.target]]
        if self.target == "cuda":
            return ast.unparse(tree)
        return f"@{'_dl_entry' if name == self.entry else '_dl_inner'}\n{ast.unparse(tree)}"

    def visit_With(self, node: ast.With) -> ast.stmt | list[ast.stmt]:
        """Replace a block of independent launches."""
        return self._replace(node)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        """Replace a launch."""
        return self._replace(node)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Note views of arrays on CUDA: slices are taken inside kernels, so their expressions are repeated there."""
        self.generic_visit(node)
        if self.target == "cuda" and isinstance(node.targets[0], ast.Name):
            value = _TextReplacer(self.views).expression(node.value)
            self.views.pop(node.targets[0].id, None)
            if isinstance(value, ast.Tuple) and all(isinstance(entry, ast.Subscript) for entry in value.elts):
                self.views[node.targets[0].id] = value
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Pass the team or the stream on to other pipelines."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and self.source.is_pipeline(node.func.id):
            node.args[:0] = [ast.Name(extra, ast.Load()) for extra in _CARRIED[self.target]]
        return node

    def _replace(self, node: ast.stmt) -> ast.stmt | list[ast.stmt]:
        """Return the statement that runs the launches of a statement."""
        launches = launches_in(node)
        if launches is None:
            self.generic_visit(node)
            return node
        if not launches:
            return ast.Pass()
        call = self._cuda(launches) if self.target == "cuda" else self._loops(launches)
        return ast.parse(call).body

    def _name(self, kind: str, launches: list[Launch]) -> str:
        """Return a name for a pass that is meaningful in profilers."""
        bodies = "_and_".join(re.sub(r"\W+", "_", ast.unparse(launch.body)) for launch in launches)
        return f"{kind}_{len(self.passes)}_{bodies}"

    def _loops(self, launches: list[Launch]) -> str:
        """Write a CPU pass over the launches, and return the statement that calls it."""
        name = self._name("_dl_pass" if self.places[self.pipeline] == 1 else f"{SHARED}_pass", launches)
        given: list[str] = []
        taken: list[str] = []
        chunks: list[PassLaunch] = []
        for k, launch in enumerate(launches):
            given.append(ast.unparse(launch.count))
            taken.append(f"_dl_n{k}")
            args, heads, used = [], [], []
            for m, argument in enumerate(launch.args):
                own = f"_dl_a{k}_{m}"
                text = ast.unparse(argument)
                args.append(own)
                if (pruned := getattr(argument, "pruned", None)) is None:
                    given.append(text)
                    used.append(own)
                    continue
                value, paths, types = pruned
                names = {path: f"{own}{_make_identifier(accessor(path))}" for path in paths}
                given += [text + accessor(path) for path in paths]
                used += names.values()
                heads.append(f"{own} = {rebuild_text(value, names, types.__getitem__)}")
            taken += used
            chunks.append(PassLaunch(k, ast.unparse(launch.body), args, used, heads, launch.lanes, launch.rest))
        head = f"@_dl_pass\ndef {name}({', '.join(['_dl_tiles', '_dl_tile', *taken])}):"
        self.passes.append(_indent_block(head, _tile_loops(chunks)))
        return _team_loop(f"{name}({', '.join(['_dl_team.shape[0]', '_dl_tile', *given])})")

    def _cuda(self, launches: list[Launch]) -> str:
        """Write CUDA kernels for the launches, as many in each as its parameters allow, and return the statements to
        launch them.
        """
        groups: list[list[KernelLaunch]] = []
        most = MOST_PARAMETERS_BY_MLIR if is_mlir() else MOST_PARAMETERS
        for launch in launches:
            made = [self._cuda_argument(argument) for argument in launch.args]
            texts = {text: name for _, taken in made for text, name in taken.items()}
            last = {text for taken in groups[-1] for text in taken.texts} if groups else set()
            if not groups or len(last | texts.keys()) > most:
                groups.append([])
            groups[-1].append(KernelLaunch(launch, [text for text, _ in made], texts))
        return "\n".join(map(self._kernel, groups))

    def _kernel(self, group: list[KernelLaunch]) -> str:
        """Write a kernel for a group of launches, and return the statement that launches it.

        Slices such as X[j] are taken inside the kernel, because slicing device arrays on the host is slow.
        """
        name = self._name("_dl_kernel", [taken.launch for taken in group])
        texts: dict[str, str] = {}
        lines = ["_dl_i = _dl_cuda.grid(1)"]
        for k, taken in enumerate(group):
            start = "_dl_i" if k == 0 else f"_dl_i - _dl_end{k - 1}"
            condition = f"_dl_i < _dl_end{k}" if k == 0 else f"_dl_i >= _dl_end{k - 1} and _dl_i < _dl_end{k}"
            texts |= taken.texts
            body = ast.unparse(taken.launch.body)
            lines += [f"if {condition}:", f"    {body}({', '.join([start, *taken.args])})"]
        ends = [f"_dl_end{k}" for k in range(len(group))]
        self.passes.append(_indent_block(f"@_dl_kernel\ndef {name}({', '.join([*ends, *texts.values()])}):", lines))
        counts = ", ".join(ast.unparse(taken.launch.count) for taken in group)
        return f"_dl_start({name}, _dl_stream, ({counts},), ({''.join(text + ', ' for text in texts)}))"

    def _cuda_argument(self, argument: ast.expr) -> tuple[str, dict[str, str]]:
        """Return the text of a body's argument inside a kernel, and the kernel's parameters for it by their text
        outside.
        """
        shown = _TextReplacer(self.views).expression(argument)
        text = ast.unparse(shown)
        if (pruned := getattr(shown, "pruned", None)) is not None:
            value, paths, types = pruned
            names = {path: _make_identifier(text + accessor(path)) for path in paths}
            # 0 for unread entries, because the CUDA compilers do not take tuples of None alone.
            made = rebuild_text(value, names, types.__getitem__, unread="0")
            return made, {text + accessor(path): name for path, name in names.items()}
        parts = {
            part: _make_identifier(part) for part in local_paths([shown], {*self.source.functions, *self.source.names})
        }
        renamed = _TextReplacer({part: ast.Name(name, ast.Load()) for part, name in parts.items()})
        return ast.unparse(renamed.expression(shown)), parts


class _TextReplacer(ast.NodeTransformer):
    """Transformer that replaces expressions by their source text."""

    def __init__(self, by_text: Mapping[str, ast.expr]) -> None:
        self.by_text = by_text

    def expression(self, node: ast.expr) -> ast.expr:
        """Return a copy of an expression with the replacements."""
        made = self.visit(copy_node(node))
        assert isinstance(made, ast.expr)
        return made

    def visit(self, node: ast.AST) -> ast.AST:
        """Replace a name, attribute or subscript whose text is known."""
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and (text := ast.unparse(node)) in self.by_text:
            return copy_node(self.by_text[text])
        made: ast.AST = super().visit(node)
        return made


def _count_copies(source: Source, entry: str) -> dict[str, int]:
    """Return the number of copies of each pipeline when all are inlined into the entry."""
    found = dict.fromkeys(source.functions, 0) | {entry: 1}
    for name in reversed(source.functions):  # callers come after their callees
        if source.is_pipeline(name):
            for node in ast.walk(source.functions[name]):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in found:
                    found[node.func.id] += found[name]
    return found


def _make_identifier(text: str) -> str:
    """Return text as part of an identifier."""
    return re.sub(r"\W+", "_", text).rstrip("_")


def _single_call(chunk: PassLaunch, element: str) -> str:
    """Return the call of a body for one element, with the range assumption of its index."""
    index = f"_dl_element_at({element}, ({', '.join(chunk.used)},))" if chunk.used else element
    return f"{chunk.body}({', '.join([index, *chunk.args])})"


def _run_call(chunk: PassLaunch) -> str:
    """Return the call of a body for a run of elements."""
    run = f"_dl_run_at(_dl_i, ({', '.join(chunk.used)},))"
    return f"{chunk.body}({', '.join([run, *chunk.args])})"


def _team_loop(tile: str) -> str:
    """Return one member's loop over the tiles of a pass; ``tile`` is the call that does one tile.

    The loop is outside the pass, because the calls between two tiles would make the compiler spill the registers that
    hold loop constants of the pass.
    """
    return _indent_block("_dl_tile = _dl_first_tile(_dl_team, _dl_member)\nwhile _dl_tile >= 0:", [
        tile,
        "_dl_tile = _dl_next_tile(_dl_team, _dl_member, _dl_tile)",
    ])  # fmt: skip


def _tile_loops(chunks: list[PassLaunch]) -> list[str]:
    """Return the statements of a tile: its share of each chunk, in whole runs of lanes."""
    lines = [head for chunk in chunks for head in chunk.heads]
    for chunk in chunks:
        k = chunk.number
        lines += [
            f"_dl_w{k} = _dl_lane_count(({', '.join(chunk.used)},))" if chunk.lanes else f"_dl_w{k} = 1",
            f"_dl_s{k}, _dl_e{k} = _dl_share(_dl_tiles, _dl_tile, _dl_n{k}, _dl_w{k})",
        ]
        if chunk.lanes:
            lines += [
                # A while loop, because numba emits a zero-step check for a range with a step.
                f"_dl_m{k} = _dl_e{k} - (_dl_e{k} - _dl_s{k}) % _dl_w{k}",
                f"_dl_i = _dl_s{k}",
                f"while _dl_i < _dl_m{k}:",
                f"    {_run_call(chunk)}",
                f"    _dl_i += _dl_w{k}",
            ]
        if chunk.rest or not chunk.lanes:
            first = f"_dl_m{k}" if chunk.lanes else f"_dl_s{k}"
            lines += [f"for _dl_i in range({first}, _dl_e{k}):", f"    {_single_call(chunk, '_dl_i')}"]
    return lines


def _indent_block(head: str, lines: list[str]) -> str:
    """Return a block of statements below its head."""
    return "\n".join([head, *[f"    {line}" for line in lines]])
