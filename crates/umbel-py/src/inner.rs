//! The filter behind a Python object: one of umbel in memory, one in a mapped file, or one of another system.

use umbel::{
    AnyFilter, Filter, Insert, KeyDescription, KeyForm, KeyHasher, Kind, MappedBlocks, SharedFile,
};
use umbel_foreign::{Foreign, ForeignFilter, ForeignInsert, KeyType};
use umbel_io::FileId;

use crate::arrays::{Answer, Visit};
use crate::errors::Failure;
use crate::keys::{Element, ForeignKey, KeyRef, form_of, in_form, refuse_form};

pub(crate) enum Inner {
    Own(AnyFilter),
    Mapped(AnyFilter<KeyHasher, MappedBlocks>),
    Foreign(Other),
    /// Only in [`Shared`](crate::shared::Shared), which knows what it can do.
    Shared(OpenFile),
}

/// A file that several processes have open, until it is closed.
pub(crate) struct OpenFile {
    pub(crate) file: Option<SharedFile>,
    pub(crate) id: FileId,
}

impl OpenFile {
    pub(crate) fn file(&self) -> Result<&SharedFile, Failure> {
        self.file.as_ref().ok_or_else(|| Failure::Value("the file is closed".to_owned()))
    }
}

/// A filter of another system.
#[derive(Clone)]
pub(crate) struct Other {
    pub(crate) filter: Foreign,
    /// The type of its keys, if given; otherwise the type of each value decides.
    pub(crate) key_type: Option<KeyType>,
}

/// Does one thing with a filter of umbel, wherever it is, and another with another system's filter.
macro_rules! of_inner {
    ($inner:expr, $own:ident => $does:expr, $other:ident => $otherwise:expr) => {
        match $inner {
            $crate::inner::Inner::Own($own) => $does,
            $crate::inner::Inner::Mapped($own) => $does,
            $crate::inner::Inner::Foreign($other) => $otherwise,
            $crate::inner::Inner::Shared(_) => unreachable!("a shared file cannot be asked this"),
        }
    };
}
pub(crate) use of_inner;

/// Does something with a filter whose class fixes its kind, wherever it is.
macro_rules! of_kind {
    ($inner:expr, $kind:ident($filter:ident) => $does:expr) => {
        match $inner {
            $crate::inner::Inner::Own(umbel::AnyFilter::$kind($filter)) => $does,
            $crate::inner::Inner::Mapped(umbel::AnyFilter::$kind($filter)) => $does,
            _ => unreachable!("the class says the kind"),
        }
    };
}
pub(crate) use of_kind;

/// The operation on each of many keys, and the meaning of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A look-up; the answer is whether the key may be there.
    Contains,
    /// An addition; the answer is whether the key is certainly new.
    Add,
    /// One removal; the answer is whether the key may have been there.
    Remove,
}

impl Inner {
    /// Its name in messages.
    pub(crate) fn name(&self) -> String {
        of_inner!(self, own => own.kind().to_string(), other => other.filter.format().to_string())
    }

    pub(crate) fn kind(&self) -> Option<Kind> {
        of_inner!(self, own => Some(own.kind()), _other => None)
    }

    /// The filter, to change it.
    pub(crate) fn own_mut(&mut self, what: &str) -> Result<&mut AnyFilter, Failure> {
        match self {
            Self::Own(filter) => Ok(filter),
            Self::Mapped(_) => Err(Failure::Value(
                "a mapped filter cannot be changed; open it without mmap, or copy() it".to_owned(),
            )),
            Self::Foreign(other) => Err(not_for(other, what)),
            Self::Shared(_) => unreachable!("a shared file cannot be changed so"),
        }
    }

    /// Adds a key; true when it was certainly new.
    #[inline]
    pub(crate) fn insert(&mut self, key: KeyRef<'_>) -> Result<bool, Failure> {
        match self {
            Self::Own(filter) => {
                let form = note_keys(filter, Some(key.form()))?;
                Ok(in_form!(form, &[key], true, keys => filter.try_insert(keys[0])?))
            }
            Self::Foreign(other) => other.one(key, |filter, key| filter.insert(key)),
            Self::Shared(open) => {
                let file = open.file()?;
                Ok(in_form!(form(file.description())?, &[key], false, keys => file.insert(keys[0])))
            }
            mapped => mapped.own_mut("add").map(|_| unreachable!("it is mapped")),
        }
    }

    /// Adds keys.
    pub(crate) fn insert_all<K: Element>(&mut self, keys: &[K]) -> Result<(), Failure> {
        match self {
            Self::Own(filter) => {
                let form = note_keys(filter, form_of(keys))?;
                InsertOwn { form, filter }.visit(keys)
            }
            Self::Shared(open) => {
                let file = open.file()?;
                in_form!(form(file.description())?, keys, false, keys => file.insert_all(keys));
                Ok(())
            }
            Self::Foreign(other) => keys.iter().try_for_each(|key| {
                other.one(key.key(), |filter, key| filter.insert(key).map(drop))
            }),
            mapped => mapped.own_mut("add_many").map(|_| unreachable!("it is mapped")),
        }
    }

    /// Whether a key may be in it.
    #[inline]
    pub(crate) fn contains(&self, key: KeyRef<'_>) -> Result<bool, Failure> {
        if let Self::Shared(open) = self {
            let file = open.file()?;
            return Ok(
                in_form!(form(file.description())?, &[key], false, keys => file.contains(keys[0])),
            );
        }
        of_inner!(self, own => match own {
            AnyFilter::Attributes(rows) => Err(only_rows(rows.names())),
            own => Ok(in_form!(form(own.description())?, &[key], false, keys => own.contains(keys[0]))),
        }, other => {
            let mut buffer = Vec::new();
            let made = ForeignKey::of(key, other.type_of(key), &mut buffer)?;
            Ok(other.filter.contains(made.within(&buffer))?)
        })
    }

    /// Refuses keys that cannot be added, before the first one is added.
    pub(crate) fn check<K: Element>(&self, keys: &[K]) -> Result<(), Failure> {
        match self {
            Self::Foreign(other) => other.with_keys(keys, |_| Ok(())),
            _ => self.check_form(form_of(keys)),
        }
    }

    /// Refuses keys of another form than the filter's: all would seem new.
    pub(crate) fn check_form(&self, keys: Option<KeyForm>) -> Result<(), Failure> {
        match self {
            Self::Own(own) => {
                refuse_form(form(own.description())?, |held| keys.is_some_and(|keys| keys != held))
            }
            _ => Ok(()),
        }
    }

    /// A copy in memory.
    pub(crate) fn copy(&self) -> Result<Self, Failure> {
        of_inner!(self, own => Ok(Self::Own(own.try_clone()?)), other => Ok(Self::Foreign(Other {
            filter: other.filter.to_owned()?,
            key_type: other.key_type,
        })))
    }

    /// An empty filter of the same plan and hashing.
    pub(crate) fn empty(&self) -> Result<Self, Failure> {
        of_inner!(self, own => {
            let mut empty = AnyFilter::with_plan(own.plan(), own.hasher().clone())?;
            empty.describe(own.description().clone());
            Ok(Self::Own(empty))
        }, other => Err(not_for(other, "keys in place of a filter")))
    }

    /// Bytes of its bits.
    pub(crate) fn bytes(&self) -> u64 {
        of_inner!(self, own => own.bytes(), other => other.filter.bytes())
    }
}

/// The error of a filter of rows, which cannot look up a single key.
#[cold]
fn only_rows(names: &[String]) -> Failure {
    Failure::Value(format!(
        "the filter holds rows of {}, not single keys; use contains_row() or contains_rows()",
        names.join(", ")
    ))
}

/// The error of an operation that filters of other systems lack.
pub(crate) fn not_for(other: &Other, what: &str) -> Failure {
    Failure::Type(format!(
        "{what}: a {} filter cannot do that; use one of umbel's own",
        other.filter.format()
    ))
}

impl Other {
    /// Whether its system hashes the text of a key.
    pub(crate) fn hashes_texts(&self) -> bool {
        self.key_type.is_none() && self.filter.format().key_types().contains(&KeyType::Decimal)
    }

    /// The type of keys such as this one.
    fn type_of(&self, key: KeyRef<'_>) -> KeyType {
        let format = self.filter.format();
        self.key_type.unwrap_or(match key {
            KeyRef::Bytes(_) => format.key_types()[0],
            KeyRef::Int(_) | KeyRef::Large(_) => format.integers().unwrap_or(KeyType::Bytes),
            KeyRef::Float(_) => KeyType::F64,
        })
    }

    fn one<T>(
        &mut self,
        key: KeyRef<'_>,
        work: impl FnOnce(&mut Foreign, umbel_foreign::Key<'_>) -> Result<T, umbel_foreign::Error>,
    ) -> Result<T, Failure> {
        let mut buffer = Vec::new();
        let made = ForeignKey::of(key, self.type_of(key), &mut buffer)?;
        Ok(work(&mut self.filter, made.within(&buffer))?)
    }

    /// The keys as the filter hashes them.
    fn with_keys<K: Element, T>(
        &self,
        keys: &[K],
        work: impl FnOnce(&[umbel_foreign::Key<'_>]) -> Result<T, umbel_foreign::Error>,
    ) -> Result<T, Failure> {
        let mut buffer = Vec::new();
        let made = keys.iter().map(|key| {
            let key = key.key();
            ForeignKey::of(key, self.type_of(key), &mut buffer)
        });
        let made = made.collect::<Result<Vec<_>, _>>()?;
        let keys: Vec<_> = made.into_iter().map(|key| key.within(&buffer)).collect();
        Ok(work(&keys)?)
    }
}

/// A filter that is queried, or changed.
pub(crate) enum Access<'a> {
    Read(&'a Inner),
    Write(&'a mut Inner, Operation),
}

impl Answer for Access<'_> {
    fn answer<K: Element>(&mut self, keys: &[K], answers: &mut [bool]) -> Result<(), Failure> {
        self.answer_keys(form, keys, answers)
    }
}

impl Access<'_> {
    /// Answers single keys, or those of rows.
    pub(crate) fn answer_keys<K: Element>(
        &mut self,
        form: FormOf,
        keys: &[K],
        answers: &mut [bool],
    ) -> Result<(), Failure> {
        let (inner, operation) = match self {
            Self::Read(Inner::Shared(open)) => {
                let file = open.file()?;
                in_form!(form(file.description())?, keys, false, keys => file.contains_all(keys, answers));
                return Ok(());
            }
            Self::Read(inner) => {
                return of_inner!(inner, own => match own {
                    AnyFilter::Attributes(rows) => Err(only_rows(rows.names())),
                    own => {
                        in_form!(form(own.description())?, keys, false, keys => own.contains_all(keys, answers));
                        Ok(())
                    }
                }, other => other.with_keys(keys, |keys| other.filter.contains_all(keys, answers)));
            }
            Self::Write(inner, operation) => (inner, operation),
        };
        match (&mut **inner, operation) {
            (Inner::Foreign(_), Operation::Add) => {
                for (key, new) in keys.iter().zip(answers) {
                    *new = inner.insert(key.key())?;
                }
            }
            (Inner::Shared(open), Operation::Add) => {
                let file = open.file()?;
                in_form!(form(file.description())?, keys, false, keys => file.insert_all_new(keys, answers));
            }
            (inner, Operation::Remove) => {
                let own = inner.own_mut("remove_many")?;
                let form = form(own.description())?;
                let own = own.as_counting_mut()?;
                in_form!(form, keys, false, keys => own.remove_all(keys, answers));
            }
            (inner, _) => {
                let own = inner.own_mut("add_new")?;
                let form = note_form(own, form, form_of(keys))?;
                in_form!(form, keys, true, keys => own.try_insert_all_new(keys, answers)?);
            }
        }
        Ok(())
    }
}

/// Refuses keys of a type that a filter cannot have.
pub(crate) struct Check<'a>(pub(crate) &'a Inner);

impl Visit for Check<'_> {
    fn visit<K: Element>(&mut self, keys: &[K]) -> Result<(), Failure> {
        self.0.check(keys)
    }
}

/// The form of a filter's keys, if it is noted. Refuses a filter of other keys than values as they are: it would miss them.
#[inline]
pub(crate) fn form(held: &KeyDescription) -> Result<Option<KeyForm>, Failure> {
    if held.is_plain() {
        return Ok(held.form());
    }
    form_of_rows(held)?;
    Err(Failure::Value(format!(
        "the filter was built from {}, not from single keys; use contains_rows() or add_rows()",
        held.in_words()
    )))
}

/// The form of a filter's fields, which may be several.
pub(crate) fn form_of_rows(held: &KeyDescription) -> Result<Option<KeyForm>, Failure> {
    let changed = held.values("normalization").next().is_some();
    if changed || held.prefixes().is_some() {
        return Err(Failure::Value(format!(
            "the filter was built from {}, and Python looks up keys as they are: use umbel filter query, or make yours alike and take \
             that out of the description with describe()",
            held.in_words()
        )));
    }
    Ok(held.form())
}

/// [`form`] or [`form_of_rows`].
type FormOf = fn(&KeyDescription) -> Result<Option<KeyForm>, Failure>;

/// Notes the form of keys that are added, and returns the filter's then. In a filter of text, integers become text.
pub(crate) fn note_form(
    own: &mut AnyFilter,
    form: FormOf,
    added: Option<KeyForm>,
) -> Result<Option<KeyForm>, Failure> {
    match (form(own.description())?, added) {
        (_, None) | (Some(KeyForm::Text), _) => {}
        (Some(own), Some(added)) if own.with(added) == own => {}
        (_, Some(added)) => own.note(added)?,
    }
    Ok(own.description().form())
}

/// As [`note_form`], of single keys, in a filter that accepts them.
#[inline]
pub(crate) fn note_keys(
    own: &mut AnyFilter,
    added: Option<KeyForm>,
) -> Result<Option<KeyForm>, Failure> {
    own.check_inserts()?;
    note_form(own, form, added)
}

/// Inserts keys into one of umbel's own, which may be a part of a filter of a form.
pub(crate) struct InsertOwn<'a> {
    pub(crate) filter: &'a mut AnyFilter,
    pub(crate) form: Option<KeyForm>,
}

impl Visit for InsertOwn<'_> {
    fn visit<K: Element>(&mut self, keys: &[K]) -> Result<(), Failure> {
        in_form!(self.form, keys, true, keys => self.filter.try_insert_all(keys)?);
        Ok(())
    }
}

/// Gathers the hashes of keys, for filters that are built from all of them, and their form.
pub(crate) struct Hashes {
    pub(crate) hasher: umbel::KeyHasher,
    pub(crate) hashes: Vec<umbel::KeyHash>,
    pub(crate) form: Option<KeyForm>,
}

impl Visit for Hashes {
    fn visit<K: Element>(&mut self, keys: &[K]) -> Result<(), Failure> {
        self.form = self.form.into_iter().chain(form_of(keys)).reduce(KeyForm::with);
        self.hashes.extend(keys.iter().map(|key| key.key_hash(&self.hasher)));
        Ok(())
    }
}
