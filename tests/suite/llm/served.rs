//! The embedder of another ragscope, which is a process of this program on loopback, against the
//! same model here.

use ragscope::config::{Config, EmbedderSettings, ServerSettings};
use ragscope::event::StopFlag;
use ragscope::llm::Embedder;
use ragscope::llm::server::ServerEmbedder;

use super::embedder;
use crate::serve::client::Server;
use crate::support::environment::{QUESTION, TestEnvironment};

#[test]
fn an_embedder_there_is_the_same_model_as_here() {
    let test = TestEnvironment::new();
    let server = Server::start(&test, &[]);
    let token = test.paths().token_file();
    let token = token.display();
    let settings = EmbedderSettings {
        url: format!("http://{}", server.address),
        key: format!("file:{token}"),
        ..Config::default().embedder
    };
    let patience = ServerSettings {
        timeout_seconds: 60,
        ..Config::default().server
    };
    let mut there =
        ServerEmbedder::connect(&settings, &patience, &StopFlag::default()).expect("the embedder");
    let mut here = embedder();
    assert_eq!(there.card().fingerprint, here.card().fingerprint);
    assert_eq!(there.card().name, here.card().name);
    assert_eq!(there.card().device, server.address);
    let texts = [
        "Mara Voss keeps the lighthouse.",
        "The ferry leaves at nine.",
        "",
    ];
    for (theirs, ours) in [
        (there.embed(&texts), here.embed(&texts)),
        (there.embed_queries(&texts), here.embed_queries(&texts)),
    ] {
        let theirs = theirs.expect("there");
        let pairs = theirs.iter().zip(ours.expect("here"));
        for (theirs, ours) in pairs.take(2) {
            assert!(super::dot(theirs, &ours) > 0.9999);
        }
    }

    let url = format!("embedder.url=http://{}", server.address);
    let key = format!("embedder.key=file:{token}");
    let asked = ["ask", "notes", QUESTION, "--json"];
    test.run([&asked[..], &["--set", &url, "--set", &key]].concat())
        .succeeds()
        .prints("vectors of 384 numbers")
        .prints("people.md");
}
