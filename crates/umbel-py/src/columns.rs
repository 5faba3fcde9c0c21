//! Keys in columns: lists and other iterables, buffers such as NumPy arrays, and Arrow arrays, which are read where they are.
//!
//! Keys of buffers and Arrow arrays are worked on without the GIL, on several threads where there are many. A null is no key.

#![allow(unsafe_code)] // What the interfaces of buffers and of Arrow demand.

use std::num::NonZeroUsize;
use std::ops::Range;

use arrow_array::array::{
    AnyDictionaryArray, Array, ArrayRef, BinaryArray, BinaryViewArray, FixedSizeBinaryArray,
    LargeBinaryArray, LargeStringArray, PrimitiveArray, StringArray, StringViewArray, StructArray,
    make_array,
};
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_buffer::NullBuffer;
use pyo3::buffer::{ElementType, PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyCapsule, PyDict, PyMemoryView, PyString, PyTuple};

use crate::errors::Failure;
use crate::keys::{Element, KeyRef, OneKey, of_item};

/// What is done with keys, batch after batch.
pub(crate) trait Take {
    fn take<K: Element>(&mut self, keys: &[K]) -> Result<(), Failure>;
}

/// Keys gathered for a batch: their slices stay in the first-level cache.
pub(crate) const BATCH: usize = 1024;
/// Keys that are worth a thread.
const PER_THREAD: usize = 1 << 16;
/// Keys that are added on several threads: twice what pays for them.
pub(crate) const MANY: usize = 1 << 18;

/// A column of keys that is read without Python.
pub(crate) struct Column {
    pieces: Vec<Piece>,
    length: usize,
    /// Whether some keys are null.
    has_nulls: bool,
}

enum Piece {
    Arrow(ArrayRef),
    Buffer(Buffer),
}

/// Where keys come from.
pub(crate) enum Source<'py> {
    Column(Column),
    /// Python values, to be looked at one by one; those of a column may be missing.
    Items {
        items: Bound<'py, PyAny>,
        column: bool,
    },
}

impl<'py> Source<'py> {
    /// Of whatever holds keys.
    pub(crate) fn of(keys: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = keys.py();
        if keys.is_instance_of::<PyString>()
            || keys.is_instance_of::<PyBytes>()
            || keys.is_instance_of::<PyByteArray>()
        {
            let name = keys.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "a {name} is one key; use add() or in, or put it in a list"
            )));
        }
        if keys.is_instance_of::<PyDict>() {
            return Ok(Self::Items { items: keys.clone(), column: false });
        }
        if let Some(pieces) = arrow_of(keys)? {
            return Column::new(pieces).map(Self::Column);
        }
        // A pandas series of integers is an array inside.
        let inside = match crate::answers::library(keys)?.as_str() {
            "pandas" => keys.call_method0("to_numpy")?,
            _ => keys.clone(),
        };
        match PyUntypedBuffer::get(&inside) {
            Ok(buffer) if !is_objects(&buffer) => {
                let buffer = match buffer.is_c_contiguous() {
                    true => buffer,
                    false => PyUntypedBuffer::get(
                        &py.import("numpy")?.call_method1("ascontiguousarray", (&inside,))?,
                    )?,
                };
                let (buffer, valid) = (Buffer::of(&inside, buffer)?, unmasked(&inside)?);
                Column::new(vec![Piece::Buffer(Buffer { valid, ..buffer })]).map(Self::Column)
            }
            Err(error) if inside.is_instance_of::<PyMemoryView>() => Err(error),
            _ if inside.hasattr("dtype")? && !inside.hasattr("tolist")? => Err(
                PyTypeError::new_err("an array of this type has no keys; convert it to str or int"),
            ),
            _ if inside.hasattr("dtype")? => {
                let kind: String = inside.getattr("dtype")?.getattr("kind")?.extract()?;
                match &kind[..] {
                    // Objects, and text of variable width.
                    "O" | "T" => {
                        Ok(Self::Items { items: inside.call_method0("tolist")?, column: true })
                    }
                    _ => Err(PyTypeError::new_err(format!(
                        "keys are integers, text or bytes; an array of {} has none: convert it with astype()",
                        inside.getattr("dtype")?
                    ))),
                }
            }
            _ => Ok(Self::Items { items: inside, column: false }),
        }
    }
}

/// Which items of an array are there, if NumPy has masked some.
fn unmasked(array: &Bound<'_, PyAny>) -> PyResult<Option<NullBuffer>> {
    if !array.hasattr("mask")? {
        return Ok(None);
    }
    let numpy = array.py().import("numpy")?;
    let mask = numpy.getattr("ma")?.call_method1("getmaskarray", (array,))?;
    let mask = numpy.call_method1("ascontiguousarray", (mask, "u1"))?;
    let mask = PyBuffer::<u8>::get(&mask)?.to_vec(array.py())?;
    Ok(Some(mask.into_iter().map(|masked| masked == 0).collect::<Vec<_>>().into()))
}

fn is_objects(buffer: &PyUntypedBuffer) -> bool {
    buffer.format().to_bytes().contains(&b'O')
}

/// The arrays of what speaks Arrow's PyCapsule interface.
fn arrow_of(keys: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Piece>>> {
    let refused = |error: arrow_schema::ArrowError| PyTypeError::new_err(error.to_string());
    if keys.hasattr("__arrow_c_stream__")? {
        let capsule = keys.call_method0("__arrow_c_stream__")?;
        let capsule = capsule.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast();
        // SAFETY: a capsule of this name points to a stream, by Arrow's PyCapsule interface; what is left there is
        // marked as released.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
        let arrays = ArrayStreamReader::try_new(stream).map_err(refused)?;
        let pieces = arrays.map(|array| array.map(Piece::Arrow));
        return pieces.collect::<Result<_, _>>().map(Some).map_err(refused);
    }
    if keys.hasattr("__arrow_c_array__")? {
        let capsules = keys.call_method0("__arrow_c_array__")?.cast_into::<PyTuple>()?;
        let schema = capsules.get_item(0)?.cast_into::<PyCapsule>()?;
        let array = capsules.get_item(1)?.cast_into::<PyCapsule>()?;
        let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
        let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
        // SAFETY: capsules of these names point to a schema and an array of it, by Arrow's PyCapsule interface; the
        // array that is left there is marked as released.
        let data = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
        return Ok(Some(vec![Piece::Arrow(make_array(data.map_err(refused)?))]));
    }
    Ok(None)
}

/// The arrays of a table that speaks Arrow; none of what does not.
pub(crate) fn struct_arrays(rows: &Bound<'_, PyAny>) -> PyResult<Option<Vec<StructArray>>> {
    let Some(pieces) = arrow_of(rows)? else { return Ok(None) };
    let table = |piece| {
        match piece {
        Piece::Arrow(array) => array.as_struct_opt().cloned().ok_or_else(|| {
            PyTypeError::new_err(format!(
                "expected a table of columns, found a column of {}; use contains_many() or add_many()",
                array.data_type()
            ))
        }),
        Piece::Buffer(_) => unreachable!("Arrow gives arrays"),
    }
    };
    pieces.into_iter().map(table).collect::<PyResult<_>>().map(Some)
}

/// An array of Python's buffer protocol, of one dimension, whose items follow each other.
struct Buffer {
    /// Keeps the memory where it is.
    buffer: PyUntypedBuffer,
    items: Items,
    /// Which items are there, if some are not.
    valid: Option<NullBuffer>,
}

/// What the items of a buffer are.
#[derive(Clone, Copy, Debug)]
enum Items {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    /// Bytes of a width, without the zeros at their end.
    Bytes,
    /// Text of a width, in code points of 4 bytes, without the zeros at their end.
    Text,
}

impl Buffer {
    fn of(array: &Bound<'_, PyAny>, buffer: PyUntypedBuffer) -> PyResult<Self> {
        if buffer.dimensions() != 1 {
            return Err(PyTypeError::new_err(format!(
                "an array of {} dimensions has no column of keys; give one of one dimension",
                buffer.dimensions()
            )));
        }
        let format = buffer.format();
        let letters = format.to_bytes();
        let swapped: &[u8] = if cfg!(target_endian = "little") { b">!" } else { b"<" };
        let element = match letters {
            // Of the other byte order, or characters.
            [first, ..] if swapped.contains(first) => ElementType::Float { bytes: 0 },
            [.., b'c'] => ElementType::Float { bytes: 0 },
            _ => ElementType::from_format(format),
        };
        let items = match (element, letters.last()) {
            (ElementType::SignedInteger { bytes: 1 }, _) => Items::I8,
            (ElementType::SignedInteger { bytes: 2 }, _) => Items::I16,
            (ElementType::SignedInteger { bytes: 4 }, _) => Items::I32,
            (ElementType::SignedInteger { bytes: 8 }, _) => Items::I64,
            (ElementType::UnsignedInteger { bytes: 1 }, _) => Items::U8,
            (ElementType::UnsignedInteger { bytes: 2 }, _) => Items::U16,
            (ElementType::UnsignedInteger { bytes: 4 }, _) => Items::U32,
            (ElementType::UnsignedInteger { bytes: 8 }, _) => Items::U64,
            (ElementType::Unknown, Some(b's')) => Items::Bytes,
            (ElementType::Unknown, Some(b'w')) => Items::Text,
            _ => {
                let what = array.getattr("dtype").map_or_else(
                    |_| format!("format {}", String::from_utf8_lossy(letters)),
                    |dtype| dtype.to_string(),
                );
                return Err(PyTypeError::new_err(format!(
                    "keys are integers, text or bytes; an array of {what} has none: convert it with astype()"
                )));
            }
        };
        Ok(Self { buffer, items, valid: None })
    }

    fn len(&self) -> usize {
        self.buffer.item_count()
    }

    fn width(&self) -> usize {
        self.buffer.item_size()
    }

    /// All its bytes.
    fn bytes(&self) -> &[u8] {
        if self.buffer.len_bytes() == 0 {
            return &[];
        }
        // SAFETY: the buffer, which lives as long as `self`, has so many bytes from there on, checked to follow each other.
        // As with NumPy's own functions, nobody may write to the array meanwhile; any bytes are keys.
        unsafe { std::slice::from_raw_parts(self.buffer.buf_ptr().cast(), self.buffer.len_bytes()) }
    }

    /// Refuses text that is none.
    fn check(&self) -> Result<(), Failure> {
        if !matches!(self.items, Items::Text) {
            return Ok(());
        }
        let valid = Valid(self.valid.as_ref());
        let mut text = Vec::new();
        (0..self.len()).filter(|&i| valid.has(i)).try_for_each(|i| {
            text.clear();
            self.text(i, &mut text)
        })
    }

    /// Appends the UTF-8 of an item of text. Surrogates that stand for bytes become those, as in a `str`.
    fn text(&self, i: usize, to: &mut Vec<u8>) -> Result<(), Failure> {
        let points = self.bytes()[i * self.width()..][..self.width()].chunks_exact(4);
        let points = points.map(|point| u32::from_ne_bytes(point.try_into().expect("4 bytes")));
        let length = points.clone().rposition(|point| point != 0).map_or(0, |last| last + 1);
        for point in points.take(length) {
            match (char::from_u32(point), point) {
                (Some(point), _) => to.extend(point.encode_utf8(&mut [0; 4]).bytes()),
                (None, 0xDC80..=0xDCFF) => to.push(point as u8),
                (None, _) => {
                    let text = format!("item {i} has {point:#x}, which is no character");
                    return Err(Failure::Value(text));
                }
            }
        }
        Ok(())
    }

    /// All its items.
    ///
    /// # Safety
    /// They are of this type: an integer as wide as they are.
    unsafe fn items<T: Copy>(&self) -> std::borrow::Cow<'_, [T]> {
        let pointer = self.buffer.buf_ptr().cast::<T>();
        if self.len() == 0 {
            return (&[]).into();
        }
        if pointer.is_aligned() {
            // SAFETY: as in `bytes`; the items are of this type.
            return unsafe { std::slice::from_raw_parts(pointer, self.len()) }.into();
        }
        // SAFETY: as above; reads need no alignment.
        (0..self.len())
            .map(|i| unsafe { pointer.add(i).read_unaligned() })
            .collect::<Vec<_>>()
            .into()
    }
}

/// Keys that are slices of bytes, by their number.
trait Slices {
    fn get(&self, i: usize) -> &[u8];
}

macro_rules! slices {
    ($($array:ty: $item:ident => $bytes:expr),* $(,)?) => {$(
        impl Slices for $array {
            #[inline(always)]
            fn get(&self, i: usize) -> &[u8] {
                let $item = self.value(i);
                $bytes
            }
        }
    )*};
}

slices!(
    StringArray: text => text.as_bytes(),
    LargeStringArray: text => text.as_bytes(),
    StringViewArray: text => text.as_bytes(),
    BinaryArray: bytes => bytes,
    LargeBinaryArray: bytes => bytes,
    BinaryViewArray: bytes => bytes,
    FixedSizeBinaryArray: bytes => bytes,
);

/// Bytes of one width in a buffer. NumPy's items end before the zeros at their end.
struct Padded<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl Slices for Padded<'_> {
    #[inline]
    fn get(&self, i: usize) -> &[u8] {
        let item = &self.bytes[i * self.width..][..self.width];
        let end = item.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        &item[..end]
    }
}

/// Which keys of an array are there.
#[derive(Clone, Copy)]
struct Valid<'a>(Option<&'a NullBuffer>);

impl Valid<'_> {
    #[inline]
    fn has(&self, i: usize) -> bool {
        self.0.is_none_or(|nulls| nulls.is_valid(i))
    }
}

/// Hands the keys of a range over that are not null.
fn hand_over<'a, K: Element + Copy>(
    valid: Valid<'_>,
    range: Range<usize>,
    get: impl Fn(usize) -> Option<K> + 'a,
    take: &mut impl Take,
) -> Result<(), Failure> {
    let mut keys = Vec::with_capacity(BATCH.min(range.len()));
    for i in range {
        if let Some(key) = valid.has(i).then(|| get(i)).flatten() {
            keys.push(key);
            if keys.len() == BATCH {
                take.take(&keys)?;
                keys.clear();
            }
        }
    }
    take.take(&keys)
}

fn numbers<K: Element + Copy>(
    keys: &[K],
    valid: Valid<'_>,
    range: Range<usize>,
    take: &mut impl Take,
) -> Result<(), Failure> {
    match valid.0 {
        None => take.take(&keys[range]),
        Some(_) => hand_over(valid, range, |i| Some(keys[i]), take),
    }
}

fn texts(
    keys: &impl Slices,
    valid: Valid<'_>,
    range: Range<usize>,
    take: &mut impl Take,
) -> Result<(), Failure> {
    hand_over(valid, range, |i| Some(keys.get(i)), take)
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Self::Arrow(array) => array.len(),
            Self::Buffer(buffer) => buffer.len(),
        }
    }

    /// Keys that are answered together. A dictionary is read as a whole, for each part of its array would read it again.
    fn task(&self) -> usize {
        match self {
            Self::Arrow(array) if array.as_any_dictionary_opt().is_some() => array.len().max(1),
            _ => PER_THREAD,
        }
    }

    /// Refuses an array without keys, and text that is none.
    fn check(&self) -> PyResult<()> {
        use arrow_schema::DataType as D;
        let array = match self {
            Self::Arrow(array) => array,
            Self::Buffer(buffer) => return Ok(buffer.check()?),
        };
        let of = match array.data_type() {
            D::Dictionary(_, values) => values,
            other => other,
        };
        match of {
            D::Null
            | D::Int8
            | D::Int16
            | D::Int32
            | D::Int64
            | D::UInt8
            | D::UInt16
            | D::UInt32
            | D::UInt64
            | D::Utf8
            | D::LargeUtf8
            | D::Utf8View
            | D::Binary
            | D::LargeBinary
            | D::BinaryView
            | D::FixedSizeBinary(_) => Ok(()),
            D::Struct(_) => Err(PyTypeError::new_err(
                "a table has rows, not keys; give one of its columns, or use add_rows() and contains_rows()",
            )),
            other => Err(PyTypeError::new_err(format!(
                "keys are integers, text or bytes; a column of {other} has none: cast it"
            ))),
        }
    }

    /// Hands over the keys of a range.
    fn walk(&self, range: Range<usize>, take: &mut impl Take) -> Result<(), Failure> {
        match self {
            Self::Arrow(array) => walk_array(array, range, take),
            Self::Buffer(buffer) => walk_buffer(buffer, range, take),
        }
    }

    /// Gives each key of a range its answer; those of nulls are false.
    fn answer<A: Answer>(
        &self,
        range: Range<usize>,
        part: &mut [bool],
        answer: A,
    ) -> Result<A, Failure> {
        let mut answering = Answering { answer, part: &mut *part, at: 0 };
        self.walk(range.clone(), &mut answering)?;
        let Answering { answer, at: mut from, .. } = answering;
        if let Some(nulls) = self.nulls() {
            // The answers are in front; each goes to its key, the last first.
            for (to, i) in range.enumerate().rev() {
                let there = nulls.is_valid(i);
                from -= usize::from(there);
                part[to] = there && part[from];
            }
        }
        Ok(answer)
    }

    /// Which keys are not null.
    fn nulls(&self) -> Option<NullBuffer> {
        let nulls = match self {
            Self::Arrow(array) => array.logical_nulls(),
            Self::Buffer(buffer) => buffer.valid.clone(),
        };
        nulls.filter(|nulls| nulls.null_count() > 0)
    }
}

fn walk_buffer(buffer: &Buffer, range: Range<usize>, take: &mut impl Take) -> Result<(), Failure> {
    let valid = Valid(buffer.valid.as_ref().filter(|nulls| nulls.null_count() > 0));
    macro_rules! of {
        ($type:ty) => {{
            // SAFETY: the format says that the items are of this type.
            let keys = unsafe { buffer.items::<$type>() };
            numbers(&keys, valid, range, take)
        }};
    }
    match buffer.items {
        Items::I8 => of!(i8),
        Items::I16 => of!(i16),
        Items::I32 => of!(i32),
        Items::I64 => of!(i64),
        Items::U8 => of!(u8),
        Items::U16 => of!(u16),
        Items::U32 => of!(u32),
        Items::U64 => of!(u64),
        Items::Bytes => {
            let padded = Padded { bytes: buffer.bytes(), width: buffer.width() };
            texts(&padded, valid, range, take)
        }
        Items::Text => {
            for start in range.clone().step_by(BATCH) {
                let end = range.end.min(start + BATCH);
                let mut text = Vec::new();
                let mut ends = Vec::with_capacity(BATCH);
                for i in (start..end).filter(|&i| valid.has(i)) {
                    buffer.text(i, &mut text)?;
                    ends.push(text.len());
                }
                let starts = std::iter::once(0).chain(ends.iter().copied());
                let keys: Vec<&[u8]> =
                    starts.zip(&ends).map(|(start, &end)| &text[start..end]).collect();
                take.take(&keys)?;
            }
            Ok(())
        }
    }
}

fn walk_array(array: &ArrayRef, range: Range<usize>, take: &mut impl Take) -> Result<(), Failure> {
    use arrow_schema::DataType as D;
    let valid = Valid(array.nulls().filter(|nulls| nulls.null_count() > 0));
    macro_rules! of {
        ($type:ty) => {{
            let array: &PrimitiveArray<$type> = array.as_primitive();
            numbers(array.values(), valid, range, take)
        }};
    }
    match array.data_type() {
        D::Null => Ok(()),
        D::Int8 => of!(Int8Type),
        D::Int16 => of!(Int16Type),
        D::Int32 => of!(Int32Type),
        D::Int64 => of!(Int64Type),
        D::UInt8 => of!(UInt8Type),
        D::UInt16 => of!(UInt16Type),
        D::UInt32 => of!(UInt32Type),
        D::UInt64 => of!(UInt64Type),
        D::Utf8 => texts(array.as_string::<i32>(), valid, range, take),
        D::LargeUtf8 => texts(array.as_string::<i64>(), valid, range, take),
        D::Utf8View => texts(array.as_string_view(), valid, range, take),
        D::Binary => texts(array.as_binary::<i32>(), valid, range, take),
        D::LargeBinary => texts(array.as_binary::<i64>(), valid, range, take),
        D::BinaryView => texts(array.as_binary_view(), valid, range, take),
        D::FixedSizeBinary(_) => texts(array.as_fixed_size_binary(), valid, range, take),
        D::Dictionary(..) => {
            let array: &dyn AnyDictionaryArray = array.as_any_dictionary();
            if array.values().is_empty() {
                return Ok(());
            }
            let words = entries(array.values());
            let places = array.normalized_keys();
            hand_over(valid, range, |i| words[places[i]], take)
        }
        other => unreachable!("{other} was checked"),
    }
}

/// The keys of a dictionary; none where it has a null.
fn entries(values: &ArrayRef) -> Vec<Option<KeyRef<'_>>> {
    use arrow_schema::DataType as D;
    fn all<'a>(values: &'a ArrayRef, get: impl Fn(usize) -> KeyRef<'a>) -> Vec<Option<KeyRef<'a>>> {
        (0..values.len()).map(|i| values.is_valid(i).then(|| get(i))).collect()
    }
    macro_rules! of {
        ($type:ty) => {{
            let numbers = values.as_primitive::<$type>().values();
            let widened = |i: usize| KeyRef::Int(numbers[i].into());
            all(values, widened)
        }};
    }
    match values.data_type() {
        D::Int8 => of!(Int8Type),
        D::Int16 => of!(Int16Type),
        D::Int32 => of!(Int32Type),
        D::Int64 => of!(Int64Type),
        D::UInt8 => of!(UInt8Type),
        D::UInt16 => of!(UInt16Type),
        D::UInt32 => of!(UInt32Type),
        D::UInt64 => {
            let numbers = values.as_primitive::<UInt64Type>().values();
            all(values, |i| {
                i64::try_from(numbers[i]).map_or(KeyRef::Large(numbers[i]), KeyRef::Int)
            })
        }
        D::Utf8 => all(values, |i| KeyRef::Bytes(values.as_string::<i32>().get(i))),
        D::LargeUtf8 => all(values, |i| KeyRef::Bytes(values.as_string::<i64>().get(i))),
        D::Utf8View => all(values, |i| KeyRef::Bytes(values.as_string_view().get(i))),
        D::Binary => all(values, |i| KeyRef::Bytes(values.as_binary::<i32>().get(i))),
        D::LargeBinary => all(values, |i| KeyRef::Bytes(values.as_binary::<i64>().get(i))),
        D::BinaryView => all(values, |i| KeyRef::Bytes(values.as_binary_view().get(i))),
        D::FixedSizeBinary(_) => {
            all(values, |i| KeyRef::Bytes(values.as_fixed_size_binary().get(i)))
        }
        _ => vec![None; values.len()],
    }
}

impl Column {
    fn new(pieces: Vec<Piece>) -> PyResult<Self> {
        pieces.iter().try_for_each(Piece::check)?;
        let length = pieces.iter().map(Piece::len).sum();
        let has_nulls = pieces.iter().any(|piece| piece.nulls().is_some());
        Ok(Self { pieces, length, has_nulls })
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Which of its keys are there, when some are null.
    pub(crate) fn validity(&self) -> Option<Vec<bool>> {
        if !self.has_nulls {
            return None;
        }
        let mut valid = Vec::with_capacity(self.length);
        for piece in &self.pieces {
            match piece.nulls() {
                Some(nulls) => valid.extend(nulls.iter()),
                None => valid.resize(valid.len() + piece.len(), true),
            }
        }
        Some(valid)
    }

    /// Hands over all keys, in order.
    pub(crate) fn each(&self, take: &mut impl Take) -> Result<(), Failure> {
        self.part(0, 1, take)
    }

    /// Hands over one part of the keys, of so many parts.
    pub(crate) fn part(
        &self,
        part: usize,
        parts: usize,
        take: &mut impl Take,
    ) -> Result<(), Failure> {
        let end_of = |part: usize| (self.length as u128 * part as u128 / parts as u128) as usize;
        let (start, end, mut at) = (end_of(part), end_of(part + 1), 0);
        for piece in &self.pieces {
            let length = piece.len();
            let within = |place: usize| place.clamp(at, at + length) - at;
            let range = within(start)..within(end);
            if !range.is_empty() {
                piece.walk(range, take)?;
            }
            at += length;
        }
        Ok(())
    }

    /// As [`answer`](Self::answer), by one who answers all keys in their order.
    pub(crate) fn answer_in_order(
        &self,
        answers: &mut [bool],
        answer: impl Answer,
    ) -> Result<(), Failure> {
        let (mut answer, mut rest) = (answer, answers);
        for piece in &self.pieces {
            let (part, others) = rest.split_at_mut(piece.len());
            rest = others;
            answer = piece.answer(0..piece.len(), part, answer)?;
        }
        Ok(())
    }

    /// Hands over all keys with a place for the answer to each; nulls get none, and their places stay false.
    pub(crate) fn answer<T: Answer>(
        &self,
        answers: &mut [bool],
        threads: usize,
        start: impl Fn() -> T + Sync,
    ) -> Result<(), Failure> {
        let mut tasks = Vec::new();
        let mut rest = answers;
        for piece in &self.pieces {
            let task = piece.task();
            for start in (0..piece.len()).step_by(task) {
                let range = start..piece.len().min(start + task);
                let (part, others) = rest.split_at_mut(range.len());
                rest = others;
                tasks.push((piece, range, part));
            }
        }
        let work = |tasks: Vec<(&Piece, Range<usize>, &mut [bool])>| {
            for (piece, range, part) in tasks {
                piece.answer(range, part, start())?;
            }
            Ok(())
        };
        let threads = threads.min(self.length / PER_THREAD);
        if threads < 2 {
            return work(tasks);
        }
        let each = tasks.len().div_ceil(threads);
        std::thread::scope(|scope| {
            let mut handles = Vec::new();
            while !tasks.is_empty() {
                let mine = tasks.split_off(tasks.len().saturating_sub(each));
                handles.push(scope.spawn(|| work(mine)));
            }
            let join = |handle: std::thread::ScopedJoinHandle<'_, _>| {
                handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            handles.into_iter().try_for_each(join)
        })
    }
}

/// What answers keys: `answers[i]` becomes that of `keys[i]`.
pub(crate) trait Answer {
    fn answer<K: Element>(&mut self, keys: &[K], answers: &mut [bool]) -> Result<(), Failure>;
}

/// Puts answers one behind the other.
pub(crate) struct Answering<'a, A> {
    pub(crate) answer: A,
    pub(crate) part: &'a mut [bool],
    pub(crate) at: usize,
}

impl<A: Answer> Take for Answering<'_, A> {
    fn take<K: Element>(&mut self, keys: &[K]) -> Result<(), Failure> {
        let end = self.at + keys.len();
        self.answer.answer(keys, &mut self.part[self.at..end])?;
        self.at = end;
        Ok(())
    }
}

/// Hands over the keys of a Python iterable, in batches, with the GIL. In a `column`, values may be missing.
pub(crate) fn each_item(
    items: &Bound<'_, PyAny>,
    column: bool,
    floats: bool,
    take: &mut impl Take,
) -> PyResult<()> {
    let mut iterator = items.try_iter()?;
    loop {
        let values = iterator.by_ref().take(BATCH).collect::<PyResult<Vec<_>>>()?;
        let keys = keys_of(&values, column, floats)?;
        let keys: Vec<KeyRef<'_>> = keys.iter().flatten().map(OneKey::key).collect();
        take.take(&keys)?;
        if values.len() < BATCH {
            return Ok(());
        }
    }
}

/// The keys that values are; none where one is missing in a `column`.
pub(crate) fn keys_of<'a>(
    values: &'a [Bound<'_, PyAny>],
    column: bool,
    floats: bool,
) -> PyResult<Vec<Option<OneKey<'a>>>> {
    let key = |value| match column {
        true => of_item(value, floats),
        false => OneKey::of(value, floats).map(Some),
    };
    values.iter().map(key).collect()
}

/// As many threads as are asked for, or as there are processors.
pub(crate) fn threads(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    asked.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}
