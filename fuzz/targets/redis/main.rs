//! The module in a server: any commands and any snapshots are refused or accepted; an accepted value survives every way
//! of saving it.

#![no_main]

mod server;

use std::cell::OnceCell;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use server::{Field, Reply, Server, Value};

/// The steps that the module sees, one after the other.
#[derive(Arbitrary, Debug)]
enum Step<'a> {
    /// A command with any arguments.
    Command {
        command: u8,
        key: u8,
        words: Vec<Word<'a>>,
        resp3: bool,
    },
    /// A snapshot of any fields.
    Restore {
        key: u8,
        of: u8,
        version: u8,
        fields: Vec<Given<'a>>,
    },
    /// The snapshot of a key with a field changed.
    Damage {
        from: u8,
        to: u8,
        field: u8,
        change: Change,
    },
    /// The dump of a key with a chunk changed.
    Load {
        from: u8,
        to: u8,
        chunk: u8,
        iterator: i8,
        change: Change,
    },
    Later(u32),
}

#[derive(Arbitrary, Debug)]
enum Word<'a> {
    Any(&'a [u8]),
    Option(u8),
    Number(i64),
    Small(u8),
    /// 1 divided by it.
    Rate(u16),
    Key(u8),
}

#[derive(Arbitrary, Debug)]
enum Given<'a> {
    Unsigned(u64),
    Small(u8),
    Double(f64),
    Rate(u16),
    Bytes(&'a [u8]),
}

#[derive(Arbitrary, Debug)]
enum Change {
    None,
    Number(u64),
    Byte { at: u16, to: u8 },
    Length(u16),
    Gone,
}

const OPTIONS: &str = "EXPANSION NONSCALING CAPACITY ERROR NOCREATE ITEMS BUCKETSIZE MAXITERATIONS \
    KIND SPAN SECRET NONE blocked classic sliced counting counting:16 scalable window stable coded \
    attributes SIZE FILTERS EXPANSION scalable:1 ADD DEL LOST";

thread_local! {
    static SERVER: OnceCell<Server> = const { OnceCell::new() };
}

fuzz_target!(|steps: Vec<Step<'_>>| {
    SERVER.with(|server| {
        let server = server.get_or_init(Server::start);
        steps.iter().take(40).for_each(|step| take(server, step));
        (0..KEYS).for_each(|key| check(server, key));
        server.clear();
    });
});

const KEYS: u8 = 4;

fn key(number: u8) -> [u8; 1] {
    [b'a' + number % KEYS]
}

fn take(server: &Server, step: &Step<'_>) {
    match step {
        Step::Command { command, key, words, resp3 } => {
            let (_, command) = server.commands[usize::from(*command) % server.commands.len()];
            let words: Vec<Vec<u8>> = words.iter().map(bytes).collect();
            let key = self::key(*key);
            let mut all: Vec<&[u8]> = vec![b"command", &key];
            all.extend(words.iter().map(Vec::as_slice));
            server.run(command, &all, *resp3, false);
        }
        Step::Restore { key, of, version, fields } => {
            let of = server.types[usize::from(*of) % server.types.len()];
            let version = i32::from(*version) % (of.version + 2);
            if let Some(value) = Value::load(of, version, fields.iter().map(field).collect()) {
                server.put(&self::key(*key), value);
                check(server, *key);
            }
        }
        Step::Damage { from, to, field, change } => {
            let Some(value) = server.take(&key(*from)) else { return };
            let (of, mut fields) = (value.of, value.save());
            server.put(&key(*from), value);
            let at = usize::from(*field) % fields.len().max(1);
            if matches!(change, Change::Gone) && at < fields.len() {
                fields.remove(at);
            }
            match fields.get_mut(at) {
                Some(Field::Bytes(bytes)) => changed(bytes, change),
                Some(Field::Unsigned(number) | Field::Double(number)) => {
                    if let Change::Number(other) = change {
                        *number = *other;
                    }
                }
                None => {}
            }
            if let Some(value) = Value::load(of, of.version, fields) {
                server.put(&key(*to), value);
                check(server, *to);
            }
        }
        Step::Load { from, to, chunk, iterator, change } => {
            let Some(value) = server.take(&key(*from)) else { return };
            let mut commands = value.rewrite();
            server.put(&key(*from), value);
            let at = usize::from(*chunk) % commands.len().max(1);
            if let Some((_, i, chunk)) = commands.get_mut(at) {
                *i += i64::from(*iterator);
                changed(chunk, change);
            }
            replay(server, &commands, &key(*to), false);
        }
        Step::Later(milliseconds) => server.advance(*milliseconds),
    }
}

fn bytes(word: &Word<'_>) -> Vec<u8> {
    match word {
        Word::Any(bytes) => bytes.to_vec(),
        Word::Option(word) => OPTIONS.split(' ').cycle().nth((*word).into()).expect("words").into(),
        Word::Number(number) => number.to_string().into(),
        Word::Small(number) => number.to_string().into(),
        Word::Rate(of) => (1.0 / f64::from(*of)).to_string().into(),
        Word::Key(number) => key(*number).into(),
    }
}

fn field(given: &Given<'_>) -> Field {
    match given {
        Given::Unsigned(number) => Field::Unsigned(*number),
        Given::Small(number) => Field::Unsigned((*number).into()),
        Given::Double(number) => Field::Double(number.to_bits()),
        Given::Rate(of) => Field::Double((1.0 / f64::from(*of)).to_bits()),
        Given::Bytes(bytes) => Field::Bytes(bytes.to_vec()),
    }
}

fn changed(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::None => {}
        Change::Number(number) => bytes.extend(number.to_le_bytes()),
        Change::Byte { at, to } => {
            let at = usize::from(*at) % bytes.len().max(1);
            if let Some(byte) = bytes.get_mut(at) {
                *byte = *to;
            }
        }
        Change::Length(length) => bytes.truncate((*length).into()),
        Change::Gone => bytes.clear(),
    }
}

/// Runs the commands of an append-only file for a key; returns whether none answered with an error.
fn replay(server: &Server, commands: &[(Vec<u8>, i64, Vec<u8>)], key: &[u8], obeys: bool) -> bool {
    commands.iter().all(|(name, iterator, chunk)| {
        let iterator = iterator.to_string();
        let mut words: Vec<&[u8]> = vec![name, key];
        if name != b"BF.LOAD" {
            words.push(iterator.as_bytes());
        }
        words.push(chunk);
        let replies = server.run(server.command(name), &words, false, obeys);
        !matches!(replies[..], [Reply::Error(_)])
    })
}

/// Saves the value of a key in every way; each gives the same value.
fn check(server: &Server, number: u8) {
    const OTHER: &[u8] = b"other";
    let key = key(number);
    let Some(value) = server.take(&key) else { return };
    let digest = value.digest();
    assert!(value.bytes() > 0);
    let loaded = Value::load(value.of, value.of.version, value.save());
    assert!(loaded.expect("its own snapshot").digest() == digest, "another value is loaded");
    if let Some(copy) = value.copy() {
        assert!(copy.digest() == digest, "a copy differs");
    }
    assert!(replay(server, &value.rewrite(), OTHER, true), "its own commands are refused");
    let replayed = server.take(OTHER).map(|value| value.digest());
    assert!(replayed.unwrap_or_default() == digest, "the append-only file has another value");
    server.put(&key, value);
}
