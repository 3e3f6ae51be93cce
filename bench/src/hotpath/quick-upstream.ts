import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer, createServer as createH2Server } from 'node:http2';
import type { Server } from 'node:net';
import path from 'node:path';

/** Is an upstream that costs little, so that a measurement of a proxy measures the proxy. It prints its port. The model's name in the body chooses the answer: `bench-whole` (a stream in one write, or JSON), `bench-events` (a stream, a write an event, 5 ms apart), `bench-slow` (a stream, its first event after 50 ms, then one each 50 ms), `bench-beat` (a stream, an event a second with the time at which it is sent, one for each 100 of `max_tokens`). The argument is `http` (the default), `h2c`, or a folder with `tls.crt` and `tls.key` for TLS with HTTP/1.1 and HTTP/2. */
const EVENTS = 64;
const EVENT_PAUSE_MS = 5;
const SLOW_PAUSE_MS = 50;
const SLOW_EVENTS = 20;
const BEAT_MS = 1_000;
const BEAT_TOKENS = 100;
const head = { id: 'chatcmpl-bench', created: 1_767_225_600, model: 'bench-upstream' };
/** Is the bytes of one word of the load's prompts, which is about a token. */
const WORD_BYTES = 7;

interface Answers {
  readonly json: Buffer;
  readonly sse: Buffer;
  readonly events: readonly string[];
  readonly slowEvents: readonly string[];
}

const chunk = (delta: unknown, finish: string | null = null): string =>
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

function eventsOf(words: number, usage: object): string[] {
  return [
    chunk({ role: 'assistant', content: '' }),
    ...Array.from({ length: words }, () => chunk({ content: ' word' })),
    chunk({}, 'stop'),
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], usage })}\n\n`,
    'data: [DONE]\n\n',
  ];
}
/** Counts finish, usage and end. */
const LAST_EVENTS = 3;

function answersOf(promptTokens: number): Answers {
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: EVENTS,
    total_tokens: promptTokens + EVENTS,
  };
  const message = { role: 'assistant', content: 'word '.repeat(EVENTS) };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const events = eventsOf(EVENTS - 4, usage);
  return {
    json: Buffer.from(JSON.stringify({ ...head, object: 'chat.completion', choices, usage })),
    sse: Buffer.from(events.join('')),
    events,
    slowEvents: eventsOf(SLOW_EVENTS, usage),
  };
}

const answersBySize = new Map<number, Answers>();

/** Reports a prompt of the size that was sent: a report that contradicts the text would be doubted, which is not what is measured. */
function answersTo(body: Buffer): Answers {
  const promptTokens = Math.round(body.length / WORD_BYTES);
  const known = answersBySize.get(promptTokens) ?? answersOf(promptTokens);
  answersBySize.set(promptTokens, known);
  return known;
}

function answerWhole(response: ServerResponse, { json, sse }: Answers, isStream: boolean): void {
  const body = isStream ? sse : json;
  response.writeHead(200, {
    'content-type': isStream ? 'text/event-stream' : 'application/json',
    'content-length': body.length,
  });
  response.end(body);
}

function answerPaced(response: ServerResponse, parts: readonly string[], pauseMs: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let next = 0;
  const timer = setInterval(() => {
    if (response.destroyed) return clearInterval(timer);
    response.write(parts[next]);
    next += 1;
    if (next < parts.length) return;
    clearInterval(timer);
    response.end();
  }, pauseMs);
}

function beatsOf(body: string): number {
  return Number(/"max_tokens":(\d+)/.exec(body)?.[1]) / BEAT_TOKENS;
}

/** The time in the text lets the reader say how late each event is. */
function answerBeats(response: ServerResponse, { events }: Answers, beats: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let sent = 0;
  const timer = setInterval(() => {
    if (response.destroyed) return clearInterval(timer);
    sent += 1;
    if (sent <= beats) {
      const now = performance.timeOrigin + performance.now();
      return void response.write(chunk({ content: ` word@${now.toFixed(1)}` }));
    }
    clearInterval(timer);
    response.end(events.slice(-LAST_EVENTS).join(''));
  }, BEAT_MS);
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (bytes: Buffer) => chunks.push(bytes));
  request.on('end', () => {
    const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
    const answers = answersTo(body);
    if (body.includes('"bench-events"'))
      return answerPaced(response, answers.events, EVENT_PAUSE_MS);
    if (body.includes('"bench-slow"'))
      return answerPaced(response, answers.slowEvents, SLOW_PAUSE_MS);
    if (body.includes('"bench-beat"'))
      return answerBeats(response, answers, beatsOf(body.toString()));
    return answerWhole(response, answers, body.includes('"stream":true'));
  });
}

function serverOf(kind: string): Server {
  const listener = answer as (request: unknown, response: unknown) => void;
  if (kind === 'http') return createServer(answer);
  if (kind === 'h2c') return createH2Server(listener);
  const [cert, key] = ['tls.crt', 'tls.key'].map((name) => readFileSync(path.join(kind, name)));
  return createSecureServer({ cert, key, allowHTTP1: true }, listener);
}

const server = serverOf(process.argv[2] ?? 'http');
server.listen(0, '127.0.0.1', 4_096, () =>
  process.stdout.write(`${(server.address() as { port: number }).port}\n`),
);
