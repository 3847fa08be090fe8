pub(crate) mod samples;
