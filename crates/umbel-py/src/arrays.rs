//! Keys in arrays: buffers such as NumPy's, and arrays of Arrow, read in place and without the GIL.
//!
//! A null is not a key.

#![allow(unsafe_code)] // The buffer interface needs it.

use std::ops::Range;

use arrow_array::array::{
    AnyDictionaryArray, Array, ArrayRef, BinaryArray, BinaryViewArray, FixedSizeBinaryArray,
    LargeBinaryArray, PrimitiveArray,
};
use arrow_array::cast::AsArray;
use arrow_array::downcast_integer;
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use pyo3::buffer::{ElementType, PyUntypedBuffer};

use crate::keys::{Element, KeyRef};
use crate::prelude::*;

/// Receives keys, batch after batch.
pub(crate) trait Visit {
    fn visit<K: Element>(&mut self, keys: &[K]) -> Result<(), Failure>;
}

/// Answers keys: `answers[i]` becomes the answer to `keys[i]`.
pub(crate) trait Answer {
    fn answer<K: Element>(&mut self, keys: &[K], answers: &mut [bool]) -> Result<(), Failure>;
}

/// Keys gathered for a batch: their slices stay in the first-level cache.
pub(crate) const BATCH: usize = 1024;
/// The number of keys that is worth a thread.
pub(crate) const PER_THREAD: usize = 1 << 16;

/// An array, or a part of a column.
pub(crate) enum Piece {
    Arrow(ArrayRef),
    Buffer(Buffer),
}

/// A one-dimensional, contiguous array of Python's buffer protocol.
pub(crate) struct Buffer {
    /// Keeps the memory where it is.
    buffer: PyUntypedBuffer,
    items: Items,
    /// The validity of items, if some are missing.
    valid: Option<NullBuffer>,
}

impl Piece {
    /// The form of its keys in a filter of umbel.
    pub(crate) fn form(&self) -> KeyForm {
        let integers = match self {
            Self::Buffer(buffer) => {
                !matches!(buffer.items, Items::Bytes | Items::Exact | Items::Text)
            }
            Self::Arrow(array) => match array.data_type() {
                DataType::Dictionary(_, words) => words.is_integer(),
                of => of.is_integer(),
            },
        };
        if integers { KeyForm::Integer } else { KeyForm::Bytes }
    }

    /// Whether its keys are bytes, and not text.
    pub(crate) fn is_bytes(&self) -> bool {
        match self {
            Self::Buffer(buffer) => matches!(buffer.items, Items::Bytes | Items::Exact),
            Self::Arrow(array) => is_bytes(array.data_type()),
        }
    }
}

/// Whether keys of a type are bytes, and not text.
pub(crate) fn is_bytes(of: &DataType) -> bool {
    use DataType as D;
    match of {
        D::Dictionary(_, words) => is_bytes(words),
        D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) => true,
        _ => false,
    }
}

/// The type of the items of a buffer.
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
    /// Bytes of a width.
    Exact,
    /// Text of a width, in code points of 4 bytes, without the zeros at their end.
    Text,
}

impl Buffer {
    /// From an array; `valid` marks the items that are present, if some are missing.
    pub(crate) fn of(
        array: &Bound<'_, PyAny>,
        buffer: PyUntypedBuffer,
        valid: Option<NullBuffer>,
    ) -> PyResult<Self> {
        if buffer.dimensions() != 1 {
            return Err(PyTypeError::new_err(format!(
                "an array of {} dimensions is not a column of keys; give a one-dimensional array",
                buffer.dimensions()
            )));
        }
        let format = buffer.format();
        let letters = format.to_bytes();
        let element = match letters {
            // Characters.
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
            (ElementType::Unknown, Some(b'x')) => Items::Exact,
            (ElementType::Unknown, Some(b'w')) => Items::Text,
            _ => {
                let what = array.getattr("dtype").map_or_else(
                    |_| format!("format {}", String::from_utf8_lossy(letters)),
                    |dtype| dtype.to_string(),
                );
                return Err(PyTypeError::new_err(format!(
                    "keys are integers, text or bytes; an array of {what} has none: convert it with astype(\"int64\")"
                )));
            }
        };
        let made = Self { buffer, items, valid };
        if matches!(items, Items::Bytes) && made.may_be_cut() {
            return Err(PyTypeError::new_err(format!(
                "NumPy drops zeros at the end of fixed-width bytes, and these are not text; pass them unchanged: \
                 column.view(\"V{}\")",
                made.width()
            )));
        }
        Ok(made)
    }

    /// Whether some items end with zeros, and the bytes are no text: they may be a part of a key.
    fn may_be_cut(&self) -> bool {
        let items = || self.bytes().chunks_exact(self.width().max(1));
        let is_text = |item: &[u8]| {
            let item = &item[..unpadded(item)];
            !item.contains(&0) && std::str::from_utf8(item).is_ok()
        };
        items().any(|item| item.last() == Some(&0)) && !items().all(is_text)
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
        // SAFETY: the buffer, which lives as long as `self`, has this many contiguous bytes from there on, as checked.
        // As with NumPy's own functions, it must not be written meanwhile; any bytes are keys.
        unsafe { std::slice::from_raw_parts(self.buffer.buf_ptr().cast(), self.buffer.len_bytes()) }
    }

    /// Refuses invalid text.
    fn check(&self) -> Result<(), Failure> {
        if !matches!(self.items, Items::Text) {
            return Ok(());
        }
        let all = self
            .bytes()
            .as_chunks::<4>()
            .0
            .iter()
            .fold(0, |all, &point| all | u32::from_ne_bytes(point));
        // Everything below, except surrogates, is valid.
        if all < 0xD800 {
            return Ok(());
        }
        let valid = Valid(self.valid.as_ref());
        let mut text = Vec::new();
        (0..self.len()).filter(|&i| valid.has(i)).try_for_each(|i| {
            text.clear();
            self.text(i, &mut text)
        })
    }

    /// Appends the UTF-8 of an item of text. Surrogates that stand for bytes become these bytes, as in a `str`.
    fn text(&self, i: usize, to: &mut Vec<u8>) -> Result<(), Failure> {
        let points = self.points(i..i + 1).iter().map(|&point| u32::from_ne_bytes(point));
        let length = points.clone().rposition(|point| point != 0).map_or(0, |last| last + 1);
        for point in points.take(length) {
            match (char::from_u32(point), point) {
                (Some(point), _) => to.extend(point.encode_utf8(&mut [0; 4]).bytes()),
                (None, 0xDC80..=0xDCFF) => to.push(point as u8),
                (None, _) => {
                    let text = format!("item {i} has {point:#x}, which is not a character");
                    return Err(Failure::Value(text));
                }
            }
        }
        Ok(())
    }

    /// The code points of items of text.
    fn points(&self, range: Range<usize>) -> &[[u8; 4]] {
        let width = self.width();
        self.bytes()[range.start * width..range.end * width].as_chunks::<4>().0
    }

    /// Hands on items of text, in batches of some 64 KiB of UTF-8, which stay in the second-level cache.
    fn visit_texts(&self, range: Range<usize>, visit: &mut impl Visit) -> Result<(), Failure> {
        let (valid, points) = (Valid(self.valid.as_ref()), self.width() / 4);
        let batch = BATCH.min((1 << 16) / points.max(1)).max(1);
        let (mut text, mut ends) = (Vec::new(), Vec::with_capacity(batch));
        for start in range.clone().step_by(batch) {
            let items = start..range.end.min(start + batch);
            // Most texts are ASCII; then a batch is copied as a whole: 20 characters in 3 ns, not 60 one by one.
            text.resize(items.len() * points, 0);
            if narrow(self.points(items.clone()), &mut text) {
                let padded = Padded { bytes: &text, width: points };
                let keys = items.clone().filter(|&i| valid.has(i)).map(|i| padded.get(i - start));
                visit.visit(&keys.collect::<Vec<_>>())?;
                continue;
            }
            text.clear();
            ends.clear();
            for i in items.filter(|&i| valid.has(i)) {
                self.text(i, &mut text)?;
                ends.push(text.len());
            }
            let starts = std::iter::once(0).chain(ends.iter().copied());
            let keys = starts.zip(&ends).map(|(start, &end)| &text[start..end]);
            visit.visit(&keys.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Some of its items.
    ///
    /// # Safety
    /// The items have this type: an integer of their width.
    unsafe fn items<T: Copy>(&self, range: Range<usize>) -> std::borrow::Cow<'_, [T]> {
        assert!(range.end <= self.len(), "items {range:?} of {}", self.len());
        if range.is_empty() {
            return (&[]).into();
        }
        // SAFETY: the range begins within the buffer, which holds items of this type.
        let pointer = unsafe { self.buffer.buf_ptr().cast::<T>().add(range.start) };
        if pointer.is_aligned() {
            // SAFETY: as in `bytes`; the items are of this type.
            return unsafe { std::slice::from_raw_parts(pointer, range.len()) }.into();
        }
        // SAFETY: as above; reads need no alignment.
        (0..range.len())
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
    ($($array:ty),* $(,)?) => {$(
        impl Slices for $array {
            #[inline(always)]
            fn get(&self, i: usize) -> &[u8] {
                self.value(i)
            }
        }
    )*};
}

slices!(BinaryArray, LargeBinaryArray, BinaryViewArray, FixedSizeBinaryArray,);

/// Bytes of one width in a buffer. NumPy ignores the zeros at the end of an item.
struct Padded<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl Slices for Padded<'_> {
    #[inline]
    fn get(&self, i: usize) -> &[u8] {
        let item = &self.bytes[i * self.width..][..self.width];
        &item[..unpadded(item)]
    }
}

/// Bytes of one width in a buffer.
struct Exact<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl Slices for Exact<'_> {
    #[inline]
    fn get(&self, i: usize) -> &[u8] {
        &self.bytes[i * self.width..][..self.width]
    }
}

/// Makes bytes of code points. Returns whether they are ASCII; otherwise do not use the bytes.
fn narrow(points: &[[u8; 4]], to: &mut [u8]) -> bool {
    let mut all = 0;
    for (point, byte) in points.iter().zip(to) {
        let point = u32::from_ne_bytes(*point);
        all |= point;
        *byte = point as u8;
    }
    all < 0x80
}

/// The number of bytes in front of the zeros at the end.
fn unpadded(item: &[u8]) -> usize {
    let (front, eights) = item.as_rchunks::<8>();
    let last = |bytes: &[u8]| bytes.iter().rposition(|&byte| byte != 0).map(|last| last + 1);
    match eights.iter().rposition(|eight| *eight != [0; 8]) {
        Some(i) => front.len() + 8 * i + last(&eights[i]).unwrap_or(0),
        None => last(front).unwrap_or(0),
    }
}

/// The validity of the keys of an array.
#[derive(Clone, Copy)]
struct Valid<'a>(Option<&'a NullBuffer>);

impl Valid<'_> {
    #[inline]
    fn has(&self, i: usize) -> bool {
        self.0.is_none_or(|nulls| nulls.is_valid(i))
    }
}

/// Hands on the keys of a range that are not null.
fn valid_keys<'a, K: Element + Copy>(
    valid: Valid<'_>,
    range: Range<usize>,
    get: impl Fn(usize) -> Option<K> + 'a,
    visit: &mut impl Visit,
) -> Result<(), Failure> {
    let mut keys = Vec::with_capacity(BATCH.min(range.len()));
    for i in range {
        if let Some(key) = valid.has(i).then(|| get(i)).flatten() {
            keys.push(key);
            if keys.len() == BATCH {
                visit.visit(&keys)?;
                keys.clear();
            }
        }
    }
    visit.visit(&keys)
}

/// Hands on the keys of a range, which are `keys`.
fn numbers<K: Element + Copy>(
    keys: &[K],
    valid: Valid<'_>,
    range: Range<usize>,
    visit: &mut impl Visit,
) -> Result<(), Failure> {
    let start = range.start;
    match valid.0 {
        None => visit.visit(keys),
        Some(_) => valid_keys(valid, range, |i| Some(keys[i - start]), visit),
    }
}

fn texts(
    keys: &impl Slices,
    valid: Valid<'_>,
    range: Range<usize>,
    visit: &mut impl Visit,
) -> Result<(), Failure> {
    valid_keys(valid, range, |i| Some(keys.get(i)), visit)
}

impl Piece {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Arrow(array) => array.len(),
            Self::Buffer(buffer) => buffer.len(),
        }
    }

    /// The number of keys answered together. A dictionary is read as a whole for each part of its array.
    pub(crate) fn task(&self) -> usize {
        match self {
            Self::Arrow(array) => array
                .as_any_dictionary_opt()
                .map_or(PER_THREAD, |words| PER_THREAD.max(4 * words.values().len())),
            Self::Buffer(_) => PER_THREAD,
        }
    }

    /// Refuses invalid text.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self {
            Self::Arrow(_) => Ok(()),
            Self::Buffer(buffer) => buffer.check(),
        }
    }

    /// Shows the keys of a range.
    pub(crate) fn visit(&self, range: Range<usize>, visit: &mut impl Visit) -> Result<(), Failure> {
        match self {
            Self::Arrow(array) => visit_array(array, range, visit),
            Self::Buffer(buffer) => visit_buffer(buffer, range, visit),
        }
    }

    /// Answers each key of a range; the answers to nulls are false.
    pub(crate) fn answer(
        &self,
        range: Range<usize>,
        part: &mut [bool],
        answer: &mut impl Answer,
    ) -> Result<(), Failure> {
        let mut compacted = Compacted { answer, answers: &mut *part, at: 0 };
        self.visit(range.clone(), &mut compacted)?;
        let there = compacted.at;
        if let Some(nulls) = self.nulls(range) {
            spread(part, there, nulls.iter());
        }
        Ok(())
    }

    /// Which keys of a range are not null, if some are.
    pub(crate) fn nulls(&self, range: Range<usize>) -> Option<NullBuffer> {
        let nulls = match self {
            Self::Arrow(array) => array.slice(range.start, range.len()).logical_nulls(),
            Self::Buffer(buffer) => {
                buffer.valid.as_ref().map(|valid| valid.slice(range.start, range.len()))
            }
        };
        nulls.filter(|nulls| nulls.null_count() > 0)
    }
}

/// Moves the first `count` answers to the keys that are not null, and sets the others to false.
pub(crate) fn spread(
    answers: &mut [bool],
    count: usize,
    valid: impl DoubleEndedIterator<Item = bool> + ExactSizeIterator,
) {
    let mut from = count;
    // From the last, so none is overwritten before it has moved.
    for (to, there) in valid.enumerate().rev() {
        from -= usize::from(there);
        answers[to] = there && answers[from];
    }
}

fn visit_buffer(
    buffer: &Buffer,
    range: Range<usize>,
    visit: &mut impl Visit,
) -> Result<(), Failure> {
    let valid = Valid(buffer.valid.as_ref().filter(|nulls| nulls.null_count() > 0));
    macro_rules! of {
        ($type:ty) => {{
            // SAFETY: the items are of this type, by the format.
            let keys = unsafe { buffer.items::<$type>(range.clone()) };
            numbers(&keys, valid, range, visit)
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
            texts(&padded, valid, range, visit)
        }
        Items::Exact => {
            let exact = Exact { bytes: buffer.bytes(), width: buffer.width() };
            texts(&exact, valid, range, visit)
        }
        Items::Text => buffer.visit_texts(range, visit),
    }
}

fn visit_array(
    array: &ArrayRef,
    range: Range<usize>,
    visit: &mut impl Visit,
) -> Result<(), Failure> {
    let valid = Valid(array.nulls().filter(|nulls| nulls.null_count() > 0));
    macro_rules! of {
        ($type:ty) => {{
            let array: &PrimitiveArray<$type> = array.as_primitive();
            numbers(&array.values()[range.clone()], valid, range, visit)
        }};
    }
    downcast_integer! {
        array.data_type() => (of),
        DataType::Null => Ok(()),
        DataType::Binary => texts(array.as_binary::<i32>(), valid, range, visit),
        DataType::LargeBinary => texts(array.as_binary::<i64>(), valid, range, visit),
        DataType::BinaryView => texts(array.as_binary_view(), valid, range, visit),
        DataType::FixedSizeBinary(_) => texts(array.as_fixed_size_binary(), valid, range, visit),
        DataType::Dictionary(..) => {
            let array: &dyn AnyDictionaryArray = array.as_any_dictionary();
            let (words, start) = (array.values(), range.start);
            let places = places(array.keys(), range.clone());
            if places.len() < words.len() {
                // From a long dictionary, only the words that a short range uses.
                let words = entries(words, places.into_iter());
                return valid_keys(valid, range, |i| words[i - start], visit);
            }
            let words = entries(words, 0..words.len());
            // A null may have any place, even one past the last word.
            valid_keys(valid, range, |i| *words.get(places[i - start])?, visit)
        }
        other => unreachable!("{other} was checked"),
    }
}

/// The words of a dictionary that a range of its rows uses.
pub(crate) fn places(keys: &dyn Array, range: Range<usize>) -> Vec<usize> {
    macro_rules! of {
        ($type:ty) => {{
            let keys = keys.as_primitive::<$type>().values();
            keys[range].iter().map(|&key| key as usize).collect()
        }};
    }
    downcast_integer! {
        keys.data_type() => (of),
        other => unreachable!("{other} is no type of places in a dictionary"),
    }
}

/// The keys at these places of a dictionary; `None` where it has a null, or is too short.
fn entries(values: &ArrayRef, places: impl Iterator<Item = usize>) -> Vec<Option<KeyRef<'_>>> {
    let there = |i: usize| i < values.len() && values.is_valid(i);
    fn all<'a>(
        places: impl Iterator<Item = usize>,
        there: impl Fn(usize) -> bool,
        get: impl Fn(usize) -> KeyRef<'a>,
    ) -> Vec<Option<KeyRef<'a>>> {
        places.map(|i| there(i).then(|| get(i))).collect()
    }
    macro_rules! of {
        ($type:ty) => {{
            let numbers = values.as_primitive::<$type>().values();
            all(places, there, |i| numbers[i].key())
        }};
    }
    downcast_integer! {
        values.data_type() => (of),
        DataType::Binary => all(places, there, |i| KeyRef::Bytes(values.as_binary::<i32>().get(i))),
        DataType::LargeBinary => all(places, there, |i| KeyRef::Bytes(values.as_binary::<i64>().get(i))),
        DataType::BinaryView => all(places, there, |i| KeyRef::Bytes(values.as_binary_view().get(i))),
        DataType::FixedSizeBinary(_) => {
            all(places, there, |i| KeyRef::Bytes(values.as_fixed_size_binary().get(i)))
        }
        _ => vec![None; places.count()],
    }
}

/// Packs the answers to the keys that it receives one after the other.
struct Compacted<'a, A> {
    answer: &'a mut A,
    answers: &'a mut [bool],
    at: usize,
}

impl<A: Answer> Visit for Compacted<'_, A> {
    fn visit<K: Element>(&mut self, keys: &[K]) -> Result<(), Failure> {
        let end = self.at + keys.len();
        self.answer.answer(keys, &mut self.answers[self.at..end])?;
        self.at = end;
        Ok(())
    }
}

/// Refuses an Arrow type whose values are not keys.
pub(crate) fn check_type(of: &DataType) -> PyResult<()> {
    let of = match of {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    match of {
        DataType::Struct(_) => Err(PyTypeError::new_err(
            "a table has rows, not keys; give one of its columns, or use add_rows() and contains_rows()",
        )),
        of if has_keys(of) => Ok(()),
        other => Err(PyTypeError::new_err(format!(
            "keys are integers, text or bytes; a column of {other} has none: {}",
            cast(other)
        ))),
    }
}

/// The cast that makes keys of values that are not keys, the same in every library.
pub(crate) fn cast(of: &DataType) -> &'static str {
    match of {
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => {
            "cast it to a timestamp of microseconds, and that to int64 (in SQL: epoch_us)"
        }
        DataType::Boolean => "cast it to int64",
        _ => "cast it to int64 or text",
    }
}

/// Whether values of a type are keys, or fields of keys.
pub(crate) fn has_keys(of: &DataType) -> bool {
    use DataType as D;
    let text = matches!(
        of,
        D::Utf8 | D::LargeUtf8 | D::Utf8View | D::Binary | D::LargeBinary | D::BinaryView
    );
    text || of.is_integer() || matches!(of, D::Null | D::FixedSizeBinary(_))
}
