//! Datagrams between proxies: counted, and for trials cut, lost, repeated and reordered.
//!
//! A message longer than a datagram goes in parts, and counts only when all of them have arrived. What is lost is for
//! the protocol above to notice. Datagrams of others than the peers are dropped unread: their senders get no memory and no
//! answer. Addresses of datagrams can be forged, so a peer has memory for one message, and no more than [`MESSAGE`].

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use tokio::net::UdpSocket;

/// Bytes of a datagram: what fits in a frame of Ethernet, with the headers of IP and UDP.
pub const DATAGRAM: usize = 1472;
/// Bytes of the largest message in parts: a change that is larger is better sent as a full copy, over a connection.
pub const MESSAGE: usize = 4 << 20;
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
    peers: Vec<SocketAddr>,
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

#[derive(Default)]
struct Parts {
    number: u32,
    /// In all parts.
    bytes: usize,
    parts: Vec<Option<Vec<u8>>>,
}

impl Link {
    /// Binds the socket, to receive from these peers alone.
    ///
    /// # Errors
    /// The address is in use.
    pub async fn bind(address: SocketAddr, peers: Vec<SocketAddr>) -> io::Result<Self> {
        Ok(Self {
            socket: UdpSocket::bind(address).await?,
            peers,
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
            if !self.peers.contains(&from) || state.cut.contains(&from) {
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
        if index >= count || count > MESSAGE.div_ceil(DATAGRAM - PART_HEADER) {
            return None;
        }
        let parts = self.parts.entry(from).or_default();
        if parts.number != number || parts.parts.len() != count {
            *parts = Parts { number, bytes: 0, parts: vec![None; count] };
        }
        let part = &datagram[PART_HEADER..];
        let before = parts.parts[index].as_ref().map_or(0, Vec::len);
        parts.bytes = parts.bytes - before + part.len();
        if parts.bytes > MESSAGE {
            self.parts.remove(&from);
            return None;
        }
        parts.parts[index] = Some(part.to_vec());
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
        let one = Link::bind(free, Vec::new()).await.unwrap();
        let from = one.socket.local_addr().unwrap();
        let two = Link::bind(free, vec![from]).await.unwrap();
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

    /// Ten bytes that claim to be one of 65,535 parts took 1.5 MB each, from any address.
    #[tokio::test]
    async fn parts_take_memory_of_peers_only_and_not_much() {
        let (one, two, to) = pair().await;
        let part = |index: u16, count: u16, number: u32, bytes: &[u8]| {
            let (index, count) = (index.to_le_bytes(), count.to_le_bytes());
            [&PART[..], &index, &count, &number.to_le_bytes(), bytes].concat()
        };
        let stranger = Link::bind("127.0.0.1:0".parse().unwrap(), Vec::new()).await.unwrap();
        stranger.send(to, &part(0, 2, 1, b"x")).await;
        stranger.send(to, b"whole").await;
        one.send(to, &part(0, u16::MAX, 1, b"x")).await;
        one.send(to, &part(2, 2, 2, b"x")).await;
        one.send(to, b"peer").await;
        assert_eq!(two.receive().await.unwrap().1, b"peer");
        assert!(two.state().parts.is_empty());
        // Parts that are longer than ours are.
        let state = &mut two.state();
        let from = one.socket.local_addr().unwrap();
        let long = vec![1; 60_000];
        for index in 0..2 * MESSAGE / long.len() {
            let count = (2 * MESSAGE / long.len()) as u16 + 1;
            assert!(state.join(from, &part(index as u16, count, 3, &long)).is_none());
            let held: usize = state.parts.values().map(|parts| parts.bytes).sum();
            assert!(held <= MESSAGE);
        }
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
