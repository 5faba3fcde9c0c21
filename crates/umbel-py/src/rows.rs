//! Keys of several fields: the rows of tables, and tuples.
//!
//! A field is text, as on the command line: a `str` its UTF-8, `bytes` as they are, an integer its decimal digits. The key of
//! several fields is for each value its length in bytes as a u32 and the value; that of one field is its value (FORMAT.md,
//! section 3). A row with a null is no key.

use std::sync::{PoisonError, RwLockReadGuard, RwLockWriteGuard};

use arrow_array::array::{Array, ArrayRef, LargeBinaryArray, StructArray};
use arrow_array::cast::AsArray;
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as D;
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use umbel::{AnyFilter, Block};

use crate::answers::Container;
use crate::columns::{Answer, BATCH, struct_arrays};
use crate::errors::Failure;
use crate::filter::Filter;
use crate::inner::{AddNew, Inner, LookUp};
use crate::keys::{KeyRef, OneKey};

/// The bytes of a field.
pub(crate) fn field(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    Ok(match OneKey::of(value, false)?.key() {
        KeyRef::Bytes(bytes) => bytes.to_vec(),
        KeyRef::Int(int) => int.to_string().into_bytes(),
        KeyRef::Large(int) => int.to_string().into_bytes(),
        KeyRef::Float(_) => unreachable!("floats are refused"),
    })
}

/// Some rows: the values of one after those of the other; none where one is null.
struct Rows {
    bytes: Vec<u8>,
    /// Where the values end.
    ends: Vec<usize>,
    width: usize,
}

impl Rows {
    fn new(width: usize) -> Self {
        Self { bytes: Vec::new(), ends: Vec::new(), width }
    }

    fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len());
    }

    fn len(&self) -> usize {
        self.ends.len() / self.width
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn values(&self) -> Vec<&[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end]).collect()
    }

    /// The rows as keys of several fields.
    fn keys(&self) -> Result<Self, Failure> {
        let mut keys = Self::new(1);
        for row in self.values().chunks(self.width) {
            for value in row {
                if self.width > 1 {
                    let length = u32::try_from(value.len()).map_err(|_| {
                        Failure::Value(
                            "a value of 4 GiB or more cannot be part of a key".to_owned(),
                        )
                    })?;
                    keys.bytes.extend_from_slice(&length.to_le_bytes());
                }
                keys.bytes.extend_from_slice(value);
            }
            keys.ends.push(keys.bytes.len());
        }
        Ok(keys)
    }
}

/// What is done with rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    LookUp,
    AddNew,
}

/// A filter that is locked for it.
enum Locked<'a> {
    LookUp(RwLockReadGuard<'a, Inner>),
    AddNew(RwLockWriteGuard<'a, Inner>),
}

impl<'a> Locked<'a> {
    /// Without Python.
    fn detached(filter: &'a Filter, work: Work) -> Self {
        let lock = &filter.lock;
        match work {
            Work::LookUp => Self::LookUp(lock.read().unwrap_or_else(PoisonError::into_inner)),
            Work::AddNew => Self::AddNew(lock.write().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    fn attached(filter: &'a Filter, py: Python<'_>, work: Work) -> Self {
        match work {
            Work::LookUp => Self::LookUp(filter.read(py)),
            Work::AddNew => Self::AddNew(filter.write(py)),
        }
    }

    fn inner(&self) -> &Inner {
        match self {
            Self::LookUp(inner) => inner,
            Self::AddNew(inner) => inner,
        }
    }
}

/// Does it, each row getting its answer.
fn work_on(
    filter: &mut Locked<'_>,
    names: &[String],
    rows: &Rows,
    answers: &mut [bool],
) -> Result<(), Failure> {
    match filter.inner() {
        Inner::Own(AnyFilter::Attributes(_)) => {}
        Inner::Mapped(AnyFilter::Attributes(filter)) => {
            return look_up(filter, names, rows, answers);
        }
        _ => {
            let keys = rows.keys()?;
            let keys = keys.values();
            return match filter {
                Locked::LookUp(inner) => LookUp(inner).answer(&keys, answers),
                Locked::AddNew(inner) => AddNew(inner).answer(&keys, answers),
            };
        }
    }
    match filter {
        Locked::LookUp(inner) => match &**inner {
            Inner::Own(AnyFilter::Attributes(filter)) => look_up(filter, names, rows, answers),
            _ => unreachable!("a filter of rows"),
        },
        Locked::AddNew(inner) => match inner.own_mut("add_rows")? {
            AnyFilter::Attributes(filter) => add(filter, names, rows, answers),
            _ => unreachable!("a filter of rows"),
        },
    }
}

/// Where the values of a row are in one of the filter.
fn places<S: AsRef<[Block]>>(
    filter: &umbel::Attributes<S>,
    names: &[String],
    rows: &Rows,
) -> Result<Vec<usize>, Failure> {
    if !names.is_empty() {
        return Ok(filter.indices(names)?);
    }
    let fields = filter.names();
    if rows.width == fields.len() {
        return Ok((0..rows.width).collect());
    }
    Err(Failure::Value(format!(
        "a row has {} values, and the filter the fields {}; name the columns",
        rows.width,
        fields.join(", ")
    )))
}

fn look_up<S: AsRef<[Block]>>(
    filter: &umbel::Attributes<S>,
    names: &[String],
    rows: &Rows,
    answers: &mut [bool],
) -> Result<(), Failure> {
    let places = places(filter, names, rows)?;
    let (values, fields) = (rows.values(), filter.names().len());
    let mut asked = vec![None; rows.len() * fields];
    for (row, asked) in values.chunks(rows.width).zip(asked.chunks_mut(fields)) {
        row.iter().zip(&places).for_each(|(value, &place)| asked[place] = Some(*value));
    }
    let asked: Vec<&[Option<&[u8]>]> = asked.chunks(fields).collect();
    Ok(filter.contains_rows(&asked, answers)?)
}

fn add(
    filter: &mut umbel::Attributes,
    names: &[String],
    rows: &Rows,
    answers: &mut [bool],
) -> Result<(), Failure> {
    if !names.is_empty() {
        filter.indices_of_all(names)?;
    }
    let places = places(filter, names, rows)?;
    let values = rows.values();
    let mut ordered = vec![&[][..]; values.len()];
    for (row, ordered) in values.chunks(rows.width).zip(ordered.chunks_mut(rows.width)) {
        row.iter().zip(&places).for_each(|(value, &place)| ordered[place] = value);
    }
    let ordered: Vec<&[&[u8]]> = ordered.chunks(rows.width).collect();
    Ok(filter.insert_rows_new(&ordered, answers)?)
}

/// Whether a row with these values may be there.
pub(crate) fn contains_row(
    inner: &Inner,
    names: &[String],
    values: Vec<Vec<u8>>,
) -> PyResult<bool> {
    fn ask<S: AsRef<[Block]>>(
        filter: &umbel::Attributes<S>,
        names: &[String],
        values: Vec<Vec<u8>>,
    ) -> Result<bool, Failure> {
        let mut row = vec![None; filter.names().len()];
        for (place, value) in filter.indices(names)?.into_iter().zip(values) {
            row[place] = Some(value);
        }
        Ok(filter.contains_row(&row)?)
    }
    Ok(match inner {
        Inner::Own(AnyFilter::Attributes(filter)) => ask(filter, names, values)?,
        Inner::Mapped(AnyFilter::Attributes(filter)) => ask(filter, names, values)?,
        _ => unreachable!("the class is of filters of rows"),
    })
}

/// Refuses a column that has no fields of rows.
fn check(found: &D, name: &str) -> Result<(), Failure> {
    let of = match found {
        D::Dictionary(_, values) => values,
        other => other,
    };
    let text = matches!(
        of,
        D::Null | D::Utf8 | D::LargeUtf8 | D::Utf8View | D::Binary | D::LargeBinary | D::BinaryView
    );
    if text || of.is_integer() || matches!(of, D::FixedSizeBinary(_)) {
        return Ok(());
    }
    Err(Failure::Type(format!(
        "column {name}: fields are text, bytes or integers, found {found}; cast it to text"
    )))
}

/// Appends a value as text.
fn value(array: &ArrayRef, i: usize, rows: &mut Rows) {
    use std::io::Write;
    macro_rules! number {
        ($type:ident) => {{
            let number = array.as_primitive::<arrow_array::types::$type>().value(i);
            write!(rows.bytes, "{number}").expect("memory takes all");
            rows.ends.push(rows.bytes.len());
        }};
    }
    match array.data_type() {
        D::Utf8 => rows.push(array.as_string::<i32>().value(i).as_bytes()),
        D::LargeUtf8 => rows.push(array.as_string::<i64>().value(i).as_bytes()),
        D::Utf8View => rows.push(array.as_string_view().value(i).as_bytes()),
        D::Binary => rows.push(array.as_binary::<i32>().value(i)),
        D::LargeBinary => rows.push(array.as_binary::<i64>().value(i)),
        D::BinaryView => rows.push(array.as_binary_view().value(i)),
        D::FixedSizeBinary(_) => rows.push(array.as_fixed_size_binary().value(i)),
        D::Int8 => number!(Int8Type),
        D::Int16 => number!(Int16Type),
        D::Int32 => number!(Int32Type),
        D::Int64 => number!(Int64Type),
        D::UInt8 => number!(UInt8Type),
        D::UInt16 => number!(UInt16Type),
        D::UInt32 => number!(UInt32Type),
        D::UInt64 => number!(UInt64Type),
        other => unreachable!("{other} was checked"),
    }
}

/// The columns of a table that make the key of a row, and which rows have all of them.
struct Table {
    columns: Vec<ArrayRef>,
    length: usize,
    nulls: Option<NullBuffer>,
}

impl Table {
    fn of(table: &StructArray, names: &[String]) -> Result<Self, Failure> {
        let columns = names.iter().map(|name| {
            let column = table.column_by_name(name).ok_or_else(|| {
                let has = table.column_names().join(", ");
                Failure::Python(PyKeyError::new_err(format!(
                    "no column {name}; the table has {has}"
                )))
            })?;
            check(column.data_type(), name)?;
            // A dictionary is looked up once, not for each row.
            Ok::<_, Failure>(match column.data_type() {
                D::Dictionary(..) => plain(column),
                _ => column.clone(),
            })
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        // A row of a column of structs may be null itself.
        let nulls = columns.iter().fold(table.nulls().cloned(), |nulls, column| {
            NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref())
        });
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        Ok(Self { columns, length: table.len(), nulls })
    }

    fn has(&self, i: usize) -> bool {
        self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(i))
    }
}

/// Works on the rows of a table, which get an answer each; those with a null get none.
fn on_table(
    filter: &Filter,
    tables: &[Table],
    work: Work,
    names: &[String],
    answers: &mut [bool],
) -> Result<(), Failure> {
    let mut filter = Locked::detached(filter, work);
    let (mut rows, mut places) = (Rows::new(names.len()), Vec::new());
    let mut start = 0;
    for table in tables {
        for i in (0..table.length).filter(|&i| table.has(i)) {
            table.columns.iter().for_each(|column| value(column, i, &mut rows));
            places.push(start + i);
            if rows.len() == BATCH {
                flush(&mut filter, names, &mut rows, &mut places, answers)?;
            }
        }
        start += table.length;
    }
    flush(&mut filter, names, &mut rows, &mut places, answers)
}

/// A dictionary's values, each where it is used.
fn plain(column: &ArrayRef) -> ArrayRef {
    let (dictionary, nulls) = (column.as_any_dictionary(), column.logical_nulls());
    if dictionary.values().is_empty() {
        return std::sync::Arc::new(LargeBinaryArray::new_null(column.len()));
    }
    let places = dictionary.normalized_keys();
    let mut rows = Rows::new(1);
    let mut texts: Vec<Option<Vec<u8>>> = Vec::with_capacity(column.len());
    for (i, &place) in places.iter().enumerate() {
        texts.push(match nulls.as_ref().is_none_or(|nulls| nulls.is_valid(i)) {
            false => None,
            true => {
                rows.clear();
                value(dictionary.values(), place, &mut rows);
                Some(rows.bytes.clone())
            }
        });
    }
    std::sync::Arc::new(LargeBinaryArray::from_iter(texts))
}

fn flush(
    filter: &mut Locked<'_>,
    names: &[String],
    rows: &mut Rows,
    places: &mut Vec<usize>,
    answers: &mut [bool],
) -> Result<(), Failure> {
    let mut found = vec![false; rows.len()];
    work_on(filter, names, rows, &mut found)?;
    for (place, found) in places.drain(..).zip(found) {
        answers[place] = found;
    }
    rows.clear();
    Ok(())
}

impl Filter {
    /// Works on the rows of a table or on tuples.
    pub(crate) fn on_rows<'py>(
        &self,
        rows: &Bound<'py, PyAny>,
        names: Vec<String>,
        work: Work,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = rows.py();
        if let Some(tables) = struct_arrays(rows)? {
            if names.is_empty() {
                return Err(PyValueError::new_err(
                    "name the columns of the table that make the key",
                ));
            }
            let tables = tables.iter().map(|table| Table::of(table, &names));
            let tables = tables.collect::<Result<Vec<_>, _>>()?;
            let length = tables.iter().map(|table| table.length).sum();
            let valid = tables.iter().any(|table| table.nulls.is_some()).then(|| {
                let has =
                    |table: &Table| (0..table.length).map(|i| table.has(i)).collect::<Vec<_>>();
                tables.iter().flat_map(has).collect()
            });
            return Container::of(rows)?.filled(py, length, valid, |answers| {
                on_table(self, &tables, work, &names, answers)
            });
        }
        if rows.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("a str is no row; give tuples, or a table"));
        }
        let mut answers = Vec::new();
        let mut batch = Rows::new(names.len().max(1));
        for row in rows.try_iter()? {
            let row = row?;
            let values: Vec<_> = match row.cast::<PyDict>() {
                Ok(dict) => {
                    let value = |name: &String| {
                        dict.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name.clone()))
                    };
                    names.iter().map(value).collect::<PyResult<_>>()?
                }
                Err(_) => row
                    .cast::<PyTuple>()
                    .map_err(|_| {
                        PyTypeError::new_err("a row is a tuple, or a dict when columns are named")
                    })?
                    .iter()
                    .collect(),
            };
            if answers.is_empty() && batch.len() == 0 && names.is_empty() {
                batch.width = values.len().max(1);
            }
            if values.len() != batch.width {
                return Err(PyValueError::new_err(format!(
                    "a row has {} values, expected {}",
                    values.len(),
                    batch.width
                )));
            }
            for value in &values {
                batch.push(&field(value)?);
            }
            // Rows that are added are all checked before the first is.
            if work == Work::LookUp && batch.len() == BATCH {
                self.on_batch(py, &mut batch, work, &names, &mut answers)?;
            }
        }
        self.on_batch(py, &mut batch, work, &names, &mut answers)?;
        Ok(PyList::new(py, answers)?.into_any())
    }

    fn on_batch(
        &self,
        py: Python<'_>,
        batch: &mut Rows,
        work: Work,
        names: &[String],
        answers: &mut Vec<bool>,
    ) -> PyResult<()> {
        let start = answers.len();
        answers.resize(start + batch.len(), false);
        let mut filter = Locked::attached(self, py, work);
        work_on(&mut filter, names, batch, &mut answers[start..])?;
        batch.clear();
        Ok(())
    }
}
