//! The limit: one load from a random cache line for each key, over as many bytes as umbel's filter of the case has.
//! Anything that a filter does beyond that takes extra time.
//!
//! Lines come from the same hashes as the filters', by the same multiply-high: given hashes, or hashes of integers and texts
//! by the same function. `one` loads line after line, with as many in flight as the processor finds ahead by itself; `batch`
//! prefetches each line [`AHEAD`] keys earlier. Both with huge pages and with ordinary ones.

use bench_common::{Bench, Case, Hashed, Key, KeyForm, Sample, Text};
use memmap2::{Advice, MmapMut};
use umbel::{KeyHasher, Kind, Plan};

/// Keys between prefetching a line and using it.
const AHEAD: usize = 128;

#[repr(C, align(64))]
struct Line([u64; 8]);

/// Reads a line for each key, and returns the sum of the values read.
type Read<K> = fn(&[Line], &[K]) -> usize;

/// A key with the hash that a filter sees.
trait Hash: Key {
    fn hash(&self) -> u64;
}

impl Hash for Hashed {
    #[inline(always)]
    fn hash(&self) -> u64 {
        self.0
    }
}

impl Hash for u64 {
    #[inline(always)]
    fn hash(&self) -> u64 {
        umbel::Key::key_hash(self, &KeyHasher::with_seed(0)).high
    }
}

impl Hash for Text {
    #[inline(always)]
    fn hash(&self) -> u64 {
        umbel::Key::key_hash(&self.0, &KeyHasher::with_seed(0)).high
    }
}

fn main() {
    let case = Case::from_args();
    match case.form {
        KeyForm::Hashed => run::<Hashed>(case),
        KeyForm::Int => run::<u64>(case),
        KeyForm::Text => run::<Text>(case),
    }
}

fn run<K: Hash>(case: Case) {
    let plan = Plan::for_keys(Kind::Blocked, case.n, case.fpp).expect("a plan");
    let bench = Bench::<K>::new(case, "limit", "1");
    let pages: [(&str, Advice); 2] =
        [("huge pages", Advice::HugePage), ("4 KiB pages", Advice::NoHugePage)];
    for (variant, advice) in pages {
        let mut memory = MmapMut::map_anon(plan.bytes() as usize).expect("memory");
        memory.advise(advice).expect("a kernel with huge pages");
        memory.fill(1); // or every page would be the one page of zeros
        let lines = lines(&memory);
        let modes: [(&str, Read<K>); 2] = [("one", one), ("batch", batch)];
        for (mode, read) in modes {
            for threads in [1, 2] {
                let keys = &bench.members()[..bench.members().len().min(10_000_000)];
                let ns_per_key = bench.time(threads, keys, |keys| read(lines, keys));
                bench.print(&Sample {
                    variant,
                    mode,
                    threads,
                    op: "read",
                    ns_per_key,
                    fpr: None,
                    built: false,
                    found: 1.0,
                    bytes: plan.bytes(),
                });
            }
        }
    }
}

fn lines(memory: &[u8]) -> &[Line] {
    // SAFETY: a line is plain words, and the pieces that do not fill one are left out.
    let (before, lines, after) = unsafe { memory.align_to::<Line>() };
    assert!(before.is_empty() && after.is_empty(), "pages are aligned, filters whole lines");
    lines
}

#[inline(always)]
fn place<K: Hash>(key: &K, lines: &[Line]) -> usize {
    ((u128::from(key.hash()) * lines.len() as u128) >> 64) as usize
}

fn one<K: Hash>(lines: &[Line], keys: &[K]) -> usize {
    keys.iter().map(|key| lines[place(key, lines)].0[0] as usize).fold(0, usize::wrapping_add)
}

fn batch<K: Hash>(lines: &[Line], keys: &[K]) -> usize {
    let mut places = [0; AHEAD];
    for (slot, key) in places.iter_mut().zip(keys) {
        *slot = place(key, lines);
        prefetch(&lines[*slot]);
    }
    let mut sum = 0usize;
    let ahead = keys.get(AHEAD..).unwrap_or_default();
    for (i, key) in ahead.iter().enumerate() {
        let next = place(key, lines);
        prefetch(&lines[next]);
        let place = std::mem::replace(&mut places[i % AHEAD], next);
        sum = sum.wrapping_add(lines[place].0[0] as usize);
    }
    for i in ahead.len()..keys.len() {
        sum = sum.wrapping_add(lines[places[i % AHEAD]].0[0] as usize);
    }
    sum
}

/// Prefetches a line; only on x86-64, as stable Rust cannot elsewhere, and the processor must look ahead itself.
#[inline(always)]
fn prefetch(line: &Line) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint: it reads nothing and faults on no address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(line).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}
