//! Which language a file is in, by its name.

/// A language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language {
    /// Its name.
    pub name: &'static str,
    /// Whether outlines are made of its files (`outline/`).
    pub outlined: bool,
}

/// Languages by the endings of files.
const BY_ENDING: [(&str, &[&str], bool); 24] = [
    ("C", &["c", "h"], true),
    ("C++", &["cc", "cpp", "cxx", "hh", "hpp", "hxx"], true),
    ("C#", &["cs"], false),
    ("CSS", &["css", "scss", "less"], false),
    ("Elixir", &["ex", "exs"], false),
    ("Go", &["go"], true),
    ("HTML", &["html", "htm"], false),
    ("Haskell", &["hs"], false),
    ("JSON", &["json"], false),
    ("Java", &["java"], true),
    ("JavaScript", &["js", "jsx", "mjs", "cjs"], true),
    ("Kotlin", &["kt", "kts"], false),
    ("Markdown", &["md"], false),
    ("PHP", &["php"], false),
    ("Python", &["py", "pyi"], true),
    ("Ruby", &["rb"], false),
    ("Rust", &["rs"], true),
    ("SQL", &["sql"], false),
    ("Scala", &["scala"], false),
    ("Shell", &["sh", "bash", "zsh"], false),
    ("Swift", &["swift"], false),
    ("TOML", &["toml"], false),
    ("TypeScript", &["ts", "tsx", "mts", "cts"], true),
    ("YAML", &["yaml", "yml"], false),
];

/// The names of all languages that are known.
pub fn known_languages() -> impl Iterator<Item = &'static str> {
    BY_ENDING.iter().map(|(name, ..)| *name)
}

/// The language of a file with this path; `None` where its name does not say.
#[must_use]
pub fn language(path: &str) -> Option<Language> {
    let name = path.rsplit('/').next()?;
    let (stem, ending) = name.rsplit_once('.')?;
    let (name, _, outlined) = BY_ENDING.iter().find(|(_, endings, _)| endings.contains(&ending))?;
    (!stem.is_empty()).then_some(Language { name, outlined: *outlined })
}
