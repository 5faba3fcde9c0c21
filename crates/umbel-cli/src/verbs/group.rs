//! `umbel group`: the list of a group, without showing anybody a member's own.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::json;
use umbel::format::{Header, Reader};
use umbel_io::PageReader;
use umbel_sets::{Progress, Report};
use umbel_share::FileKind;
use umbel_share::group::{Card, GroupError, Member, Round, Share, sum as sum_lists};

use crate::Outcome;
use crate::args::{GroupArgs, GroupVerb, JoinArgs, MaskArgs, ReadArgs, RevealArgs, SumArgs, Voice};
use crate::atomic::{self, Existing};
use crate::output::{print, refuse_in_place_of};
use crate::report::{Run, add_warnings};
use crate::standard::is_standard;
use crate::target::{self, Sort};
use crate::{filters, formats, private};

pub(crate) fn group(args: &GroupArgs) -> Result<Outcome> {
    match &args.verb {
        GroupVerb::Join(own) => join(own)?,
        GroupVerb::Mask(own) => mask(own, args.voice)?,
        GroupVerb::Reveal(own) => reveal(own)?,
        GroupVerb::Sum(own) => sum(own, args.voice)?,
    }
    Ok(Outcome::Done)
}

fn join(args: &JoinArgs) -> Result<()> {
    refuse_in_place_of(Some(&args.card), &[Some(&args.output)])?;
    let member = Member::new()?;
    let card = member.card().to_text();
    private::write_pair(&args.output, &member.to_text(), &args.card, &card)
}

fn mask(args: &MaskArgs, voice: Voice) -> Result<()> {
    let read = [&args.filter, &args.secret].into_iter().chain(&args.cards);
    refuse_in_place_of(Some(&args.output), &read.map(Some).collect::<Vec<_>>())?;
    let existing = target::check(&args.output, Sort::Own(FileKind::Masked), args.replace.force)?;
    let (header, payload) = read_filter(&args.filter)?;
    let about = || args.filter.display().to_string();
    let round = Round::new(cards(&args.cards)?, &header).with_context(about)?;
    with_secret(&args.secret, |member| member.enter(&round, &payload))?;
    // The secret is saved as used, so a run that is interrupted here can be repeated with the same filter only.
    let mut member = read_text(&args.secret, Member::from_text)?;
    atomic::write(&args.output, existing, |out| {
        member.mask(&round, &payload, out).with_context(|| args.secret.display().to_string())
    })?;
    let id: String = round.id()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    let members = round.members();
    print(match voice.json {
        true => {
            let mut object = json!({"type": "round", "id": id, "members": members});
            add_warnings(&mut object);
            format!("{object}\n")
        }
        false => format!("{id}\n"),
    })
}

fn reveal(args: &RevealArgs) -> Result<()> {
    let read = [&args.secret].into_iter().chain(&args.dropped);
    refuse_in_place_of(Some(&args.output), &read.map(Some).collect::<Vec<_>>())?;
    let existing = target::check(&args.output, Sort::Own(FileKind::Share), args.replace.force)?;
    let dropped: BTreeSet<Card> = cards(&args.dropped)?.into_iter().collect();
    let share = with_secret(&args.secret, |member| member.share(&dropped))?;
    write(&args.output, existing, &share.to_text())
}

fn sum(args: &SumArgs, voice: Voice) -> Result<()> {
    let (existing, _lock) = filters::claim_output(&args.output, Sort::FILTER, args.replace.force)?;
    let read = args.masked.iter().chain(&args.shares);
    refuse_in_place_of(Some(&args.output), &read.map(Some).collect::<Vec<_>>())?;
    let run = Run::start("group", voice, &Arc::new(Progress::default()));
    let mut report = Report::default();
    let open = |path: &PathBuf| File::open(path).with_context(|| path.display().to_string());
    let masked = args.masked.iter().map(open).collect::<Result<Vec<_>>>()?;
    for (file, path) in masked.iter().zip(&args.masked) {
        report.bytes_read += file.metadata().with_context(|| path.display().to_string())?.len();
    }
    let shares = args.shares.iter().map(|path| read_text(path, Share::from_text));
    let shares = shares.collect::<Result<Vec<_>>>()?;
    report.passes = masked.len() as u32;
    report.bytes_written = filters::write_with(&args.output, existing, None, |out| {
        sum_lists(masked, &shares, out).map_err(|(index, error)| match index {
            Some(index) => {
                anyhow::Error::new(error).context(args.masked[index].display().to_string())
            }
            None => error.into(),
        })
    })?;
    let receipt = match is_standard(&args.output) {
        true => None,
        false => Some(filters::read_sealed(&args.output, &ReadArgs::default())?.receipt()),
    };
    run.finish(&report, "", receipt.as_ref());
    Ok(())
}

/// The header and the bits of a filter of umbel.
fn read_filter(path: &Path) -> Result<(Header, Vec<u8>)> {
    let file = filters::open(path, &umbel_io::temporary_folder())?;
    let length = formats::length(&file, path)?;
    let read = || {
        let reader = Reader::new(PageReader::new(1 << 16, &file), length)?;
        let header = reader.header().clone();
        let mut payload = vec![0; header.payload_length() as usize];
        reader.read_payload(&mut payload)?;
        Ok::<_, umbel::FileError>((header, payload))
    };
    read().with_context(|| path.display().to_string())
}

fn cards(paths: &[PathBuf]) -> Result<Vec<Card>> {
    paths.iter().map(|path| read_text(path, Card::from_text)).collect()
}

fn read_text<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T, GroupError>) -> Result<T> {
    let name = || path.display().to_string();
    parsed(&fs::read(path).with_context(name)?, parse).with_context(name)
}

fn parsed<T>(
    bytes: &[u8],
    parse: impl FnOnce(&str) -> Result<T, GroupError>,
) -> Result<T, GroupError> {
    // What is no text fails the check of every file.
    parse(&String::from_utf8_lossy(bytes))
}

/// Uses a secret, and saves what it was used for before anything else happens. Another run with it waits, and goes on from
/// what this one has saved.
fn with_secret<T>(
    path: &Path,
    work: impl FnOnce(&mut Member) -> Result<T, GroupError>,
) -> Result<T> {
    let name = || path.display().to_string();
    // NFS locks only what is open for writing.
    let open = || OpenOptions::new().read(true).write(true).open(path).with_context(name);
    let _lock = filters::lock(open()?, path, &open)?;
    let mut member = parsed(&private::read(path)?, Member::from_text).with_context(name)?;
    let result = work(&mut member).with_context(name)?;
    private::rewrite(path, &member.to_text())?;
    Ok(result)
}

fn write(path: &Path, existing: Existing, text: &str) -> Result<()> {
    atomic::write(path, existing, |out| Ok(writeln!(out, "{text}")?)).map(drop)
}
