//! The types of keys, by their names.

/// An enum whose values have names, as on the command line: a line for each.
macro_rules! named {
    ($(#[$doc:meta])* pub enum $type:ident { $($(#[$of:meta])* $value:ident = $name:literal,)+ }) => {
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
    };
}
pub(crate) use named;

named! {
    /// How a line of text becomes a [`Key`](crate::Key).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum KeyType {
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
