"""Turning schedules into source for one target.

A launch becomes a call of a function of its own, a *pass*: on the CPU a loop over elements, on CUDA a kernel. Loops
out of line compile to better code than loops in the midst of a schedule.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from .schedules import Launch, Source, launches_in, local_names

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
        if self.target == "cuda":
            tree.args.args.insert(0, ast.arg("_dl_stream"))
            return ast.unparse(tree)
        return f"@{'_dl_entry' if name == self.entry else '_dl_inner'}\n{ast.unparse(tree)}"

    def visit_With(self, node: ast.With) -> ast.stmt:
        return self._replace(node)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        return self._replace(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if self.target == "cuda" and isinstance(node.func, ast.Name) and self.source.is_schedule(node.func.id):
            node.args.insert(0, ast.Name("_dl_stream", ast.Load()))
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
        lines = _parallel_loop(chunks, call) if self.target == "parallel" else _serial_loops(chunks, call)
        decorator = "_dl_parallel" if self.target == "parallel" else "_dl_serial"
        self.passes.append(_indented(f"@{decorator}\ndef {name}({', '.join(taken)}):", lines))
        return f"{name}({', '.join(given)})"

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


def _parallel_loop(chunks: list, call: Callable[[str, str, list[str]], str]) -> list[str]:
    """One prange over the blocks of all chunks; a block is a run of lanes (or its scalar rest), or one element."""
    lines, branches, start = [], [], "0"
    for k, body, args, lanes, rest in chunks:
        given = ", ".join(args)
        width = f"_dl_w{k}"
        lines.append(f"{width} = _dl_lane_count(({given},))" if lanes else f"{width} = 1")
        lines.append(f"_dl_q{k} = {start} + (_dl_n{k} + {width} - 1) // {width}")
        branches.append(f"{'if' if k == 0 else 'elif'} _dl_b < _dl_q{k}:")
        if lanes:
            branches += [
                f"    _dl_s{k} = (_dl_intp(_dl_b) - {start}) * {width}",
                f"    if _dl_s{k} + {width} <= _dl_n{k}:",
                f"        {body}(_dl_run_at(_dl_s{k}, ({given},)), {given})",
            ]
        if lanes and rest:
            branches += [
                "    else:",
                f"        for _dl_e{k} in range(_dl_s{k}, _dl_n{k}):",
                f"            {call(body, f'_dl_e{k}', args)}",
            ]
        if not lanes:
            branches.append(f"    {call(body, f'_dl_intp(_dl_b) - {start}', args)}")
        start = f"_dl_q{k}"
    return [*lines, f"for _dl_b in _dl_prange({start}):", *[f"    {line}" for line in branches]]


def _indented(head: str, lines: list[str]) -> str:
    return "\n".join([head, *[f"    {line}" for line in lines]])
