//! Arrays of Arrow from other libraries, by its PyCapsule interface: pulled without the GIL, and checked before a key is read.
//!
//! A library may pass a file's contents on unchecked, so offsets, views and places in dictionaries can be anything. The
//! interface gives buffers without their sizes: we trust that they match the length and the last offset of their array,
//! except for pyarrow objects, which check it themselves.

#![allow(unsafe_code)] // Arrow's PyCapsule interface.

use std::ffi::{CStr, c_char};
use std::mem::ManuallyDrop;

use arrow_array::array::{ArrayRef, make_array};
use arrow_array::cast::AsArray;
use arrow_array::downcast_integer;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::ArrowPrimitiveType;
use arrow_buffer::ArrowNativeType;
use arrow_data::{ArrayData, ByteView, MAX_INLINE_VIEW_LEN};
use arrow_schema::{ArrowError, DataType};
use pyo3::exceptions::PyOSError;
use pyo3::types::PyCapsule;

use crate::answers::library;
use crate::prelude::*;

/// About the most keys of a stream that are processed together.
const TOGETHER: usize = 1 << 22;
/// About the most bytes of these keys.
const BYTES_TOGETHER: usize = 256 << 20;

/// Arrays from an object with the interface. Its library may need the GIL on threads of its own to make them.
pub(crate) struct Stream {
    /// `None` when this is dropped.
    from: Option<Box<Origin>>,
    data_type: DataType,
    /// The columns to read from a table.
    names: Vec<String>,
    /// Whether to read a table of one column as this column.
    only: bool,
    /// Why nothing follows the last arrays.
    failed: Option<Box<Failure>>,
}

/// The origin of the arrays.
enum Origin {
    Stream(FFI_ArrowArrayStream),
    Array(FFI_ArrowArray),
    Done,
}

fn refused(error: ArrowError) -> PyErr {
    PyTypeError::new_err(error.to_string())
}

impl Stream {
    /// From an object with a stream or an array; an ``ImportError`` where pandas needs pyarrow for it.
    pub(crate) fn of(keys: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        // It knows how long its buffers are.
        if library(keys)? == "pyarrow"
            && let Some(validate) = keys.getattr_opt("validate")?
        {
            validate.call0()?;
        }
        let new = |from, data_type| {
            let from = Some(Box::new(from));
            Self { from, data_type, names: Vec::new(), only: false, failed: None }
        };
        if keys.hasattr("__arrow_c_stream__")? {
            let capsule = keys.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
            let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast();
            // SAFETY: a capsule of this name points to a stream, by Arrow's PyCapsule interface; what is left there is
            // marked as released.
            let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
            let data_type = keys.py().detach(|| data_type(&mut stream))?;
            return Ok(Some(new(Origin::Stream(stream), data_type)));
        }
        if !keys.hasattr("__arrow_c_array__")? {
            return Ok(None);
        }
        let capsules = keys.call_method0("__arrow_c_array__")?.cast_into::<PyTuple>()?;
        let schema = capsules.get_item(0)?.cast_into::<PyCapsule>()?;
        let array = capsules.get_item(1)?.cast_into::<PyCapsule>()?;
        let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
        let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
        // SAFETY: capsules of these names point to a schema and an array of it, by Arrow's PyCapsule interface; the
        // array that is left there is marked as released.
        let (schema, array) =
            unsafe { (schema.as_ref(), FFI_ArrowArray::from_raw(array.as_ptr())) };
        let data_type = type_of(schema)?;
        if array.is_released() {
            return Err(released());
        }
        Ok(Some(new(Origin::Array(array), data_type)))
    }

    /// Reads only the columns of these names from a table.
    pub(crate) fn only(&mut self, names: &[String]) {
        self.names = names.to_vec();
    }

    /// Reads a table that has only one column as this column.
    pub(crate) fn only_column(&mut self) {
        if let DataType::Struct(fields) = &self.data_type
            && let [field] = &fields[..]
        {
            (self.only, self.names) = (true, vec![field.name().clone()]);
        }
    }

    pub(crate) fn data_type(&self) -> &DataType {
        match &self.data_type {
            DataType::Struct(fields) if self.only => fields[0].data_type(),
            other => other,
        }
    }

    /// The next arrays, enough of them to be worth several threads; `None` after the last.
    pub(crate) fn next(&mut self, py: Python<'_>) -> PyResult<Option<Vec<ArrayRef>>> {
        self.take(py, TOGETHER, BYTES_TOGETHER)
    }

    /// All arrays that are left.
    pub(crate) fn rest(&mut self, py: Python<'_>) -> PyResult<Vec<ArrayRef>> {
        let all = self.take(py, usize::MAX, usize::MAX)?.unwrap_or_default();
        self.failed.take().map_or(Ok(all), |failed| Err((*failed).into()))
    }

    /// Up to about as many arrays. Before an error come those that preceded it.
    fn take(
        &mut self,
        py: Python<'_>,
        most: usize,
        bytes: usize,
    ) -> PyResult<Option<Vec<ArrayRef>>> {
        if let Some(failed) = self.failed.take() {
            return Err((*failed).into());
        }
        let Self { from, data_type, names, only, .. } = self;
        let from = from.as_mut().expect("it is not dropped");
        let (arrays, failed) = py.detach(|| {
            let (mut arrays, mut rows, mut size) = (Vec::new(), 0, 0_usize);
            let mut one = || -> Result<bool, Failure> {
                let Some(array) = from.next()? else { return Ok(false) };
                let data = import(array, data_type, names).map_err(|error| {
                    Failure::Value(match error {
                        ArrowError::CDataInterface(why) | ArrowError::InvalidArgumentError(why) => {
                            format!("the array is damaged: {why}")
                        }
                        other => other.to_string(),
                    })
                })?;
                rows += data.len();
                size = size.saturating_add(data.get_slice_memory_size().unwrap_or(0));
                let array = make_array(data);
                arrays.push(match only {
                    true => ArrayRef::clone(array.as_struct().column(0)),
                    false => array,
                });
                Ok(rows < most && size < bytes)
            };
            let failed = loop {
                match one() {
                    Ok(true) => {}
                    ended => break ended.err(),
                }
            };
            (arrays, failed)
        });
        match failed {
            Some(failed) if arrays.is_empty() => return Err(failed.into()),
            failed => self.failed = failed.map(Box::new),
        }
        py.check_signals()?;
        Ok((!arrays.is_empty()).then_some(arrays))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Ending it may wait for threads that need the GIL. When the interpreter ends, it is leaked.
        let from = ManuallyDrop::new(self.from.take());
        Python::try_attach(|py| py.detach(|| drop(ManuallyDrop::into_inner(from))));
    }
}

impl Origin {
    fn next(&mut self) -> Result<Option<FFI_ArrowArray>, Failure> {
        let Self::Stream(stream) = self else {
            return Ok(match std::mem::replace(self, Self::Done) {
                Self::Array(array) => Some(array),
                _ => None,
            });
        };
        let mut array = FFI_ArrowArray::empty();
        let next = stream.get_next().ok_or_else(|| Failure::Python(failed("it has ended")))?;
        // SAFETY: the function belongs to this stream, which is not released.
        match unsafe { next(stream, &raw mut array) } {
            0 => Ok((!array.is_released()).then_some(array)),
            code => Err(Failure::Python(failed(&last_error(stream, code)))),
        }
    }
}

/// The type of the arrays of a stream.
fn data_type(stream: &mut FFI_ArrowArrayStream) -> PyResult<DataType> {
    let get = match stream.release() {
        Some(_) => stream.get_schema(),
        None => None,
    };
    let mut schema = FFI_ArrowSchema::empty();
    let get = get.ok_or_else(|| failed("it has ended"))?;
    // SAFETY: the function belongs to this stream, which is not released.
    match unsafe { get(stream, &raw mut schema) } {
        0 => type_of(&schema),
        code => Err(failed(&last_error(stream, code))),
    }
}

/// The layout of a schema, by Arrow's C data interface.
#[repr(C)]
struct Layout {
    format: *const c_char,
    name: *const c_char,
    _metadata: *const c_char,
    _flags: i64,
    children: i64,
    of_children: *const *const Self,
    dictionary: *const Self,
}

/// The type that a schema describes. arrow-schema panics if one violates the interface.
fn type_of(schema: &FFI_ArrowSchema) -> PyResult<DataType> {
    if schema.release().is_none() {
        return Err(released());
    }
    // SAFETY: it is a schema that was not released.
    unsafe { check_schema(std::ptr::from_ref(schema).cast()) }
        .map_err(|why| PyValueError::new_err(format!("the schema is damaged: {why}")))?;
    DataType::try_from(schema).map_err(|error| match error {
        ArrowError::CDataInterface(why) if why.contains("_pl") => PyTypeError::new_err(
            "keys are integers of at most 64 bits, text or bytes; cast this column of Polars to Int64, or to String for larger ones",
        ),
        error => refused(error),
    })
}

/// # Safety
/// Non-null pointers of the schema point to what the interface specifies.
unsafe fn check_schema(schema: *const Layout) -> Result<(), String> {
    // SAFETY: the caller promises it.
    let schema = unsafe { schema.as_ref() }.ok_or("a child is missing")?;
    let text = |text: *const c_char| {
        // SAFETY: as above; texts of the interface end with a zero.
        let text = unsafe { CStr::from_ptr(text) };
        text.to_str().map_err(|_| format!("\"{}\" is not UTF-8", text.to_bytes().escape_ascii()))
    };
    if schema.format.is_null() {
        return Err("it has no format".to_owned());
    }
    let format = text(schema.format)?;
    if !schema.name.is_null() {
        text(schema.name)?;
    }
    let least = match format {
        "+r" => 2,
        _ if format.starts_with("+s") || format.starts_with("+u") => 0,
        _ => i64::from(format.starts_with('+')),
    };
    if schema.children < least || (schema.children > 0 && schema.of_children.is_null()) {
        return Err(format!("{format} with {} children", schema.children));
    }
    if format.contains("w:-") {
        return Err(format!("{format} has a negative width"));
    }
    for i in 0..schema.children as usize {
        // SAFETY: as above; there are that many children.
        unsafe { check_schema(*schema.of_children.add(i)) }?;
    }
    match (schema.dictionary.is_null(), format) {
        (true, _) => Ok(()),
        (false, "c" | "C" | "s" | "S" | "i" | "I" | "l" | "L") => {
            // SAFETY: as above.
            unsafe { check_schema(schema.dictionary) }
        }
        (false, _) => Err(format!("{format} as places in a dictionary")),
    }
}

/// The error of capsules whose content was taken already.
fn released() -> PyErr {
    PyValueError::new_err(
        "the array was released: its capsules were used before, and can be only once",
    )
}

fn failed(why: &str) -> PyErr {
    PyOSError::new_err(format!("the stream failed: {why}"))
}

/// The stream's message about the error that its last call returned.
fn last_error(stream: &mut FFI_ArrowArrayStream, code: i32) -> String {
    // SAFETY: the function belongs to this stream, whose last call has failed; its text ends with a zero.
    let text = stream.get_last_error().map(|get| unsafe { get(stream) });
    match text.filter(|text| !text.is_null()) {
        // SAFETY: as above.
        Some(text) => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        None => format!("error {code}"),
    }
}

type Checked<T> = Result<T, ArrowError>;

fn damaged<T>(what: String) -> Checked<T> {
    Err(ArrowError::CDataInterface(what))
}

/// An array with keys within its buffers, if these are as long as declared; only these columns of a table.
fn import(mut array: FFI_ArrowArray, of: &DataType, names: &[String]) -> Checked<ArrayData> {
    check_counts(&array, of)?;
    // SAFETY: it has as many children as its type, and it is not released.
    unsafe { without_buffers((&raw mut array).cast(), of) };
    // SAFETY: the interface demands that makers give buffers as long as the array declares. Keys are only read after
    // `checked` has verified what is in them.
    let data = unsafe { from_ffi_and_data_type(array, of.clone()) }?;
    checked(data, names)
}

/// The layout of an array, by Arrow's C data interface.
#[repr(C)]
struct ArrayLayout {
    _length: i64,
    _null_count: i64,
    _offset: i64,
    buffers: i64,
    _children: i64,
    _of_buffers: *const *const std::ffi::c_void,
    of_children: *const *mut Self,
    dictionary: *mut Self,
}

/// Drops the buffers of null arrays, which have none: Polars declares one that does not exist.
///
/// # Safety
/// It is an array of this type, with its children, and nothing else uses it.
unsafe fn without_buffers(array: *mut ArrayLayout, of: &DataType) {
    if *of == DataType::Null {
        // SAFETY: the caller promises that the array is valid.
        unsafe { (*array).buffers = 0 };
    }
    for (i, of) in children(of).into_iter().enumerate() {
        // SAFETY: as above; it has a child of each of these types.
        unsafe { without_buffers(*(*array).of_children.add(i), of) };
    }
    // SAFETY: as above.
    if let (DataType::Dictionary(_, words), false) = (of, unsafe { (*array).dictionary.is_null() })
    {
        // SAFETY: as above.
        unsafe { without_buffers((*array).dictionary, words) };
    }
}

fn children(of: &DataType) -> Vec<&DataType> {
    use DataType as D;
    match of {
        D::List(field) | D::LargeList(field) | D::Map(field, _) => vec![field.data_type()],
        D::ListView(field) | D::LargeListView(field) => vec![field.data_type()],
        D::FixedSizeList(field, _) => vec![field.data_type()],
        D::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        D::Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
        D::RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
        _ => vec![],
    }
}

/// Refuses counts whose products overflow, which would put buffers in the wrong place.
fn check_counts(array: &FFI_ArrowArray, of: &DataType) -> Checked<()> {
    use DataType as D;
    // The interface's numbers are signed; negative ones become large here.
    let width = match of {
        D::FixedSizeBinary(width) => usize::try_from(*width).unwrap_or(0).max(32),
        _ => 32,
    };
    let items = array.len().checked_add(array.offset()).and_then(|items| items.checked_add(1));
    let Some(items) = items.filter(|items| items.checked_mul(8 * width).is_some()) else {
        return damaged(format!("{} items from {} on", array.len(), array.offset()));
    };
    // The length of text values is the last offset; the lengths of view buffers are in a buffer of their own.
    let is_long = match of {
        D::Utf8 | D::Binary if items > 1 => last_of::<i32>(array, 1, items).is_none_or(|at| at < 0),
        D::LargeUtf8 | D::LargeBinary if items > 1 => {
            last_of::<i64>(array, 1, items).is_none_or(|at| at < 0)
        }
        D::Utf8View | D::BinaryView => {
            let buffers = array.num_buffers();
            !(3..1 << 31).contains(&buffers)
                || (1..=buffers - 3).any(|count| {
                    last_of::<i64>(array, buffers - 1, count).is_none_or(|length| length < 0)
                })
        }
        _ => false,
    };
    if is_long {
        return damaged(format!("buffers of {of} are missing, or have negative lengths"));
    }
    let children = children(of);
    if array.num_children() != children.len() {
        return damaged(format!("{} children of {of}", array.num_children()));
    }
    if let D::Dictionary(_, words) = of
        && let Some(array) = array.dictionary()
    {
        check_counts(array, words)?;
    }
    children.into_iter().enumerate().try_for_each(|(i, of)| check_counts(array.child(i), of))
}

/// The last of this many numbers in a buffer; `None` if there is no buffer.
fn last_of<T>(array: &FFI_ArrowArray, buffer: usize, count: usize) -> Option<T> {
    let start = (buffer < array.num_buffers()).then(|| array.buffer(buffer).cast::<T>());
    // SAFETY: the interface demands as many as the array declares.
    start
        .filter(|start| !start.is_null())
        .map(|start| unsafe { start.add(count - 1).read_unaligned() })
}

/// Compares an array with its buffers. Text becomes bytes, which need not be UTF-8.
fn checked(data: ArrayData, names: &[String]) -> Checked<ArrayData> {
    let (of, length, nulls, offset, buffers, mut children) = data.into_parts();
    let of = match of {
        DataType::Struct(fields) => {
            let mut of = Vec::new();
            for (field, child) in fields.iter().zip(std::mem::take(&mut children)) {
                if names.contains(field.name()) {
                    let child = checked(child, names)?;
                    let field = field.as_ref().clone();
                    of.push(field.with_data_type(child.data_type().clone()));
                    children.push(child);
                }
            }
            DataType::Struct(of.into())
        }
        DataType::Dictionary(places, _) if children.len() == 1 => {
            let words = checked(children.remove(0), names)?;
            let of = words.data_type().clone();
            children.push(words);
            DataType::Dictionary(places, of.into())
        }
        DataType::Utf8 => DataType::Binary,
        DataType::LargeUtf8 => DataType::LargeBinary,
        DataType::Utf8View => DataType::BinaryView,
        other => other,
    };
    if length == 0 {
        // Its only offset, if it has one, may be any number.
        return Ok(ArrayData::new_empty(&of));
    }
    let new = ArrayData::builder(of).len(length).nulls(nulls).offset(offset);
    // SAFETY: it is checked against its buffers below, and not returned if they do not fit.
    let data = unsafe { new.buffers(buffers).child_data(children).build_unchecked() };
    data.validate()?;
    macro_rules! places {
        ($type:ty) => {
            check_places::<$type>(&data)?
        };
    }
    match data.data_type() {
        DataType::Binary => check_offsets::<i32>(&data)?,
        DataType::LargeBinary => check_offsets::<i64>(&data)?,
        DataType::BinaryView => check_views(&data)?,
        DataType::Dictionary(of, _) => downcast_integer! {
            of.as_ref() => (places),
            other => return damaged(format!("{other} as places in a dictionary")),
        },
        _ => {}
    }
    Ok(data)
}

fn check_offsets<T: ArrowNativeType + PartialOrd>(data: &ArrayData) -> Checked<()> {
    let (offsets, bytes) = (&data.buffer::<T>(0)[..=data.len()], data.buffers()[1].len());
    let (starts, ends) = (&offsets[..data.len()], &offsets[1..]);
    // Without an early exit, it is vectorized.
    let ordered = starts.iter().zip(ends).fold(true, |all, (start, end)| all & (start <= end));
    let within = |offset: T| offset.to_usize().is_some_and(|offset| offset <= bytes);
    if ordered && within(offsets[0]) && within(offsets[data.len()]) {
        return Ok(());
    }
    damaged(format!("the offsets of its items are not in order within {bytes} bytes"))
}

fn check_views(data: &ArrayData) -> Checked<()> {
    let views = &data.buffer::<u128>(0)[..data.len()];
    let lengths: Vec<u64> = data.buffers()[1..].iter().map(|buffer| buffer.len() as u64).collect();
    let is_within = |view: u128| {
        let view = ByteView::from(view);
        let end = u64::from(view.offset) + u64::from(view.length);
        view.length <= MAX_INLINE_VIEW_LEN
            || lengths.get(view.buffer_index as usize).is_some_and(|&length| end <= length)
    };
    let nulls = data.nulls();
    let is_right = |i: usize| is_within(views[i]) || nulls.is_some_and(|nulls| nulls.is_null(i));
    match (0..views.len()).find(|&i| !is_right(i)) {
        None => Ok(()),
        Some(i) => damaged(format!("item {i} is not within its buffer")),
    }
}

fn check_places<T: ArrowPrimitiveType>(data: &ArrayData) -> Checked<()> {
    let places = &data.buffer::<T::Native>(0)[..data.len()];
    let (words, nulls) = (data.child_data()[0].len(), data.nulls());
    // Negative places become large.
    let is_word = |place: &T::Native| place.as_usize() < words;
    if places.iter().fold(true, |all, place| all & is_word(place)) {
        return Ok(());
    }
    let is_right = |i: usize| is_word(&places[i]) || nulls.is_some_and(|nulls| nulls.is_null(i));
    match (0..places.len()).find(|&i| !is_right(i)) {
        None => Ok(()),
        Some(i) => {
            damaged(format!("item {i} has place {:?} in a dictionary of {words} words", places[i]))
        }
    }
}
