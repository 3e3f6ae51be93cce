import { createHash } from 'node:crypto';
import { NO_USAGE, type UpstreamProtocol } from '@tollgate/contracts';
import { createExchange, parseAsk, PROVIDERS, type Exchange } from '@tollgate/protocols';
import { awsEvent, awsMessage } from '../../libs/protocols/test/aws-event.ts';

const PASSES = 9;
const REQUESTS = 400;
const STREAMS = 20;
const EVENTS = 200;
const CLAUDE = 'us.anthropic.claude-haiku-4-5-20251001-v1:0';
const NOVA = 'us.amazon.nova-2-lite-v1:0';
const WORDS = ' several words of an answer';
const QUESTION = 'What is the weather in Bern, and what was it a year ago? '.repeat(8);
const TOOL = {
  name: 'get_weather',
  description: 'Weather in a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
};

/** Measures what providers cost a node beside the ones of the first release, in turn: signing, requests, and events of streams. Microseconds, median of the passes (least to most). */
export async function benchProviders(): Promise<void> {
  const measures: Readonly<Record<string, () => Promise<number> | number>> = {
    'a signature of version 4, 2 KB': () => signing(),
    'the hash of the body alone': () => hashing(),
    'request, chat to messages': () => requests('anthropic', 'claude'),
    'request, chat to Gemini': () => requests('gemini', 'gemini-2.5-flash'),
    'request, chat to Converse': () => requests('bedrock', NOVA),
    'event, native messages as SSE': () => events('messages', 'anthropic', 'claude', SSE),
    'event, native messages in an event stream': () =>
      events('messages', 'bedrock', CLAUDE, FRAMED),
    'event, messages to chat': () => events('chat', 'anthropic', 'claude', SSE),
    'event, Gemini to chat': () => events('chat', 'gemini', 'gemini-2.5-flash', GEMINI),
    'event, Converse to chat': () => events('chat', 'bedrock', NOVA, CONVERSE),
  };
  const figures = new Map<string, number[]>();
  for (let pass = 0; pass <= PASSES; pass += 1)
    for (const [name, measure] of Object.entries(measures)) {
      const us = await measure();
      // The first pass warms up.
      if (pass > 0) figures.set(name, [...(figures.get(name) ?? []), us]);
    }
  for (const [name, all] of figures) {
    const sorted = all.toSorted((one, other) => one - other);
    const [least, median, most] = [sorted[0], sorted[PASSES >> 1], sorted.at(-1)].map((each) =>
      (each ?? 0).toFixed(2),
    );
    process.stdout.write(`${name.padEnd(44)} ${median} (${least} to ${most})\n`);
  }
}

const BODY = Buffer.from('x'.repeat(2_000));
const AUTH = {
  type: 'aws',
  region: 'us-east-1',
  access_key_id: 'AKIDEXAMPLE',
  secret_access_key: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
} as const;

async function signing(): Promise<number> {
  const request = {
    method: 'POST',
    origin: 'https://bedrock-runtime.us-east-1.amazonaws.com',
    path: `/model/${encodeURIComponent(NOVA)}/converse`,
    headers: { 'content-type': 'application/json' },
    body: BODY,
  } as const;
  const startedAt = performance.now();
  for (let index = 0; index < REQUESTS; index += 1)
    await PROVIDERS.bedrock.sign(request, { auth: AUTH, token: null, nowMs: Date.now() });
  return ((performance.now() - startedAt) * 1_000) / REQUESTS;
}

function hashing(): number {
  const startedAt = performance.now();
  for (let index = 0; index < REQUESTS; index += 1) createHash('sha256').update(BODY).digest();
  return ((performance.now() - startedAt) * 1_000) / REQUESTS;
}

const ASKS = {
  chat: {
    model: 'm',
    stream: true,
    messages: [
      { role: 'system', content: 'Answer in few words.' },
      ...Array.from({ length: 5 }, () => [
        { role: 'user', content: QUESTION },
        { role: 'assistant', content: WORDS },
      ]).flat(),
      { role: 'user', content: QUESTION },
    ],
    tools: [{ type: 'function', function: TOOL }],
  },
  messages: {
    model: 'm',
    stream: true,
    max_tokens: 100,
    messages: [{ role: 'user', content: QUESTION }],
  },
};
const RAW = {
  chat: Buffer.from(JSON.stringify(ASKS.chat)),
  messages: Buffer.from(JSON.stringify(ASKS.messages)),
};

function exchangeOf(
  client: keyof typeof RAW,
  protocol: UpstreamProtocol,
  upstreamModel: string,
): Exchange {
  return createExchange({
    ask: parseAsk(client, RAW[client], {}),
    speech: { protocol },
    upstreamModel,
    outputLimit: null,
    outputLimitField: 'max_tokens',
    clientHeaders: {},
    idSeed: '0193478e-7c00-7000-8000-0123456789ab',
  });
}

let bytes = 0;

function requests(protocol: UpstreamProtocol, model: string): number {
  const startedAt = performance.now();
  for (let index = 0; index < REQUESTS; index += 1)
    bytes += exchangeOf('chat', protocol, model).requestBody.length;
  return ((performance.now() - startedAt) * 1_000) / REQUESTS;
}

/** Feeds each event by itself, and says what one takes. */
function events(
  client: keyof typeof RAW,
  protocol: UpstreamProtocol,
  model: string,
  stream: readonly Buffer[],
): number {
  const exchanges = Array.from({ length: STREAMS }, () => exchangeOf(client, protocol, model));
  const startedAt = performance.now();
  for (const exchange of exchanges) {
    const reader = exchange.openStream({ output: (text) => void (bytes += text.length) });
    for (const event of stream) bytes += reader.push(event).length;
    bytes += reader.end().length + reader.close(reader.usage ?? NO_USAGE).length;
  }
  return ((performance.now() - startedAt) * 1_000) / (STREAMS * stream.length);
}

const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] };
const CLAUDE_EVENTS = [
  {
    type: 'message_start',
    message: { ...MESSAGE, stop_reason: null, usage: { input_tokens: 9, output_tokens: 1 } },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  ...Array.from({ length: EVENTS }, () => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: WORDS },
  })),
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: EVENTS },
  },
  { type: 'message_stop' },
];
const SSE = CLAUDE_EVENTS.map((event) =>
  Buffer.from(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
);
const FRAMED = CLAUDE_EVENTS.map((event) =>
  awsMessage(
    { ':message-type': 'event', ':event-type': 'chunk' },
    JSON.stringify({ bytes: Buffer.from(JSON.stringify(event)).toString('base64') }),
  ),
);
const CONVERSE = [
  { messageStart: { role: 'assistant' } },
  ...Array.from({ length: EVENTS }, () => ({
    contentBlockDelta: { contentBlockIndex: 0, delta: { text: WORDS } },
  })),
  { contentBlockStop: { contentBlockIndex: 0 } },
  { messageStop: { stopReason: 'end_turn' } },
  { metadata: { usage: { inputTokens: 9, outputTokens: EVENTS, totalTokens: 9 + EVENTS } } },
].map((event) => awsEvent(event));
const geminiEvent = (text: string, more: object = {}): Buffer =>
  Buffer.from(
    `data: ${JSON.stringify({
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, ...more }],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: EVENTS, totalTokenCount: 209 },
    })}\n\n`,
  );
const GEMINI = [
  ...Array.from({ length: EVENTS }, () => geminiEvent(WORDS)),
  geminiEvent('', { finishReason: 'STOP' }),
];
