//! The Docker engine, by its command line.

use std::path::Path;
use std::process::Command;

use crate::layout::Layout;
use crate::process;

use super::upstream::Names;

/// An engine that answers.
pub(crate) struct Engine {
    root: std::path::PathBuf,
}

impl Engine {
    /// The engine of this machine; `None` if there is none.
    pub(crate) fn find(layout: &Layout) -> anyhow::Result<Option<Self>> {
        let engine = Self { root: layout.root.clone() };
        let answers = process::succeeds(&mut engine.docker(&["version", "--format", "{{.Server.Version}}"]));
        Ok(answers.then_some(engine))
    }

    /// Whether an image of this name is there, or can be pulled.
    pub(super) fn has_or_pulls(&self, image: &str) -> bool {
        let there = process::succeeds(&mut self.docker(&["image", "inspect", image]));
        there || process::succeeds(&mut self.docker(&["pull", "--quiet", image]))
    }

    /// Makes an image of a root file system in a tar file.
    pub(super) fn import(&self, archive: &Path, image: &str) -> anyhow::Result<()> {
        let archive = archive.to_string_lossy();
        let message = format!("{image}, made by debootstrap");
        let arguments = ["import", "--change", "CMD [\"bash\"]", "--message", &message, &archive, image];
        process::output(&mut self.docker(&arguments), "").map(drop)
    }

    /// Builds one target of our Dockerfile, and removes the image that it replaces.
    pub(super) fn build(&self, context: &Path, target: &str, image: &str, names: &Names) -> anyhow::Result<()> {
        let file = context.join("deploy/Dockerfile");
        let arguments = [
            // Nothing is compiled in the image, so its first stage needs no compiler.
            format!("COMPILER_IMAGE={}", names.base),
            format!("BASE_IMAGE={}", names.base),
            format!("NATS_IMAGE={}", names.nats),
        ];
        let mut command = self.docker(&["build", "--quiet", "--target", target, "--tag", image]);
        command.arg("--file").arg(file);
        for argument in &arguments {
            command.args(["--build-arg", argument]);
        }
        let before = self.id_of(image);
        process::output(command.arg(context), "")?;
        if let Some(before) = before.filter(|before| self.id_of(image).as_ref() != Some(before)) {
            // Not while a container still runs it.
            process::succeeds(&mut self.docker(&["image", "rm", &before]));
        }
        Ok(())
    }

    fn id_of(&self, image: &str) -> Option<String> {
        process::output(&mut self.docker(&["image", "inspect", "--format", "{{.Id}}", image]), "").ok()
    }

    /// Builds an image from a folder with a Dockerfile of its own.
    pub(super) fn build_folder(&self, folder: &Path, image: &str) -> anyhow::Result<()> {
        let mut command = self.docker(&["build", "--quiet", "--tag", image]);
        process::output(command.arg(folder), "").map(drop)
    }

    fn docker(&self, arguments: &[&str]) -> Command {
        process::command("docker", arguments, &self.root)
    }
}
