//! The verbs: their names and their options. What they do is in `verbs`; help and manual pages need this table.

use clap::{Args, Command};

use crate::args;

/// A verb: its name and its options.
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    /// Another name that it has.
    other: Option<&'static str>,
    define: fn(Command) -> Command,
}

impl Verb {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        VERBS.iter().find(|verb| verb.name == name || verb.other == Some(name))
    }

    /// The name of a verb as it was typed, which may be the other one.
    pub(crate) fn name_of(typed: &str) -> Option<&'static str> {
        let verb = Self::named(typed)?;
        Some(verb.other.filter(|other| *other == typed).unwrap_or(verb.name))
    }

    /// The verb with its options and their help.
    pub(crate) fn define(&self) -> Command {
        let mut command = (self.define)(Command::new(self.name));
        let options: Vec<_> =
            command.get_arguments().map(|option| option.get_id().clone()).collect();
        for option in options {
            let others = umbel_sets::excludes(self.name, option.as_str());
            command = command.mut_arg(option, |option| option.conflicts_with_all(others));
        }
        self.other.map_or(command.clone(), |other| command.alias(other))
    }

    /// Whether it has all options that a hint names, unless that is about another verb.
    pub(crate) fn has_options(&self, hint: &str) -> bool {
        let verb = self.define();
        let has = |word: &str| match word.strip_prefix("--") {
            Some(name) => [&verb]
                .into_iter()
                .chain(verb.get_subcommands())
                .flat_map(Command::get_arguments)
                .any(|argument| argument.get_long() == Some(name)),
            None => true,
        };
        let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        hint.contains("umbel ") || hint.split(|other: char| !letter(other)).all(has)
    }
}

/// Hands all verbs to a macro: the file in `verbs` and the function in it, which has the name of the verb; its options; and
/// its other name.
macro_rules! each_verb {
    ($use:ident) => {
        $use! {
            common::common(CommonArgs),
            except::except(ExceptArgs),
            diff::diff(DiffArgs),
            join::join(JoinVerbArgs),
            dedup::dedup(DedupArgs) or union,
            seen::unseen(UnseenArgs),
            index::index(IndexArgs),
            find::find(FindArgs),
            build::build(BuildArgs),
            add::add(AddArgs),
            remove::remove(RemoveArgs),
            query::query(QueryArgs),
            info::info(InfoArgs),
            merge::merge(MergeArgs),
            overlap::overlap(OverlapArgs),
            key::key(KeyArgs),
            audit::audit(AuditArgs),
            convert::convert(ConvertArgs),
            convert::shrink(ShrinkArgs),
            parquet::parquet(ParquetArgs),
            pack::pack(PackArgs),
            pack::unpack(UnpackArgs),
            delta::delta(DeltaArgs),
            delta::patch(PatchArgs),
            sign::sign(SignVerbArgs),
            plan::plan(PlanArgs),
            demo::demo(DemoArgs),
            docs::completions(CompletionsArgs),
            docs::man(ManArgs),
        }
    };
}

macro_rules! table {
    ($($file:ident::$verb:ident($arguments:ident) $(or $other:ident)?,)*) => {
        /// All verbs.
        pub(crate) const VERBS: &[Verb] = &[$(Verb {
            name: stringify!($verb),
            other: {
                const OTHER: &[&str] = &[$(stringify!($other))?];
                OTHER.first().copied()
            },
            define: args::$arguments::augment_args,
        }),*];
    };
}

each_verb!(table);

pub(crate) use each_verb;
