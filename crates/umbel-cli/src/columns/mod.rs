//! Parquet files: the columns in their footer, and the Bloom filters in them.
//!
//! The footer is read by the crate `parquet`, the filters by `umbel_foreign`. Nothing else of
//! the file is read than its footer and the filters needed.

mod values;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
    ParquetStatisticsPolicy,
};
use umbel_foreign::parquet::{Parquet, declared_extent};
use umbel_foreign::{Format, Parameters};
use umbel_sets::{Options, room_beside};

use crate::numbers::counted;

pub(crate) use values::Values;

/// A Parquet file whose footer was read.
pub(crate) struct ParquetFile {
    name: String,
    file: File,
    length: u64,
    footer: ParquetMetaData,
    memory: u64,
}

/// A column of a row group.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'a> {
    file: &'a ParquetFile,
    pub(crate) row_group: usize,
    pub(crate) rows: u64,
    about: &'a ColumnChunkMetaData,
}

/// The length of the footer and the magic.
const TAIL: u64 = 8;
/// Memory that a footer uses while it is read and after, as a multiple of its bytes: 7.6 were measured for 500 row
/// groups of 200 columns with names of 2 to 4 letters, 4.6 when they had statistics.
const FOOTER_GROWS: u64 = 10;
/// Bytes to read where the length of a filter's header is not known; those made now have at most 19.
const HEADER: u64 = 256;

impl ParquetFile {
    /// Opens a file and reads its footer.
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self> {
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| name.clone())?;
        let meta = file.metadata().with_context(|| name.clone())?;
        if meta.is_dir() {
            bail!("{name}: is a directory; name one of its Parquet files");
        }
        if !meta.is_file() {
            bail!(
                "{name}: is not a regular file; a Parquet file is read from its end, so copy it to disk first"
            );
        }
        let (footer, memory) = footer(&file, meta.len(), options).with_context(|| name.clone())?;
        Ok(Self { name, file, length: meta.len(), footer, memory })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of memory that its footer uses, at most.
    pub(crate) fn memory(&self) -> u64 {
        self.memory
    }

    pub(crate) fn row_groups(&self) -> usize {
        self.footer.num_row_groups()
    }

    /// The columns of all row groups, or in each the one with this number in the schema.
    pub(crate) fn chunks(&self, column: Option<usize>) -> impl Iterator<Item = Chunk<'_>> {
        let groups = self.footer.row_groups().iter().enumerate();
        groups.flat_map(move |(row_group, group)| {
            let rows = group.num_rows().try_into().unwrap_or(0);
            let columns = group.columns().iter().enumerate();
            let asked =
                columns.filter(move |(number, _)| column.is_none_or(|column| column == *number));
            asked.map(move |(_, about)| Chunk { file: self, row_group, rows, about })
        })
    }

    /// The paths of all columns, their names separated by dots.
    fn columns(&self) -> impl Iterator<Item = (usize, String)> {
        let columns = self.footer.file_metadata().schema_descr().columns().iter();
        columns.map(|column| column.path().string()).enumerate()
    }

    /// The columns that have a filter in any row group.
    fn filtered(&self) -> Vec<(usize, String)> {
        let filtered = |(number, _): &(usize, String)| {
            self.chunks(Some(*number)).any(|chunk| chunk.has_filter())
        };
        self.columns().filter(filtered).collect()
    }

    /// The number of the column that is named, or of the only one with filters.
    ///
    /// # Errors
    /// When there is none, or several.
    pub(crate) fn column(&self, name: Option<&str>) -> Result<usize> {
        let filtered = self.filtered();
        let known = name.is_none_or(|name| self.columns().any(|(_, path)| path == name));
        if filtered.is_empty() && known {
            bail!("{}: {}", self.name, self.no_filters());
        }
        let found = match name {
            Some(name) => filtered.iter().find(|(_, path)| path == name),
            None => Some(&filtered[0]).filter(|_| filtered.len() == 1),
        };
        if let Some((number, _)) = found {
            return Ok(*number);
        }
        let names = |columns: &mut dyn Iterator<Item = (usize, String)>| {
            columns.map(|(_, path)| path).collect::<Vec<_>>().join(", ")
        };
        let with = names(&mut filtered.into_iter());
        match name {
            None => bail!(
                "{}: several columns have Bloom filters; choose one of {with} with --column",
                self.name
            ),
            Some(name) if known => {
                bail!(
                    "{}: column {name} has no Bloom filter in any row group; columns with Bloom filters: {with}",
                    self.name
                )
            }
            Some(name) => {
                let all = names(&mut self.columns());
                let with = if with.is_empty() { "none".to_owned() } else { with };
                bail!(
                    "{}: there is no column {name}; columns: {all}; with Bloom filters: {with}",
                    self.name
                )
            }
        }
    }

    /// What to say where there are none.
    pub(crate) fn no_filters(&self) -> String {
        format!(
            "no Bloom filters in {} of {}; writers add them on request: \
             bloom_filter_options in pyarrow, parquet.bloom.filter.enabled#COLUMN in Spark and parquet-java",
            counted(self.row_groups() as u64, "row group"),
            counted(self.columns().count() as u64, "column")
        )
    }
}

/// The footer, and the memory that it may take.
fn footer(file: &File, length: u64, options: &Options) -> Result<(ParquetMetaData, u64)> {
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
    let memory = FOOTER_GROWS * size;
    room_beside(memory, options)?;
    let mut footer = vec![0; size as usize];
    file.read_exact_at(&mut footer, length - TAIL - size)?;
    let skip = ParquetMetaDataOptions::new()
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
    let footer = ParquetMetaDataReader::decode_metadata_with_options(&footer, Some(&skip))
        .map_err(|error| anyhow!("the footer cannot be read: {error}"))?;
    Ok((footer, memory))
}

impl Chunk<'_> {
    /// The names of the column and what it is in, separated by dots.
    pub(crate) fn column(&self) -> String {
        self.about.column_path().string()
    }

    pub(crate) fn values(&self) -> Values {
        Values::of(self.about.column_descr())
    }

    pub(crate) fn physical_type(&self) -> String {
        self.about.column_type().to_string()
    }

    /// Bytes of its pages in the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.about.compressed_size().try_into().unwrap_or(0)
    }

    pub(crate) fn has_filter(&self) -> bool {
        self.about.bloom_filter_offset().is_some()
    }

    /// Where in the file its filter begins.
    pub(crate) fn offset(&self) -> Option<u64> {
        self.about.bloom_filter_offset()?.try_into().ok()
    }

    /// Its filter, if it has one, read after `admit` allowed its bytes of memory.
    pub(crate) fn filter(
        &self,
        admit: impl FnOnce(u64) -> Result<()>,
    ) -> Result<Option<Parquet<Vec<u8>>>> {
        if !self.has_filter() {
            return Ok(None);
        }
        let read = || -> Result<_> {
            let length = self.file.length;
            let from = self.offset().filter(|offset| *offset < length);
            let from = from.with_context(|| {
                let offset = self.about.bloom_filter_offset().unwrap_or(0);
                format!("should start at byte {offset}, but the file has {length}; truncated or damaged? copy it again")
            })?;
            let mut content = vec![0; HEADER.min(length - from) as usize];
            self.read_at(&mut content, from)?;
            let extent = declared_extent(&content).context(
                "not found where the footer declares it; the file is damaged, or the column is encrypted",
            )?;
            let end = extent.end as u64;
            if end > length - from {
                bail!(
                    "declares {end} bytes from byte {from} on, but the file has {length}; truncated or damaged? copy it again"
                );
            }
            if let Some(told) = self.about.bloom_filter_length()
                && i64::from(told) != end as i64
            {
                bail!(
                    "has {told} bytes according to the footer, and {end} according to its own header; damaged? copy the file again"
                );
            }
            admit(end)?;
            let read = content.len().min(extent.end);
            content.resize(extent.end, 0);
            self.read_at(&mut content[read..], from + read as u64)?;
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

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.file.read_exact_at(bytes, offset)
    }
}
