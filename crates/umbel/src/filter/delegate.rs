//! The traits of a kind from the methods of the same names that its type has.

/// [`Filter`](super::Filter) for a type that has its methods; with `bytes` also for its own size, else the
/// plan's.
macro_rules! filter {
    ([$($generics:tt)*] $type:ty $(, $bytes:ident)?) => {
        impl<$($generics)*> crate::filter::Filter for $type {
            fn plan(&self) -> &crate::Plan {
                self.plan()
            }

            fn hasher(&self) -> &crate::KeyHasher {
                self.hasher()
            }

            fn contains_hash(&self, hash: crate::KeyHash) -> bool {
                self.contains_hash(hash)
            }

            fn contains_batch(&self, hashes: &[crate::KeyHash], found: &mut [bool]) {
                self.contains_batch(hashes, found);
            }

            $(fn $bytes(&self) -> u64 {
                self.$bytes()
            })?

            fn receipt(&self) -> crate::Receipt {
                self.receipt()
            }

            fn write_to(&self, out: &mut dyn std::io::Write) -> Result<(), crate::Error> {
                self.write(out)
            }
        }
    };
}

/// [`Insert`](super::Insert) for a type whose methods never fail, with the reason.
macro_rules! insert {
    ($(#[$why:meta])* [$($generics:tt)*] $type:ty) => {
        $(#[$why])*
        impl<$($generics)*> crate::filter::Insert for $type {
            fn insert_hash(&mut self, hash: crate::KeyHash) -> Result<bool, crate::Error> {
                Ok(self.insert_hash(hash))
            }

            fn insert_batch(&mut self, hashes: &[crate::KeyHash]) -> Result<(), crate::Error> {
                self.insert_batch(hashes);
                Ok(())
            }

            fn insert_batch_new(
                &mut self,
                hashes: &[crate::KeyHash],
                new: &mut [bool],
            ) -> Result<(), crate::Error> {
                self.insert_batch_new(hashes, new);
                Ok(())
            }
        }
    };
}

pub(super) use {filter, insert};
