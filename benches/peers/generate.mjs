// The side of node-llama-cpp: generate.mjs MODEL.gguf PROMPT.txt TOKENS THREADS prints one JSON object, as `peers generate` does.
import fs from "node:fs";
import {getLlama} from "node-llama-cpp";

const [modelPath, promptFile, tokens, threads] = process.argv.slice(2);
const llama = await getLlama({gpu: false, maxThreads: Number(threads), build: "never"});
const model = await llama.loadModel({modelPath});
const context = await model.createContext({contextSize: 2048, threads: Number(threads), flashAttention: process.env.FLASH === "1"});
const sequence = context.getSequence();
// with the token that begins a text, where the model has one
const begin = model.tokens.shouldPrependBosToken && model.tokens.bos != null ? [model.tokens.bos] : [];
const prompt = [...begin, ...model.tokenize(fs.readFileSync(promptFile, "utf8"))];

const reply = [];
let first, last, firstCpu, lastCpu;
for await (const token of sequence.evaluate(prompt, {temperature: 0, yieldEogToken: true})) {
    last = performance.now();
    lastCpu = process.cpuUsage();
    first ??= last;
    firstCpu ??= lastCpu;
    if (model.isEogToken(token)) break;
    reply.push(token);
    if (reply.length >= Number(tokens)) break;
}
const cpu = (usage) => (usage.user + usage.system) / 1e6;
console.log(JSON.stringify({
    seconds: (last - first) / 1000,
    processor: cpu(lastCpu) - cpu(firstCpu),
    prompt_tokens: prompt.length,
    tokens: reply.length,
    text: model.detokenize(reply),
}));
await llama.dispose();
