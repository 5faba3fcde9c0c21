//! `umbel match`: the lines whose address is in a listed network, or whose host is under a listed domain.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::slice;

use clap::{Args, Command};
use umbel::{Filter as _, Secret};
use umbel_net::prefixes::{Family, ListBuilder, PrefixList, text};
use umbel_sets::sources::{self, NamedInput};
use umbel_sets::{
    Filter, Form, Input, LongestPrefix, Normalization, Options, Query, Records, room_left,
};

use super::filter::prefixes::{self, FAMILIES, entries, listed, tell_other_rules};
use super::{answer, explain};
use crate::args::{ForeignArgs, LinesArgs, SecretArgs, TrustArgs};
use crate::choices;
use crate::filters;
use crate::lines::{self, RowsOf};
use crate::output::{check_lines, only_print, refuse_in_place_of, write_result};
use crate::standard;
use crate::verbs::prelude::*;

/// Print the lines whose address is in a listed network, or whose host is under a listed domain
///
/// LIST has one entry per line, and comments after #. Its first entry decides whether it is a list of networks or of domains,
/// unless --of is given.
///
/// Networks: 192.0.2.0/24, 192.0.2.0/255.255.255.0, 192.0.2.7, 2001:db8::/32; bits after the prefix do not count. Comments may
/// also follow a semicolon.
///
/// Domains: example.com, *.example.com and .example.com all mean the domain and every name under it. LIST may also be a hosts
/// file (0.0.0.0 ads.example.com), a block list of AdGuard or EasyList (||ads.example.com^) or one of dnsmasq
/// (address=/ads.example.com/0.0.0.0). Rules that are not about whole domains are left out and counted. Lines to look up may
/// also be URLs and email addresses.
///
/// A list of text is held in memory, and answers are exact. LIST may also be a filter (umbel filter build --prefixes), which is
/// smaller; other lines then pass at its false positive rate.
#[derive(Debug, Args)]
pub(crate) struct MatchArgs {
    /// Networks or domains: a text, or a filter of them
    #[arg(value_name = "LIST")]
    pub(crate) entries: PathBuf,
    /// Files of lines [default: standard input]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Type of the entries in LIST [default: recognized from the first]
    #[arg(long, value_name = "WHAT", value_parser = choices::of(FAMILIES))]
    pub(crate) of: Option<Family>,
    /// Print the other lines
    #[arg(short = 'v', long)]
    pub(crate) invert: bool,
    /// Print the longest matching entry in front of each line, followed by a tab
    ///
    /// With --csv, followed by the delimiter; with --jsonl, as {"prefix":"192.0.2.0/24","record":…}.
    #[arg(long, conflicts_with_all = ["invert", "total"])]
    pub(crate) show_prefix: bool,
    #[command(flatten)]
    pub(crate) lines: LinesArgs,
    #[command(flatten)]
    pub(crate) secret: SecretArgs,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
}

impl Verb for MatchArgs {
    const NAME: &str = "match";
    const HELP: &str = "
also cidr, subnet, block list, allow list, ip ranges, domains, suffix, prefixes
for --prefixes: umbel match recognizes networks and domains by the first entry; --of ip or --of domain sets the type
umbel match nets.txt ips.txt   addresses in listed networks
umbel match ads.txt hosts.txt   hosts under listed domains
umbel match -v nets.txt ips.txt   addresses in no listed network
umbel match --fields -k 1 nets.txt a.log   log lines whose first word is in a listed network
0 lines were found
1 no line was found
";
    const RUN: fn(&Self) -> Result<Outcome> = match_lines;

    fn adapt(command: Command) -> Command {
        NORMALIZED
            .into_iter()
            .fold(command, |command, option| command.mut_arg(option, |option| option.hide(true)))
    }
}

/// Options that do nothing here: addresses and hosts are compared in their normal form.
const NORMALIZED: [&str; 4] = ["ignore_case", "trim", "crlf", "normalize"];

fn match_lines(args: &MatchArgs) -> Result<Outcome> {
    let (path, to) = (args.entries.as_path(), args.lines.to.file());
    refuse_in_place_of(to, &[Some(&args.entries), args.secret.secret_file.as_ref()])?;
    check_lines(&args.lines)?;
    let list = lines::are_standard(&args.files, &args.lines.work).then_some("list");
    standard::check_once(slice::from_ref(&args.entries), list)?;
    let mut options = lines::options(&args.lines.work, &args.files)?;
    if !options.form.normalization.is_none() {
        bail!("addresses and hosts are always compared in normal form; omit comparison options");
    }
    if let Some(option) = options.form.keeps_keyless() {
        return Err(umbel_sets::Error::KeptWithoutKey(option).into());
    }
    if options.form.records.key().len() > 1 {
        bail!("one field is looked up, and --key names several; name one");
    }
    let secret = filters::secret(&args.secret)?;
    let (list, family) = read(path, args, secret.as_ref(), &options)?;
    // In an empty list nothing is looked up, whatever the lines are.
    options.form.normalization.read = family.map(text::looked_up);
    tell_other_rules(&standard::name(path));
    let options = &options;
    let sources = lines::open(&args.files, &args.lines.work, RowsOf::All, options)?;
    if args.lines.explain.explain {
        return only_print(explain::prefixes(&list, args.lines.work.voice.json));
    }
    let run = Run::start("match", args.lines.work.voice, &options.resources.progress);
    let find = |keys: &[&[u8]], found: &mut [bool]| list.find_all(keys, found);
    let longest: &LongestPrefix<'_> = &|key| list.longest(key);
    let shown = args.show_prefix.then_some(longest);
    let ((), report) = write_result(to, args.lines.total, |out| {
        let mut query = Query::of_list(&find, shown, list.bytes(), args.invert, out, options)?;
        answer::each_source(&mut query, sources, options)?;
        Ok(((), query.finish()?))
    })?;
    answer::finish(run, args.invert, report, list.fpp())
}

/// The list, a filter or a text, and what it is of; a text without an entry is of nothing.
fn read(
    path: &Path,
    args: &MatchArgs,
    secret: Option<&Secret>,
    options: &Options,
) -> Result<(PrefixList, Option<Family>)> {
    let name = || standard::name(path);
    let mut file = filters::open_beside(path, options, &args.trust)?;
    if is_filter(&mut file.file).with_context(name)? {
        let filter = filters::read(&file, path, secret, &ForeignArgs::default(), options)?;
        let Filter::Own(filter) = filter else { bail!("{}: is not an umbel filter", name()) };
        let Some(family) = args.of.or(filter.description().prefixes()) else {
            bail!(
                "{}: is a filter of lines, not of networks or domains; use umbel filter query",
                name()
            );
        };
        return Ok((PrefixList::from_filter(filter, family).with_context(name)?, Some(family)));
    }
    if secret.is_some() {
        bail!("{}: a text list is not keyed; omit --secret-file", name());
    }
    let sources = sources::open(vec![NamedInput::Open(name(), file.file)], None, &[])?;
    let inputs = sources::rereadable(sources, options)?;
    let start = inputs.first().map(Input::start).transpose()?.unwrap_or_default();
    let recognized = || text::family_of_list(&start, options.form.records.end());
    let family = args.of.or_else(recognized);
    if family.is_none() && inputs.iter().any(|input| input.length() > start.len() as u64) {
        bail!("{}: has only comments in its first 64 KiB; choose what it lists with --of", name());
    }
    let family = family.unwrap_or(Family::Domain);
    let list = read_text(&inputs, family, options)?;
    let of = (!list.is_empty()).then_some(family);
    Ok((list, of))
}

fn read_text(inputs: &[Input], family: Family, options: &Options) -> Result<PrefixList> {
    let normalization = Normalization { read: Some(listed(family)), ..Normalization::default() };
    let lines = Records::Lines(options.form.records.end());
    let form = Form { normalization, bad: options.form.bad, ..lines.into() };
    let options = &Options { form, ..options.clone() };
    let mut list = ListBuilder::new(family);
    prefixes::read(inputs, options, |lines| {
        let fits = room_left(list.bytes(), &options.resources).is_ok();
        let entries: Vec<_> = lines.iter().flat_map(|entry| entries(family, entry)).collect();
        list.extend(&entries, fits);
        Ok(())
    })?;
    // Only now the memory for all of them is known.
    room_left(list.bytes(), &options.resources)?;
    Ok(list.build().map_err(umbel_sets::Error::from)?)
}

/// Whether a file begins as those of umbel do, whatever follows.
fn is_filter(file: &mut File) -> io::Result<bool> {
    const MAGIC: [u8; 3] = *b"\x89UM";
    let mut start = Vec::new();
    file.rewind()?;
    file.take(MAGIC.len() as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start == MAGIC)
}
