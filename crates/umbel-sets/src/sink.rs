//! The output of result lines: buffered, counted, each with its end.

use std::io::{self, ErrorKind, IoSlice, Write};

use umbel_io::PageWriter;

use crate::prelude::*;
use crate::records::split_end;
use crate::spill::Selected;

pub(crate) struct Sink<'a> {
    out: PageWriter<&'a mut (dyn Write + Send)>,
    style: RowStyle<'a>,
    separator: u8,
    /// Whether a header was written, or none will be.
    pub(crate) headed: bool,
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

/// The style of results.
pub(crate) enum RowStyle<'a> {
    /// The row alone.
    Rows,
    /// With a named value in front, the count by default: as a column that ends with this byte; or without one, the
    /// value and the row as members of a JSON object.
    Behind(&'a str, Option<u8>),
    /// Passed to a function.
    Handed(&'a mut Hand<'a>),
}

/// Receives results.
pub(crate) type Hand<'a> = dyn FnMut(Selected<'_>) -> Result<(), Error> + Send + 'a;

/// Lines to be written directly from a buffer, with their ends, and how many: adjacent ones are one piece.
#[derive(Default)]
pub(crate) struct Pieces(pub(crate) Vec<(Range<usize>, u64)>);

impl Pieces {
    /// Adds `lines` lines after all others.
    pub(crate) fn add(&mut self, extent: Range<usize>, lines: u64) {
        match self.0.last_mut() {
            Some((last, count)) if last.end == extent.start => {
                last.end = extent.end;
                *count += lines;
            }
            _ => self.0.push((extent, lines)),
        }
    }
}

impl<'a> Sink<'a> {
    pub(crate) fn new(out: &'a mut (dyn Write + Send), separator: u8) -> Self {
        let out = PageWriter::new(1 << 18, out);
        Self { out, style: RowStyle::Rows, separator, headed: false, lines: 0, bytes: 0 }
    }

    /// Writes results in a style.
    pub(crate) fn with_style(self, style: RowStyle<'a>) -> Self {
        Self { style, ..self }
    }

    /// Whether lines may be written unchanged.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.style, RowStyle::Rows)
    }

    /// Writes a header, unless one was written before: it is not a line of the result.
    pub(crate) fn header(&mut self, row: Option<&[u8]>) -> Result<(), Error> {
        let Some(row) = row.filter(|_| !self.headed) else { return Ok(()) };
        self.headed = true;
        match self.style {
            RowStyle::Behind(name, Some(column)) => self.write(&[name.as_bytes(), &[column], row]),
            _ => self.write(&[row]),
        }
    }

    /// Writes a result in the chosen style.
    pub(crate) fn result(&mut self, selected: Selected<'_>) -> Result<(), Error> {
        let Selected { count, row, .. } = selected;
        if let RowStyle::Handed(hand) = &mut self.style {
            self.lines += 1;
            return hand(selected);
        }
        let mut digits = [0; 20];
        let mut rest = &mut digits[..];
        write!(rest, "{count}").expect("20 digits hold any number");
        let unused = rest.len();
        self.row(&digits[..20 - unused], row)
    }

    /// Writes a row in the chosen style, behind a value as it is written there.
    pub(crate) fn row(&mut self, value: &[u8], row: &[u8]) -> Result<(), Error> {
        self.lines += 1;
        match self.style {
            RowStyle::Behind(_, Some(column)) => self.write(&[value, &[column], row]),
            RowStyle::Behind(name, None) => {
                let (row, end) = split_end(row);
                let name = name.as_bytes();
                self.write(&[b"{\"", name, b"\":", value, b",\"record\":", row, b"}", end])
            }
            RowStyle::Rows | RowStyle::Handed(_) => self.write(&[row]),
        }
    }

    /// Writes `lines` lines with their ends.
    pub(crate) fn text(&mut self, text: &[u8], lines: u64) -> Result<(), Error> {
        self.lines += lines;
        self.bytes += text.len() as u64;
        self.out.write_all(text).map_err(Error::Output)
    }

    fn write(&mut self, parts: &[&[u8]]) -> Result<(), Error> {
        for part in parts.iter().chain([&&[self.separator][..]]) {
            self.out.write_all(part).map_err(Error::Output)?;
            self.bytes += part.len() as u64;
        }
        Ok(())
    }

    /// Writes some of `lines`, in ascending order: adjacent ones directly from the buffer.
    pub(crate) fn rows(
        &mut self,
        lines: &Lines<'_>,
        wanted: impl Iterator<Item = usize>,
    ) -> Result<(), Error> {
        let mut pieces = Pieces::default();
        wanted.for_each(|i| pieces.add(lines.extent(i), 1));
        self.put(lines.buffer(), &mut pieces)
    }

    /// Writes pieces of a buffer, and clears them.
    pub(crate) fn put(&mut self, buffer: &[u8], pieces: &mut Pieces) -> Result<(), Error> {
        let piece = |(extent, lines)| {
            self.lines += lines;
            IoSlice::new(&buffer[extent])
        };
        let mut pieces: Vec<_> = pieces.0.drain(..).map(piece).collect();
        let Some(last) = pieces.last().and_then(|piece| piece.last()).copied() else {
            return Ok(());
        };
        self.write_pieces(&mut pieces).map_err(Error::Output)?;
        // The last line of a file may have no end.
        if last == self.separator { Ok(()) } else { self.write(&[]) }
    }

    /// Writes whole lines, long pieces without copying them.
    fn write_pieces(&mut self, mut pieces: &mut [IoSlice<'_>]) -> io::Result<()> {
        /// Below this many bytes a copy is cheaper than a piece of a system call.
        const SHORT: u64 = 256;
        let bytes: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
        self.bytes += bytes;
        if bytes < SHORT * pieces.len() as u64 {
            return pieces.iter().try_for_each(|piece| self.out.write_all(piece));
        }
        while !pieces.is_empty() {
            match self.out.write_vectored(pieces) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut pieces, written),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.out.flush().map_err(Error::Output)
    }

    /// Writes the rest, and returns the report with the totals.
    pub(crate) fn finish(mut self, report: Report) -> Result<Report, Error> {
        self.flush()?;
        Ok(Report { found: self.lines, bytes_written: self.bytes, ..report })
    }
}
