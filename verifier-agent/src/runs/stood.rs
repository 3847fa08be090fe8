//! The folders of a run: made before it, and what it changed in them read after it.

use std::{collections::BTreeSet, fs};

use holdpoint_evidence::{environment::TreeChanges, paths::is_compiled_module};
use holdpoint_harness::environment::{TreeMechanism, copy_below, touched};
use holdpoint_protocol::facts::Oid;
use holdpoint_runtime::{
    blocking::blocking,
    mirror::{from_wire, wire_path},
};

use super::Runs;
use crate::{
    error::VerifyError,
    folder::make_dir,
    place::{Place, Stand},
};

/// Since when changes of a copy are the program's: a time of change.
pub(super) type Stood = i128;

impl Runs<'_> {
    /// Has the build output of a tree begin with what the setup compiled, where that does not show through it.
    pub(super) async fn begin_build(&self, place: &Place) -> Result<(), VerifyError> {
        let Some(layer) = place.layer.clone().filter(|_| self.mechanism == TreeMechanism::Copy) else { return Ok(()) };
        let build = place.build.clone();
        let copied = blocking(move || copy_below(&layer.build(), &build));
        copied.await.map_err(VerifyError::io("copy what was compiled to", &place.build))
    }

    /// Whether Python could load modules from a tree with its environment that are not what their sources say.
    pub(super) async fn has_compiled_modules(&self, tree: &Oid, place: &Place) -> Result<bool, VerifyError> {
        let entries = self.mirror.list_tree(&from_wire(tree)).await?;
        let paths: Vec<String> = entries.iter().map(|entry| wire_path(&entry.path)).collect();
        let tracked = paths.iter().map(String::as_str).collect();
        let places = place.layer.as_ref().map(|layer| layer.places(&tracked)).transpose();
        let places = places.map_err(VerifyError::io("look through the environment of", &place.tree))?;
        Ok(paths.iter().chain(places.iter().flatten()).any(|path| is_compiled_module(path)))
    }

    /// Makes the folders of a run.
    pub(super) async fn stand(&self, stand: &Stand, place: &Place, tree: &Oid) -> Result<Stood, VerifyError> {
        for folder in [&stand.real.home, &stand.real.tmp].into_iter().chain(&stand.work) {
            make_dir(folder)?;
        }
        if stand.looks {
            return Ok(0);
        }
        if self.mechanism == TreeMechanism::Overlay {
            make_dir(&stand.real.dir)?;
            return Ok(0);
        }
        self.checkout(tree, &stand.real.dir).await?;
        let (layer, here) = (place.layer.clone(), place.here.clone());
        let (real, mark) = (stand.real.clone(), stand.real.tmp.join(".stood"));
        let copied = blocking(move || {
            if let Some(layer) = layer {
                copy_below(&layer.work(), &real.dir)?;
                copy_below(&layer.home(), &real.home)?;
            }
            here.map_or(Ok(()), |here| here.link(&real.dir, &real.home))?;
            fs::write(&mark, "")?;
            std::io::Result::Ok(touched::changed_at(&mark.metadata()?))
        });
        copied.await.map_err(VerifyError::io("copy the environment to", &stand.real.dir))
    }

    /// What a run changed in its tree.
    pub(super) async fn changed(
        &self,
        stand: &Stand,
        stood: Stood,
        place: &Place,
        tree: &Oid,
    ) -> Result<TreeChanges, VerifyError> {
        if stand.looks {
            return Ok(TreeChanges::default());
        }
        let entries = self.mirror.list_tree(&from_wire(tree)).await?;
        let tracked: BTreeSet<&str> = entries.iter().filter_map(|entry| entry.path.as_str()).collect();
        let dir = &stand.real.dir;
        let layer = place.layer.as_ref();
        let places = layer.map(|layer| layer.places(&tracked)).transpose();
        let places = places.map_err(VerifyError::io("look through the environment of", dir))?.unwrap_or_default();
        let touched = match self.mechanism {
            TreeMechanism::Overlay => touched::over(dir),
            TreeMechanism::Copy => {
                let there = tracked.iter().copied().chain(places.iter().map(String::as_str)).collect();
                touched::since(dir, stood, &there)
            }
        };
        let touched = touched.map_err(VerifyError::io("look through", dir))?;
        if touched.is_empty() {
            return Ok(TreeChanges::default());
        }
        let in_place =
            |path: &str| places.iter().any(|place| path.strip_prefix(place).is_some_and(|rest| rest.starts_with('/')));
        let unknown = |path: &&str| !tracked.contains(*path) && !in_place(path);
        let new: Vec<String> =
            touched.iter().map(|touched| touched.path.as_str()).filter(unknown).map(str::to_owned).collect();
        let ignored = self.mirror.ignored_by(&from_wire(self.base_tree), &new).await?;
        let is_dependency = |path: &str| layer.is_some_and(|layer| layer.work().join(path).symlink_metadata().is_ok());
        Ok(TreeChanges::of(&touched, &tracked, is_dependency, |path| in_place(path) || ignored.contains(path)))
    }
}
