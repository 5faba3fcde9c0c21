//! Keys of several fields: the rows of tables, and tuples.
//!
//! A field is text, as on the command line: a `str` its UTF-8, `bytes` as they are, an integer its decimal digits. The
//! key of several fields has, for each value, its length in bytes as a u32 and the value; the key of one field is its
//! value (FORMAT.md, section 3). A row with a null is not a key.

use arrow_array::array::{Array, ArrayRef, StructArray, new_empty_array};
use arrow_array::cast::AsArray;
use arrow_array::downcast_integer;
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as D;
use umbel::{AnyFilter, Block, Filter as _, KeyDescription, KeyHasher};

use crate::answers::{Answers, Container, is_of_objects, library};
use crate::arrays::{BATCH, cast, has_keys, places};
use crate::filter::Filter;
use crate::imports::Stream;
use crate::inner::{Access, Inner, Operation, form_of_rows, note_form, of_inner, of_kind};
use crate::keys::{OneKey, Takes, is_missing, refuse_form};
use crate::prelude::*;

/// The bytes of a field.
pub(crate) fn field(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    Ok(OneKey::of(value, Takes::Own)?.key().text().into_owned())
}

/// Bytes of rows after which they are processed, so large values do not pile up.
const BATCH_BYTES: usize = 1 << 20;

/// Some rows, with their values one after the other; a row with a null has none.
struct Rows {
    bytes: Vec<u8>,
    /// The ends of the values.
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

    /// Whether they are enough to process: many, or large.
    fn is_batch(&self) -> bool {
        self.len() == BATCH || self.bytes.len() >= BATCH_BYTES
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

/// Does the operation with rows and answers each.
fn answer_rows(
    access: &mut Access<'_>,
    names: &[String],
    rows: &Rows,
    answers: &mut [bool],
) -> Result<(), Failure> {
    // Fields are text.
    if let (Access::Write(Inner::Own(own), Operation::Add), 1..) = (&mut *access, rows.len()) {
        refuse_form(form_of_rows(own.description())?, |held| held != KeyForm::Bytes)?;
        let mut held = own.description().clone();
        let unnamed =
            own.is_empty() && held.form().is_none() && held.values("field").next().is_none();
        if unnamed && !own.kind().rows() {
            names.iter().try_for_each(|name| held.push("field", name))?;
            own.describe(held);
        }
        note_form(own, form_of_rows, Some(KeyForm::Text))?;
    }
    match access {
        Access::Read(Inner::Own(AnyFilter::Attributes(filter))) => {
            look_up(filter, names, rows, answers)
        }
        Access::Read(Inner::Mapped(AnyFilter::Attributes(filter))) => {
            look_up(filter, names, rows, answers)
        }
        Access::Write(Inner::Own(AnyFilter::Attributes(filter)), _) => {
            add(filter, names, rows, answers)
        }
        access => {
            let inner = match access {
                Access::Read(inner) => *inner,
                Access::Write(inner, _) => &**inner,
            };
            check_names(inner, names)?;
            access.answer_keys(form_of_rows, &rows.keys()?.values(), answers)
        }
    }
}

/// The places of a row's values in a row of the filter.
fn fields_of<S: AsRef<[Block]>>(
    filter: &umbel::Attributes<KeyHasher, S>,
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
        "a row has {} values, but the filter has the fields {}; name the columns",
        rows.width,
        fields.join(", ")
    )))
}

fn look_up<S: AsRef<[Block]>>(
    filter: &umbel::Attributes<KeyHasher, S>,
    names: &[String],
    rows: &Rows,
    answers: &mut [bool],
) -> Result<(), Failure> {
    form_of_rows(filter.description())?;
    let places = fields_of(filter, names, rows)?;
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
    let places = fields_of(filter, names, rows)?;
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
        filter: &umbel::Attributes<KeyHasher, S>,
        names: &[String],
        values: Vec<Vec<u8>>,
    ) -> Result<bool, Failure> {
        form_of_rows(filter.description())?;
        let mut row = vec![None; filter.names().len()];
        for (place, value) in filter.indices(names)?.into_iter().zip(values) {
            row[place] = Some(value);
        }
        Ok(filter.contains_row(&row)?)
    }
    Ok(of_kind!(inner, Attributes(filter) => ask(filter, names, values))?)
}

/// Appends a value as text.
fn value(array: &ArrayRef, i: usize, rows: &mut Rows) {
    use std::io::Write;
    macro_rules! number {
        ($type:ty) => {{
            let number = array.as_primitive::<$type>().value(i);
            write!(rows.bytes, "{number}").expect("memory takes all");
            rows.ends.push(rows.bytes.len());
        }};
    }
    downcast_integer! {
        array.data_type() => (number),
        D::Binary => rows.push(array.as_binary::<i32>().value(i)),
        D::LargeBinary => rows.push(array.as_binary::<i64>().value(i)),
        D::BinaryView => rows.push(array.as_binary_view().value(i)),
        D::FixedSizeBinary(_) => rows.push(array.as_fixed_size_binary().value(i)),
        other => unreachable!("{other} was checked"),
    }
}

/// A column of a table.
struct Field {
    values: ArrayRef,
    /// For a dictionary, the value of each row.
    places: Option<Vec<usize>>,
}

impl Field {
    fn of(column: &ArrayRef) -> Self {
        match column.as_any_dictionary_opt() {
            Some(words) => Self {
                values: words.values().clone(),
                places: Some(places(words.keys(), 0..column.len())),
            },
            None => Self { values: column.clone(), places: None },
        }
    }

    /// Appends the value of a row as text.
    fn push(&self, i: usize, rows: &mut Rows) {
        value(&self.values, self.places.as_ref().map_or(i, |places| places[i]), rows);
    }
}

/// The columns of a table that make the key of a row, and which rows have all of them.
struct Table {
    columns: Vec<Field>,
    length: usize,
    nulls: Option<NullBuffer>,
}

impl Table {
    fn of(table: &StructArray, names: &[String]) -> Result<Self, Failure> {
        let columns = names.iter().map(|name| {
            let named = table.column_names().into_iter().filter(|other| *other == name.as_str());
            if named.count() > 1 {
                return Err(Failure::Value(several(name)));
            }
            let column = table
                .column_by_name(name)
                .ok_or_else(|| Failure::Python(missing(name, &table.column_names().join(", "))))?;
            let of = match column.data_type() {
                D::Dictionary(_, values) => values,
                other => other,
            };
            if !has_keys(of) {
                return Err(Failure::Type(format!(
                    "column {name}: fields are text, bytes or integers, found {of}; {}",
                    cast(of)
                )));
            }
            Ok(column)
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        // A row of a column of structs may be null itself.
        let nulls = columns.iter().fold(table.nulls().cloned(), |nulls, column| {
            NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref())
        });
        let columns = columns.into_iter().map(Field::of).collect();
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        Ok(Self { columns, length: table.len(), nulls })
    }

    fn has(&self, i: usize) -> bool {
        self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(i))
    }
}

/// Does the operation with the rows of a table and answers each, except rows with a null.
fn answer_table(
    access: &mut Access<'_>,
    table: &Table,
    names: &[String],
    answers: &mut [bool],
) -> Result<(), Failure> {
    let (mut rows, mut places) = (Rows::new(names.len()), Vec::new());
    let mut flush = |rows: &mut Rows, places: &mut Vec<usize>| {
        let mut found = vec![false; rows.len()];
        answer_rows(access, names, rows, &mut found)?;
        for (place, found) in places.drain(..).zip(found) {
            answers[place] = found;
        }
        rows.clear();
        Ok::<_, Failure>(())
    };
    for i in (0..table.length).filter(|&i| table.has(i)) {
        table.columns.iter().for_each(|column| column.push(i, &mut rows));
        places.push(i);
        if rows.is_batch() {
            flush(&mut rows, &mut places)?;
        }
    }
    flush(&mut rows, &mut places)
}

/// The values of a row given as a tuple or a dict.
fn values_of<'py>(row: &Bound<'py, PyAny>, names: &[String]) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if let Ok(dict) = row.cast::<PyDict>() {
        let value =
            |name: &String| dict.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name.clone()));
        return names.iter().map(value).collect();
    }
    let tuple = row
        .cast::<PyTuple>()
        .map_err(|_| PyTypeError::new_err("a row is a tuple, or a dict when columns are named"))?;
    Ok(tuple.iter().collect())
}

impl Filter {
    /// Does the operation with the rows of a table, or with tuples.
    pub(crate) fn answer_of_rows<'py>(
        &self,
        rows: &Bound<'py, PyAny>,
        names: Vec<String>,
        operation: Operation,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = rows.py();
        if library(rows)? == "pandas" && rows.hasattr("columns")? {
            return self.answer_frame(rows, &names, operation);
        }
        if library(rows)? == "polars" && rows.hasattr("columns")? {
            for name in &names {
                if rows.contains(name)? && is_of_objects(&rows.get_item(name)?)? {
                    return Err(PyTypeError::new_err(format!(
                        "column {name}: fields are text, bytes or integers, found objects of Python; convert them, or give tuples"
                    )));
                }
            }
        }
        if let Some(stream) = Stream::of(rows)? {
            let container = Container::of(rows)?;
            return self.answer_stream(py, container, stream, &names, operation);
        }
        if rows.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("a str is not a row; give tuples, or a table"));
        }
        let answers = self.answer_tuples(rows, &names, false, operation)?;
        self.given(py, operation, Container::List(py), &answers, Ok(()))
    }

    /// Answers a pandas table, which offers Arrow only with pyarrow, and not for columns of several types.
    fn answer_frame<'py>(
        &self,
        frame: &Bound<'py, PyAny>,
        names: &[String],
        operation: Operation,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, container) = (frame.py(), Container::of(frame)?);
        named(names)?;
        for name in names {
            if !frame.contains(name)? {
                let has = frame.getattr("columns")?.call_method0("tolist")?;
                return Err(missing(name, &has.to_string()));
            }
        }
        let columns = PyList::new(py, names)?;
        let stream = frame.get_item(columns).and_then(|columns| Stream::of(&columns));
        let has_types = |stream: &Stream| {
            Table::of(new_empty_array(stream.data_type()).as_struct(), names).is_ok()
        };
        if let Ok(Some(stream)) = stream
            && has_types(&stream)
        {
            return self.answer_stream(py, container, stream, names, operation);
        }
        let objects = |name: &String| {
            let column = frame.get_item(name)?;
            // Several columns of one name or level give a table.
            match column.getattr("ndim")?.eq(1)? {
                true => column.call_method1("astype", ("object",)),
                false => Err(PyValueError::new_err(several(name))),
            }
        };
        let columns = names.iter().map(objects).collect::<PyResult<Vec<_>>>()?;
        let tuples = py.import("builtins")?.getattr("zip")?.call1(PyTuple::new(py, columns)?)?;
        let answers = self.answer_tuples(&tuples, names, true, operation)?;
        self.given(py, operation, container, &answers, Ok(()))
    }

    fn answer_stream<'py>(
        &self,
        py: Python<'py>,
        container: Container<'py>,
        mut stream: Stream,
        names: &[String],
        operation: Operation,
    ) -> PyResult<Bound<'py, PyAny>> {
        let D::Struct(_) = stream.data_type() else {
            return Err(PyTypeError::new_err(format!(
                "expected a table of columns, found a column of {}; use contains_many() or add_many()",
                stream.data_type()
            )));
        };
        named(names)?;
        // All columns are checked before the first row arrives.
        Table::of(new_empty_array(stream.data_type()).as_struct(), names)?;
        stream.only(names);
        let mut answers = Answers::default();
        let end = loop {
            let arrays = match stream.next(py) {
                Ok(Some(arrays)) => arrays,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            let done = py.detach(|| {
                let table = |array: &ArrayRef| Table::of(array.as_struct(), names);
                arrays.iter().map(table).collect::<Result<Vec<_>, _>>()
            });
            let done = done.and_then(|tables| {
                tables.iter().try_for_each(|table| {
                    let valid = table.nulls.as_ref().map(|nulls| nulls.iter().collect());
                    let answers = answers.more(table.length, valid);
                    self.access(py, operation, |access| answer_table(access, table, names, answers))
                })
            });
            if let Err(error) = done {
                break Err(error.into());
            }
        };
        self.given(py, operation, container, &answers, end)
    }

    /// Answers tuples. In the rows of a table, values may be missing.
    fn answer_tuples(
        &self,
        rows: &Bound<'_, PyAny>,
        names: &[String],
        table: bool,
        operation: Operation,
    ) -> PyResult<Answers> {
        let (py, mut answers) = (rows.py(), Answers::default());
        let mut batch = Rows::new(names.len().max(1));
        let mut there: Vec<bool> = Vec::new();
        let mut flush = |batch: &mut Rows, there: &mut Vec<bool>| {
            let mut found = vec![false; batch.len()];
            self.access_attached(py, operation, |access| {
                answer_rows(access, names, batch, &mut found)
            })?;
            let mut found = found.into_iter();
            for (&there, answer) in there.iter().zip(answers.more(there.len(), None)) {
                *answer = there && found.next() == Some(true);
            }
            batch.clear();
            there.clear();
            py.check_signals()
        };
        let mut first = true;
        for row in Values::of(rows)? {
            let values = values_of(&row?, names)?;
            if std::mem::take(&mut first) && names.is_empty() {
                batch.width = values.len().max(1);
            }
            if values.len() != batch.width {
                return Err(PyValueError::new_err(format!(
                    "a row has {} values, expected {}",
                    values.len(),
                    batch.width
                )));
            }
            let missing = table && values.iter().any(is_missing);
            there.push(!missing);
            for value in values.iter().filter(|_| !missing) {
                batch.push(&field(value)?);
            }
            // All rows to add are checked before the first is added.
            let enough = there.len() >= BATCH || batch.is_batch();
            if operation == Operation::Contains && enough {
                flush(&mut batch, &mut there)?;
            }
        }
        flush(&mut batch, &mut there)?;
        Ok(answers)
    }
}

/// Refuses other names than those of the fields that a filter's keys were made of: their keys are others.
fn check_names(inner: &Inner, names: &[String]) -> Result<(), Failure> {
    let mut wanted = KeyDescription::from(KeyForm::Text);
    names.iter().try_for_each(|name| wanted.push("field", name))?;
    of_inner!(inner, own => match own.description().values("field").next() {
        Some(_) if !names.is_empty() => own.description().check(own.kind(), &wanted).map_err(|error| {
            Failure::Value(format!("{error}; give tuples if only the names differ"))
        }),
        _ => Ok(()),
    }, _other => Ok(()))
}

fn named(names: &[String]) -> PyResult<()> {
    match names {
        [] => Err(PyValueError::new_err("name the columns of the table that make the key")),
        _ => Ok(()),
    }
}

fn several(name: &str) -> String {
    format!("several columns are named {name}; rename the key column")
}

fn missing(name: &str, has: &str) -> PyErr {
    PyKeyError::new_err(format!("no column {name}; the table has {has}"))
}
