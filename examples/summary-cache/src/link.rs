//! Datagrams between proxies: counted, and for trials cut, lost, repeated and reordered.
//!
//! A message longer than a datagram goes in parts, and counts only when all of them have arrived. What is lost is for
//! the protocol above to notice.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use tokio::net::UdpSocket;

/// Bytes of a datagram: what fits in a frame of Ethernet, with the headers of IP and UDP.
pub const DATAGRAM: usize = 1472;
/// A part: two bytes that no message begins with, u16 index, u16 count, u32 number of the message.
const PART: [u8; 2] = [0, b'P'];
const PART_HEADER: usize = 10;

/// How datagrams fail on their way out, each in one of so many, at random; 0 for never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weather {
    /// Lost.
    pub lost: u64,
    /// Sent twice.
    pub repeated: u64,
    /// Held back until after the next one.
    pub late: u64,
}

/// The socket of a proxy.
pub struct Link {
    socket: UdpSocket,
    next: AtomicU32,
    state: Mutex<State>,
    /// Datagrams sent.
    pub messages: AtomicU64,
    /// Bytes in them.
    pub bytes: AtomicU64,
}

#[derive(Default)]
struct State {
    weather: Weather,
    random: u64,
    held_back: Option<(SocketAddr, Vec<u8>)>,
    cut: Vec<SocketAddr>,
    /// The message that each sender is sending in parts.
    parts: HashMap<SocketAddr, Parts>,
}

struct Parts {
    number: u32,
    parts: Vec<Option<Vec<u8>>>,
}

impl Link {
    /// Binds the socket.
    ///
    /// # Errors
    /// The address is in use.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self {
            socket: UdpSocket::bind(address).await?,
            next: AtomicU32::new(0),
            state: Mutex::default(),
            messages: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        })
    }

    /// Sets how datagrams fail, with the seed of chance.
    pub fn set_weather(&self, weather: Weather, seed: u64) {
        let mut state = self.state();
        (state.weather, state.random) = (weather, seed);
    }

    /// Cuts the link to an address, both ways, or mends it.
    pub fn cut(&self, address: SocketAddr, is_cut: bool) {
        let cut = &mut self.state().cut;
        cut.retain(|one| *one != address);
        if is_cut {
            cut.push(address);
        }
    }

    /// Returns whether a link is cut.
    pub fn is_cut(&self, address: SocketAddr) -> bool {
        self.state().cut.contains(&address)
    }

    /// Sends a message, in as many datagrams as it needs. Errors are losses, too.
    pub async fn send(&self, to: SocketAddr, message: &[u8]) {
        if message.len() <= DATAGRAM {
            return self.send_datagram(to, message.to_vec()).await;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let parts = message.chunks(DATAGRAM - PART_HEADER);
        let count = parts.len() as u16;
        for (index, part) in (0u16..).zip(parts) {
            let mut datagram = PART.to_vec();
            datagram.extend_from_slice(&index.to_le_bytes());
            datagram.extend_from_slice(&count.to_le_bytes());
            datagram.extend_from_slice(&number.to_le_bytes());
            datagram.extend_from_slice(part);
            self.send_datagram(to, datagram).await;
        }
    }

    async fn send_datagram(&self, to: SocketAddr, datagram: Vec<u8>) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(datagram.len() as u64, Ordering::Relaxed);
        let leaving = self.state().fate(to, datagram);
        for (to, datagram) in leaving {
            let _ = self.socket.send_to(&datagram, to).await;
        }
    }

    /// Receives the next message that is whole, and who sent it.
    ///
    /// # Errors
    /// Of the socket.
    pub async fn receive(&self) -> io::Result<(SocketAddr, Vec<u8>)> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let (length, from) = self.socket.recv_from(&mut buffer).await?;
            let mut state = self.state();
            if state.cut.contains(&from) {
                continue;
            }
            let datagram = &buffer[..length];
            if !datagram.starts_with(&PART) {
                return Ok((from, datagram.to_vec()));
            }
            if let Some(message) = state.join(from, datagram) {
                return Ok((from, message));
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with it")
    }
}

impl State {
    /// What becomes of a datagram: which ones leave now.
    fn fate(&mut self, to: SocketAddr, datagram: Vec<u8>) -> Vec<(SocketAddr, Vec<u8>)> {
        if self.cut.contains(&to) || self.happens(self.weather.lost) {
            return Vec::new();
        }
        let mut now = vec![(to, datagram)];
        if self.happens(self.weather.repeated) {
            now.push(now[0].clone());
        }
        if self.held_back.is_none() && self.happens(self.weather.late) {
            self.held_back = now.pop();
        } else {
            now.extend(self.held_back.take());
        }
        now
    }

    fn happens(&mut self, one_in: u64) -> bool {
        one_in > 0 && crate::traffic::random(&mut self.random).is_multiple_of(one_in)
    }

    /// Adds a part; gives the message once it is whole.
    fn join(&mut self, from: SocketAddr, datagram: &[u8]) -> Option<Vec<u8>> {
        let field =
            |at: usize| Some(u16::from_le_bytes(datagram.get(at..at + 2)?.try_into().ok()?));
        let (index, count) = (usize::from(field(2)?), usize::from(field(4)?));
        let number = u32::from_le_bytes(datagram.get(6..10)?.try_into().ok()?);
        let parts = self.parts.entry(from).or_insert_with(|| Parts { number, parts: Vec::new() });
        if parts.number != number || parts.parts.len() != count {
            *parts = Parts { number, parts: vec![None; count] };
        }
        *parts.parts.get_mut(index)? = Some(datagram[PART_HEADER..].to_vec());
        let whole: Option<Vec<_>> = parts.parts.iter().map(Option::as_deref).collect();
        let message = whole?.concat();
        self.parts.remove(&from);
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn pair() -> (Link, Link, SocketAddr) {
        let free = "127.0.0.1:0".parse().unwrap();
        let (one, two) = (Link::bind(free).await.unwrap(), Link::bind(free).await.unwrap());
        let to = two.socket.local_addr().unwrap();
        (one, two, to)
    }

    #[tokio::test]
    async fn long_messages_go_in_parts() {
        let (one, two, to) = pair().await;
        for length in [0, 1, DATAGRAM, DATAGRAM + 1, 40_000] {
            let message: Vec<u8> = (0..length).map(|at| (at % 251) as u8 | 1).collect();
            one.send(to, &message).await;
            assert_eq!(two.receive().await.unwrap().1, message);
        }
        assert_eq!(one.messages.load(Ordering::Relaxed), 3 + 2 + 28);
    }

    #[tokio::test]
    async fn what_is_cut_or_lost_does_not_arrive() {
        let (one, two, to) = pair().await;
        one.cut(to, true);
        one.send(to, b"cut").await;
        one.cut(to, false);
        one.set_weather(Weather { lost: 1, ..Weather::default() }, 1);
        one.send(to, b"lost").await;
        one.set_weather(Weather { late: 1, ..Weather::default() }, 1);
        one.send(to, b"late").await;
        one.set_weather(Weather { repeated: 1, ..Weather::default() }, 1);
        one.send(to, b"twice").await;
        for expected in [&b"twice"[..], b"twice", b"late"] {
            assert_eq!(two.receive().await.unwrap().1, expected);
        }
    }
}
