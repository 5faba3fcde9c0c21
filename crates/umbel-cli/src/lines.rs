//! Opening inputs: files, pipes, standard input, compressed or not.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use umbel_sets::{Input, Options, Progress, Records};

use crate::args::{RecordArgs, Work};
use crate::machine;

/// What was typed about the work, settled.
pub(crate) fn options(work: &Work) -> Result<Options> {
    let records = records(&work.records)?;
    let tmp = work.tmp.clone().unwrap_or_else(std::env::temp_dir);
    if !tmp.is_dir() {
        bail!("{}: not a folder for temporary files; name one with --tmp", tmp.display());
    }
    let memory = work.memory.map_or_else(machine::default_memory, |bytes| bytes.0);
    // Threads that were asked for stay as they are; by default a small cap has few.
    let processors = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = work
        .threads
        .map_or_else(|| processors().min(umbel_sets::most_threads(memory)), NonZeroUsize::get);
    Ok(Options {
        memory,
        threads,
        tmp,
        separator: if work.null { 0 } else { b'\n' },
        records,
        progress: Arc::new(Progress::default()),
    })
}

fn records(args: &RecordArgs) -> Result<Records> {
    let (key, header) = (args.key.clone(), !args.no_header);
    if args.delimiter.is_some() && !args.csv {
        bail!("--delimiter goes with --csv; add it, or leave the delimiter out");
    }
    if args.no_header && !args.csv && !args.tsv {
        bail!("--no-header goes with --csv or --tsv: other inputs have no header");
    }
    Ok(if args.csv {
        Records::Csv {
            delimiter: args.delimiter.map_or(b',', |delimiter| delimiter.0),
            header,
            key,
        }
    } else if args.tsv {
        Records::Tsv { header, key }
    } else if args.jsonl {
        Records::JsonLines { key }
    } else if key.is_empty() {
        Records::Lines
    } else {
        bail!("--key names a field of a record: say --csv, --tsv or --jsonl for what a record is");
    })
}

/// An input as it was named.
pub(crate) enum Source {
    /// Can be read any number of times.
    File(Input),
    /// Can be read once: its name and its bytes.
    Stream(String, Box<dyn Read>),
}

impl Source {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(input) => input.name().to_owned(),
            Self::Stream(name, _) => name.clone(),
        }
    }
}

/// Opens what was named; nothing named is standard input. Files are opened, and their state noted,
/// before any pipe is waited for.
pub(crate) fn open(paths: &[PathBuf]) -> Result<Vec<Source>> {
    let stdin = [PathBuf::from("-")];
    let paths = if paths.is_empty() { &stdin } else { paths };
    if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
        bail!("-: standard input can be named once");
    }
    let mut sources: Vec<Option<Source>> = Vec::new();
    sources.resize_with(paths.len(), || None);
    for pipes in [false, true] {
        for (path, source) in paths.iter().zip(&mut sources) {
            // Opening a named pipe waits for its writer.
            let pipe = !is_stdin(path) && std::fs::metadata(path).is_ok_and(|meta| is_pipe(&meta));
            if pipe == pipes && source.is_none() {
                *source = Some(open_one(path)?);
            }
        }
    }
    Ok(sources.into_iter().flatten().collect())
}

/// As [`open`], for work that reads more than once.
pub(crate) fn open_rereadable(paths: &[PathBuf], options: &Options) -> Result<Vec<Input>> {
    rereadable(open(paths)?, options)
}

/// Makes sources fit to be read more than once: what is no plain file is spooled.
pub(crate) fn rereadable(sources: Vec<Source>, options: &Options) -> Result<Vec<Input>> {
    sources
        .into_iter()
        .map(|source| match source {
            Source::File(input) => Ok(input),
            Source::Stream(name, bytes) => Ok(Input::spool(name, bytes, &options.tmp)?),
        })
        .collect()
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn is_pipe(meta: &std::fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&meta.file_type())
}

fn open_one(path: &Path) -> Result<Source> {
    let name = path.display().to_string();
    let (file, name) = if is_stdin(path) {
        // A descriptor of its own, so that a redirected file can be read again.
        use std::os::fd::AsFd;
        let file = io::stdin().as_fd().try_clone_to_owned().context("standard input")?;
        (File::from(file), "standard input".to_owned())
    } else {
        (File::open(path).with_context(|| name.clone())?, name)
    };
    let meta = file.metadata().with_context(|| name.clone())?;
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let stream = |bytes: Box<dyn Read>| Ok(Source::Stream(name.clone(), bytes));
    match extension.to_ascii_lowercase().as_str() {
        _ if meta.is_dir() => Err(umbel_sets::Error::Directory { name }.into()),
        "gz" => stream(Box::new(flate2::read::MultiGzDecoder::new(BufReader::with_capacity(
            1 << 16,
            file,
        )))),
        "zst" => stream(Box::new(zstd::Decoder::new(file).with_context(|| name.clone())?)),
        // Files of the kernel claim to have no bytes; what they give is only known by reading them.
        _ if meta.is_file() && meta.len() > 0 && !starts_midway(&file) => {
            Ok(Source::File(Input::file(name, file)?))
        }
        _ => stream(Box::new(file)),
    }
}

/// Whether something was read from a shared descriptor before us: then the rest is a stream.
fn starts_midway(mut file: &File) -> bool {
    io::Seek::stream_position(&mut file).is_ok_and(|position| position > 0)
}
