//! A corpus in Qdrant: a small server of the test's own that follows the published description of the
//! REST interface, since the real one comes from no package registry.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use ragscope::config::{Config, IndexEngine, IndexSettings};
use ragscope::event::{Advice as _, Flow};
use ragscope::index::{Search as _, Update};
use serde_json::{Value, json};

use super::common::{self, Machine, documents, reader};
use crate::index::common as local;
use crate::program::Program;

const SECRET: &str = "s3cret-qdrant";

/// Collections, aliases, and what the server was asked.
#[derive(Default)]
struct State {
    collections: BTreeMap<String, Collection>,
    aliases: BTreeMap<String, String>,
    /// Requests that it answers before it is gone.
    patience: Option<usize>,
}

#[derive(Default)]
struct Collection {
    config: Value,
    points: BTreeMap<u64, Value>,
}

struct Server {
    address: String,
    state: Arc<Mutex<State>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Self { address, state }
    }

    /// Returns the settings of a collection on it; the key is in a file of `home`.
    fn settings(&self, home: &tempfile::TempDir) -> IndexSettings {
        let file = home.path().join("key");
        std::fs::write(&file, SECRET).expect("written");
        let mut settings = Config::default().index;
        settings.engine = IndexEngine::Qdrant;
        settings.url.clone_from(&self.address);
        settings.key = format!("file:{}", file.display());
        settings
    }

    fn be_gone_after(&self, requests: Option<usize>) {
        self.state.lock().expect("the state").patience = requests;
    }

    /// Returns the payloads of all points of a kind in the collection that the alias names.
    fn payloads(&self, kind: &str) -> Vec<Value> {
        let state = self.state.lock().expect("the state");
        let collection = &state.collections[&state.aliases["ragscope"]];
        let payloads = collection.points.values().map(|point| &point["payload"]);
        payloads
            .filter(|payload| payload["kind"] == kind)
            .cloned()
            .collect()
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream.try_clone().expect("a copy"));
    let mut stream = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let mut words = line.split(' ');
        let method = words.next().unwrap_or_default().to_owned();
        let path = words.next().unwrap_or_default().to_owned();
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a header");
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length");
        let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a length"))];
        reader.read_exact(&mut body).expect("a body");
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();

        let mut state = state.lock().expect("the state");
        match &mut state.patience {
            Some(0) => return,
            Some(left) => *left -= 1,
            None => {}
        }
        let (status, answer) = if headers.get("api-key").is_some_and(|key| key == SECRET) {
            answer(&mut state, &method, &path, &body)
        } else {
            (401, json!("Must provide an API key"))
        };
        let text = answer.to_string();
        let sent = write!(
            stream,
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        );
        if sent.is_err() {
            return;
        }
    }
}

fn answer(state: &mut State, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let ok = |result: Value| (200, json!({"result": result, "status": "ok", "time": 0.0}));
    let missing = || (404, json!({"status": {"error": "Not found"}}));
    let path = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match (method, parts.as_slice()) {
        ("GET", [""]) => return (200, json!({"title": "qdrant", "version": "1.15.0"})),
        ("GET", ["aliases"]) => {
            let aliases = state.aliases.iter();
            let listed: Vec<Value> = aliases
                .map(|(alias, name)| json!({"alias_name": alias, "collection_name": name}))
                .collect();
            return ok(json!({"aliases": listed}));
        }
        ("POST", ["collections", "aliases"]) => {
            for action in body["actions"].as_array().expect("actions") {
                if let Some(create) = action.get("create_alias") {
                    let alias = create["alias_name"].as_str().expect("a name").to_owned();
                    let name = create["collection_name"].as_str().expect("a name");
                    assert!(state.collections.contains_key(name));
                    state.aliases.insert(alias, name.to_owned());
                } else {
                    let alias = action["delete_alias"]["alias_name"].as_str();
                    state.aliases.remove(alias.expect("a name"));
                }
            }
            return ok(json!(true));
        }
        ("PUT", ["collections", name]) => {
            let collection = Collection {
                config: body.clone(),
                ..Collection::default()
            };
            let before = state.collections.insert((*name).to_owned(), collection);
            assert!(before.is_none(), "{name} exists");
            return ok(json!(true));
        }
        ("DELETE", ["collections", name]) => {
            state.collections.remove(*name);
            return ok(json!(true));
        }
        _ => {}
    }

    let name = state.aliases.get(parts[1]).cloned();
    let name = name.unwrap_or_else(|| parts[1].to_owned());
    let Some(collection) = state.collections.get_mut(&name) else {
        return missing();
    };
    let result = match (method, &parts[2..]) {
        ("GET", []) => json!({"status": "green", "config": {"params": collection.config}}),
        ("PUT", ["index"]) => json!({"status": "completed"}),
        ("PUT", ["points"]) => {
            for point in body["points"].as_array().expect("points") {
                if let Some(error) = wrong(collection, point) {
                    return (400, json!({"status": {"error": error}}));
                }
                let id = point["id"].as_u64().expect("an id");
                collection.points.insert(id, point.clone());
            }
            json!({"status": "completed"})
        }
        ("POST", ["points"]) => {
            let ids = body["ids"].as_array().expect("ids");
            let points = ids
                .iter()
                .filter_map(|id| collection.points.get(&id.as_u64()?));
            json!(points.map(|point| shown(point, body)).collect::<Vec<_>>())
        }
        ("POST", ["points", "scroll"]) => {
            let first = body["offset"].as_u64().unwrap_or(0);
            let limit = body["limit"].as_u64().expect("a limit").min(7) as usize;
            let mut found = collection
                .points
                .range(first..)
                .filter(|(_, point)| lets_through(&body["filter"], point));
            let page: Vec<Value> = found
                .by_ref()
                .take(limit)
                .map(|(_, point)| shown(point, body))
                .collect();
            let next = found.next().map(|(id, _)| *id);
            json!({"points": page, "next_page_offset": next})
        }
        ("POST", ["points", "query"]) => json!({"points": best(collection, body)}),
        ("POST", ["points", "delete"]) => {
            let filter = &body["filter"];
            collection
                .points
                .retain(|_, point| !lets_through(filter, point));
            json!({"status": "completed"})
        }
        ("POST", ["points", "payload"]) => {
            for point in collection.points.values_mut() {
                if lets_through(&body["filter"], point) {
                    for (key, value) in body["payload"].as_object().expect("a payload") {
                        point["payload"][key] = value.clone();
                    }
                }
            }
            json!({"status": "completed"})
        }
        ("POST", ["points", "payload", "delete"]) => {
            for point in collection.points.values_mut() {
                if lets_through(&body["filter"], point) {
                    let payload = point["payload"].as_object_mut().expect("a payload");
                    for key in body["keys"].as_array().expect("keys") {
                        payload.remove(key.as_str().expect("a key"));
                    }
                }
            }
            json!({"status": "completed"})
        }
        _ => return missing(),
    };
    ok(result)
}

/// Returns the error of a vector that the collection does not take.
fn wrong(collection: &Collection, point: &Value) -> Option<String> {
    for (name, vector) in point["vector"].as_object()? {
        if name == "w" {
            continue;
        }
        let size = collection.config["vectors"][name]["size"].as_u64();
        let Some(size) = size else {
            return Some(format!("Not existing vector name: {name}"));
        };
        let got = vector.as_array().map_or(0, Vec::len) as u64;
        if got != size {
            return Some(format!("expected dim: {size}, got {got}"));
        }
    }
    None
}

fn shown(point: &Value, body: &Value) -> Value {
    let mut shown = json!({"id": point["id"]});
    if body["with_payload"] == true {
        shown["payload"] = point["payload"].clone();
    }
    if body["with_vector"] == true {
        shown["vector"] = point["vector"].clone();
    }
    shown
}

/// Returns whether a filter lets a point through: `must`, `must_not` and `should`, with `match` and
/// `range`. A range of a key that a point lacks does not match.
fn lets_through(filter: &Value, point: &Value) -> bool {
    let list = |name: &str| filter[name].as_array().cloned().unwrap_or_default();
    let is_condition = |condition: &Value| is_so(condition, point);
    let should = list("should");
    list("must").iter().all(is_condition)
        && !list("must_not").iter().any(is_condition)
        && (should.is_empty() || should.iter().any(is_condition))
}

fn is_so(condition: &Value, point: &Value) -> bool {
    let Some(key) = condition["key"].as_str() else {
        return lets_through(condition, point);
    };
    let value = &point["payload"][key];
    if let Some(range) = condition["range"].as_object() {
        let Some(number) = value.as_f64() else {
            return false;
        };
        return range.iter().all(|(kind, bound)| {
            let bound = bound.as_f64().expect("a number");
            match kind.as_str() {
                "lte" => number <= bound,
                "gt" => number > bound,
                other => panic!("{other}"),
            }
        });
    }
    match condition["match"]["any"].as_array() {
        Some(any) => any.contains(value),
        None => !value.is_null() && *value == condition["match"]["value"],
    }
}

fn best(collection: &Collection, body: &Value) -> Vec<Value> {
    let using = body["using"].as_str().expect("a vector's name");
    let numbers = |value: &Value| -> Vec<f64> {
        let numbers = value.as_array().into_iter().flatten();
        numbers
            .map(|number| number.as_f64().expect("a number"))
            .collect()
    };
    let sparse = |value: &Value| -> HashMap<u64, f64> {
        let indices = value["indices"].as_array().into_iter().flatten();
        let indices = indices.map(|index| index.as_u64().expect("an index"));
        indices.zip(numbers(&value["values"])).collect()
    };

    let all = || {
        collection
            .points
            .values()
            .filter(|point| !point["vector"][using].is_null())
    };
    let mut weights: HashMap<u64, f64> = sparse(&body["query"]);
    if using == "w" {
        assert_eq!(collection.config["sparse_vectors"]["w"]["modifier"], "idf");
        let count = all().count() as f64;
        for (index, weight) in &mut weights {
            let with = all().filter(|point| sparse(&point["vector"]["w"]).contains_key(index));
            let with = with.count() as f64;
            *weight *= ((count - with + 0.5) / (with + 0.5) + 1.0).ln();
        }
    }
    let query = numbers(&body["query"]);
    let score = |point: &Value| -> f64 {
        let vector = &point["vector"][using];
        if using == "w" {
            let own = sparse(vector);
            return weights
                .iter()
                .map(|(index, weight)| weight * own.get(index).unwrap_or(&0.0))
                .sum();
        }
        numbers(vector).iter().zip(&query).map(|(a, b)| a * b).sum()
    };
    let mut found: Vec<(f64, &Value)> = all()
        .filter(|point| lets_through(&body["filter"], point))
        .map(|point| (score(point), &point["id"]))
        .filter(|(score, _)| using != "w" || *score > 0.0)
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.truncate(body["limit"].as_u64().expect("a limit") as usize);
    let scored = found.into_iter();
    scored
        .map(|(score, id)| json!({"id": id, "version": 1, "score": score}))
        .collect()
}

#[test]
fn qdrant_several_machines_are_one_corpus() {
    let server = Server::start();
    let home = tempfile::tempdir().expect("a folder");
    let settings = server.settings(&home);
    common::several_machines_are_one_corpus(&settings);

    // deletes are complete
    let chunks = server.payloads("chunk");
    assert_eq!(chunks.len() as u64, reader(&settings).card().chunks);
    assert!(chunks.iter().all(|chunk| chunk.get("to").is_none()));
    let bodies: String = chunks
        .iter()
        .map(|chunk| chunk["body"].to_string())
        .collect();
    assert!(!bodies.contains("harbour") && bodies.contains("lantern"));
}

#[test]
fn qdrant_failures_say_what_to_do() {
    let server = Server::start();
    let home = tempfile::tempdir().expect("a folder");
    let wanted = server.settings(&home);
    let garden: &[(&str, &str)] = &[("a.md", "Ann grows apples.")];
    let check = |machine: &Machine, embedder: &str, error: &str, advice: &str| {
        let problem = machine.index_by(embedder).err().expect(error);
        assert!(problem.error.contains(error), "{problem:?}");
        let given = problem.advice.clone().unwrap_or_default();
        assert!(given.contains(advice), "{problem:?}");
        assert!(!format!("{problem:?}").contains(SECRET));
    };
    let with = |change: &dyn Fn(&mut IndexSettings)| {
        let mut settings = wanted.clone();
        change(&mut settings);
        Machine::new(&settings, garden)
    };

    let down = with(&|settings| settings.url = "http://127.0.0.1:1".to_owned());
    check(
        &down,
        "one",
        "127.0.0.1:1 cannot be reached",
        "index.engine=local",
    );
    let denied = with(&|settings| settings.key = String::new());
    check(&denied, "one", "HTTP 401", "index.key");
    let open = with(&|settings| settings.url = "http://me:pw@127.0.0.1:1".to_owned());
    check(&open, "one", "no address of a Qdrant server", "index.key");
    let shown = with(&|settings| settings.key = SECRET.to_owned());
    check(&shown, "one", "a key stands in the settings", "env:NAME");

    // one part may change its embedder, two may not
    let first = Machine::new(&wanted, garden).named("first");
    first.index();
    first.index_by("two").expect("another embedder");
    assert_eq!(server.state.lock().expect("the state").collections.len(), 1);
    let second = Machine::new(&wanted, garden).named("second");
    check(&second, "one", "by another embedder", "index.collection");
    let taken = Machine::new(&wanted, garden);
    taken.index_by("two").expect("a third part");
    check(
        &Machine::new(&wanted, garden),
        "two",
        "belongs to",
        "index.part",
    );

    {
        let mut state = server.state.lock().expect("the state");
        for collection in state.collections.values_mut() {
            collection.points.get_mut(&(1 << 62)).expect("the head")["payload"]["format"] =
                json!(7);
        }
    }
    check(
        &first,
        "two",
        "has format 7 and this program reads 1",
        "index.collection",
    );
}

#[test]
fn qdrant_a_connection_that_ends_at_any_request_loses_and_doubles_nothing() {
    let server = Server::start();
    let home = tempfile::tempdir().expect("a folder");
    let settings = server.settings(&home);
    let machine = Machine::new(&settings, &[("old.md", "Ann grows apples.")]).named("kills");
    let mut config = machine.config();
    config.chunker.max_tokens = 32;
    config.chunker.overlap_tokens = 0;
    let update = || {
        let mut collection = machine.try_open()?;
        let mut embedder = local::WordEmbedder::new("one");
        let counter = local::counter();
        collection.update(&config, &mut embedder, &counter, &mut |_| Flow::Continue)
    };
    update().expect("indexed");

    let mut refused = 0;
    for requests in 0..60 {
        // fewer chunks in each round: what is left of one must not show in the next
        for document in 0..4 {
            let lines = 90 - requests;
            let text: String = (0..lines)
                .map(|line| format!("Round {requests} of {document} has line {line}. "))
                .collect();
            machine.corpus.write(&format!("{document}.txt"), &text);
        }
        server.be_gone_after(Some(requests));
        let ended = update();
        server.be_gone_after(None);
        match ended {
            Ok(Update::Finished(_)) => break,
            Ok(Update::Interrupted) => panic!("nobody stopped it"),
            Err(error) => {
                refused += 1;
                let problem = error.to_problem();
                assert!(problem.error.contains("cannot be reached"), "{problem:?}");
            }
        }
        assert_eq!(
            documents(&reader(&settings), "Who grows apples?")[0],
            "old.md"
        );
    }
    assert!(refused > 12, "only {refused} updates were cut");

    update().expect("complete");
    let collection = reader(&settings);
    assert_eq!(collection.card().documents, 5);
    assert_eq!(
        server.payloads("chunk").len() as u64,
        collection.card().chunks
    );
    assert_eq!(server.payloads("document").len(), 5);
    let listed = collection.documents().expect("read");
    let chunks = listed
        .iter()
        .map(|path| collection.document(path).expect("read").len());
    assert_eq!(chunks.sum::<usize>() as u64, collection.card().chunks);
}

/// The program itself: two homes share a corpus, one of them without its folder.
#[test]
fn qdrant_is_searched_by_the_program_and_shown_by_doctor() {
    let server = Server::start();
    let home = tempfile::tempdir().expect("a folder");
    let settings = server.settings(&home);
    let engine = "index.engine=qdrant".to_owned();
    let url = format!("index.url={}", settings.url);
    let key = format!("index.key={}", settings.key);
    let set = ["--set", &engine, "--set", &url, "--set", &key];
    let with = |arguments: &[&str]| -> Vec<String> {
        let all = arguments.iter().chain(&set);
        all.map(|argument| (*argument).to_owned()).collect()
    };
    let run = |program: &Program, arguments: &[&str]| {
        let arguments = with(arguments);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        program.run(&arguments)
    };

    let writer = Program::new();
    let ended = run(&writer, &["index", "notes"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let ended = run(&writer, &["doctor"]);
    let line = "index engine     Qdrant 1.15.0 at ";
    assert!(ended.stdout.contains(line), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("1 part, 1 document, 1 chunk"),
        "{}",
        ended.stdout
    );

    let elsewhere = Program::new();
    let address = settings.url.as_str();
    let found = elsewhere.run(&["search", address, "Tam Reeve", "--set", &key]);
    assert_eq!(found.code, Some(0), "{}", found.stderr);
    assert!(found.stdout.contains("people.md"), "{}", found.stdout);

    let down = [
        "doctor",
        "--set",
        &engine,
        "--set",
        "index.url=http://127.0.0.1:1",
    ];
    let ended = elsewhere.run(&down);
    assert_eq!(ended.code, Some(1));
    let line = "the index at 127.0.0.1:1 cannot be reached";
    assert!(ended.stdout.contains(line), "{}", ended.stdout);
    let ended = elsewhere.run(&["search", "http://127.0.0.1:1", "Tam Reeve", "--json"]);
    let (error, advice) = ended.failure();
    assert!(error.starts_with(line), "{error}");
    assert!(advice.contains("index.engine=local"), "{advice}");
}
