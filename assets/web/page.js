// The page of `ragscope serve`: folds the records of a run, as the screen does, and draws its five panes.

const $ = (id) => document.getElementById(id);

/** Makes an element. Text is never read as markup: documents are data. */
function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value);
  }
  for (const child of children.flat(3)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

// ---- the server ---------------------------------------------------------------------------------------------------

const TOKEN = "ragscope-token";

function takeToken() {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const token = parameters.get("token");
  if (!token) return;
  localStorage.setItem(TOKEN, token);
  // out of sight, and of what is copied
  const run = parameters.get("run");
  history.replaceState(null, "", run ? `#run=${encodeURIComponent(run)}` : location.pathname);
}

async function request(path, options = {}) {
  const headers = { ...options.headers };
  const token = localStorage.getItem(TOKEN);
  if (token) headers.authorization = `Bearer ${token}`;
  const response = await fetch(path, { ...options, headers });
  if (response.status === 401) await askForToken();
  if (!response.ok) {
    const body = await response.json().catch(() => null);
    throw new Error(body?.error?.message ?? `the server answers ${response.status}`);
  }
  return response;
}

async function askForToken() {
  const dialog = $("token-dialog");
  if (dialog.open) return;
  dialog.showModal();
  dialog.addEventListener("close", () => {
    localStorage.setItem(TOKEN, $("token").value.trim());
    start();
  }, { once: true });
}

/** Calls `take` with the data of each event of a reply. */
async function events(response, take) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const blocks = text.split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n").filter((line) => line.startsWith("data: "));
      const data = lines.map((line) => line.slice(6)).join("\n");
      if (data && data !== "[DONE]") take(JSON.parse(data));
    }
  }
}

// ---- the fold: what the records of a run say --------------------------------------------------------------------------

const newRun = () => ({
  question: "", preset: "", settings: {}, models: [], corpus: null, steps: new Map(), lookups: [], rounds: [], hits: new Map(),
  numbers: new Map(), documents: new Map(), warnings: [], utilities: [], calls: 0, gate: null, followUp: null, rewritten: null,
  refined: null, outcome: null, answer: "", text: "", citations: [], usage: null, activity: "",
});

const newStep = (number) => ({ number, tokens: [], text: null, thoughts: "", old: [], uncertainty: null, citations: [], attended: [] });

function step(run, number) {
  if (!run.steps.has(number)) run.steps.set(number, newStep(number));
  return run.steps.get(number);
}

function lookup(run, number) {
  const known = run.lookups.findLast((known) => known.step === number);
  if (known) return known;
  return newLookup(run, number);
}

function newLookup(run, number) {
  const made = { step: number, query: "", writer: "", retrieval: null, stages: [], grades: new Map(), judged: new Map(), reranked: new Map(), dropped: new Map(), context: null, texts: [], hits: new Map() };
  run.lookups.push(made);
  return made;
}

function round(run, number, ofStep) {
  let known = run.rounds.find((known) => known.round === number && known.step === ofStep);
  if (!known) {
    known = { step: ofStep, round: number, measured: null, skipped: null, classes: [], evaluated: null, change: null };
    run.rounds.push(known);
  }
  return known;
}

/** Keeps the hits of a lookup, whose scores are for its query, and for the run the last of each chunk. */
function keepHits(run, known, hits) {
  for (const hit of hits) {
    known.hits.set(hit.chunk.id, hit);
    run.hits.set(hit.chunk.id, hit);
  }
}

const fold = {
  run_started(run, e) {
    Object.assign(run, { question: e.question, preset: e.preset, settings: e.settings, models: e.models, corpus: e.corpus });
    e.confirmed?.forEach((text, at) => Object.assign(step(run, at + 1), { text, given: true }));
  },
  warned: (run, e) => run.warnings.push(e),
  gate_chosen: (run, e) => { run.gate = e.gate; },
  follow_up_rewritten: (run, e) => { run.followUp = e; },
  question_rewritten: (run, e) => { run.rewritten = e; },
  query_written(run, e) {
    const last = run.lookups.findLast((known) => known.step === e.step);
    const made = !last || last.retrieval ? newLookup(run, e.step) : last;
    Object.assign(made, { query: e.query, writer: e.writer });
  },
  retrieval_finished(run, e) {
    const last = run.lookups.findLast((known) => known.step === e.step);
    const made = !last || last.retrieval ? newLookup(run, e.step) : last;
    made.retrieval = e.retrieval;
    made.query ||= e.retrieval.query;
    made.texts = e.retrieval.hits.map((hit) => hit.chunk.id);
    keepHits(run, made, e.retrieval.hits);
  },
  links_read: (run, e) => run.documents.set(e.links.document, e.links),
  chunks_linked(run, e) {
    const known = lookup(run, e.step);
    keepHits(run, known, e.linked.map((linked) => linked.hit));
    known.texts = e.linked.map((linked) => linked.hit.chunk.id);
  },
  chunks_graded(run, e) {
    const known = lookup(run, e.step);
    known.threshold = e.threshold;
    for (const graded of e.graded) known.grades.set(graded.chunk, graded);
  },
  chunks_judged(run, e) {
    for (const judged of e.judged) lookup(run, e.step).judged.set(judged.chunk, judged.probability);
  },
  stage_finished(run, e) {
    const known = lookup(run, e.step);
    known.stages.push({ stage: e.stage, kept: e.kept.length });
    for (const dropped of e.dropped) known.dropped.set(dropped.chunk, dropped.reason);
  },
  chunks_merged(run, e) {
    const known = lookup(run, e.step);
    keepHits(run, known, e.merged);
    known.texts = [...new Set([...e.merged.map((hit) => hit.chunk.id), ...known.texts])];
  },
  chunks_reranked(run, e) {
    for (const ranked of e.ranked) lookup(run, e.step).reranked.set(ranked.chunk, ranked.score);
  },
  context_built(run, e) {
    const known = lookup(run, e.step);
    known.context = e.context;
    for (const chunk of e.context.chunks) run.numbers.set(chunk.label, chunk.chunk);
    for (const dropped of e.context.dropped) known.dropped.set(dropped.chunk, dropped.reason);
  },
  documents_rechunked: (run, e) => { run.rechunked = e.documents; },
  understanding_measured: (run, e) => { round(run, e.round, e.step).measured = e.understanding; },
  understanding_skipped: (run, e) => { round(run, e.round, e.step).skipped = e.reason; },
  context_evaluated: (run, e) => { round(run, e.round, e.step).evaluated = e; },
  chunks_classified: (run, e) => { round(run, e.round, e.step).classes = e.chunks; },
  context_refined: (run, e) => { round(run, e.round, e.step).change = e; },
  refinement_finished: (run, e) => { run.refined = e; },
  model_called(run, e) {
    run.calls += 1;
    run.activity = e.purpose;
  },
  model_call_finished: (run) => { run.activity = ""; },
  step_started(run, e) {
    const known = step(run, e.step);
    if (known.tokens.length) {
      known.old.push({ text: known.text ?? "", tokens: known.tokens, uncertainty: known.uncertainty });
      Object.assign(known, { tokens: [], text: null, uncertainty: null, citations: [], attended: [] });
    }
  },
  thought_generated: (run, e) => { step(run, e.step).thoughts += e.text; },
  token_generated: (run, e) => { step(run, e.step).tokens.push(e); },
  step_finished: (run, e) => Object.assign(step(run, e.step), { text: e.text, uncertainty: e.uncertainty, citations: e.citations }),
  step_attributed(run, e) {
    step(run, e.step).attended = e.chunks.toSorted((a, b) => b.share - a.share);
  },
  utility_measured: (run, e) => run.utilities.push(e),
  run_finished(run, e) {
    Object.assign(run, { outcome: e.outcome, answer: e.answer, text: e.text, citations: e.citations, usage: e.usage, activity: "" });
  },
};

function foldAll(records, count) {
  const run = newRun();
  for (const record of records.slice(0, count)) fold[record.event.type]?.(run, record.event);
  return run;
}

// ---- words ------------------------------------------------------------------------------------------------------------

const MEASURES = { token_entropy: "token entropy", semantic_entropy: "semantic entropy", probe: "probe", token_probability: "token probability" };
const DECISIONS = { measured: "measured", keep: "✓ keep", retrieve: "? retrieve", expand: "? expand" };
const STAGES = { linked: "linked", similar_wording: "different words", redundant: "not redundant", graded: "graded", judged: "relevant", merged: "merged" };
const PHASES = { scanning: "scanning", reading: "reading", embedding: "embedding", writing: "writing", linking: "linking" };
const ENDS = { sufficient: "a context is good enough", round_limit: "the maximum number of rounds was reached", unchanged: "nothing was left to drop or to add", unmeasured: "a context could not be measured" };
const UNMEASURED = { no_chunk: "it has no chunk", no_variant: "no chunk could be rephrased", too_long: "its prompt is too long" };

const number = (value, digits = 2) => (value ?? 0).toFixed(digits).replace(/^-(0\.?0*)$/, "$1");
const counted = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

function place(chunk, lines = chunk.lines) {
  const unit = chunk.places?.findLast((from) => from.line <= lines[0])?.place;
  if (unit) return `${chunk.document}, ${unit.name ? `${unit.name}, ` : ""}${unit.unit} ${unit.first}`;
  return `${chunk.document}:${lines[0]}${lines[1] > lines[0] ? `-${lines[1]}` : ""}`;
}

/** Returns where a citation is: its chunk, and in parentheses the cited lines where they are not all of it. */
function citedPlace(run, citation) {
  const chunk = run.hits.get(citation.chunk)?.chunk;
  const [first, last] = [citation.first_line, citation.last_line];
  if (!chunk) return place({ document: citation.file, lines: [first, last] });
  const isWhole = chunk.places?.length > 0 || (chunk.lines[0] === first && chunk.lines[1] === last);
  return isWhole ? place(chunk) : `${place(chunk)} (${last > first ? `lines ${first}-${last}` : `line ${first}`})`;
}

function reason(run, why) {
  switch (why.why) {
    case "below_k": return `not in top ${why.k}`;
    case "context_full": return "no room in the context";
    case "rechunked": return "its document was re-chunked";
    case "unnecessary": return `unnecessary in round ${why.round}`;
    case "redundant": return `similar ${number(why.similarity)} to ${label(run, why.duplicate_of)}`;
    case "below_threshold": return `score ${number(why.score)} < ${number(why.threshold)}`;
    case "irrelevant": return `relevant ${number(why.probability)} < ${number(why.min_probability)}`;
    case "absorbed": return `part of ${label(run, why.by)}`;
    case "excluded": return "excluded";
    default: return why.why;
  }
}

/** The number of a chunk in the run, or its place. */
function label(run, chunk) {
  for (const [known, id] of run.numbers) if (id === chunk) return `[${known}]`;
  const hit = run.hits.get(chunk);
  return hit ? place(hit.chunk) : "another chunk";
}

function stepText(step) {
  return (step.text ?? step.tokens.map((token) => token.text).join("")).trim();
}

// ---- the panes ----------------------------------------------------------------------------------------------------------

/** What is chosen, and which chunks are open. */
const view = { step: null, open: new Set(), document: null };

function show(id, info, ...children) {
  $(`${id}-info`).textContent = info;
  $(id).querySelector(".body").replaceChildren(...children.flat(3).filter(Boolean));
}

const empty = (text) => h("div", { class: "empty" }, text);

/** A text with its citation marks as buttons. */
function marked(run, text) {
  const parts = text.split(/(\[\d+(?:, ?\d+)*\])/);
  return parts.map((part) => {
    const found = /^\[(\d+)/.exec(part);
    const chunk = found && run.numbers.get(Number(found[1]));
    return chunk === undefined || !found ? part : mark(run, Number(found[1]), part);
  });
}

function mark(run, number, text = `[${number}]`) {
  const chunk = run.numbers.get(number);
  const hit = run.hits.get(chunk);
  return h("button", { class: "mark", title: hit ? place(hit.chunk) : undefined, onclick: () => openChunk(chunk) }, text);
}

function openChunk(chunk) {
  view.open.add(chunk);
  render();
  const row = document.querySelector(`[data-chunk="${chunk}"]`);
  row?.scrollIntoView({ block: "nearest", behavior: "smooth" });
}

function answerPane(run) {
  if (!run.question) {
    show("answer", "", empty("Ask a question below, or choose a recorded run."));
    return;
  }
  const writing = run.outcome === null;
  const steps = [...run.steps.values()];
  const sentences = steps.map((known, at) => {
    const isOpen = writing && known.text === null && at === steps.length - 1;
    const extra = known.citations.map((citation) => citation.label).filter((label, at, all) => all.indexOf(label) === at && !stepText(known).includes(`[${label}]`));
    return h("div", { class: `sentence${isOpen ? " open" : ""}${view.step === known.number ? " chosen" : ""}` },
      h("span", { class: "n" }, known.number),
      h("div", {},
        known.thoughts && h("details", { class: "thoughts" }, h("summary", {}, "thoughts"), known.thoughts.trim()),
        known.old.map((old) => [
          h("div", { class: "old" }, old.text || old.tokens.map((token) => token.text).join("").trim()),
          old.uncertainty && h("div", { class: "why" }, uncertain(run, known, old)),
        ]),
        h("span", { class: "text" }, marked(run, stepText(known)), extra.map((label) => [" ", mark(run, label)])),
      ));
  });
  const short = run.answer && run.answer !== run.text;
  const sources = [...new Map(run.citations.map((citation) => [citation.label, citation])).values()].toSorted((a, b) => a.label - b.label);
  show("answer", run.preset ? `preset ${run.preset}` : "",
    h("div", { class: "question" }, run.question),
    run.followUp && h("div", { class: "quiet" }, run.followUp.as_asked ? "used as it was asked" : `as a question that stands alone: ${run.followUp.rewritten}`),
    sentences,
    short && h("div", { class: "short" }, h("span", { class: "quiet" }, "answer"), h("b", {}, run.answer)),
    run.outcome?.kind === "failed" && h("div", { class: "bad" }, run.outcome.error, run.outcome.advice && `: ${run.outcome.advice}`),
    run.outcome?.kind === "stopped" && h("div", { class: "warning" }, "stopped"),
    run.outcome?.kind === "limit_reached" && h("div", { class: "warning" }, "a limit of the settings ended the answer"),
    sources.length > 0 && h("div", { class: "sources" }, sources.map((citation) => h("div", {}, mark(run, citation.label), " ",
      `${citedPlace(run, citation)} `,
      citation.quote && h("q", {}, citation.quote)))),
    run.warnings.map((warning) => h("div", { class: "warning" }, warning.advice ? `${warning.text}: ${warning.advice}` : warning.text)),
  );
}

function uncertain(run, known, old) {
  const { measure, value, threshold } = old.uncertainty;
  const query = run.lookups.find((lookup) => lookup.step === known.number)?.query;
  const above = threshold === null ? "" : ` > ${number(threshold)}`;
  return `${MEASURES[measure]} ${number(value)}${above}${query ? `: searched for “${query}”` : ""}`;
}

/** Returns the value of the whole gauge: probabilities end at 1, entropies where the largest is. */
function scale(run) {
  const measured = [...run.steps.values()].flatMap((known) => [known, ...known.old]).map((known) => known.uncertainty).filter(Boolean);
  const isShare = measured.every(({ measure }) => measure === "probe" || measure === "token_probability");
  return isShare ? 1 : Math.max(0.1, ...measured.flatMap(({ value, threshold }) => [value * 1.05, (threshold ?? 0) * 1.3]));
}

function uncertaintyPane(run) {
  const steps = [...run.steps.values()].filter((known) => known.tokens.length);
  if (!steps.length) {
    show("uncertainty", "", empty("The uncertainty of each sentence shows here while it is written."));
    return;
  }
  const full = scale(run);
  const gauges = steps.flatMap((known) => [...known.old, known].map((version, at) => {
    const measured = version.uncertainty;
    if (!measured) return null;
    const high = measured.decision === "retrieve" || measured.decision === "expand";
    return h("button", { class: "gauge", onclick: () => choose(known.number), "aria-label": `sentence ${known.number}` },
      h("span", { class: "quiet" }, at ? "↳" : `s${known.number}`),
      h("span", { class: "track" }, h("i", { class: high ? "high" : "", style: { width: `${Math.min(100, 100 * measured.value / full)}%` } }),
        measured.threshold !== null && h("u", { style: { left: `${Math.min(99, 100 * measured.threshold / full)}%` } })),
      h("span", { class: "value" }, number(measured.value)),
      h("span", { class: "quiet" }, DECISIONS[measured.decision] ?? measured.decision));
  }));
  const worst = steps.reduce((worst, known) => (known.old[0] ?? known).uncertainty?.value > ((worst.old[0] ?? worst).uncertainty?.value ?? -1) ? known : worst, steps[0]);
  const chosen = run.steps.get(view.step) ?? (run.outcome ? worst : steps.at(-1));
  const tokens = chosen.old[0]?.tokens ?? chosen.tokens;
  const most = tokens.reduce((most, token) => token.entropy > most.entropy ? token : most, tokens[0]);
  const all = steps.flatMap((known) => known.tokens);
  const mean = all.reduce((sum, token) => sum + token.logprob, 0) / all.length;
  show("uncertainty", run.gate ? `gate: ${MEASURES[run.gate.measure]}` : "no gate",
    gauges,
    h("div", { class: "quiet" }, `tokens of s${chosen.number}${chosen.old.length ? ", before it was replaced" : ""}, by entropy`),
    h("div", { class: "tokens" }, tokens.map((token, at) => h("span", {
      title: `entropy ${number(token.entropy)} nats, probability ${number(Math.exp(token.logprob))}`,
      style: { background: `rgba(var(--heat), ${Math.min(0.75, token.entropy / 4).toFixed(3)})` },
    }, at ? token.text : token.text.trimStart()))),
    most && h("div", { class: "quiet" }, `most uncertain token: “${most.text.trim()}”  ${number(most.entropy)} nats`),
    run.gate && h("div", { class: "quiet" }, `retrieves above ${number(run.gate.threshold)}`, run.gate.probe?.held_out?.auroc !== undefined && `, AUROC ${number(run.gate.probe.held_out.auroc)} held out`),
    h("div", { class: "quiet" }, `whole answer: perplexity ${number(Math.exp(-mean))}, mean log-probability ${number(mean)} nats`),
    run.utilities.map(({ step, utility }) => {
      const kind = Math.abs(utility.delta) < 0.005 ? "quiet" : utility.delta < 0 ? "minus" : "plus";
      return h("div", {}, step ? `lookup of s${step} changed belief by ` : "first lookup changed belief by ", h("b", { class: kind }, `${kind === "plus" ? "+" : ""}${number(utility.delta)}`));
    }),
  );
}

function choose(number) {
  view.step = view.step === number ? null : number;
  render();
}

function retrievalPane(run) {
  if (!run.lookups.length) {
    const off = run.settings?.retriever?.kind === "off";
    show("retrieval", "", empty(off ? `Retrieval is off in preset ${run.preset}.` : "Queries and the chunks that they found show here."));
    return;
  }
  const last = run.lookups.findLast((known) => known.context);
  const info = last ? `${last.context.chunks.length} in the context` : "";
  show("retrieval", info, run.lookups.map((known) => lookupView(run, known)));
}

function lookupView(run, known) {
  const found = known.retrieval;
  const used = new Map(known.context?.chunks.map((chunk) => [chunk.chunk, chunk.label]));
  const hitOf = (id) => known.hits.get(id) ?? run.hits.get(id);
  const ids = [...new Set([...used.keys(), ...known.texts])].filter(hitOf);
  const funnel = [
    found && counted(found.hits.length, "hit"),
    ...known.stages.map((stage) => `${STAGES[stage.stage] ?? stage.stage} ${stage.kept}`),
    known.reranked.size > 0 && `reranked ${known.reranked.size}`,
    known.context && `context ${known.context.chunks.length}`,
  ].filter(Boolean).join(" → ");
  const fused = ids.map((id) => hitOf(id).fused.score);
  const full = Math.max(1e-6, ...fused);
  const rows = ids.flatMap((id) => {
    const hit = hitOf(id);
    const label_ = used.get(id);
    const why = label_ === undefined && known.dropped.get(id);
    const isOpen = view.open.has(id);
    const toggle = () => { view.open.has(id) ? view.open.delete(id) : view.open.add(id); view.document = hit.chunk.document; render(); };
    const row = h("tr", { class: label_ !== undefined ? "used" : "out", "data-chunk": id, onclick: toggle, tabindex: 0, "aria-expanded": isOpen,
      onkeydown: (event) => { if (event.key === "Enter") toggle(); } },
      h("td", {}, label_ !== undefined ? `[${label_}]` : why ? "✗" : "·"),
      h("td", { class: "where", title: place(hit.chunk) }, h("bdi", {}, place(hit.chunk))),
      h("td", { class: "num" }, hit.bm25 ? number(hit.bm25.score) : "–"),
      h("td", { class: "num" }, hit.vector ? number(hit.vector.score, 3) : "–"),
      h("td", { class: "bar" }, why ? h("div", { class: "reason", title: reason(run, why) }, reason(run, why))
        : h("div", { class: "track", title: `fused ${number(hit.fused.score, 3)}, rank ${hit.fused.rank}` }, h("i", { style: { width: `${100 * hit.fused.score / full}%` } }))));
    return isOpen ? [row, h("tr", { class: "chunk" }, h("td", { colspan: 5 }, chunkView(run, known, hit, why)))] : [row];
  });
  const title = known.step ? `s${known.step} ` : "";
  return h("div", { class: "lookup" },
    h("div", { class: "query" }, `${title}“${known.query}”`),
    h("div", { class: "facts" }, [known.writer && `query: ${known.writer.replaceAll("_", " ")}`, funnel, found && `${number(found.wall_us / 1000, 1)} ms`].filter(Boolean).join(" · ")),
    found?.filter && h("div", { class: "facts" }, `limited to ${found.filter.filter}: ${found.filter.documents} of ${counted(found.filter.of, "document")}`),
    rows.length ? h("table", { class: "hits" },
      h("thead", {}, h("tr", {}, h("th", { class: "c-mark" }), h("th", {}, ""), h("th", { class: "c-num" }, "bm25"), h("th", { class: "c-num" }, "cosine"), h("th", { class: "c-bar" }, "fused"))),
      h("tbody", {}, rows)) : empty("Nothing was found."));
}

function chunkView(run, known, hit, why) {
  const graded = known.grades.get(hit.chunk.id);
  const judged = known.judged.get(hit.chunk.id);
  const reranked = known.reranked.get(hit.chunk.id);
  const facts = [
    place(hit.chunk), hit.chunk.headings.join(" › "),
    why && reason(run, why),
    graded && `grades ${graded.grades.map((grade) => number(grade)).join(" ")}, score ${number(graded.score)}`,
    judged !== undefined && `relevant ${number(judged)}`,
    reranked !== undefined && `reranked ${number(reranked)}`,
  ].filter(Boolean).join(" · ");
  return [h("span", { class: "path" }, facts), quoted(run, hit)];
}

/** The text of a chunk with what the answer cites of it highlighted. */
function quoted(run, hit) {
  const text = hit.chunk.text;
  const quote = run.citations.concat(...[...run.steps.values()].map((known) => known.citations))
    .find((citation) => citation.chunk === hit.chunk.id && citation.quote && text.includes(citation.quote))?.quote;
  if (!quote) return text;
  const at = text.indexOf(quote);
  return [text.slice(0, at), h("mark", {}, quote), text.slice(at + quote.length)];
}

function linksPane(run) {
  const attended = [...run.steps.values()].filter((known) => known.attended.length);
  const read = [...run.documents.values()];
  const documents = read.filter((links) => links.of > 1);
  if (!attended.length && !read.length) {
    show("links", "", empty("The share of the attention that went to each chunk while a sentence was written shows here, where it is measured."));
    return;
  }
  const shares = attended.map((known) => h("div", { class: "row" },
    h("span", { class: "quiet" }, `s${known.number} ←`),
    h("span", { class: "stack" }, known.attended.map((chunk) => h("button", {
      style: { width: `${100 * chunk.share}%` }, title: `[${chunk.label}] ${number(chunk.share)}`, onclick: () => openChunk(chunk.chunk),
    }, chunk.share > 0.12 ? `[${chunk.label}] ${number(chunk.share)}` : "")))));
  const shown = documents.toSorted((a, b) => (b.document === view.document) - (a.document === view.document));
  show("links", attended.length ? "attention: a hint, not a cause" : "",
    shares,
    shown.slice(0, 6).map((links) => h("div", { class: "group" },
      h("div", { class: "title" }, `${links.document} · ${counted(links.of, "chunk")}`),
      links.chunks.map((chunk, at) => h("div", { class: "row" },
        h("button", { class: "mark", onclick: () => openChunk(chunk.chunk) }, `${chunk.lines[0]}${chunk.lines[1] > chunk.lines[0] ? `-${chunk.lines[1]}` : ""}`),
        h("span", { class: "stack" }, chunk.links.map((link) => {
          const other = links.chunks[link.to - links.first];
          const where = other ? `lines ${other.lines.join("-")}` : `chunk ${link.to + 1}`;
          const total = chunk.links.reduce((sum, link) => sum + link.weight, 0) || 1;
          return h("button", { style: { width: `${100 * link.weight / Math.max(1, total)}%` }, title: `${where}: ${number(link.weight)}`, onclick: () => other && openChunk(other.chunk) }, link.weight > 0.25 ? where : "");
        })))))),
    read.length > documents.length && h("div", { class: "quiet" }, `${counted(read.length - documents.length, "document")} of a single chunk: nothing to link`),
    documents.length > 6 && h("div", { class: "quiet" }, `and ${counted(documents.length - 6, "document")}`),
  );
}

function refinementPane(run) {
  if (!run.rounds.length) {
    const off = !run.settings?.refiner || run.settings.refiner.kind === "off";
    show("refinement", "", empty(run.question && off ? `No rounds: the refiner is off in preset ${run.preset}.` : "Rounds that repair the context show here."));
    return;
  }
  const rounds = run.rounds.map((known) => {
    const measured = known.measured;
    const best = run.refined && run.refined.best === known.round;
    return h("div", { class: `round${best ? " best" : ""}` },
      h("div", { class: "title" }, `${known.step ? `s${known.step}, ` : ""}round ${known.round}`, measured && ` · DENSE ${number(measured.dse)} nats, ${measured.certain ? "the answer stays the same" : "the answer changes"}`,
        known.skipped && ` · not measured: ${UNMEASURED[known.skipped] ?? known.skipped}`),
      known.evaluated && h("div", { class: "quiet" }, known.evaluated.sufficient ? "the context suffices" : "the context does not suffice", known.evaluated.probability !== null && ` (${number(known.evaluated.probability)})`, known.evaluated.answered === false && ": no answer is found there"),
      h("div", {}, (known.classes.length ? known.classes : measured?.chunks ?? []).map((chunk) => {
        const kind = chunk.class ?? (chunk.certain === null ? "unmeasured" : chunk.certain ? "certain" : "uncertain");
        return h("button", { class: `chip ${kind}`, onclick: () => openChunk(chunk.chunk), title: chunk.without ? `without it: ${chunk.without}` : chunk.rephrasing ?? undefined }, `${label(run, chunk.chunk)} ${kind}`);
      })),
      measured && h("details", {}, h("summary", { class: "quiet" }, counted(measured.replies.length, "answer")), measured.replies.map((reply, at) => h("div", {}, `${at ? `variant ${at}` : "original"}: ${reply}`))),
      known.change && h("div", {}, known.change.dropped.map((chunk) => h("div", { class: "minus" }, `− ${label(run, chunk)}`)), known.change.added.map((added) => h("div", { class: "plus" }, `+ ${label(run, added.chunk)}, similar ${number(added.similarity)} to ${label(run, added.similar_to)}`))));
  });
  show("refinement", counted(run.rounds.length, "round"),
    run.rechunked && h("div", { class: "quiet" }, run.rechunked.map((document) => `${document.document}: ${document.error ?? counted(document.chunks, "new chunk")}`).join(", ")),
    rounds,
    run.refined && h("div", { class: "quiet" }, `ended: ${ENDS[run.refined.end] ?? run.refined.end}; written from round ${run.refined.best}`));
}

// ---- the run that is shown, and its player --------------------------------------------------------------------------

let records = [];
let shown = 0;
let run = newRun();
let isLive = false;
let clock = null;
let current = null;
let isDue = false;

function render() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    answerPane(run);
    uncertaintyPane(run);
    retrievalPane(run);
    linksPane(run);
    refinementPane(run);
    renderPlayer();
    renderStatus();
  });
}

function renderPlayer() {
  $("player").hidden = !records.length;
  $("position").max = records.length;
  $("position").value = shown;
  $("play").textContent = clock ? "Pause" : shown >= records.length ? "Replay" : "Play";
  $("play").disabled = isLive;
  const at = (count) => number((records[count - 1]?.t_us ?? 0) / 1e6, 2);
  $("clock").textContent = `${at(shown)} / ${at(records.length)} s`;
}

function renderStatus() {
  const usage = run.usage;
  const generator = run.models.find((model) => model.role === "generator");
  if (generator) $("model").textContent = `${generator.name} ${generator.quantisation} · ${generator.device}`;
  if (usage) {
    const prompt = usage.prompt_tokens_evaluated + usage.prompt_tokens_reused;
    const reused = prompt ? Math.round(100 * usage.prompt_tokens_reused / prompt) : 0;
    $("status").textContent = `done in ${usage.wall_ms} ms, ${counted(usage.tokens_generated, "token")}, ${counted(usage.model_calls, "model call")}, reused ${reused} % of prompt tokens`;
  } else if (run.question) {
    $("status").textContent = run.activity || "working";
  }
}

function seek(count) {
  shown = Math.max(0, Math.min(records.length, count));
  run = foldAll(records, shown);
  render();
}

function stopClock() {
  cancelAnimationFrame(clock?.frame);
  clock = null;
}

function play() {
  if (clock) {
    stopClock();
    render();
    return;
  }
  if (shown >= records.length) seek(0);
  clock = { time: performance.now(), at: (records[shown - 1]?.t_us ?? 0) / 1000, frame: 0 };
  const tick = (now) => {
    if (!clock) return;
    clock.at += (now - clock.time) * Number($("speed").value);
    clock.time = now;
    let count = shown;
    while (count < records.length && records[count].t_us / 1000 <= clock.at) count += 1;
    if (count > shown) {
      for (const record of records.slice(shown, count)) fold[record.event.type]?.(run, record.event);
      shown = count;
      render();
    }
    if (shown >= records.length) {
      stopClock();
      render();
    } else {
      clock.frame = requestAnimationFrame(tick);
    }
  };
  clock.frame = requestAnimationFrame(tick);
}

/** Shows a run: what is recorded of it at once, and the rest as it comes. */
async function open(id) {
  stopClock();
  current = id;
  records = [];
  shown = 0;
  run = newRun();
  isLive = true;
  Object.assign(view, { step: null, document: null });
  view.open.clear();
  history.replaceState(null, "", `#run=${id}`);
  markCurrent();
  render();
  try {
    const response = await request(`/v1/runs/${encodeURIComponent(id)}`);
    await events(response, (record) => {
      if (current !== id) return;
      records.push(record);
      fold[record.event.type]?.(run, record.event);
      shown = records.length;
      render();
    });
  } catch (error) {
    if (current === id) notice(error);
  } finally {
    if (current === id) {
      isLive = false;
      render();
    }
  }
}

let asking = null;

async function ask(question) {
  asking = new AbortController();
  $("send").textContent = "Stop";
  $("send").className = "stop";
  $("status").textContent = "waiting for a turn";
  notice(null);
  const preset = $("preset").value;
  const body = JSON.stringify({ model: preset ? `ragscope/${preset}` : "ragscope", stream: true, messages: [{ role: "user", content: question }] });
  try {
    const response = await request("/v1/chat/completions", { method: "POST", body, headers: { "content-type": "application/json" }, signal: asking.signal });
    let id = null;
    await events(response, (chunk) => {
      if (chunk.error) throw new Error(chunk.error.message);
      if (!id && chunk.ragscope?.run) {
        id = chunk.ragscope.run;
        open(id);
      }
    });
  } catch (error) {
    if (error.name !== "AbortError") notice(error);
  } finally {
    asking = null;
    $("send").textContent = "Ask";
    $("send").className = "primary";
    listRuns();
  }
}

// ---- the list of runs, and the state of the server -------------------------------------------------------------------

let runs = [];

async function listRuns() {
  try {
    runs = (await (await request("/v1/runs")).json()).data;
    renderRuns();
  } catch (error) {
    notice(error);
  }
}

function renderRuns() {
  const wanted = $("runs-filter").value.toLowerCase();
  const found = runs.filter((known) => `${known.question} ${known.preset} ${known.answer}`.toLowerCase().includes(wanted));
  $("runs-list").replaceChildren(...found.map((known) => h("li", {}, h("button", { "data-run": known.id, onclick: () => { open(known.id); if (innerWidth <= 720) toggleRuns(); } },
    h("span", { class: "q" }, known.question),
    h("span", { class: "a" }, `${known.answer ?? "not finished"} · ${known.preset} · ${new Date(known.created * 1000).toLocaleString()}`)))));
  if (!found.length) $("runs-list").replaceChildren(h("li", { class: "empty" }, runs.length ? "No run matches." : "No run is recorded yet."));
  markCurrent();
}

function markCurrent() {
  for (const button of document.querySelectorAll("[data-run]")) button.setAttribute("aria-current", button.dataset.run === current);
}

function toggleRuns() {
  const isHidden = !$("runs").hidden;
  $("runs").hidden = isHidden;
  $("runs-button").setAttribute("aria-expanded", !isHidden);
  if (!isHidden) listRuns();
}

function notice(problem) {
  $("notice").hidden = !problem;
  $("notice").textContent = problem ? problem.message : "";
}

/** Shows the folders, and asks again while they are being indexed. */
async function showStatus() {
  const state = await (await request("/v1/status")).json();
  const corpus = state.corpus;
  const progress = state.indexing && ` · ${PHASES[state.indexing.phase] ?? state.indexing.phase} ${state.indexing.done}${state.indexing.total ? ` of ${state.indexing.total}` : ""}`;
  $("corpus").textContent = corpus ? `${corpus.folder} (${counted(corpus.documents, "file")}, ${counted(corpus.chunks, "chunk")})${progress || ""}` : "";
  const generator = state.models.find((model) => model.role === "generator");
  if (generator && !run.question) $("model").textContent = `${generator.name} ${generator.quantisation} · ${generator.device}`;
  if ($("preset").options.length !== state.presets.length + 1) {
    const chosen = $("preset").value;
    const name = (preset) => h("option", { value: preset }, preset || "default preset");
    $("preset").replaceChildren(name(""), ...state.presets.map(name));
    $("preset").value = chosen;
  }
  if (state.problem) notice({ message: [state.problem.error, state.problem.advice].filter(Boolean).join(": ") });
  if (!state.is_settled || !generator) setTimeout(() => showStatus().catch(notice), 700);
}

async function start() {
  notice(null);
  const id = new URLSearchParams(location.hash.slice(1)).get("run");
  try {
    await showStatus();
    if (id && id !== current) open(id);
    if (!$("runs").hidden) listRuns();
  } catch (error) {
    notice(error);
  }
}

const THEME = "ragscope-theme";
function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
}

$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  if (asking) {
    asking.abort();
    return;
  }
  const question = $("question").value.trim();
  if (question) ask(question);
});
$("runs-button").addEventListener("click", toggleRuns);
$("runs-filter").addEventListener("input", renderRuns);
$("play").addEventListener("click", play);
$("back").addEventListener("click", () => { stopClock(); seek(shown - 1); });
$("forward").addEventListener("click", () => { stopClock(); seek(shown + 1); });
$("position").addEventListener("input", () => { stopClock(); seek(Number($("position").value)); });
$("theme-button").addEventListener("click", () => {
  const isLight = document.documentElement.dataset.theme === "light" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: light)").matches);
  localStorage.setItem(THEME, isLight ? "dark" : "light");
  setTheme(localStorage.getItem(THEME));
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input:not([type=range]), select, button, dialog, textarea");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = { " ": () => records.length && !isLive && play(), ArrowLeft: () => $("back").click(), ArrowRight: () => $("forward").click(), "/": () => $("question").focus() };
  if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});
addEventListener("hashchange", () => { takeToken(); start(); });

takeToken();
setTheme(localStorage.getItem(THEME));
if (innerWidth > 1150) toggleRuns();
render();
start();
