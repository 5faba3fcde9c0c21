//! The headers of inputs, and what they determine for rows: where keys are, and how two rows become one.

use std::slice;

use umbel_io::PageBuffer;

use super::long::{Loaded, grown};
use crate::error::Place;
use crate::input::Reader;
use crate::prelude::*;
use crate::records::{Beside, Copied, Found, Head, Kind, Prefixes, Start};

/// The name of an input that is a single row.
const ROW: &str = "a row";

/// The keys of rows under one header.
pub(crate) struct RowKeys<'f> {
    head: Head<'f>,
    copied: Copied,
}

impl RowKeys<'_> {
    /// Bytes that sort rows by their keys, one field after the other; none for a row without a key. With several
    /// fields, they are put into `text`.
    pub(crate) fn sort_key<'r>(
        &'r mut self,
        row: &'r [u8],
        text: &'r mut Vec<u8>,
    ) -> Result<&'r [u8], Error> {
        let format = self.head.format;
        Ok(self.key(row)?.map_or(&[], |key| format.sort_key(key, text)))
    }

    /// The key of a row; `None` for a row without one.
    pub(crate) fn key<'r>(&'r mut self, row: &'r [u8]) -> Result<Option<&'r [u8]>, Error> {
        self.copied.bytes.clear();
        match self.head.next(row, 0, &mut self.copied) {
            Ok((_, Found::Key(key))) => Ok(Some(key.record(row, &self.copied.bytes).key())),
            Ok(_) => Ok(None),
            Err(flaw) => Err(self.head.format.error(flaw, ROW, 0)),
        }
    }
}

impl Scanner<'_> {
    /// Checks that all inputs have the key's fields.
    pub(crate) fn check_headers(&self, inputs: &[Input]) -> Result<(), Error> {
        self.headers(inputs).try_for_each(|header| header.map(drop))
    }

    /// Returns the header of the first input that has one. It may be as long as a long line, so it is not kept during a
    /// pass.
    pub(crate) fn header(&self, inputs: &[Input]) -> Result<Option<Vec<u8>>, Error> {
        self.headers(inputs).find_map(Result::transpose).transpose()
    }

    /// The header of each input, if the format has them.
    fn headers(&self, inputs: &[Input]) -> impl Iterator<Item = Result<Option<Vec<u8>>, Error>> {
        let read = |input: &Input| {
            let (head, bytes) = self.head(&input.open()?)?;
            Ok(head.row.map(|row| bytes[row].to_vec()))
        };
        let inputs = if self.format.header { inputs } else { &[] };
        inputs.iter().map(move |input| read(input).map_err(|error| self.located(error, inputs)))
    }

    /// For the keys of rows under this header, in an input that may name them by [`Form::others`].
    pub(crate) fn row_keys(
        &self,
        header: Option<&[u8]>,
        other: bool,
    ) -> Result<RowKeys<'_>, Error> {
        let head = self.format.head(ROW, header.unwrap_or_default(), true, other)?;
        let head = head.expect("all of it is there");
        Ok(RowKeys { head, copied: Copied::default() })
    }

    /// For the keys of an input's rows.
    pub(crate) fn row_keys_of(&self, input: &Input) -> Result<RowKeys<'_>, Error> {
        self.row_keys(self.header(slice::from_ref(input))?.as_deref(), input.other)
    }

    /// How rows of the two `inputs` become one.
    pub(crate) fn beside(
        &self,
        inputs: &[Input],
        prefixes: Prefixes<&str>,
    ) -> Result<Beside, Error> {
        /// The names in a header, one per 2 bytes, are copied into a set, which has its own overhead.
        const WEIGHT: u64 = 64;
        let room = self.budget.long_line();
        let start = |input: usize| -> Result<_, Error> {
            let (name, reader) = (inputs[input].name(), inputs[input].open()?);
            let (head, bytes) = self.head(&reader)?;
            let mut row = head.row.clone().map(|row| bytes[row].to_vec());
            drop(bytes);
            if let Some(header) = &row {
                let length = header.len() as u64;
                if WEIGHT.saturating_mul(length) > room {
                    return Err(self.long_line(Place::new(name, 0), length, WEIGHT, room));
                }
            } else if matches!(self.format.kind, Kind::Csv(_) | Kind::Tsv(_)) {
                row = self.first_row(&reader, &head)?;
            }
            Ok(Start { name, head, row })
        };
        Beside::new(&self.format, [start(0)?, start(1)?], prefixes)
    }

    /// The first record that is not left out, if any; a flawed one is refused later, when it is read in its turn.
    fn first_row(&self, reader: &Reader<'_>, head: &Head<'_>) -> Result<Option<Vec<u8>>, Error> {
        let (mut from, mut copied) = (head.start as u64, Copied::default());
        let (input, kind) = (reader.input(), self.format.kind);
        // As for any other row of a join.
        let room = self.budget.long_line() + self.budget.table(0) / 2;
        let mut bytes = PageBuffer::default();
        let mut size = 64 << 10;
        while from < input.length() {
            let left = input.length() - from;
            bytes.resize(left.min(size as u64) as usize);
            reader.read_at(&mut bytes, from)?;
            let (mut begin, all) = (0, bytes.len() as u64 == left);
            while let Some(rest) = bytes.get(begin..).filter(|rest| !rest.is_empty())
                && let Some(end) = kind.find(rest, &mut false).or(all.then_some(rest.len()))
            {
                copied.bytes.clear();
                let found = head.next(&rest[..end], from + begin as u64, &mut copied);
                if !matches!(
                    found,
                    Ok((_, Found::Blank | Found::Missing(_) | Found::Empty(None) | Found::Bad))
                ) {
                    return Ok(Some(rest[..end].to_vec()));
                }
                begin += end + 1;
            }
            if begin == 0 {
                size = grown(size);
                let loaded = Loaded { name: input.name(), buffer: &bytes, first: 0, offset: from };
                let mut more = reader.from(from + bytes.len() as u64);
                self.check_long(&loaded, size, room, &mut more)?;
            }
            from += begin as u64;
        }
        Ok(None)
    }

    /// Reads the head of an input; returns it with the bytes read, in which its header is.
    pub(crate) fn head(&self, reader: &Reader<'_>) -> Result<(Head<'_>, PageBuffer), Error> {
        let input = reader.input();
        let (mut bytes, mut longer) = (PageBuffer::default(), 4 << 10);
        loop {
            let read = bytes.len();
            let all = read as u64 == input.length();
            let found = self.format.head(input.name(), &bytes, all, input.other)?;
            if let Some(mut head) = found {
                head.width = input.columns;
                return Ok((head, bytes));
            }
            if read > 0 && longer as u64 > self.budget.long_line() {
                let loaded = Loaded { name: input.name(), buffer: &bytes, first: 0, offset: 0 };
                let mut rest = reader.from(read as u64);
                self.check_long(&loaded, longer, self.budget.long_line(), &mut rest)?;
            }
            bytes.resize((longer as u64).min(input.length()) as usize);
            reader.read_at(&mut bytes[read..], read as u64)?;
            longer *= 2;
        }
    }
}
