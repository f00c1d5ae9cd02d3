//! The models of this machine and those to download, as front ends list them.

use std::path::Path;

use crate::config::Paths;
use crate::event::{LocalModel, ModelList, OfferedModel, Problem};
use crate::llm::memory::machine_memory;
use crate::llm::{FoundModel, Runtime, discover, resolve};
use crate::pull::ModelTable;

/// Returns the models of this machine, and those to download that are not here.
pub fn model_list(paths: &Paths) -> Result<ModelList, Problem> {
    let memory = machine_memory(&Runtime::start(&paths.log_file())?);
    let local: Vec<LocalModel> = discover(paths)
        .into_iter()
        .map(|found| local_model(found, paths))
        .collect();

    let table = ModelTable::new()?;
    let mut offered = table.offers(&memory);
    offered.retain(|offer| !is_here(offer, &local));
    Ok(ModelList {
        local,
        offered,
        made: table.made,
        memory,
    })
}

fn local_model(found: FoundModel, paths: &Paths) -> LocalModel {
    let is_named = resolve(&found.name, paths).is_ok_and(|file| file == found.file);
    let file = found.file.display().to_string();

    LocalModel {
        setting: if is_named {
            found.name.clone()
        } else {
            file.clone()
        },
        name: found.name,
        file,
        source: found.source.name().to_owned(),
        role: found.role,
        bytes: found.bytes,
        architecture: found.architecture,
        need: found.need,
        problem: found.problem,
    }
}

/// Returns whether the cache holds a usable file of the repository that is offered.
fn is_here(offer: &OfferedModel, local: &[LocalModel]) -> bool {
    let repository = offer.reference.split(':').next().unwrap_or_default();
    let folder = format!("models--{}", repository.replace('/', "--"));
    let mut usable = local.iter().filter(|model| model.problem.is_none());
    usable.any(|model| {
        Path::new(&model.file)
            .iter()
            .any(|part| part == folder.as_str())
    })
}
