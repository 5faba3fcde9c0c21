//! The types of keys, by their names.

use crate::Error;

/// An enum whose values have names, as on the command line: a line for each. `$unknown` is the error for other names.
macro_rules! named {
    (
        $(#[$doc:meta])*
        pub enum $type:ident else $unknown:ident { $($(#[$of:meta])* $value:ident = $name:literal,)+ }
    ) => {
        $(#[$doc])*
        pub enum $type {
            $($(#[$of])* $value,)+
        }

        impl $type {
            /// All of them, in the order of the enum.
            pub const ALL: &'static [Self] = &[$(Self::$value),+];

            /// Returns its name, as on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = Error;

            /// # Errors
            #[doc = concat!("[`Error::", stringify!($unknown), "`].")]
            fn from_str(name: &str) -> Result<Self, Error> {
                let found = Self::ALL.iter().copied().find(|value| value.name() == name);
                found.ok_or_else(|| Error::$unknown { name: name.to_owned() })
            }
        }
    };
}
pub(crate) use named;

named! {
    /// How a line of text becomes a [`Key`](crate::Key).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum KeyType else UnknownKeyType {
        /// The bytes of the line.
        Bytes = "bytes",
        /// The UTF-16 code units of the line, little-endian, as Java's chars are hashed.
        Utf16 = "utf16",
        /// An integer, as 64 bits.
        I64 = "i64",
        /// An integer, as 32 bits.
        I32 = "i32",
        /// A number, as a double.
        F64 = "f64",
        /// A number, as a float.
        F32 = "f32",
        /// An integer, as its shortest decimal text, like Python's `str`.
        Decimal = "decimal",
        /// A URL.
        Url = "url",
    }
}
