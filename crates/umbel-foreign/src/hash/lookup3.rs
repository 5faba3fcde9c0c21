//! Bob Jenkins' lookup3, `hashlittle`: Hadoop's `JenkinsHash`.
//!
//! Public domain, 2006, <http://burtleburtle.net/bob/c/lookup3.c>.

/// `hashlittle` of `key` with the initial value `seed`.
#[inline]
pub(crate) fn hash(seed: u32, key: &[u8]) -> u32 {
    let mut state = [0xdead_beef_u32.wrapping_add(key.len() as u32).wrapping_add(seed); 3];
    let mut rest = key;
    // The last 1 to 12 bytes are mixed differently, so a whole block is left for that.
    while let Some((block, more)) =
        rest.split_first_chunk::<12>().filter(|(_, more)| !more.is_empty())
    {
        add(&mut state, block);
        mix(&mut state);
        rest = more;
    }
    if rest.is_empty() {
        return state[2];
    }
    let mut block = [0; 12];
    block[..rest.len()].copy_from_slice(rest);
    add(&mut state, &block);
    finish(state)
}

#[inline]
fn add(state: &mut [u32; 3], block: &[u8; 12]) {
    let (words, _) = block.as_chunks::<4>();
    for (part, &word) in state.iter_mut().zip(words) {
        *part = part.wrapping_add(u32::from_le_bytes(word));
    }
}

#[inline]
fn mix(state: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *state;
    a = a.wrapping_sub(c) ^ c.rotate_left(4);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(6);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(8);
    b = b.wrapping_add(a);
    a = a.wrapping_sub(c) ^ c.rotate_left(16);
    c = c.wrapping_add(b);
    b = b.wrapping_sub(a) ^ a.rotate_left(19);
    a = a.wrapping_add(c);
    c = c.wrapping_sub(b) ^ b.rotate_left(4);
    b = b.wrapping_add(a);
    *state = [a, b, c];
}

#[inline]
fn finish([mut a, mut b, mut c]: [u32; 3]) -> u32 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}
