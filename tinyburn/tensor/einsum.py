"""Einstein's notation, brought down to what is there: permute, reshape, sums, and one batched matmul for each pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import prod
from string import ascii_letters
from typing import TYPE_CHECKING, Any, NamedTuple

from tinyburn.base.errors import ShapeError
from tinyburn.base.shape import MAX_RANK

from . import checks

if TYPE_CHECKING:
    from .tensor import Tensor


class Term(NamedTuple):
    """A tensor with a letter for each of its dims; of no letter, one of a single element."""

    letters: str
    tensor: Tensor[Any, Any, Any]


# Reading the equation


def parse(equation: str, tensors: Sequence[Tensor[Any, Any, Any]]) -> tuple[list[str], str]:
    """The letters of each operand and those of the result. Raises as `Tensor.einsum` does, before anything happens."""
    asked = f"einsum({equation!r})"
    if not isinstance(equation, str):
        hint = 'write Tensor.einsum("ij,jk->ik", x, y)'
        raise ShapeError("einsum", f"the equation is {type(equation).__name__}, not text", hint=hint)
    for tensor in tensors:
        checks.check_tensor(asked, tensor)
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    hidden = [tensor.rank - len(one) + 3 for one, tensor in zip(inputs, tensors, strict=False) if "..." in one]
    dots = "".join([letter for letter in ascii_letters if letter not in equation][: max([0, *hidden])])
    alone = [letter for letter in sorted(set(left)) if left.count(letter) == 1 and letter.isalpha()]
    inputs = [one.replace("...", dots, 1) for one in inputs]
    output = right.replace("...", dots, 1) if arrow else dots + "".join(alone)
    reasons = [*_unreadable(inputs, output, len(tensors)), *_unfit(inputs, tensors)]
    if len(set(hidden)) > 1:
        reasons = [f"three dots are {min(hidden)} dims in one operand and {max(hidden)} in another"]
    if reasons:
        given = {f"operand {at}": checks.describe(tensor) for at, tensor in enumerate(tensors)}
        raise ShapeError(asked, reasons, given=given)
    for other in tensors[1:]:
        checks.check_operands(asked, tensors[0], other, shapes=False)
    return inputs, output


def _unreadable(inputs: list[str], output: str, operands: int) -> list[str]:
    """Why an equation says nothing."""
    reasons = []
    if len(inputs) != operands:
        reasons.append(f"it has letters for {len(inputs)} operands, and {operands} are given")
    strange = sorted({letter for part in (*inputs, output) for letter in part if not letter.isalpha()})
    if strange:
        reasons.append(f"{' '.join(strange)} is not a letter")
    reasons += [f"the result has {letter}, and no operand has it" for letter in _missing(output, "".join(inputs))]
    if len(set(output)) != len(output):
        reasons.append(f"a letter comes twice in the result, {output}")
    if len(output) > MAX_RANK:
        reasons.append(f"the result would have rank {len(output)}, and {MAX_RANK} is the most")
    return reasons


def _unfit(inputs: list[str], tensors: Sequence[Tensor[Any, Any, Any]]) -> list[str]:
    """Why the letters do not fit the operands: their number, or two sizes for one of them."""
    reasons, sizes = [], dict[str, int]()
    for at, (letters, tensor) in enumerate(zip(inputs, tensors, strict=False)):
        if len(letters) != tensor.rank:
            reasons.append(f"operand {at} has rank {tensor.rank}, and {len(letters)} letters: {letters}")
            continue
        for letter, size in zip(letters, tensor.shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                reasons.append(f"{letter} is {sizes[letter]} in one place and {size} in another")
    return reasons


def _missing(letters: str, others: str) -> list[str]:
    return [letter for letter in dict.fromkeys(letters) if letter.isalpha() and letter not in others]


# Computing it


def contract(inputs: list[str], output: str, tensors: list[Tensor[Any, Any, Any]]) -> Tensor[Any, Any, Any]:
    """The result of an equation that was read by `parse`."""
    terms = [_diagonal_of(Term(letters, tensor)) for letters, tensor in zip(inputs, tensors, strict=True)]
    while len(terms) > 1:
        a, b = _cheapest_pair(terms, output)
        rest = [term for at, term in enumerate(terms) if at not in (a, b)]
        terms = [*rest, _product(terms[a], terms[b], _letters(rest) + output)]
    return _arranged(_summed(terms[0], output), output)


def _letters(terms: Iterable[Term]) -> str:
    return "".join(term.letters for term in terms)


def _cheapest_pair(terms: list[Term], output: str) -> tuple[int, int]:
    """The pair whose result is smallest beside its two operands; of several, the one with the fewest products."""

    def cost(pair: tuple[int, int]) -> tuple[int, int]:
        kept = _letters(term for at, term in enumerate(terms) if at not in pair) + output
        sizes = [_sizes(terms[at]) for at in pair]
        both = sizes[0] | sizes[1]
        result = prod(size for letter, size in both.items() if letter in kept)
        return result - sum(prod(one.values()) for one in sizes), prod(both.values())

    return min(combinations(range(len(terms)), 2), key=cost)


def _sizes(term: Term) -> dict[str, int]:
    return dict(zip(term.letters, term.tensor.shape, strict=False))


def _diagonal_of(term: Term) -> Term:
    """One dim for each letter: where one comes twice, the diagonal of its two dims."""
    letters, tensor = term
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            tensor = diagonal(tensor.movedim((first, second), (-2, -1)))
            letters = letters[:first] + letters[first + 1 : second] + letters[second + 1 :] + letter
    return Term(letters, tensor)


def diagonal(x: Tensor[Any, Any, Any]) -> Tensor[Any, Any, Any]:
    """The main diagonal of each matrix: the last two dims become one. It is every (columns + 1)-th element."""
    *batch, rows, columns = x.shape
    size = min(rows, columns)
    if size == 0:
        return x.narrow(-2, 0, 0).narrow(-1, 0, 0).reshape((*batch, 0)) if batch else x.reshape((0,))
    return x.narrow(-2, 0, size).reshape((*batch, size * columns))[..., :: columns + 1]


def _summed(term: Term, kept: str) -> Term:
    """Without the letters that nobody needs any more."""
    gone = tuple([at for at, letter in enumerate(term.letters) if letter not in kept])
    if not gone:
        return term
    total = term.tensor.sum_dims(gone)
    if total.dtype != term.tensor.dtype:  # of small integers; a matmul keeps their format, too
        total = total.cast(term.tensor.dtype)
    sizes = tuple([size for at, size in enumerate(total.shape) if at not in gone])
    return Term("".join(letter for letter in term.letters if letter in kept), total.reshape(sizes or (1,)))


def _product(a: Term, b: Term, kept: str) -> Term:
    """Two terms as one: a batch of matrix products, or of products of elements if they share nothing to sum."""
    a, b = _summed(a, kept + b.letters), _summed(b, kept + a.letters)
    batch = "".join(letter for letter in a.letters if letter in b.letters and letter in kept)
    inner = "".join(letter for letter in a.letters if letter in b.letters and letter not in kept)
    left = "".join(letter for letter in a.letters if letter not in b.letters)
    right = "".join(letter for letter in b.letters if letter not in a.letters)
    sizes = _sizes(a) | _sizes(b)
    rows, columns = _grouped(a, (batch, left, inner)), _grouped(b, (batch, inner, right))
    product = rows @ columns if inner else rows * columns
    letters = batch + left + right
    if len(letters) > MAX_RANK:
        reason = (
            f"the product of {a.letters} and {b.letters} would have rank {len(letters)}, and {MAX_RANK} is the most"
        )
        raise ShapeError("einsum", reason, hint="contract a few operands first, in an einsum of their own")
    return Term(letters, product.reshape(tuple([sizes[letter] for letter in letters]) or (1,)))


def _grouped(term: Term, groups: tuple[str, str, str]) -> Tensor[Any, Any, Any]:
    """The dims in the order of some groups of letters, and each group as one dim; no batch is no dim."""
    sizes = _sizes(term)
    shape = tuple([prod(sizes[letter] for letter in group) for group in groups])
    return _arranged(term, "".join(groups)).reshape(shape if groups[0] else shape[1:])


def _arranged(term: Term, letters: str) -> Tensor[Any, Any, Any]:
    """The dims in the order of their letters."""
    if term.letters == letters:
        return term.tensor
    return term.tensor.permute(*[term.letters.index(letter) for letter in letters])
