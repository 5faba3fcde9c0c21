//! Load for servers: fills filters, and sends pipelines of commands that were encoded before the clock starts.
//!
//! ```text
//! redis-load fill KEYS FULL FPP BF-PORT,BF-PORT UM-PORT     filters for KEYS keys that hold the first FULL
//! redis-load send PORT COMMAND FILTER ITEMS FIRST KEYS      KEYS keys from number FIRST on, ITEMS per command
//! ```
//!
//! `send` prints one line: the seconds, and how many answers were 1. Servers are on loopback.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use umbel::{Blocked, Filter};
use umbel_foreign::redisbloom::RedisBloom;
use umbel_foreign::{ForeignInsert, Format, Key, Parameters};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The connections, each with a thread of its own.
const CLIENTS: u64 = 4;
/// The commands that a client sends before it reads their replies.
const PIPELINE: usize = 16;
/// The bytes of a key.
const KEY: usize = 16;
/// The filters that `fill` makes.
const BF: &[u8] = b"bf";
const UM: &[u8] = b"um";
/// The bytes of a part that `fill` sends.
const PART: usize = 16 << 20;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["fill", keys, full, fpp, bf, um] => {
            let (keys, full, fpp) = (keys.parse()?, full.parse()?, fpp.parse()?);
            fill_redisbloom(keys, full, fpp, bf)?;
            fill_umbel(keys, full, fpp, um)
        }
        ["send", port, command, filter, items, first, keys] => {
            let work = Work { command, filter, items: items.parse()? };
            let (time, ones) = send(port, &work, first.parse()?, keys.parse()?)?;
            println!("{} {ones}", time.as_secs_f64());
            Ok(())
        }
        _ => {
            Err("fill KEYS FULL FPP BF-PORTS UM-PORTS | send PORT COMMAND FILTER ITEMS FIRST KEYS"
                .into())
        }
    }
}

/// The key with a number: digits of a bijection, which makes keys distinct and their order random.
fn key(number: u64) -> [u8; KEY] {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^= mixed >> 32;
    std::array::from_fn(|i| b"0123456789abcdef"[(mixed >> (4 * i) & 15) as usize])
}

/// Appends a command as the protocol has it.
fn encode(out: &mut Vec<u8>, words: &[&[u8]]) {
    out.extend(format!("*{}\r\n", words.len()).bytes());
    for word in words {
        out.extend(format!("${}\r\n", word.len()).bytes());
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
}

fn connect(port: &str) -> Result<TcpStream> {
    let server = TcpStream::connect(("127.0.0.1", port.parse()?))?;
    server.set_nodelay(true)?;
    Ok(server)
}

/// Sends one command; its reply must be one line and no error.
fn call(server: &mut TcpStream, words: &[&[u8]]) -> Result<()> {
    let mut request = Vec::new();
    encode(&mut request, words);
    server.write_all(&request)?;
    let mut reply = Vec::new();
    while !reply.ends_with(b"\r\n") {
        let mut byte = [0];
        server.read_exact(&mut byte)?;
        reply.push(byte[0]);
    }
    match reply[0] {
        b'-' => Err(String::from_utf8_lossy(&reply).into()),
        _ => Ok(()),
    }
}

/// The same filter for every server.
fn fill_redisbloom(keys: u64, full: u64, fpp: f64, ports: &str) -> Result<()> {
    let mut filter = RedisBloom::new(Format::RedisBloom, &Parameters::for_keys(keys, fpp))?;
    for number in 0..full {
        filter.insert(Key::Bytes(&key(number)))?;
    }
    for port in ports.split(',') {
        let mut server = connect(port)?;
        for (iterator, chunk) in filter.chunks() {
            let iterator = iterator.to_string();
            call(&mut server, &[b"BF.LOADCHUNK", BF, iterator.as_bytes(), &chunk])?;
        }
    }
    Ok(())
}

fn fill_umbel(keys: u64, full: u64, fpp: f64, ports: &str) -> Result<()> {
    let mut filter = Blocked::new(keys, fpp)?;
    let numbers: Vec<u64> = (0..full).collect();
    for numbers in numbers.chunks(1 << 16) {
        let keys: Vec<_> = numbers.iter().map(|number| key(*number)).collect();
        filter.insert_all(&keys);
    }
    let file = filter.to_bytes();
    for port in ports.split(',') {
        let mut server = connect(port)?;
        for (i, part) in file.chunks(PART).enumerate() {
            let offset = (i * PART).to_string();
            call(&mut server, &[b"UM.LOAD", UM, offset.as_bytes(), part])?;
        }
    }
    Ok(())
}

/// The commands to send.
#[derive(Clone, Copy)]
struct Work<'a> {
    command: &'a str,
    filter: &'a str,
    /// Keys of a command; 1 for commands that answer without an array.
    items: u64,
}

impl Work<'_> {
    /// The commands for some keys, encoded, and the bytes of their replies.
    fn pipelines(&self, first: u64, keys: u64) -> Vec<(Vec<u8>, usize)> {
        let one = if self.items == 1 { 0 } else { format!("*{}\r\n", self.items).len() };
        let reply = one + ":1\r\n".len() * self.items as usize;
        let commands: Vec<u64> = (first..first + keys).step_by(self.items as usize).collect();
        let encoded = |commands: &[u64]| {
            let mut request = Vec::new();
            for first in commands {
                let keys: Vec<_> = (*first..first + self.items).map(key).collect();
                let mut words = vec![self.command.as_bytes(), self.filter.as_bytes()];
                words.extend(keys.iter().map(|key| &key[..]));
                encode(&mut request, &words);
            }
            (request, commands.len() * reply)
        };
        commands.chunks(PIPELINE).map(encoded).collect()
    }
}

/// Returns the time, and how many answers were 1.
fn send(port: &str, work: &Work<'_>, first: u64, keys: u64) -> Result<(Duration, usize)> {
    let each = keys / CLIENTS / work.items * work.items;
    let (ready, done) = (Barrier::new(CLIENTS as usize + 1), Barrier::new(CLIENTS as usize + 1));
    thread::scope(|scope| {
        let client = |i: u64| {
            let pipelines = work.pipelines(first + i * each, each);
            let server = connect(port);
            ready.wait();
            let ones = server.and_then(|server| exchange(server, &pipelines));
            done.wait();
            ones
        };
        let clients: Vec<_> = (0..CLIENTS).map(|i| scope.spawn(move || client(i))).collect();
        ready.wait();
        let start = Instant::now();
        done.wait();
        let time = start.elapsed();
        let mut ones = 0;
        for client in clients {
            ones += client.join().map_err(|_| "a client panicked")??;
        }
        Ok((time, ones))
    })
}

/// Sends pipelines one after the other and returns how many answers are 1.
fn exchange(mut server: TcpStream, pipelines: &[(Vec<u8>, usize)]) -> Result<usize> {
    let longest = pipelines.iter().map(|(_, reply)| *reply).max().unwrap_or(0);
    let mut buffer = vec![0; longest];
    let mut ones = 0;
    for (request, reply) in pipelines {
        server.write_all(request)?;
        let reply = &mut buffer[..*reply];
        server.read_exact(reply)?;
        if reply.contains(&b'-') {
            return Err(String::from_utf8_lossy(&reply[..reply.len().min(200)]).into());
        }
        ones += reply.windows(2).filter(|pair| pair == b":1").count();
    }
    Ok(ones)
}
