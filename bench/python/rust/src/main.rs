//! `bench-python-rust COUNT ROUNDS`: looks up COUNT texts of 20 bytes, which are all in a filter of 1 %, on one thread; each line
//! printed has the seconds of a round.
//!
//! As in an Arrow column, the texts are one behind the other in memory; a batch of slices is gathered at a time.

use std::error::Error;
use std::time::Instant;

/// Slices of a batch, as the Python package gathers them.
const BATCH: usize = 1024;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number =
        || arguments.next().ok_or("expected COUNT ROUNDS")?.parse().map_err(Box::<dyn Error>::from);
    let (count, rounds): (usize, usize) = (number()?, number()?);
    let texts: String = (0..count).map(|i| format!("{i:020}")).collect();
    let batches = || texts.as_bytes().as_chunks::<20>().0.chunks(BATCH);
    let mut filter = umbel::Blocked::new(count as u64, 0.01)?;
    for batch in batches() {
        let keys: Vec<&[u8]> = batch.iter().map(|text| &text[..]).collect();
        filter.insert_all(&keys);
    }
    for _ in 0..rounds {
        let (mut keys, mut found) = (Vec::with_capacity(BATCH), vec![false; count]);
        let start = Instant::now();
        for (batch, found) in batches().zip(found.chunks_mut(BATCH)) {
            keys.clear();
            keys.extend(batch.iter().map(|text| &text[..]));
            filter.contains_all(&keys, found);
        }
        println!("{}", start.elapsed().as_secs_f64());
        assert!(found.iter().all(|&found| found), "every member is found");
    }
    Ok(())
}
