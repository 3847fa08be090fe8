//! The helper alone, for tests: the executables that make outlines become it themselves.

fn main() {
    holdpoint_outline::maybe_run();
}
