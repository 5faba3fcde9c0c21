//! Files: what they are, their receipts, and the filters in them while they are open.

use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use umbel::{
    Algorithm, AnyFilter, AnyScheme, Blocks, FileError, KeyDescription, Scheme, SchemeError, Secret,
};
use umbel_advice::{Inside, Profile};
use umbel_foreign::parquet::Parquet;
use umbel_foreign::{Bytes, Foreign, ForeignFilter, Format, Parameters};
use umbel_numbers::{Size, counted};
use umbel_report::compare::Compared;
use umbel_report::parquet::{ParquetFile, ReadAt, TITLES};
use umbel_report::receipt::{
    Receipt, Row, add_keys, add_wrapping, guessable, key_rows, warning_of, wrapping_rows,
};
use umbel_report::recognize::{Recognized, other, perhaps, unknown};
use umbel_share::sign::Signature;
use umbel_share::{Content as Arrived, ShareError, Trust, Wrapping, delta, pack, receive};

use crate::Host;
use crate::refused::Refused;

/// The largest file that a filter is read from: WebAssembly has 4 GiB of memory, and no more than half of it in one
/// piece.
pub(crate) const MOST_BYTES: u64 = (1 << 31) - (1 << 20);
/// Bytes that the filters of a Parquet file may use together.
const MOST_OF_PARQUET: u64 = 1 << 30;
/// Blocks whose loads are added up once, for pictures of a whole filter: 4 KiB.
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
    /// What files of the format do not contain: salts, separated by commas.
    #[serde(default)]
    params: String,
    /// The text of a public key whose signature the file must have.
    #[serde(default)]
    trust: String,
    /// The list that it must be signed as; empty if any.
    #[serde(default)]
    list: String,
    /// The number that its serial number must exceed, as text: there are more than numbers in a page can be. Empty if any.
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
                let text = format!(
                    "the number of a version is whole and from 0 to {}, not {:?}",
                    u64::MAX,
                    self.newer_than
                );
                Refused::of("newer_than", text)
            })?;
            trust = trust.newer_than(serial);
        }
        Ok(Some(trust))
    }
}

/// The filters that are open; a handle is an index.
pub(crate) struct Files<H> {
    pub(crate) host: Rc<H>,
    open: Vec<Option<File<H>>>,
}

/// An open file.
pub(crate) struct File<H> {
    pub(crate) name: String,
    pub(crate) content: Content<H>,
    /// Empty until a picture needs it.
    pub(crate) profile: Option<Profile>,
    /// For each part, its cells in use in stretches of [`COARSE`] blocks; empty until a picture needs it.
    pub(crate) coarse: Vec<Vec<u64>>,
    source: Reader<H>,
    wrapping: Wrapping,
    trust: Option<Trust>,
}

/// What is in a file.
pub(crate) enum Content<H> {
    /// A filter of umbel, whose keys can be looked up.
    Own { filter: AnyFilter, receipt: umbel::Receipt },
    /// A keyed filter of umbel without its secret.
    Sealed { filter: AnyFilter<Blocks, Scheme>, receipt: umbel::Receipt },
    /// A filter of another system.
    Foreign { filter: Foreign, receipt: umbel_foreign::Receipt },
    /// A Parquet file.
    Parquet { file: ParquetFile<Reader<H>>, filters: Vec<Found> },
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

/// Reads a file through the host, and tells it how far it is.
pub(crate) struct Reader<H> {
    host: Rc<H>,
    file: u32,
    length: u64,
    at: u64,
    /// What was read and not used yet: small pieces are read from a large one.
    buffer: Vec<u8>,
    used: usize,
}

impl<H> Clone for Reader<H> {
    fn clone(&self) -> Self {
        let (host, file, length) = (Rc::clone(&self.host), self.file, self.length);
        Self { host, file, length, at: 0, buffer: Vec::new(), used: 0 }
    }
}

/// Bytes that are read together.
const PIECE: usize = 1 << 16;
/// Bytes after which the host is told.
const TELL: u64 = 1 << 22;

impl<H: Host> Read for Reader<H> {
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

impl<H: Host> Reader<H> {
    fn advance(&mut self, count: usize) {
        let before = self.at;
        self.at += count as u64;
        if before / TELL != self.at / TELL || self.at == self.length {
            self.host.progress(self.at, self.length);
        }
    }

    /// All of it, at its start.
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

impl<H> Seek for Reader<H> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(distance) => self.length.checked_add_signed(distance),
            SeekFrom::Current(distance) => {
                let unread = (self.buffer.len() - self.used) as u64;
                (self.at - unread).checked_add_signed(distance)
            }
        };
        let place = place.filter(|place| *place <= self.length);
        self.at = place.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        self.buffer.clear();
        self.used = 0;
        Ok(self.at)
    }
}

impl<H: Host> ReadAt for Reader<H> {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.host.read(self.file, offset, bytes)
    }
}

impl<H> std::fmt::Debug for Reader<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("file", &self.file).finish_non_exhaustive()
    }
}

impl<H: Host> Files<H> {
    pub(crate) fn new(host: H) -> Self {
        Self { host: Rc::new(host), open: Vec::new() }
    }

    pub(crate) fn open(&mut self, asked: &Open) -> Result<Value, Refused> {
        let trust = asked.trust()?;
        let source = Reader {
            host: Rc::clone(&self.host),
            file: asked.file,
            length: asked.bytes,
            at: 0,
            buffer: Vec::new(),
            used: 0,
        };
        let read = match read(&source, asked, trust.as_ref()) {
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
        let (content, wrapping) = read;
        let file = File {
            name: asked.name.clone(),
            content,
            profile: None,
            coarse: Vec::new(),
            source,
            wrapping,
            trust,
        };
        let free = self.open.iter().position(Option::is_none).unwrap_or(self.open.len());
        let answer = file.describe(free, asked.bytes);
        match self.open.get_mut(free) {
            Some(place) => *place = Some(file),
            None => self.open.push(Some(file)),
        }
        Ok(answer)
    }

    pub(crate) fn get(&self, handle: u32) -> Result<&File<H>> {
        let file = self.open.get(handle as usize).and_then(Option::as_ref);
        file.ok_or_else(|| anyhow!("this file is closed"))
    }

    pub(crate) fn get_mut(&mut self, handle: u32) -> Result<&mut File<H>> {
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
        let secret =
            secret.parse::<Secret>().map_err(|error| Refused::of("secret", error.to_string()))?;
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

/// A content that fits several formats, or one only perhaps.
#[derive(Debug)]
struct Several {
    formats: Vec<Format>,
    message: String,
}

impl std::fmt::Display for Several {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Several {}

/// Reads what is in a file.
fn read<H: Host>(
    source: &Reader<H>,
    asked: &Open,
    trust: Option<&Trust>,
) -> Result<(Content<H>, Wrapping)> {
    let mut start = [0; 8];
    let there = source.length.min(8) as usize;
    source.read_exact_at(&mut start[..there], 0)?;
    if start.starts_with(b"PAR1") || start.starts_with(b"PARE") {
        if let Some(trust) = trust {
            trust.check(source.clone())?;
        }
        return Ok((parquet(source, &asked.name)?, Wrapping::default()));
    }
    if start == delta::MAGIC {
        bail!("is a delta, not a filter; apply it to its base: umbel patch FILTER {}", asked.name);
    }
    if start != pack::MAGIC && source.length > MOST_BYTES {
        bail!(
            "has {}, and a page can hold {} at most; look into it on the command line: umbel info {}",
            Size(source.length),
            Size(MOST_BYTES),
            asked.name
        );
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
        Some(FileError::Scheme(SchemeError::SecretNeeded { .. })) => {
            let read =
                |source: &mut dyn Read, length| AnyFilter::read_with(source, length, AnyScheme);
            let (filter, wrapping) = source.clone().unwrapped(trust, read)?;
            let receipt = filter.receipt();
            Ok((Content::Sealed { filter, receipt }, wrapping))
        }
        Some(FileError::NotUmbel { .. }) => {
            let (length, wrapping) = source.clone().signed(trust)?;
            Ok((recognize(source, length, &error)?, wrapping))
        }
        _ => Err(error),
    }
}

/// Reads a file of the format that is given.
fn named<H: Host>(
    source: &Reader<H>,
    asked: &Open,
    trust: Option<&Trust>,
) -> Result<(Content<H>, Wrapping)> {
    let format: Format = asked.format.parse()?;
    let mut given = Parameters::default();
    let salts = asked.params.split(',').filter(|salt| !salt.is_empty());
    given.salts.extend(salts.map(|salt| salt.trim().as_bytes().to_vec()));
    let (length, wrapping) = source.clone().signed(trust)?;
    let content = source.clone().whole(length)?;
    let filter = Foreign::decode_with(format, content, &given)?;
    let receipt = filter.receipt();
    Ok((Content::Foreign { filter, receipt }, wrapping))
}

/// Reads a file that is not umbel's, in the format that its content shows.
fn recognize<H: Host>(
    source: &Reader<H>,
    length: u64,
    refused: &anyhow::Error,
) -> Result<Content<H>> {
    let content = source.clone().whole(length)?;
    match Recognized::of(&content) {
        Recognized::One(format) => {
            let filter = Foreign::decode(format, content)?;
            let receipt = filter.receipt();
            Ok(Content::Foreign { filter, receipt })
        }
        Recognized::Perhaps(formats) => {
            Err(Several { message: perhaps(refused, &formats), formats }.into())
        }
        Recognized::Other(content) => bail!(other(refused, content)),
        Recognized::Unknown => bail!(unknown(refused)),
    }
}

/// Reads the filters of a Parquet file.
fn parquet<H: Host>(source: &Reader<H>, name: &str) -> Result<Content<H>> {
    let admit = |bytes: u64| match bytes {
        0..=MOST_OF_PARQUET => Ok(()),
        _ => bail!("needs {}, and a page can hold {} of it", Size(bytes), Size(MOST_OF_PARQUET)),
    };
    let length = source.length;
    // The name is put in front of every message.
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
            cells: chunk.cells(&receipt),
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

/// An error without the name of the file, which all errors get in the end.
fn without_name(error: &anyhow::Error, name: &str) -> anyhow::Error {
    let text = format!("{error:#}");
    let prefix = format!("{name}: ");
    anyhow!("{}", text.strip_prefix(&prefix).unwrap_or(&text))
}

impl<H: Host> Reader<H> {
    /// The length without a signature at the end, and that.
    fn signed(self, trust: Option<&Trust>) -> Result<(u64, Wrapping)> {
        let received = receive(self, trust, MOST_BYTES)?;
        Ok((received.length, received.wrapping))
    }

    /// Lets `read` read the filter's file, accepted by the rule of [`Trust`]: of a packed one, as it is unpacked.
    fn unwrapped<T>(
        self,
        trust: Option<&Trust>,
        read: impl FnOnce(&mut dyn Read, u64) -> Result<T, FileError>,
    ) -> Result<(T, Wrapping)> {
        let too_large = |bytes| {
            anyhow!("unpacks to {}, and a page can hold {} at most", Size(bytes), Size(MOST_BYTES))
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
        // What follows is the filter's own signature; the frames are checked to the end.
        let mut rest = Vec::new();
        decoder.read_to_end(&mut rest).map_err(packed)?;
        if wrapping.signature.is_none() && !rest.is_empty() {
            let tail = Tail { rest, start: own, at: 0, length: whole };
            wrapping.signature = Signature::find(tail)?;
        }
        Ok((filter, wrapping))
    }
}

/// An error of unpacking, in its own words.
fn packed(error: io::Error) -> anyhow::Error {
    match error.downcast::<ShareError>() {
        Ok(error) => error.into(),
        Err(error) => error.into(),
    }
}

/// The end of a file whose start is used up.
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
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(distance) => self.length.checked_add_signed(distance),
            SeekFrom::Current(distance) => self.at.checked_add_signed(distance),
        };
        self.at = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl<H: Host> File<H> {
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
        }
    }

    /// The document of a receipt, as `umbel info` prints it.
    fn document(&self) -> Option<Value> {
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
        let Ok(receipt) = self.receipt() else { return Vec::new() };
        let mut rows = receipt.rows();
        rows.extend(self.description().into_iter().flat_map(|keys| key_rows(keys, receipt)));
        rows.extend(wrapping_rows(&self.wrapping, receipt));
        rows
    }

    /// The answer to who opened it.
    fn describe(&self, handle: usize, bytes: u64) -> Value {
        let Wrapping { packed, signature, .. } = &self.wrapping;
        let wrapping: Vec<String> = [
            packed.map(|_| "packed".to_owned()),
            signature.as_ref().map(|signature| format!("signed by {}", signature.signer())),
        ]
        .into_iter()
        .flatten()
        .collect();
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
                answer["title"] = json!(title(receipt));
                if filter.kind().rows()
                    && let Ok(rows) = filter.as_attributes()
                {
                    answer["fields"] = json!(rows.names());
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
                answer["title"] = json!(title(receipt));
                answer["query"] = json!("secret");
                answer["query_why"] =
                    json!("the filter is keyed: nobody can look up keys without its secret");
            }
            Content::Foreign { filter, receipt } => {
                let format = filter.format();
                answer["format"] = json!(format.name());
                answer["title"] = json!(format!("{format} filter of {}", Size(receipt.bytes)));
                let types = format.key_types().iter();
                answer["key_types"] = types.map(|key_type| key_type.name()).collect();
            }
            Content::Parquet { file, filters } => self.describe_parquet(&mut answer, file, filters),
        }
        answer
    }

    fn describe_parquet(
        &self,
        answer: &mut Value,
        file: &ParquetFile<Reader<H>>,
        filters: &[Found],
    ) {
        let bytes = filters.iter().map(|found| found.receipt.bytes).sum();
        let heading = file.heading(filters.len(), bytes);
        let heading = heading.strip_prefix(&format!("{}: ", self.name)).unwrap_or(&heading);
        answer["format"] = json!("parquet_file");
        answer["title"] = json!(format!("Parquet file: {heading}"));
        let columns: Vec<Value> =
            TITLES.iter().map(|(title, right)| json!({ "title": title, "right": right })).collect();
        let rows: Vec<_> = filters.iter().map(|found| &found.cells).collect();
        answer["table"] = json!({ "columns": columns, "rows": rows });
        answer["documents"] = filters.iter().map(|found| found.document.clone()).collect();
        let fields: Vec<String> = file.filtered().into_iter().map(|(_, name)| name).collect();
        answer["key_types"] = file
            .chunks(None)
            .find(|chunk| chunk.has_filter())
            .map(|chunk| json!([chunk.values().to_string()]))
            .unwrap_or_default();
        answer["fields"] = json!(fields);
    }

    /// Whether lines can be looked up as keys.
    pub(crate) fn answers_for(&self, filter: &AnyFilter) -> Result<()> {
        let wanted = KeyDescription::default();
        filter.description().check(filter.kind(), &wanted).with_context(|| self.name.clone())
    }

    /// What can be mapped.
    fn parts(&self) -> Vec<Value> {
        let part = |name: String, cells: u64, unit: &str, block: u32| json!({ "name": name, "cells": cells, "unit": unit, "block": block });
        match &self.content {
            Content::Own { filter, .. } => own_parts(filter, part),
            Content::Sealed { filter, .. } => own_parts(filter, part),
            Content::Foreign { receipt, .. } => {
                vec![part(String::new(), 8 * receipt.bytes, "bits of the file", 512)]
            }
            Content::Parquet { filters, .. } => filters
                .iter()
                .map(|found| {
                    let name = format!("{} in row group {}", found.column, found.row_group);
                    part(name, 8 * found.receipt.bytes, "bits of the filter", 512)
                })
                .collect(),
        }
    }
}

/// What a filter of umbel is, in a few words.
fn title(receipt: &umbel::Receipt) -> String {
    format!(
        "{} filter of umbel, {}",
        receipt.plan.kind(),
        counted(receipt.plan.keys(), "planned key")
    )
}

fn own_parts<H: umbel::Hashing>(
    filter: &AnyFilter<Blocks, H>,
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
