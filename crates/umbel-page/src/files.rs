//! Files: what they are, their receipts, and the filters in them while they are open.

use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

use anyhow::{Context, Result, anyhow, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use umbel::{
    Algorithm, AnyFilter, AnyScheme, FileError, Filter, KeyDescription, KeyForm, Scheme,
    SchemeError, Secret,
};
use umbel_find::index::{About, Index};
use umbel_foreign::parquet::Parquet;
use umbel_foreign::recognized::{Recognized, other, perhaps, unknown};
use umbel_foreign::table::{Table, is_table};
use umbel_foreign::{Bytes, Foreign, ForeignFilter, Format, Parameters};
use umbel_io::ReadAt;
use umbel_numbers::{Count, Size};
use umbel_parquet::report::{ParquetFile, TITLES, foreign_cells};
use umbel_report::advice::{Inside, Profile};
use umbel_report::compare::Compared;
use umbel_report::index;
use umbel_report::receipt::{
    Receipt, Row, add_keys, add_wrapping, foreign_json, guessable, key_rows, warning_of,
    wrapping_rows,
};
use umbel_share::sign::Signature;
use umbel_share::{Content as Arrived, ShareError, Trust, Wrapping, delta, pack, receive};

use crate::reason::{Because, Reason};
use crate::refused::Refused;
use crate::{Host, MOST_BYTES};

/// The most bytes that the filters of a Parquet file may use together.
const MOST_OF_PARQUET: u64 = 1 << 30;
/// Blocks whose loads are summed once, for pictures of a whole filter: 4 KiB.
pub(crate) const COARSE: usize = 64;
/// Stretches of a profile.
pub(crate) const STRETCHES: usize = 200;

/// A request to open a file.
#[derive(Deserialize)]
pub(crate) struct Open {
    /// The number by which the host knows it.
    file: u32,
    name: String,
    bytes: u64,
    /// The format, where the content does not show it.
    #[serde(default)]
    format: String,
    /// Parameters missing in files of the format: salts, separated by commas.
    #[serde(default)]
    params: String,
    /// The text of a public key whose signature the file must have.
    #[serde(default)]
    trust: String,
    /// The list that it must be signed as; empty for any.
    #[serde(default)]
    list: String,
    /// Its serial number must exceed this, given as text as a page's numbers have fewer digits; empty for any.
    #[serde(default)]
    newer_than: String,
}

impl Open {
    fn trust(&self) -> Result<Option<Trust>, Refused> {
        if self.trust.trim().is_empty() {
            if !self.list.is_empty() || !self.newer_than.is_empty() {
                let text = "a list and a number are checked with a public key to trust; give it";
                return Err(Refused::of("trust", text));
            }
            return Ok(None);
        }
        let key = self.trust.parse().map_err(|error: ShareError| Refused::of("trust", error))?;
        let mut trust = Trust::of(key);
        if !self.list.is_empty() {
            trust = trust.list(&self.list).map_err(|error| Refused::of("list", error))?;
        }
        if !self.newer_than.is_empty() {
            let serial = self.newer_than.parse().map_err(|_| {
                let range = format!("the number of a version is whole and from 0 to {}", u64::MAX);
                Refused::of("newer_than", format!("{range}, not {:?}", self.newer_than))
            })?;
            trust = trust.newer_than(serial);
        }
        Ok(Some(trust))
    }
}

/// The filters that are open; a handle is an index.
pub(crate) struct Files {
    pub(crate) host: Rc<dyn Host>,
    open: Vec<Option<File>>,
}

/// An open file.
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) content: Content,
    /// Empty until a picture needs it.
    pub(crate) profile: Option<Profile>,
    /// For each part, its cells in use in stretches of [`COARSE`] blocks; empty until a picture needs it.
    pub(crate) coarse: Vec<Vec<u64>>,
    source: Reader,
    wrapping: Wrapping,
    trust: Option<Trust>,
}

/// The content of a file.
pub(crate) enum Content {
    /// A filter of umbel, whose keys can be looked up.
    Own { filter: AnyFilter, receipt: umbel::Receipt },
    /// A keyed filter of umbel without its secret.
    Sealed { filter: AnyFilter<Scheme>, receipt: umbel::Receipt },
    /// A filter of another system.
    Foreign {
        filter: Foreign,
        receipt: umbel_foreign::Receipt,
        /// Whether it was in a table file, with the keys that it is for.
        table: bool,
    },
    /// A table of LevelDB, with number and receipt of each filter that has keys.
    Table { table: Table, receipts: Vec<(usize, umbel_foreign::Receipt)> },
    /// An index of files.
    Index { index: Index<Reader>, about: About },
    /// A Parquet file.
    Parquet { file: ParquetFile<Reader>, filters: Vec<Found> },
}

/// A filter in a Parquet file.
pub(crate) struct Found {
    pub(crate) row_group: usize,
    pub(crate) column: String,
    pub(crate) filter: Parquet<Vec<u8>>,
    pub(crate) receipt: umbel_foreign::Receipt,
    cells: Vec<String>,
    document: Value,
}

/// Reads a file through the host, and reports progress to it.
pub(crate) struct Reader {
    host: Rc<dyn Host>,
    file: u32,
    length: u64,
    at: u64,
    /// Bytes read but not used yet: small reads are served from a large one.
    buffer: Vec<u8>,
    used: usize,
}

impl Clone for Reader {
    fn clone(&self) -> Self {
        Self::new(Rc::clone(&self.host), self.file, self.length)
    }
}

/// Bytes that are read together.
const PIECE: usize = 1 << 16;
/// Bytes between progress reports.
const TELL: u64 = 1 << 22;

impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = self.buffer.len() - self.used;
        if left == 0 {
            let rest = self.length - self.at;
            if rest == 0 {
                return Ok(0);
            }
            if out.len() >= PIECE {
                let count = rest.min(out.len() as u64) as usize;
                self.host.read(self.file, self.at, &mut out[..count])?;
                self.advance(count);
                return Ok(count);
            }
            let count = rest.min(PIECE as u64) as usize;
            self.buffer.resize(count, 0);
            self.host.read(self.file, self.at, &mut self.buffer)?;
            self.used = 0;
            self.advance(count);
        }
        let count = out.len().min(self.buffer.len() - self.used);
        out[..count].copy_from_slice(&self.buffer[self.used..][..count]);
        self.used += count;
        Ok(count)
    }
}

impl Reader {
    fn new(host: Rc<dyn Host>, file: u32, length: u64) -> Self {
        Self { host, file, length, at: 0, buffer: Vec::new(), used: 0 }
    }

    fn advance(&mut self, count: usize) {
        let before = self.at;
        self.at += count as u64;
        if before / TELL != self.at / TELL || self.at == self.length {
            self.host.progress(self.at, self.length);
        }
    }

    /// The whole file, read at its start.
    fn whole(mut self, length: u64) -> Result<Bytes> {
        let size = usize::try_from(length).map_err(|_| umbel::OutOfMemory { bytes: length })?;
        let mut content = Bytes::zeroed(size, 0)?;
        self.rewind()?;
        for piece in content.chunks_mut(TELL as usize) {
            self.read_exact(piece)?;
        }
        Ok(content)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let unread = (self.buffer.len() - self.used) as u64;
        let place = place(to, self.at - unread, self.length);
        let place = place.filter(|place| *place <= self.length);
        self.at = place.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        self.buffer.clear();
        self.used = 0;
        Ok(self.at)
    }
}

/// The place in a file of this length to move to, from `at`.
fn place(to: SeekFrom, at: u64, length: u64) -> Option<u64> {
    match to {
        SeekFrom::Start(place) => Some(place),
        SeekFrom::End(distance) => length.checked_add_signed(distance),
        SeekFrom::Current(distance) => at.checked_add_signed(distance),
    }
}

impl ReadAt for Reader {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.host.read(self.file, offset, bytes)
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Files {
    pub(crate) fn new(host: impl Host + 'static) -> Self {
        Self { host: Rc::new(host), open: Vec::new() }
    }

    pub(crate) fn open(&mut self, asked: &Open) -> Result<Value, Refused> {
        let trust = asked.trust()?;
        let source = Reader::new(Rc::clone(&self.host), asked.file, asked.bytes);
        let (content, wrapping) = match read(&source, asked, trust.as_ref()) {
            Ok(read) => read,
            Err(error) => match error.downcast::<Several>() {
                Ok(Several { formats, message }) => {
                    return Ok(json!({
                        "formats": formats.iter().map(|format| format.name()).collect::<Vec<_>>(),
                        "message": format!("{}: {message}", asked.name),
                    }));
                }
                Err(error) => return Err(error.context(asked.name.clone()).into()),
            },
        };
        let name = asked.name.clone();
        let file =
            File { name, content, profile: None, coarse: Vec::new(), source, wrapping, trust };
        let free = self.open.iter().position(Option::is_none).unwrap_or(self.open.len());
        let answer = file.describe(free, asked.bytes);
        match self.open.get_mut(free) {
            Some(place) => *place = Some(file),
            None => self.open.push(Some(file)),
        }
        Ok(answer)
    }

    pub(crate) fn get(&self, handle: u32) -> Result<&File> {
        let file = self.open.get(handle as usize).and_then(Option::as_ref);
        file.ok_or_else(|| anyhow!("this file is closed"))
    }

    pub(crate) fn get_mut(&mut self, handle: u32) -> Result<&mut File> {
        let file = self.open.get_mut(handle as usize).and_then(Option::as_mut);
        file.ok_or_else(|| anyhow!("this file is closed"))
    }

    pub(crate) fn close(&mut self, handle: u32) {
        if let Some(place) = self.open.get_mut(handle as usize) {
            *place = None;
        }
    }

    /// Reads a keyed filter again, with its secret.
    pub(crate) fn unlock(&mut self, handle: u32, secret: &str) -> Result<Value, Refused> {
        let secret = secret.parse::<Secret>().map_err(|error| Refused {
            reason: Some(Reason::NoSecret),
            ..Refused::of("secret", error)
        })?;
        let file = self.get_mut(handle)?;
        let bytes = file.source.length;
        if !matches!(file.content, Content::Sealed { .. }) {
            let name = &file.name;
            return Err(Refused::from(anyhow!("{name}: is not keyed; it needs no secret")));
        }
        let filter = file
            .source
            .clone()
            .unwrapped(file.trust.as_ref(), |source, length| {
                AnyFilter::read_with(source, length, Some(&secret))
            })
            .with_context(|| file.name.clone())?
            .0;
        let receipt = filter.receipt();
        file.content = Content::Own { filter, receipt };
        Ok(file.describe(handle as usize, bytes))
    }

    pub(crate) fn compare(&self, left: u32, right: u32) -> Result<Value> {
        let (left, right) = (self.get(left)?, self.get(right)?);
        let receipts = [left.receipt()?, right.receipt()?];
        let compared = match (&left.content, &right.content) {
            (Content::Own { filter, .. }, Content::Own { filter: other, .. }) => {
                Compared::own(&mut filter.try_clone()?, other)
            }
            (Content::Own { filter, .. }, Content::Sealed { filter: other, .. }) => {
                Compared::own(&mut filter.try_clone()?, other)
            }
            (Content::Sealed { filter, .. }, Content::Own { filter: other, .. }) => {
                Compared::own(&mut filter.try_clone()?, other)
            }
            (Content::Sealed { filter, .. }, Content::Sealed { filter: other, .. }) => {
                Compared::own(&mut filter.try_clone()?, other)
            }
            (Content::Foreign { filter, .. }, Content::Foreign { filter: other, .. }) => {
                Compared::foreign(&mut filter.to_owned()?, other)
            }
            _ => Compared::mixed()?,
        };
        let names = [left.name.clone(), right.name.clone()];
        Ok(json!({
            "rows": compared.rows(&names, receipts),
            "document": compared.json(&names, receipts),
        }))
    }
}

/// A content that fits several formats, or possibly one.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Several {
    formats: Vec<Format>,
    message: String,
}

/// Reads what is in a file.
fn read(source: &Reader, asked: &Open, trust: Option<&Trust>) -> Result<(Content, Wrapping)> {
    let mut start = [0; 8];
    let there = source.length.min(8) as usize;
    source.read_exact_at(&mut start[..there], 0)?;
    let mut end = [0; 8];
    source.read_exact_at(&mut end[..there], source.length - there as u64)?;
    if start == umbel_find::index::MAGIC {
        let index = Index::open(source.clone(), source.length)?;
        // Only `umbel find` starts decoders.
        let about = About::of(&index, source.length, &|_| true)?;
        if let Some(trust) = trust {
            trust.check(source.clone())?;
        }
        return Ok((Content::Index { index, about }, Wrapping::default()));
    }
    let parquet = start.starts_with(b"PAR1") || start.starts_with(b"PARE");
    if parquet || is_table(&end[..there]) {
        // Neither kind ends with a signature.
        if let Some(trust) = trust {
            trust.check(source.clone())?;
        }
        let content = if parquet { parquet_file(source, &asked.name)? } else { table(source)? };
        return Ok((content, Wrapping::default()));
    }
    if start == delta::MAGIC {
        let text = format!(
            "is a delta, not a filter; apply it to its base: umbel filter patch FILTER {}",
            asked.name
        );
        bail!(Because { reason: Reason::Delta, text });
    }
    let bytes = source.length;
    if start != pack::MAGIC && bytes > MOST_BYTES {
        let text = format!(
            "has {}, and a page can hold {} at most; look into it on the command line: umbel filter info {}",
            Size(bytes),
            Size(MOST_BYTES),
            asked.name
        );
        bail!(Because { reason: Reason::TooLarge { bytes, most: MOST_BYTES }, text });
    }
    if !asked.format.is_empty() {
        return named(source, asked, trust);
    }
    let read = source.clone().unwrapped(trust, |source, length| AnyFilter::read(source, length));
    let error = match read {
        Ok((filter, wrapping)) => {
            let receipt = filter.receipt();
            return Ok((Content::Own { filter, receipt }, wrapping));
        }
        Err(error) => error,
    };
    match error.downcast_ref::<FileError>() {
        Some(FileError::Scheme(SchemeError::SecretNeeded(..))) => {
            let read =
                |source: &mut dyn Read, length| AnyFilter::read_with(source, length, AnyScheme);
            let (filter, wrapping) = source.clone().unwrapped(trust, read)?;
            let receipt = filter.receipt();
            Ok((Content::Sealed { filter, receipt }, wrapping))
        }
        Some(FileError::NotUmbel(..)) => {
            let (length, wrapping) = source.clone().signed(trust)?;
            Ok((recognize(source, length, &error)?, wrapping))
        }
        _ => Err(error),
    }
}

/// Reads a file in the given format.
fn named(source: &Reader, asked: &Open, trust: Option<&Trust>) -> Result<(Content, Wrapping)> {
    let format: Format = asked.format.parse()?;
    let mut given = Parameters::default();
    let salts = asked.params.split(',').filter(|salt| !salt.is_empty());
    given.salts.extend(salts.map(|salt| salt.trim().as_bytes().to_vec()));
    let (length, wrapping) = source.clone().signed(trust)?;
    let content = source.clone().whole(length)?;
    let filter = Foreign::decode_with(format, content, &given)?;
    let receipt = filter.receipt();
    Ok((Content::Foreign { filter, receipt, table: false }, wrapping))
}

/// Reads a file that is not umbel's, in the format that its content shows.
fn recognize(source: &Reader, length: u64, refused: &anyhow::Error) -> Result<Content> {
    let content = source.clone().whole(length)?;
    let (reason, text) = match Recognized::of(&content) {
        Recognized::One(format) => {
            let filter = Foreign::decode(format, content)?;
            let receipt = filter.receipt();
            return Ok(Content::Foreign { filter, receipt, table: false });
        }
        Recognized::Perhaps(formats) => {
            return Err(Several { message: perhaps(refused, &formats), formats }.into());
        }
        Recognized::Other(content) => (Reason::other(content), other(refused, content)),
        Recognized::Unknown => (Reason::of(refused), unknown(refused)),
    };
    match reason {
        Some(reason) => bail!(Because { reason, text }),
        None => bail!(text),
    }
}

/// Reads the filters of a Parquet file.
fn parquet_file(source: &Reader, name: &str) -> Result<Content> {
    let admit = |bytes: u64| match bytes {
        0..=MOST_OF_PARQUET => Ok(()),
        _ => bail!("needs {}, and a page can hold {} of it", Size(bytes), Size(MOST_OF_PARQUET)),
    };
    let length = source.length;
    // Every message begins with the name.
    let file = ParquetFile::open(name.to_owned(), source.clone(), length, admit)
        .map_err(|error| without_name(&error, name))?;
    let (mut filters, mut sum) = (Vec::new(), 0);
    for chunk in file.chunks(None) {
        let admit = |bytes: u64| {
            sum += bytes;
            admit(sum)
        };
        let Some(filter) = chunk.filter(admit).map_err(|error| without_name(&error, name))? else {
            continue;
        };
        let receipt = filter.receipt();
        filters.push(Found {
            row_group: chunk.row_group,
            column: chunk.column(),
            cells: chunk.cells(&receipt).into(),
            document: chunk.document(&receipt),
            filter,
            receipt,
        });
    }
    if filters.is_empty() {
        bail!(file.no_filters());
    }
    Ok(Content::Parquet { file, filters })
}

/// Reads the filters of a table of LevelDB or RocksDB.
fn table(source: &Reader) -> Result<Content> {
    let read = |offset, bytes: &mut [u8]| source.read_exact_at(bytes, offset);
    let table = Table::open(source.length, MOST_BYTES, read)?;
    Ok(match table.into_filter() {
        Ok(filter) => {
            let receipt = filter.receipt();
            Content::Foreign { filter, receipt, table: true }
        }
        Err(table) => {
            let pieces = table.pieces().iter().enumerate();
            let filled = pieces.filter(|(_, piece)| piece.filter.bytes() > 0);
            let receipts = filled.map(|(number, piece)| (number, piece.filter.receipt())).collect();
            Content::Table { table, receipts }
        }
    })
}

/// An error without the name of the file, which is added to all errors later.
fn without_name(error: &anyhow::Error, name: &str) -> anyhow::Error {
    let text = format!("{error:#}");
    let prefix = format!("{name}: ");
    anyhow!("{}", text.strip_prefix(&prefix).unwrap_or(&text))
}

impl Reader {
    /// The length without a signature at the end, and the signature.
    fn signed(self, trust: Option<&Trust>) -> Result<(u64, Wrapping)> {
        let received = receive(self, trust, MOST_BYTES)?;
        Ok((received.length, received.wrapping))
    }

    /// Lets `read` read the filter's file, if [`Trust`] accepts it; a packed file is unpacked on the way.
    fn unwrapped<T>(
        self,
        trust: Option<&Trust>,
        read: impl FnOnce(&mut dyn Read, u64) -> Result<T, FileError>,
    ) -> Result<(T, Wrapping)> {
        let too_large = |bytes| {
            let (whole, most) = (Size(bytes), Size(MOST_BYTES));
            let text = format!("unpacks to {whole}, and a page can hold {most} at most");
            anyhow!(Because { reason: Reason::TooLarge { bytes, most: MOST_BYTES }, text })
        };
        let received = receive(self, trust, MOST_BYTES).map_err(|error| match error {
            ShareError::Unfolds { bytes, .. } => too_large(bytes),
            error => error.into(),
        })?;
        let (length, mut wrapping) = (received.length, received.wrapping);
        let mut decoder = match received.content {
            Arrived::Packed(decoder) => decoder,
            Arrived::Filter(mut source) | Arrived::Delta(mut source) => {
                return Ok((read(&mut source, length)?, wrapping));
            }
        };
        let (whole, own) = (decoder.length(), decoder.header().file_length()?);
        if own > MOST_BYTES {
            return Err(too_large(own));
        }
        let filter = read(&mut (&mut decoder).take(own), own).map_err(|error| match error {
            FileError::Io(error) => packed(error),
            error => error.into(),
        })?;
        // The filter's own signature follows; the frames are checked to the end.
        let mut rest = Vec::new();
        decoder.read_to_end(&mut rest).map_err(packed)?;
        if wrapping.signature.is_none() && !rest.is_empty() {
            let tail = Tail { rest, start: own, at: 0, length: whole };
            wrapping.signature = Signature::find(tail)?;
        }
        Ok((filter, wrapping))
    }
}

/// An error of unpacking, with its own message.
fn packed(error: io::Error) -> anyhow::Error {
    match error.downcast::<ShareError>() {
        Ok(error) => error.into(),
        Err(error) => error.into(),
    }
}

/// The end of a file whose start was read already.
struct Tail {
    rest: Vec<u8>,
    start: u64,
    at: u64,
    length: u64,
}

impl Read for Tail {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let at = self.at.checked_sub(self.start).ok_or(io::ErrorKind::UnexpectedEof)?;
        let count = (&self.rest[(at as usize).min(self.rest.len())..]).read(out)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Tail {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = place(to, self.at, self.length).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl File {
    /// The receipt of its filter, if it is one.
    fn receipt(&self) -> Result<Receipt<'_>> {
        match &self.content {
            Content::Own { receipt, .. } | Content::Sealed { receipt, .. } => {
                Ok(Receipt::Own(receipt))
            }
            Content::Foreign { receipt, .. } => Ok(Receipt::Foreign(receipt)),
            Content::Parquet { .. } => {
                bail!("{}: is a Parquet file, whose filters cannot be compared here", self.name)
            }
            Content::Table { .. } => {
                bail!("{}: is a table of many filters, which cannot be compared here", self.name)
            }
            Content::Index { .. } => {
                bail!("{}: is an index of files, which cannot be compared", self.name)
            }
        }
    }

    /// The document of a receipt, as `umbel filter info` prints it.
    fn document(&self) -> Option<Value> {
        if let Content::Index { about, .. } = &self.content {
            return Some(index::json(about, &self.name));
        }
        let receipt = self.receipt().ok()?;
        let mut object = receipt.json();
        object["type"] = json!("info");
        object["file"] = json!(self.name);
        if let Some(keys) = self.description() {
            add_keys(&mut object, keys, receipt);
        }
        add_wrapping(&mut object, &self.wrapping);
        Some(object)
    }

    fn description(&self) -> Option<&KeyDescription> {
        match &self.content {
            Content::Own { filter, .. } => Some(filter.description()),
            Content::Sealed { filter, .. } => Some(filter.description()),
            _ => None,
        }
    }

    fn rows(&self) -> Vec<Row> {
        if let Content::Index { about, .. } = &self.content {
            return index::rows(about);
        }
        let Ok(receipt) = self.receipt() else { return Vec::new() };
        let mut rows = receipt.rows();
        rows.extend(self.description().into_iter().flat_map(|keys| key_rows(keys, receipt)));
        rows.extend(wrapping_rows(&self.wrapping, receipt));
        rows
    }

    /// The answer to the request that opened it.
    fn describe(&self, handle: usize, bytes: u64) -> Value {
        let Wrapping { packed, signature, .. } = &self.wrapping;
        let wrapping = json!({
            "packed": packed.is_some(),
            "table": matches!(&self.content, Content::Foreign { table: true, .. }),
            "signer": signature.as_ref().map(|signature| signature.signer().to_string()),
        });
        let mut answer = json!({
            "handle": handle,
            "name": self.name,
            "bytes": bytes,
            "wrapping": wrapping,
            "rows": self.rows(),
            "table": null,
            "documents": self.document().into_iter().collect::<Vec<_>>(),
            "parts": self.parts(),
            "query": "yes",
            "query_why": "",
            "probes": matches!(&self.content, Content::Own { filter, .. } if filter.kind().inserts()),
            "verified": self.wrapping.verified,
            "key_types": ["bytes"],
            "fields": [],
            "warnings": [],
        });
        match &self.content {
            Content::Own { filter, receipt } => {
                answer["format"] = json!("umbel");
                answer["title"] = title(receipt);
                if filter.kind().rows()
                    && let Ok(rows) = filter.as_attributes()
                {
                    answer["fields"] = json!(rows.names());
                }
                if filter.description().form() == Some(KeyForm::Mixed) {
                    answer["key_types"] = json!(["bytes", "i64"]);
                }
                if let Err(error) = self.answers_for(filter) {
                    answer["query"] = json!("no");
                    answer["query_why"] = json!(format!("{error:#}"));
                }
                if receipt.scheme.algorithm != Algorithm::Sip13
                    && let Some(keys) = guessable(filter.description())
                {
                    answer["warnings"] = json!([warning_of(keys)]);
                }
            }
            Content::Sealed { receipt, .. } => {
                answer["format"] = json!("umbel");
                answer["title"] = title(receipt);
                answer["query"] = json!("secret");
            }
            Content::Foreign { filter, receipt, .. } => {
                let format = filter.format();
                answer["format"] = json!(format.name());
                answer["title"] =
                    json!({ "name": "foreign", "format": format.name(), "bytes": receipt.bytes });
                let types = format.key_types().iter();
                answer["key_types"] = types.map(|key_type| key_type.name()).collect();
            }
            Content::Table { table, receipts } => describe_table(&mut answer, table, receipts),
            Content::Index { index, about } => {
                describe_index(&mut answer, index, about);
                if index.is_normalized() {
                    let text = "has normalized keys, which are looked up on the command line";
                    answer["query"] = json!("no");
                    answer["query_why"] =
                        json!(format!("{}: {text}: umbel find {0} KEY", self.name));
                }
            }
            Content::Parquet { file, filters } => self.describe_parquet(&mut answer, file, filters),
        }
        answer
    }

    fn describe_parquet(&self, answer: &mut Value, file: &ParquetFile<Reader>, filters: &[Found]) {
        let bytes: u64 = filters.iter().map(|found| found.receipt.bytes).sum();
        answer["format"] = json!("parquet_file");
        answer["title"] = json!({
            "name": "parquet", "row_groups": file.row_groups(), "filters": filters.len(), "bytes": bytes,
        });
        answer["table"] = as_table(&TITLES, filters.iter().map(|found| &found.cells));
        answer["documents"] = filters.iter().map(|found| found.document.clone()).collect();
        let first = file.chunks(None).find(|chunk| chunk.has_filter());
        let values = first.map(|chunk| json!([chunk.values().to_string()]));
        answer["key_types"] = values.unwrap_or_default();
        answer["fields"] = file.filtered().into_iter().map(|(_, name)| name).collect();
    }

    /// Whether lines can be looked up as keys.
    pub(crate) fn answers_for(&self, filter: &AnyFilter) -> Result<()> {
        let integers = filter.description().form().filter(|form| *form == KeyForm::Integer);
        let wanted = integers.map_or_else(KeyDescription::default, KeyDescription::from);
        filter.description().check(filter.kind(), &wanted).with_context(|| self.name.clone())
    }

    /// The parts that can be mapped.
    fn parts(&self) -> Vec<Value> {
        let part = |name: String, cells: u64, unit: &str, block: u32| json!({ "name": name, "cells": cells, "unit": unit, "block": block });
        match &self.content {
            Content::Own { filter, .. } => own_parts(filter, part),
            Content::Sealed { filter, .. } => own_parts(filter, part),
            Content::Foreign { receipt, .. } => {
                vec![part(String::new(), 8 * receipt.bytes, "bits of the file", 512)]
            }
            Content::Index { .. } => Vec::new(),
            Content::Table { table, receipts } => {
                let filter = |(number, receipt): &(usize, umbel_foreign::Receipt)| {
                    let name = format!("from byte {}", Count(table.pieces()[*number].blocks.start));
                    part(name, 8 * receipt.bytes, "bits of the filter", 512)
                };
                receipts.iter().map(filter).collect()
            }
            Content::Parquet { filters, .. } => {
                let filter = |found: &Found| {
                    let name = format!("{} in row group {}", found.column, found.row_group);
                    part(name, 8 * found.receipt.bytes, "bits of the filter", 512)
                };
                filters.iter().map(filter).collect()
            }
        }
    }
}

fn describe_table(answer: &mut Value, table: &Table, receipts: &[(usize, umbel_foreign::Receipt)]) {
    let bytes: u64 = receipts.iter().map(|(_, receipt)| receipt.bytes).sum();
    answer["format"] = json!(table.format().name());
    answer["title"] = json!({ "name": "table", "filters": receipts.len(), "bytes": bytes });
    let titles = ["data blocks from byte", "size", "set bits", "keys", "rate now"];
    let cells = |(number, receipt): &(usize, umbel_foreign::Receipt)| {
        let from = Count(table.pieces()[*number].blocks.start).to_string();
        [&[from][..], &foreign_cells(receipt)].concat()
    };
    answer["table"] = as_table(&titles.map(|title| (title, true)), receipts.iter().map(cells));
    let document = |(number, receipt): &(usize, umbel_foreign::Receipt)| {
        let mut object = foreign_json(receipt);
        let blocks = &table.pieces()[*number].blocks;
        object["type"] = json!("table_filter");
        object["blocks"] = json!([blocks.start, blocks.end]);
        object
    };
    answer["documents"] = receipts.iter().map(document).collect();
}

fn describe_index<F: ReadAt>(answer: &mut Value, index: &Index<F>, about: &About) {
    answer["format"] = json!("index");
    let About { files, blocks, text, .. } = about;
    answer["title"] = json!({ "name": "index", "files": files, "blocks": blocks, "bytes": text });
    let titles = [("file", false), ("text", true), ("blocks", true)];
    let row = |file: &umbel_find::index::layout::Entry| {
        let (text, blocks) = (Size(file.text), Count(file.blocks.into()));
        [file.path.display().to_string(), text.to_string(), blocks.to_string()]
    };
    answer["table"] = as_table(&titles, index.files.iter().map(row));
}

/// A table with these titles, and whether the cells below are numbers.
fn as_table<R: Serialize>(titles: &[(&str, bool)], rows: impl Iterator<Item = R>) -> Value {
    let column = |(title, right): &(&str, bool)| json!({ "title": title, "right": right });
    let columns: Vec<Value> = titles.iter().map(column).collect();
    json!({ "columns": columns, "rows": rows.collect::<Vec<_>>() })
}

/// The title of a filter of umbel.
fn title(receipt: &umbel::Receipt) -> Value {
    json!({ "name": "own", "kind": receipt.plan.kind().name(), "keys": receipt.plan.keys() })
}

fn own_parts<H: umbel::Hashing>(
    filter: &AnyFilter<H>,
    part: impl Fn(String, u64, &str, u32) -> Value,
) -> Vec<Value> {
    let inside = Inside::of(filter);
    let (block, unit) = (inside.block_cells(), Profile::cells_of(filter));
    let blocks = inside.blocks();
    let names = if blocks.len() > 1 {
        Profile::of(filter, 1).sections.into_iter().map(|section| section.name).collect()
    } else {
        Vec::new()
    };
    let names = names.into_iter().chain(std::iter::repeat(String::new()));
    let part = |(blocks, name): (&usize, String)| {
        part(name, *blocks as u64 * u64::from(block), unit, block)
    };
    blocks.iter().zip(names).map(part).collect()
}
