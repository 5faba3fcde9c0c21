"""Filters filled and looked up in Java, where Spark's rows are: no key has to go to Python.

`Filter.java` supports blocked filters without a secret. Janino compiles it; Spark includes Janino to compile its own generated
code. So neither building the package nor running it needs a JDK, and the classes fit the installed Spark. The executors get
them as a jar of 20 KB. For other filters, and where Spark encrypts files or keeps the jars of sessions apart, Python does the
same work.
"""

from __future__ import annotations

import os
import struct
import threading
import warnings
import weakref
import zipfile
from importlib.resources import files
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.core.broadcast import Broadcast
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from umbel import Filter

from ._keys import quoted

# The classes of each application, or None where they cannot be had.
_classes: weakref.WeakKeyDictionary[SparkContext, Any] = weakref.WeakKeyDictionary()
MAGIC = b"\x89UMBEL\r\n"
_FORMS = ("text", "bytes", "integer", "mixed")
_compiling = threading.Lock()


def has_java(spark: SparkSession) -> bool:
    """Whether a session has the classes, and executors the files of filters."""
    context = spark.sparkContext
    apart = spark.conf.get("spark.sql.artifact.isolation.enabled", "false") == "true"
    return not context._encryption_enabled and not apart and _loader(context) is not None


def knows(filter: Filter, data: bytes, spark: SparkSession) -> bool:
    """Whether Java can fill, and look keys up in, a filter, whose file starts with these bytes."""
    described = all(name == "field" or (name == "type" and value in _FORMS) for name, value in filter.description)
    return described and struct.unpack_from("<8sHH4xH", data) == (MAGIC, 1, 1, 1) and has_java(spark)


def may_contain(key: Column, filter: Broadcast[Any]) -> Column:
    """Whether the values of a column, integers, bytes or structs of these, may be keys of a filter; null for null."""
    context: Any = filter._sc
    java: Any = key
    return type(key)(_new(context, "MightContain", filter._jbroadcast).of(java._jc))


def passing(rows: DataFrame, filter: Broadcast[Any], room: int | None = None) -> DataFrame:
    """The rows whose first column, an integer without nulls, may be a key of a filter. Shuffles that they need are done now.

    Each partition has up to `room` bytes of them, then a row of nulls in place of more.
    """
    spark: Any = rows.sparkSession
    most = 2**63 - 1 if room is None else room
    found = _rows(rows).mapPartitions(_new(spark.sparkContext, "Passing", filter._jbroadcast, most))
    nullable = T.StructType([T.StructField(field.name, field.dataType) for field in rows.schema.fields])
    schema = spark._jsparkSession.parseDataType(nullable.json())
    return DataFrame(spark._jsparkSession.internalCreateDataFrame(found.rdd(), schema, False), spark)


def filled(keys: DataFrame, empty: bytes, schema: str) -> DataFrame:
    """For each partition of a table of keys the file of the filter that has them, in rows of this schema; `empty` is one without keys."""
    columns = [java_key(field) for field in keys.schema.fields]
    key = keys.dropna().select(*columns)
    spark: Any = keys.sparkSession
    (length,) = struct.unpack_from("<12xI", empty)
    pieces = _rows(key).mapPartitions(_new(spark.sparkContext, "Fill", bytearray(empty[:length]), key._jdf.schema()))
    of_piece = spark._jvm.org.apache.spark.sql.types.StructType.fromDDL(schema)
    return DataFrame(spark._jsparkSession.createDataFrame(pieces, of_piece), spark)


def _rows(df: DataFrame) -> Any:
    """Spark's own rows of a table, in Java."""
    return df._jdf.queryExecution().toRdd().toJavaRDD()


def java_key(field: T.StructField) -> Column:
    """A key column for Java. A Java string would lose bytes that are not text."""
    column = F.col(quoted(field.name))
    if isinstance(field.dataType, T.StringType):
        # Also a column of integers whose digits are looked up.
        column = column.cast("string")
    return column.cast("bigint" if isinstance(field.dataType, T.IntegralType) else "binary")


def _loader(context: SparkContext) -> Any:
    with _compiling:
        if context not in _classes:
            try:
                _classes[context] = _compiled(context)
            except Py4JError as error:
                _classes[context] = None
                slower = "keys go to Python, which takes longer"
                warnings.warn(f"Spark's Java compiler refuses Filter.java, so that {slower}: {error}", stacklevel=2)
        return _classes[context]


def _compiled(context: SparkContext) -> Any:
    jvm: Any = context._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook((files(__package__) / "Filter.java").read_text(encoding="utf-8"))
    jar = os.path.join(context._temp_dir, "umbel.jar")
    with zipfile.ZipFile(jar, "w") as out:
        for name, code in compiler.getBytecodes().items():
            # Without timestamps: an executor whose folder has the jar of another application then finds an identical one.
            out.writestr(zipfile.ZipInfo(name.replace(".", "/") + ".class"), bytes(code))
    context._jsc.sc().addJar(jar)
    return compiler.getClassLoader()


def _new(context: SparkContext, name: str, *arguments: Any) -> Any:
    """An object of one of the classes, which has one constructor."""
    gateway: Any = context._gateway
    array = gateway.new_array(gateway.jvm.java.lang.Object, len(arguments))
    for place, argument in enumerate(arguments):
        array[place] = argument
    return _loader(context).loadClass(f"umbel.spark.Filter${name}").getConstructors()[0].newInstance(array)
