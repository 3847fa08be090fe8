//! Nothing is here: the flights through real processes are in `tests/it/`, one binary for all of them.
