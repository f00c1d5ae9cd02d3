//! Read-only commands: models, paths, config, completions, man.

use std::iter;
use std::path::PathBuf;

use serde::Serialize;

use crate::config::{EmbedderSettings, Layers, Paths, assets_folder, defaults_toml};
use crate::event::{ModelRole, Prefixes, Problem, harmless};
use crate::llm::{FoundModel, ModelSource, discover, prefixes_of, resolve};
use crate::story::words;

use super::args::Arguments;
use super::call::CommandCall;
use super::failure::{Failure, Stopped};
use super::output::{Output, table};

/// A model with the role that the settings give it.
#[derive(Serialize)]
struct ListedModel {
    #[serde(flatten)]
    model: FoundModel,
    /// The role that the settings give it.
    used_as: Option<ModelRole>,
    /// Texts that an embedder gets in front of queries and documents; `None` for other models.
    #[serde(skip_serializing_if = "Option::is_none")]
    prefixes: Option<Prefixes>,
}

impl ListedModel {
    fn new(mut model: FoundModel, used_as: Option<ModelRole>, settings: &EmbedderSettings) -> Self {
        let is_generator = |role| role == Some(ModelRole::Generator);
        if is_generator(used_as) && model.problem.is_none() && !is_generator(model.role) {
            let role = model.role.map_or("unusable", ModelRole::name);
            model.problem = Some(Problem::new(
                format!("the setting generator.model names it, and its role is {role}"),
                "choose a generator with --model",
            ));
        }

        let is_embedder = model.role == Some(ModelRole::Embedder);
        let prefixes =
            is_embedder.then(|| prefixes_of(&[&model.name], &model.architecture, settings));

        Self {
            model,
            used_as,
            prefixes,
        }
    }

    /// Returns the last column: where the model is from, and what its user should know.
    fn remark(&self) -> String {
        let model = &self.model;
        if let Some(problem) = &model.problem {
            return problem.line();
        }

        let source = model.source.name();
        if is_practice(model) {
            return format!("{source}, {}", words::PRACTICE);
        }
        let prefixes = self.prefixes.as_ref().map(words::prefixes);
        source.to_owned() + &prefixes.unwrap_or_default()
    }
}

/// Lists the models on this machine.
pub fn models(layers: &Layers, paths: &Paths, out: &mut Output) -> Result<(), Stopped> {
    let config = layers.config()?;

    let used = [
        (ModelRole::Generator, &config.generator.model),
        (ModelRole::Embedder, &config.embedder.model),
    ];
    let used = used.map(|(role, name)| (role, resolve(name, paths).ok()));
    let used_as = |file: &PathBuf| {
        let mut used = used.iter();
        let found = used.find(|(_, used)| used.as_ref() == Some(file));
        found.map(|(role, _)| *role)
    };

    let listed = discover(paths).into_iter().map(|model| {
        let used_as = used_as(&model.file);
        ListedModel::new(model, used_as, &config.embedder)
    });
    let listed: Vec<ListedModel> = listed.collect();

    if out.json {
        return Ok(out.json_pretty(&serde_json::json!({ "models": listed }))?);
    }

    out.text(&harmless(&model_table(&listed)))?;
    let own = paths.models();
    Ok(out.dim(&harmless(&format!(
        "* in use. Choose another with --model NAME, or the settings generator.model, embedder.model and reranker.model.\nDownload one: `ragscope models recommend` lists some, `ragscope models pull MODEL` fetches it. Or put GGUF files into {}, or name a folder in RAGSCOPE_MODELS.\n",
        own.display()
    )))?)
}

fn is_practice(model: &FoundModel) -> bool {
    model.source == ModelSource::Bundled && model.role == Some(ModelRole::Generator)
}

fn model_table(listed: &[ListedModel]) -> String {
    let rows = listed.iter().map(|listed| {
        let model = &listed.model;
        let mark = if listed.used_as.is_some() { "*" } else { " " };
        [
            format!("{mark} {}", model.role.map_or("unusable", ModelRole::name)),
            model.name.clone(),
            model.architecture.clone(),
            parameters(model.parameters),
            words::bytes(model.bytes),
            listed.remark(),
        ]
    });

    table(&Vec::from_iter(rows))
}

fn parameters(count: u64) -> String {
    match count {
        0 => String::new(),
        1..1_000_000_000 => format!("{:.1} M", count as f64 / 1e6),
        _ => format!("{:.1} B", count as f64 / 1e9),
    }
}

/// Prints every folder and file of the program.
pub fn paths(paths: &Paths, out: &mut Output) -> Result<(), Stopped> {
    let all: [(&str, PathBuf); 17] = [
        ("settings", paths.config_file()),
        ("keymap", paths.keymap_file()),
        ("presets", paths.config.join("presets")),
        ("themes", paths.config.join("themes")),
        ("prompts", paths.config.join("prompts")),
        ("models", paths.models()),
        ("probes", paths.probes()),
        ("indexes", paths.indexes()),
        ("sessions", paths.sessions()),
        ("evaluations", paths.evaluations()),
        ("datasets", paths.datasets()),
        ("saved", paths.saved_files()),
        ("history", paths.history_file()),
        ("typed models", paths.model_history_file()),
        ("token", paths.token_file()),
        ("log", paths.log_file()),
        ("assets", assets_folder()),
    ];

    let rows = all.map(|(name, path)| [name.to_owned(), path.display().to_string()]);
    let fields = rows
        .iter()
        .map(|[name, path]| (name.clone(), path.as_str().into()));
    let object: serde_json::Map<String, serde_json::Value> = fields.collect();
    out.print(&object, || table(&rows))
}

/// Prints every setting: the commented defaults, or the effective values.
pub fn config(effective: bool, call: CommandCall<'_>) -> Result<(), Stopped> {
    if !effective && !call.out.json {
        return Ok(call.out.text(&defaults_toml())?);
    }

    let config = call.layers()?.config()?;
    let text = toml::to_string(&config).map_err(|error| {
        Failure::new(format!("cannot write the settings as TOML ({error})"), "")
    })?;
    call.out.print(&config, || text)
}

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell, out: &mut Output) -> Result<(), Stopped> {
    let mut script = Vec::new();
    let mut declaration = Arguments::declaration();
    clap_complete::generate(shell, &mut declaration, "ragscope", &mut script);
    Ok(out.text(&String::from_utf8_lossy(&script))?)
}

/// Prints the manual page: the program, then each command with its own commands.
pub fn manual(out: &mut Output) -> Result<(), Stopped> {
    let mut declaration = Arguments::declaration().disable_help_subcommand(true);
    // gives each command its full name
    declaration.build();
    let mut pages = Vec::new();
    let commands = visible_commands(&declaration)
        .flat_map(|command| iter::once(command).chain(visible_commands(command)));
    for command in iter::once(&declaration).chain(commands) {
        clap_mangen::Man::new(command.clone()).render(&mut pages)?;
    }
    Ok(out.text(&String::from_utf8_lossy(&pages))?)
}

/// Returns the commands of a command that users call.
fn visible_commands(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    let commands = command.get_subcommands();
    commands.filter(|command| !command.is_hide_set() && command.get_name() != "help")
}
