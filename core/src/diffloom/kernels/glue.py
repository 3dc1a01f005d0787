"""Turning schedules into source for one target.

A launch becomes a call of a function of its own, a *pass*: on the CPU a loop over elements, on CUDA a kernel. Loops
out of line compile to better code than loops in the midst of a schedule. On threads all of them run the schedule, and
share each pass (see team.py): starting threads anew for every pass would take longer than many a pass.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from .schedules import Launch, Source, launches_in, local_names

#: Arguments that schedules and passes hand on besides their own.
_CARRIED = {"cuda": ("_dl_stream",), "parallel": ("_dl_team", "_dl_member")}

HEADER = '"""Generated. {title}"""\n'


def generate(source: Source, entry: str, target: str, scalar_only: bool, title: str) -> str:
    """Source text in which function ``entry`` runs that schedule on ``target``: serial, parallel or cuda.

    scalar_only: never use lanes, as when the code will not be compiled.
    """
    writer = _Writer(source, entry, target, scalar_only)
    functions = [writer.function(name) for name in source.functions]
    return "\n\n".join([HEADER.format(title=title), *writer.passes, *functions]) + "\n"


class _Writer(ast.NodeTransformer):
    def __init__(self, source: Source, entry: str, target: str, scalar_only: bool) -> None:
        self.source, self.entry, self.target, self.scalar_only = source, entry, target, scalar_only
        self.passes: list[str] = []

    def function(self, name: str) -> str:
        """Text of function ``name`` with launches replaced."""
        tree = ast.parse(ast.unparse(self.source.functions[name])).body[0]
        assert isinstance(tree, ast.FunctionDef)
        if not self.source.is_schedule(name):
            return ast.unparse(tree)
        tree = self.generic_visit(tree)
        tree.args.args[:0] = [ast.arg(extra) for extra in _CARRIED.get(self.target, ())]
        if self.target == "cuda":
            return ast.unparse(tree)
        if self.target == "serial":
            return f"@{'_dl_entry' if name == self.entry else '_dl_inner'}\n{ast.unparse(tree)}"
        arguments = [argument.arg for argument in tree.args.args[2:]]
        tree.name = f"_dl_member_{name}"
        return f"@_dl_inner\n{ast.unparse(tree)}" + (_team_entry(name, arguments) if name == self.entry else "")

    def visit_With(self, node: ast.With) -> ast.stmt:
        return self._replace(node)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        return self._replace(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self.target != "serial" and isinstance(node.func, ast.Name) and self.source.is_schedule(node.func.id):
            node.args[:0] = [ast.Name(extra, ast.Load()) for extra in _CARRIED[self.target]]
            if self.target == "parallel":
                node.func.id = f"_dl_member_{node.func.id}"
        return node

    def _replace(self, node: ast.stmt) -> ast.stmt:
        launches = launches_in(node)
        if launches is None:
            return self.generic_visit(node)
        call = self._cuda(launches) if self.target == "cuda" else self._loops(launches)
        return ast.parse(call).body[0]

    def _name(self, kind: str, launches: list[Launch]) -> str:
        """A name for a pass that profilers and reports can show."""
        bodies = "_and_".join(re.sub(r"\W+", "_", ast.unparse(launch.body)) for launch in launches)
        return f"_dl_{kind}_{len(self.passes)}_{bodies}"

    def _loops(self, launches: list[Launch]) -> str:
        """Write a pass over the launches for the CPU; the statement that calls it."""
        name = self._name("pass", launches)
        given, taken, chunks = [], [], []
        for k, launch in enumerate(launches):
            args = [f"_dl_a{k}_{m}" for m in range(len(launch.args))]
            given += [ast.unparse(launch.count), *map(ast.unparse, launch.args)]
            taken += [f"_dl_n{k}", *args]
            chunks.append((k, ast.unparse(launch.body), args, launch.lanes and not self.scalar_only, launch.rest))
        call = _plain_call if self.scalar_only else _single_call
        if self.target == "serial":
            self.passes.append(_indented(f"@_dl_serial\ndef {name}({', '.join(taken)}):", _serial_loops(chunks, call)))
            return f"{name}({', '.join(given)})"
        carried = _CARRIED["parallel"]
        head = f"@_dl_serial\ndef {name}_tile({', '.join(['_dl_tile', '_dl_tiles', *taken])}):"
        self.passes.append(_indented(head, _tile_loops(chunks, call)))
        head = f"@_dl_serial\ndef {name}({', '.join([*carried, *taken])}):"
        self.passes.append(_indented(head, _team_loop(f"{name}_tile({', '.join(['_dl_tile', '_dl_tiles', *taken])})")))
        return f"{name}({', '.join([*carried, *given])})"

    def _cuda(self, launches: list[Launch]) -> str:
        """Write a kernel for the launches; the statement that launches it.

        Slices such as X[j] are taken inside the kernel: slicing device arrays on the host is slow.
        """
        name = self._name("kernel", launches)
        outer = {*self.source.functions, *self.source.names}
        expressions = [e for launch in launches for e in (launch.body, *launch.args)]
        locals_ = local_names(expressions, outer)
        lines = ["_dl_i = _dl_cuda.grid(1)"]
        for k, launch in enumerate(launches):
            start = "_dl_i" if k == 0 else f"_dl_i - _dl_end{k - 1}"
            condition = f"_dl_i < _dl_end{k}" if k == 0 else f"_dl_i >= _dl_end{k - 1} and _dl_i < _dl_end{k}"
            args = ", ".join([start, *map(ast.unparse, launch.args)])
            lines += [f"if {condition}:", f"    {ast.unparse(launch.body)}({args})"]
        ends = [f"_dl_end{k}" for k in range(len(launches))]
        self.passes.append(_indented(f"@_dl_kernel\ndef {name}({', '.join(ends + locals_)}):", lines))
        counts = ", ".join(ast.unparse(launch.count) for launch in launches)
        return f"_dl_start({name}, _dl_stream, ({counts},), ({''.join(n + ', ' for n in locals_)}))"


def _plain_call(body: str, element: str, args: list[str]) -> str:
    """A body called for one element."""
    return f"{body}({', '.join([element, *args])})"


def _single_call(body: str, element: str, args: list[str]) -> str:
    """The same where it is compiled: the compiler is told what is known of the arguments."""
    return _plain_call(body, f"_dl_element_at({element}, ({', '.join(args)},))" if args else element, args)


def _serial_loops(chunks: list, call: Callable[[str, str, list[str]], str]) -> list[str]:
    lines: list[str] = []
    for k, body, args, lanes, rest in chunks:
        given = ", ".join(args)
        if not lanes:
            lines += [f"for _dl_i in range(_dl_n{k}):", f"    {call(body, '_dl_i', args)}"]
            continue
        lines += [
            f"_dl_w{k} = _dl_lane_count(({given},))",
            f"_dl_m{k} = _dl_n{k} - _dl_n{k} % _dl_w{k}",
            f"for _dl_i in range(0, _dl_m{k}, _dl_w{k}):",
            f"    {body}(_dl_run_at(_dl_i, ({given},)), {given})",
        ]
        if rest:
            lines += [f"for _dl_i in range(_dl_m{k}, _dl_n{k}):", f"    {call(body, '_dl_i', args)}"]
    return lines


def _team_loop(call: str) -> list[str]:
    """One member's way through a pass."""
    return [
        "_dl_pass = _dl_enter_pass(_dl_team, _dl_member)",
        "_dl_tiles = _dl_team.shape[0]",
        "for _dl_k in range(_dl_member, _dl_member + _dl_tiles):",
        "    _dl_tile = _dl_k % _dl_tiles",
        "    if _dl_take_tile(_dl_team, _dl_member, _dl_tile, _dl_pass):",
        f"        {call}",
        "        _dl_leave_tile(_dl_team, _dl_member, _dl_tile, _dl_pass)",
        "_dl_wait_for_team(_dl_team, _dl_pass)",
    ]


def _tile_loops(chunks: list, call: Callable[[str, str, list[str]], str]) -> list[str]:
    """A tile of a pass: the same share of each chunk, in whole runs of lanes."""
    lines = []
    for k, body, args, lanes, rest in chunks:
        given = ", ".join(args)
        lines += [
            f"_dl_w{k} = _dl_lane_count(({given},))" if lanes else f"_dl_w{k} = 1",
            f"_dl_b{k} = (_dl_n{k} + _dl_w{k} - 1) // _dl_w{k}",
            f"_dl_s{k} = _dl_tile * _dl_b{k} // _dl_tiles * _dl_w{k}",
            f"_dl_e{k} = min((_dl_tile + 1) * _dl_b{k} // _dl_tiles * _dl_w{k}, _dl_n{k})",
        ]
        if lanes:
            lines += [
                f"_dl_m{k} = _dl_e{k} - (_dl_e{k} - _dl_s{k}) % _dl_w{k}",
                f"for _dl_i in range(_dl_s{k}, _dl_m{k}, _dl_w{k}):",
                f"    {body}(_dl_run_at(_dl_i, ({given},)), {given})",
            ]
        if rest or not lanes:
            lines += [
                f"for _dl_i in range({f'_dl_m{k}' if lanes else f'_dl_s{k}'}, _dl_e{k}):",
                f"    {call(body, '_dl_i', args)}",
            ]
    return lines


def _team_entry(name: str, arguments: list[str]) -> str:
    """The function that is called from outside: it starts the team."""
    given = ", ".join(["_dl_team", "_dl_intp(_dl_member)", *arguments])
    lines = ["for _dl_member in _dl_prange(_dl_team.shape[0]):", f"    _dl_member_{name}({given})"]
    return _indented(f"\n\n@_dl_parallel\ndef {name}({', '.join([*arguments, '_dl_team'])}):", lines)


def _indented(head: str, lines: list[str]) -> str:
    return "\n".join([head, *[f"    {line}" for line in lines]])
