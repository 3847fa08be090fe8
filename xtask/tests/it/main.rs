//! Rules of the repository that no compiler checks. Each test lists everything that breaks its rule.

mod conformance;
mod files;
mod kubernetes;
mod manifests;
mod monitoring;
mod sources;
mod style;
mod words;
mod workflows;
mod yaml;
