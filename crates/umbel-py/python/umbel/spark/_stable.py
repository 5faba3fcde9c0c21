"""Which tables have the same rows each time they are computed. Pruning computes them several times.

If the rows differed, the filter from one computation would drop rows of the next. Spark itself only records which expressions
are not deterministic. The analyzed plan shows the rest, before the optimizer replaces the time by a constant. A table counts
as stable only if everything in its plan is known to be; any other is left to Spark, which computes it once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from ._keys import BINARY_ORDER, Unpruned

# Operators whose rows depend only on those below, in whatever order these come. Not here: limits, samples, windows, which see
# rows that are equal in any order; functions of Python over whole groups or partitions.
_ROWWISE = {
    "Aggregate", "CTERelationDef", "CTERelationRef", "Deduplicate", "Distinct", "Except", "Expand", "Filter", "Generate",
    "InMemoryRelation", "Intersect", "Join", "LateralJoin", "LocalRelation", "LogicalRDD", "LogicalRelation", "OneRowRelation",
    "Project", "Range", "RebalancePartitions", "Repartition", "RepartitionByExpression", "ResolvedHint", "Sort",
    "SubqueryAlias", "Union", "View", "WithCTE",
}  # fmt: skip
# Of equal rows these keep any one. Texts may be equal by their collation and differ in their bytes.
_KEEPING = {"Aggregate", "Deduplicate", "Distinct", "Except", "Intersect"}
# Aggregates that see the same in rows of any order, if their result is exact.
_UNORDERED = {
    "Average", "BitAndAgg", "BitOrAgg", "BitXorAgg", "BoolAnd", "BoolOr", "Count", "CountIf", "HyperLogLogPlusPlus", "Max",
    "Min", "Sum",
}  # fmt: skip
# The beginnings of names of types whose equal values are the same bytes.
_EXACT = ("tinyint", "smallint", "int", "bigint", "decimal", "boolean", "date", "time", "binary")
# Spark takes it for deterministic, although it draws a random vector unless it is given one.
_RANDOM = {"AesEncrypt"}
# Files that were listed once.
_LISTED = {"InMemoryFileIndex", "MetadataLogFileIndex"}
_REMEDY = "localCheckpoint() it first"


def stable(df: DataFrame) -> None:
    """Raises `Unpruned` unless a table certainly has the same rows each time it is computed.

    Functions of the user count as deterministic unless they are marked, as for Spark.
    """
    check_finite(df)
    jvm: Any = df.sparkSession._jvm
    _Plan(jvm.org.apache.spark.sql.catalyst.trees.TreePattern).check(df._jdf.queryExecution().withCachedData())


def check_finite(df: DataFrame) -> None:
    """Raises `ValueError` for a stream."""
    if df.isStreaming:
        raise ValueError("a stream cannot be read twice; call this on the tables of foreachBatch()")


class _Plan:
    """The tree of operators, and the patterns by which Spark finds some expressions in it."""

    def __init__(self, patterns: Any) -> None:
        self.current = patterns.CURRENT_LIKE()
        self.aggregate = patterns.AGGREGATE_EXPRESSION()
        self.replaced = patterns.RUNTIME_REPLACEABLE()

    def check(self, plan: Any) -> None:
        # The whole tree is checked first: a table may have thousands of expressions.
        suspect = not plan.deterministic() or any(map(plan.containsPattern, (self.current, self.replaced)))
        for operator in _tree(plan):
            name = _name(operator)
            if name not in _ROWWISE:
                raise _unstable(f"a {name}, whose rows may differ each time")
            if suspect:
                for expression in _items(operator.expressions()):
                    self._check_expression(expression)
            if name == "Aggregate":
                for expression in _items(operator.expressions()):
                    self._check_aggregates(expression)
            if name == "Deduplicate" and operator.keys().distinct().size() < operator.output().size():
                raise _unstable("a dropDuplicates() of some columns, which keeps any row")
            if name in _KEEPING and _collated(T.StructType.fromJson(json.loads(operator.schema().json()))):
                raise _unstable(f"a {name} of texts with a collation, which keeps any of those that are equal")
            if name in ("InMemoryRelation", "LogicalRDD", "LogicalRelation"):
                self._check_leaf(operator, name)
        for subquery in _items(plan.subqueriesAll()):
            self.check(subquery)

    def _check_expression(self, expression: Any) -> None:
        if not expression.deterministic():
            found = _deepest(expression, lambda part: not part.deterministic())
            raise _unstable(f"{_spelled(found)}, which differs each time")
        if expression.containsPattern(self.current):
            found = _deepest(expression, lambda part: part.containsPattern(self.current))
            raise _unstable(f"{_spelled(found)}, which differs each time")
        if expression.containsPattern(self.replaced):
            for part in _tree(expression):
                if _name(part) in _RANDOM:
                    raise _unstable(f"{_spelled(part)}, which differs each time")

    def _check_aggregates(self, expression: Any) -> None:
        if not expression.containsPattern(self.aggregate):
            return
        if _name(expression) != "AggregateExpression":
            for child in _items(expression.children()):
                self._check_aggregates(child)
            return
        function = expression.aggregateFunction()
        if _name(function) not in _UNORDERED or not _exact(function):
            raise _unstable(f"{_spelled(function)}, which depends on the order of the rows")

    def _check_leaf(self, leaf: Any, name: str) -> None:
        if name == "InMemoryRelation":
            # Blocks that an executor takes with it are computed again.
            try:
                self.check(leaf.cacheBuilder().logicalPlan())
            except Unpruned as reason:
                raise Unpruned(f"{reason}, because persisted rows may be computed again") from None
        elif name == "LogicalRDD":
            rdd = leaf.rdd()
            if not rdd.isCheckpointed() and rdd.outputDeterministicLevel().toString() != "DETERMINATE":
                raise _unstable("an RDD, whose rows may come in another order each time")
        else:
            relation = leaf.relation()
            kind = _name(relation)
            if kind != "HadoopFsRelation" or _name(relation.location()) not in _LISTED:
                raise _unstable(f"a source that is read again each time, {kind}")


def _unstable(what: str) -> Unpruned:
    return Unpruned(f"a table has {what}; {_REMEDY}")


def _exact(function: Any) -> bool:
    """Whether equal results are the same bytes. Sums of floats depend on the order, and 0.0 equals -0.0."""
    kind: str = function.dataType().simpleString()
    return kind in ("string", "void") or kind.startswith(_EXACT)


def _collated(kind: T.DataType) -> bool:
    if isinstance(kind, T.StringType):
        return kind.collation != BINARY_ORDER
    if isinstance(kind, T.ArrayType):
        return _collated(kind.elementType)
    if isinstance(kind, T.MapType):
        return _collated(kind.keyType) or _collated(kind.valueType)
    return isinstance(kind, T.StructType) and any(_collated(field.dataType) for field in kind.fields)


def _deepest(expression: Any, has: Any) -> Any:
    """The innermost expression with a property that all expressions around it then have too."""
    for child in _items(expression.children()):
        if has(child):
            return _deepest(child, has)
    return expression


def _spelled(expression: Any) -> str:
    return f"{expression.prettyName()}()"


def _tree(node: Any) -> Iterator[Any]:
    yield node
    for child in _items(node.children()):
        yield from _tree(child)


def _items(seq: Any) -> Iterator[Any]:
    for place in range(seq.size()):
        yield seq.apply(place)


def _name(node: Any) -> str:
    name: str = node.getClass().getSimpleName()
    return name.rstrip("$")
