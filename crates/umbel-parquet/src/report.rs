//! Parquet files: the columns in their footer, and the Bloom filters in them.
//!
//! Only the footer and the filters needed are read from the file.

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};
use umbel_foreign::parquet::{Parquet, declared_extent};
use umbel_foreign::{Format, Parameters};
use umbel_io::ReadAt;
use umbel_numbers::{Count, Rate, Size, counted};
use umbel_report::receipt::{estimate, foreign_json};

use crate::footer::{self, Column, Footer};
use crate::look_up::Values;

/// A Parquet file whose footer was read.
#[derive(Debug)]
pub struct ParquetFile<F> {
    name: String,
    file: F,
    length: u64,
    footer: Footer,
    memory: u64,
    /// Where filters begin, from the first on.
    starts: Vec<u64>,
}

/// A column of a row group.
#[derive(Debug)]
pub struct Chunk<'a, F> {
    file: &'a ParquetFile<F>,
    /// The number of the row group.
    pub row_group: usize,
    /// The rows of the row group.
    pub rows: u64,
    column: &'a Column,
    about: &'a footer::Chunk,
}

/// The length of the footer and the magic.
const TAIL: u64 = 8;
/// Memory that a footer uses while it is read and after, as a multiple of its bytes, at most; see [`Footer::decode`].
const FOOTER_GROWS: u64 = 10;
/// Bytes to read where the length of a filter's header is not known; current headers have at most 19.
const HEADER: u64 = 256;

/// The titles of the table of filters, and whether the cells are numbers.
pub const TITLES: [(&str, bool); 8] = [
    ("group", true),
    ("column", false),
    ("type", false),
    ("rows", true),
    ("size", true),
    ("set bits", true),
    ("keys", true),
    ("rate now", true),
];

/// Returns the cells of a filter in a table of several: size, set bits, keys, rate now.
pub fn foreign_cells(receipt: &umbel_foreign::Receipt) -> [String; 4] {
    [
        Size(receipt.bytes).to_string(),
        format!("{} ({:.1} %)", Count(receipt.set_bits), receipt.fill * 100.0),
        estimate(&receipt.keys),
        Rate(receipt.fpp).to_string(),
    ]
}

/// The number of the column with a path; an error if there are several.
pub(crate) fn number(footer: &Footer, path: &str) -> Result<Option<usize>> {
    let mut same = (0..footer.columns.len()).filter(|&number| footer.columns[number].path == path);
    let first = same.next();
    if same.next().is_some() {
        bail!("several columns have the path {path}, so none can be named; rename them");
    }
    Ok(first)
}

impl<F: ReadAt> ParquetFile<F> {
    /// Reads the footer of a file of `length` bytes, after `admit` allowed the memory for it.
    ///
    /// # Errors
    /// If the file is damaged; its name is in front of the reason.
    pub fn open(
        name: String,
        file: F,
        length: u64,
        admit: impl FnOnce(u64) -> Result<()>,
    ) -> Result<Self> {
        let mut memory = 0;
        let admit = |bytes| {
            memory = bytes;
            admit(bytes)
        };
        let (_, footer) = footer(&file, length, admit).with_context(|| name.clone())?;
        let chunks = footer.row_groups.iter().flat_map(|group| &group.chunks);
        let here = chunks.filter(|chunk| !chunk.elsewhere);
        let mut starts: Vec<_> =
            here.filter_map(|chunk| chunk.filter_offset?.try_into().ok()).collect();
        starts.sort_unstable();
        // Otherwise a short file could make us read a long filter many times, or one overlapping the next.
        if let Some(twice) = starts.windows(2).find(|two| two[0] == two[1]) {
            bail!("{name}: has two filters at byte {}; damaged? copy it again", twice[0]);
        }
        Ok(Self { name, file, length, footer, memory, starts })
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the bytes of memory that its footer uses, at most.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Returns the number of row groups.
    pub fn row_groups(&self) -> usize {
        self.footer.row_groups.len()
    }

    /// Returns the columns of all row groups, or in each the one with this number in the schema.
    pub fn chunks(&self, column: Option<usize>) -> impl Iterator<Item = Chunk<'_, F>> {
        let groups = self.footer.row_groups.iter().enumerate();
        groups.flat_map(move |(row_group, group)| {
            let columns = self.footer.columns.iter().zip(&group.chunks).enumerate();
            let asked = columns.filter(move |(number, _)| column.is_none_or(|it| it == *number));
            let (file, rows) = (self, group.rows);
            asked.map(move |(_, (column, about))| Chunk { file, row_group, rows, column, about })
        })
    }

    /// The paths of all columns, their names separated by dots.
    pub fn columns(&self) -> impl Iterator<Item = (usize, String)> {
        self.footer.columns.iter().map(|column| column.path.clone()).enumerate()
    }

    /// The number of the column with this path; an error if there are several.
    pub(crate) fn number(&self, path: &str) -> Result<Option<usize>> {
        number(&self.footer, path).with_context(|| self.name.clone())
    }

    /// Returns the numbers and names of the columns that have a filter in any row group.
    pub fn filtered(&self) -> Vec<(usize, String)> {
        let filtered = |(number, _): &(usize, String)| {
            self.chunks(Some(*number)).any(|chunk| chunk.has_filter())
        };
        self.columns().filter(filtered).collect()
    }

    /// Returns the number of the named column, or of the only column with filters.
    ///
    /// # Errors
    /// When there is none, or several.
    pub fn column(&self, name: Option<&str>) -> Result<usize> {
        let filtered = self.filtered();
        let number = name.map_or(Ok(None), |name| self.number(name))?;
        let known = name.is_none() || number.is_some();
        if filtered.is_empty() && known {
            bail!("{}: {}", self.name, self.no_filters());
        }
        let found = match name {
            Some(_) => filtered.iter().find(|(filtered, _)| number == Some(*filtered)),
            None => Some(&filtered[0]).filter(|_| filtered.len() == 1),
        };
        if let Some((number, _)) = found {
            return Ok(*number);
        }
        let names = |columns: &mut dyn Iterator<Item = (usize, String)>| {
            columns.map(|(_, path)| path).collect::<Vec<_>>().join(", ")
        };
        let with = names(&mut filtered.into_iter());
        let why = match name {
            None => {
                format!("several columns have Bloom filters; choose one of {with} with --column")
            }
            Some(name) if known => format!(
                "column {name} has no Bloom filter in any row group; columns with Bloom filters: {with}"
            ),
            Some(name) => {
                let all = names(&mut self.columns());
                let with = if with.is_empty() { "none" } else { &with };
                format!("there is no column {name}; columns: {all}; with Bloom filters: {with}")
            }
        };
        bail!("{}: {why}", self.name)
    }

    /// Returns the heading of the table of filters: `filters` filters of `bytes` bytes in total.
    pub fn heading(&self, filters: usize, bytes: u64) -> String {
        format!(
            "{}: {}, {} of {}",
            self.name,
            counted(self.row_groups() as u64, "row group"),
            counted(filters as u64, "Bloom filter"),
            Size(bytes)
        )
    }

    /// Returns the message for a file without filters.
    pub fn no_filters(&self) -> String {
        format!(
            "no Bloom filters in {} of {}; writers add them on request: \
             bloom_filter_options in pyarrow, parquet.bloom.filter.enabled#COLUMN in Spark and parquet-java",
            counted(self.row_groups() as u64, "row group"),
            counted(self.columns().count() as u64, "column")
        )
    }
}

/// Reads the footer of a file of `length` bytes, raw and decoded, after `admit` allowed the memory that both use.
///
/// # Errors
/// If the file is damaged.
pub fn footer(
    file: &impl ReadAt,
    length: u64,
    admit: impl FnOnce(u64) -> Result<()>,
) -> Result<(Vec<u8>, Footer)> {
    let mut head = [0; 4];
    let mut tail = [0; TAIL as usize];
    if length >= TAIL + 4 {
        file.read_exact_at(&mut head, 0)?;
        file.read_exact_at(&mut tail, length - TAIL)?;
    }
    let [size @ .., _, _, _, _] = tail;
    match &tail[4..] {
        b"PAR1" => {}
        b"PARE" => bail!(
            "the footer is encrypted, and with it the positions of the filters; umbel does not decrypt, so write the file with a plaintext footer"
        ),
        _ if head == *b"PAR1" || head == *b"PARE" => {
            bail!("does not end with PAR1, as a Parquet file does; truncated? copy it again")
        }
        _ => bail!("not a Parquet file: it neither starts nor ends with PAR1"),
    }
    let size = u64::from(u32::from_le_bytes(size));
    if size + TAIL + 4 > length {
        bail!(
            "declares a footer of {size} bytes, but the file has {length}; truncated or damaged? copy it again"
        );
    }
    admit(FOOTER_GROWS * size)?;
    let mut bytes = vec![0; size as usize];
    file.read_exact_at(&mut bytes, length - TAIL - size)?;
    let footer = Footer::decode(&bytes);
    Ok((bytes, footer.map_err(|error| anyhow!("the footer cannot be read: {error}"))?))
}

impl<F: ReadAt> Chunk<'_, F> {
    /// Returns the names of the structures around the column and of the column, separated by dots.
    pub fn column(&self) -> String {
        self.column.path.clone()
    }

    /// Returns how texts become its values.
    pub fn values(&self) -> Values {
        Values::of(self.column)
    }

    /// Returns the type of its values in the file.
    pub fn physical_type(&self) -> String {
        self.column.physical.to_string()
    }

    /// Returns the bytes of its pages in the file.
    pub fn bytes(&self) -> u64 {
        self.about.bytes
    }

    /// Returns whether it has a filter.
    pub fn has_filter(&self) -> bool {
        self.about.filter_offset.is_some()
    }

    /// Returns where in the file its filter begins.
    pub fn offset(&self) -> Option<u64> {
        self.about.filter_offset?.try_into().ok()
    }

    /// Reads its filter, if it has one, after `admit` allowed its bytes of memory.
    ///
    /// # Errors
    /// If the file is damaged; its name, column and row group are in front of the reason.
    pub fn filter(
        &self,
        admit: impl FnOnce(u64) -> Result<()>,
    ) -> Result<Option<Parquet<Vec<u8>>>> {
        if !self.has_filter() {
            return Ok(None);
        }
        let read = || -> Result<_> {
            if self.about.elsewhere {
                bail!("is in another file, which umbel does not open; name that file instead");
            }
            let length = self.file.length;
            let from = self.offset().filter(|offset| *offset < length);
            let from = from.with_context(|| {
                let offset = self.about.filter_offset.unwrap_or(0);
                format!("should start at byte {offset}, but the file has {length}; truncated or damaged? copy it again")
            })?;
            let mut content = vec![0; HEADER.min(length - from) as usize];
            self.file.file.read_exact_at(&mut content, from)?;
            let extent = declared_extent(&content).context(
                "not found where the footer declares it; the file is damaged, or the column is encrypted",
            )?;
            let end = extent.end as u64;
            if end > length - from {
                bail!(
                    "declares {end} bytes from byte {from} on, but the file has {length}; truncated or damaged? copy it again"
                );
            }
            if let Some(told) = self.about.filter_length
                && i64::from(told) != end as i64
            {
                bail!(
                    "has {told} bytes according to the footer, and {end} according to its own header; damaged? copy the file again"
                );
            }
            let next = self.file.starts.partition_point(|start| *start <= from);
            if let Some(next) = self.file.starts.get(next)
                && end > next - from
            {
                bail!("reaches into the filter at byte {next}; damaged? copy the file again");
            }
            admit(end)?;
            let read = content.len().min(extent.end);
            content.resize(extent.end, 0);
            self.file.file.read_exact_at(&mut content[read..], from + read as u64)?;
            Ok(Parquet::decode(Format::Parquet, content, &Parameters::default())?)
        };
        let filter = read().with_context(|| {
            format!(
                "{}: filter of column {} in row group {}",
                self.file.name,
                self.column(),
                self.row_group
            )
        })?;
        Ok(Some(filter))
    }

    /// Returns the document of its filter.
    pub fn document(&self, receipt: &umbel_foreign::Receipt) -> Value {
        let mut object = foreign_json(receipt);
        object["type"] = json!("parquet_filter");
        object["file"] = json!(self.file.name());
        object["row_group"] = json!(self.row_group);
        object["rows"] = json!(self.rows);
        object["column"] = json!(self.column());
        object["physical_type"] = json!(self.physical_type());
        object["values"] = json!(self.values().to_string());
        object["offset"] = json!(self.offset());
        object
    }

    /// Returns the cells of its filter in the table, below the [`TITLES`].
    pub fn cells(&self, receipt: &umbel_foreign::Receipt) -> [String; TITLES.len()] {
        let [size, set, keys, rate] = foreign_cells(receipt);
        [
            self.row_group.to_string(),
            self.column(),
            self.values().to_string(),
            Count(self.rows).to_string(),
            size,
            set,
            keys,
            rate,
        ]
    }
}
