// The official npm client against a running platform; prints what it got as JSON.
// Usage: BASE_URL=…/v1 API_KEY=vh_… node speak.mjs

import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.env.BASE_URL, apiKey: process.env.API_KEY });
const spoken = { model: "tts-1", voice: "alloy", input: "Hello from the official client." };

async function whole() {
  const response = await client.audio.speech.create(spoken);
  return {
    type: response.headers.get("content-type"),
    audio: Buffer.from(await response.arrayBuffer()).toString("base64"),
  };
}

async function streamed() {
  const response = await client.audio.speech.create({
    ...spoken,
    input: `${spoken.input} `.repeat(8),
    response_format: "pcm",
    seed: 4,
  });
  const pieces = [];
  for await (const piece of response.body) pieces.push(Buffer.from(piece));
  return { pieces: pieces.length, audio: Buffer.concat(pieces).toString("base64") };
}

async function events() {
  const response = await client.audio.speech.create({
    ...spoken,
    response_format: "pcm",
    stream_format: "sse",
  });
  const body = await response.text();
  return {
    type: response.headers.get("content-type"),
    kinds: body
      .split("\n\n")
      .filter(Boolean)
      .map((block) => JSON.parse(block.slice("data: ".length)).type),
  };
}

async function error(changes, options = client) {
  try {
    await options.audio.speech.create({ ...spoken, ...changes });
    return null;
  } catch (problem) {
    return {
      name: problem.constructor.name,
      status: problem.status,
      code: problem.code,
      param: problem.param,
    };
  }
}

const models = [];
for await (const model of client.models.list()) models.push(model.id);

console.log(
  JSON.stringify({
    models,
    whole: await whole(),
    streamed: await streamed(),
    events: await events(),
    errors: {
      voice: await error({ voice: "nobody" }),
      input: await error({ input: "" }),
      key: await error({}, client.withOptions({ apiKey: "vh_00000000_nobody" })),
    },
  }),
);
