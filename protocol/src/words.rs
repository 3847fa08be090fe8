//! Enums whose variants are words on the wire: each word stands once.

/// Declares such an enum, with all its words in the contract's order.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$of_variant:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub enum $name {
            $($(#[$of_variant])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// All of them, in the contract's order.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$variant),*];

            /// The word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use words;
