"""Runs of numbers that are added at once: vector registers for what has as many numbers as labels.

A compiler does not turn a loop over a handful of labels into vector instructions on its own. These
functions hand it vectors; how many numbers they have is known when they are compiled.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

__all__ = ["add_lanes"]

WIDEST = 8
"""So many numbers are one vector; longer runs are several."""


_intrinsic: Any = intrinsic(prefer_literal=True)


@_intrinsic  # type: ignore[untyped-decorator]
def add_lanes(
    context: Any,  # noqa: ARG001
    target: Any,
    place: Any,  # noqa: ARG001
    source: Any,
    start: Any,  # noqa: ARG001
    lanes: Any,
) -> Any:
    """Add ``source[start:start + lanes]`` to ``target[place:place + lanes]``.

    Both are one-dimensional and contiguous, of integers, those of the source no wider; they must
    not overlap. Places are not checked. The number of lanes is a constant.
    """
    if not isinstance(lanes, types.IntegerLiteral):
        raise TypingError("add_lanes: the number of lanes must be a constant")
    count = lanes.literal_value
    widest = min(count, WIDEST)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = [
            builder.gep(
                context.make_array(signature.args[i])(context, builder, arguments[i]).data,
                [arguments[i + 1]],
            )
            for i in (0, 2)
        ]

        def add(offset: Any, width: int) -> None:
            added, kept = (_vector(builder, pointer, offset, width) for pointer in pointers[::-1])
            number = builder.load(added, align=added.type.pointee.element.width // 8)
            total = builder.load(kept, align=kept.type.pointee.element.width // 8)
            if number.type != total.type:
                number = builder.sext(number, total.type)
            builder.store(builder.add(total, number), kept, align=total.type.element.width // 8)

        chunks, rest = divmod(count, widest)
        if chunks == 1:
            add(ir.Constant(ir.IntType(64), 0), widest)
        else:
            with cgutils.for_range(builder, ir.Constant(ir.IntType(64), chunks)) as loop:
                add(builder.mul(loop.index, ir.Constant(ir.IntType(64), widest)), widest)
        if rest:
            add(ir.Constant(ir.IntType(64), chunks * widest), rest)
        return context.get_dummy_value()

    return types.none(target, types.uint64, source, types.uint64, lanes), generate


def _vector(builder: Any, pointer: Any, offset: Any, width: int) -> Any:
    """Return the address of a vector that begins so many numbers behind an address."""
    kind = ir.VectorType(pointer.type.pointee, width)
    return builder.bitcast(builder.gep(pointer, [offset]), kind.as_pointer())
