import { setImmediate } from 'node:timers/promises';
import { createExchange, parseAsk, parseAskInTurns } from '../src/index.ts';
import type { ClientProtocol, Exchange, UpstreamProtocol } from '../src/index.ts';

/** Measures how fast stream bytes go through an exchange, and what one chat body costs to parse. Run it by `node libs/protocols/bench/protocols.bench.ts` (after a build). It uses one process on one core; quote the median. */
const RUNS = 9;
/** Is how many bytes a socket typically hands over at once. */
const CHUNK_BYTES = 16 * 1024;

const ASKS: Record<'chat' | 'messages', object> = {
  chat: { model: 'alias', stream: true, messages: [{ role: 'user', content: 'hi' }] },
  messages: {
    model: 'alias',
    stream: true,
    max_tokens: 100,
    messages: [{ role: 'user', content: 'hi' }],
  },
};

function exchange(
  protocol: ClientProtocol & ('chat' | 'messages'),
  upstreamProtocol: UpstreamProtocol,
  upstreamModel = 'gpt-5-2025-08-07',
): Exchange {
  const ask = parseAsk(protocol, Buffer.from(JSON.stringify(ASKS[protocol])));
  return createExchange({
    ask,
    speech: { protocol: upstreamProtocol },
    upstreamModel,
    outputLimit: null,
    outputLimitField: 'max_tokens',
    clientHeaders: {},
    idSeed: '0193478e-7c00-7000-8000-0123456789ab',
  });
}

const EVENTS = 20_000;
function chatStream(model: string): Buffer {
  const head = `{"id":"chatcmpl-CYPS1lijGoK8gd9lYzY3r9Sx50nbt","object":"chat.completion.chunk","created":1762317021,"model":"${model}","service_tier":"default","system_fingerprint":"fp_0123456789"`;
  const chunk = (delta: string, finish: string): string =>
    `data: ${head},"choices":[{"index":0,"delta":${delta},"logprobs":null,"finish_reason":${finish}}],"usage":null,"obfuscation":"x7Gd0aQ"}\n\n`;
  const usage = `data: ${head},"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":${EVENTS},"total_tokens":${EVENTS + 9}}}\n\n`;
  return Buffer.from(
    chunk('{"role":"assistant","content":""}', 'null') +
      chunk('{"content":" word"}', 'null').repeat(EVENTS) +
      chunk('{}', '"stop"') +
      usage +
      'data: [DONE]\n\n',
  );
}

function messagesStream(): Buffer {
  const event = (type: string, rest: string): string =>
    `event: ${type}\ndata: {"type":"${type}"${rest}}\n\n`;
  const delta = event(
    'content_block_delta',
    ',"index":0,"delta":{"type":"text_delta","text":" word"}',
  );
  const start =
    event(
      'message_start',
      ',"message":{"id":"msg_1","model":"claude","content":[],"usage":{"input_tokens":9,"output_tokens":1}}',
    ) + event('content_block_start', ',"index":0,"content_block":{"type":"text","text":""}');
  return Buffer.from(
    start +
      delta.repeat(EVENTS) +
      event('content_block_stop', ',"index":0') +
      event(
        'message_delta',
        ',"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20000}',
      ) +
      event('message_stop', ''),
  );
}

function streamMs(subject: Exchange, bytes: Buffer): number {
  const reader = subject.openStream({ output: () => undefined });
  const started = performance.now();
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES)
    reader.push(bytes.subarray(at, at + CHUNK_BYTES));
  reader.end();
  if (reader.state !== 'finished') throw new Error(`ended ${reader.state}`);
  return performance.now() - started;
}

function median(run: () => number): number {
  const times = Array.from({ length: RUNS }, run).toSorted((left, right) => left - right);
  return times[RUNS >> 1] ?? Number.NaN;
}

function reportStream(name: string, subject: () => Exchange, bytes: Buffer): void {
  const ms = median(() => streamMs(subject(), bytes));
  process.stdout.write(
    `${name.padEnd(44)} ${(bytes.length / 1e3 / ms).toFixed(0).padStart(5)} MB/s ${((ms * 1e3) / EVENTS).toFixed(2).padStart(6)} us/event\n`,
  );
}

reportStream(
  'chat -> chat, model renamed, usage hidden',
  () => exchange('chat', 'openai'),
  chatStream('gpt-5-2025-08-07'),
);
reportStream(
  'chat -> chat, nothing to change',
  () => exchange('chat', 'openai', 'alias'),
  Buffer.from(chatStream('alias').toString().replaceAll('"usage":null,', '')),
);
reportStream('messages -> messages', () => exchange('messages', 'anthropic'), messagesStream());
reportStream(
  'chat client, messages upstream',
  () => exchange('chat', 'anthropic'),
  messagesStream(),
);
reportStream(
  'messages client, chat upstream',
  () => exchange('messages', 'openai'),
  chatStream('gpt-5-2025-08-07'),
);

const body = Buffer.from(
  JSON.stringify({
    model: 'alias',
    messages: Array.from({ length: 20 }, (_, at) => ({
      role: at % 2 ? 'assistant' : 'user',
      content: 'a few words of text '.repeat(20),
    })),
    temperature: 1,
  }),
);
const parses = 2_000;
const parseMs = median(() => {
  const started = performance.now();
  for (let at = 0; at < parses; at += 1) parseAsk('chat', body);
  return performance.now() - started;
});
process.stdout.write(
  `${`parseAsk, ${(body.length / 1024).toFixed(0)} KB chat body`.padEnd(44)} ${((body.length * parses) / 1e3 / parseMs).toFixed(0).padStart(5)} MB/s ${((parseMs * 1e3) / parses).toFixed(1).padStart(6)} us/body\n`,
);

/** Is a body of the largest size, which keeps everything else waiting the longest. */
const large = Buffer.from(
  JSON.stringify({
    model: 'alias',
    messages: Array.from({ length: 60_000 }, (_, at) => ({
      role: at % 2 ? 'assistant' : 'user',
      content: 'a few words of "text"\n'.repeat(20),
    })),
  }),
);
const atOnceMs = median(() => {
  const started = performance.now();
  parseAsk('chat', large);
  return performance.now() - started;
});
const pauses: number[] = [];
for (let run = 0; run < RUNS; run += 1) {
  let started = performance.now();
  let longest = 0;
  const pause = async (): Promise<void> => {
    longest = Math.max(longest, performance.now() - started);
    await setImmediate();
    started = performance.now();
  };
  await parseAskInTurns('chat', large, { pause });
  pauses.push(Math.max(longest, performance.now() - started));
}
const longestMs = median(() => pauses.pop() ?? 0);
process.stdout.write(
  `${`${(large.length / 2 ** 20).toFixed(0)} MB chat body, longest pause`.padEnd(44)} ${atOnceMs.toFixed(0).padStart(5)} ms at once ${longestMs.toFixed(0).padStart(6)} ms in turns\n`,
);
