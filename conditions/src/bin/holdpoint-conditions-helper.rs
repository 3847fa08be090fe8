//! The helper by itself, for this crate's tests: they run in an executable that is not its own helper.

fn main() {
    holdpoint_conditions::maybe_run();
}
