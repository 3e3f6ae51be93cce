import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { everyClass } from './every-class.ts';
import type { DemoRequest, Plan } from './plan.ts';
import type { ProviderRecord, RecordEntry } from './record.ts';
import { wordAt, wordsUpTo } from './words.ts';

export interface Exchange {
  request: DemoRequest;
  plan: Plan;
  entry: RecordEntry;
  /** Names the interface of a report that is not its protocol's own. */
  report?: Dialect['report'];
  record: ProviderRecord;
  response: ServerResponse;
  /** Aborts when the caller closes the connection. */
  gone: AbortSignal;
}

/** Holds the words of one protocol; everything else about streaming is common to all. */
export interface Dialect {
  json(exchange: Exchange, text: string): unknown;
  start(exchange: Exchange): string;
  /** Writes one output token. */
  token(exchange: Exchange, word: string): string;
  toolCall(exchange: Exchange): string;
  thinking(exchange: Exchange, text: string): string;
  finish(exchange: Exchange): string;
  error(status: number, message: string): unknown;
  errorEvent(message: string): string;
  /** A stream that is not server-sent events has these: its media type, and the conversion of the texts above to bytes. */
  readonly streamType?: string;
  frame?(text: string): Buffer;
  /** Names the interface whose classes a report has, where that is not the protocol's own. */
  readonly report?: 'gemini' | 'converse';
}

const HUGE_LINE_BYTES = 1_000_000;
const ABSURD_TOKENS = 9_000_000_000;

export function usageOf({ plan, entry, report }: Exchange): NonNullable<RecordEntry['reported']> {
  if (plan.mode === 'absurd-usage') return { prompt: ABSURD_TOKENS, output: -1 };
  const sums = { prompt: entry.promptTokens, output: entry.emitted * plan.choices };
  return plan.isEveryClass
    ? { ...sums, classes: everyClass(report ?? entry.protocol, sums) }
    : sums;
}

export async function answer(exchange: Exchange, dialect: Dialect): Promise<void> {
  const { plan, request, response } = exchange;
  // `429-bare` also has the status 429.
  const status = Number.parseInt(plan.mode, 10);
  if (Number.isInteger(status)) return refuse(exchange, dialect, status);
  switch (plan.mode) {
    case 'stalls-first':
      return waitUntilGone(exchange);
    case 'dies-first':
      return die(exchange);
    case 'reset-reused':
      if (isReused(response)) return die(exchange);
      return request.stream ? stream(exchange, dialect) : json(exchange, dialect);
    case 'overflow':
      return refuse(exchange, dialect, 400, 'prompt is too long: 9000 tokens > 8192 maximum');
    case 'html':
      return sendWhole(exchange, 'text/html', '<html><body>welcome</body></html>');
    case 'empty':
      return sendWhole(exchange, typeOf(request, dialect), '');
    case 'error-200':
      return sendWhole(exchange, 'application/json', errorText(dialect));
    case 'error-first':
      if (!request.stream) return sendWhole(exchange, 'application/json', errorText(dialect));
      return begin(exchange, dialect, dialect.errorEvent('the model failed'));
    case 'garbage-first':
      if (!request.stream) return sendWhole(exchange, 'application/json', '{"id": "cut o');
      return begin(exchange, dialect, 'data: {"id": "cut o\n\n');
    case 'eof-first':
      if (request.stream) return begin(exchange, dialect, '');
      return sendWhole(exchange, 'application/json', '{"id": "cut o');
    case 'stalls-start':
      response.writeHead(200, { 'content-type': typeOf(request, dialect) }).flushHeaders();
      if (request.stream) await write(exchange, bytesOf(dialect, dialect.start(exchange)));
      return waitUntilGone(exchange);
    default:
      return request.stream ? stream(exchange, dialect) : json(exchange, dialect);
  }
}

/** Returns the text of a whole answer. */
export function wordsOf({ tokens, pieces }: Plan): string {
  return pieces?.slice(0, tokens).join('') ?? wordsUpTo(tokens);
}

function typeOf(
  { stream: isStream }: DemoRequest,
  { streamType = 'text/event-stream' }: Pick<Dialect, 'streamType'>,
): string {
  return isStream ? streamType : 'application/json';
}

function bytesOf({ frame }: Pick<Dialect, 'frame'>, text: string): Buffer | string {
  return frame ? frame(text) : text;
}

/** Holds connections that have carried a request. */
const carried = new WeakSet<object>();

function isReused({ socket }: ServerResponse): boolean {
  if (!socket) return false;
  const isKnown = carried.has(socket);
  carried.add(socket);
  return isKnown;
}

function die({ record, entry, response }: Exchange): void {
  record.close(entry, 'refused');
  response.destroy();
}

function errorText(dialect: Dialect): string {
  return JSON.stringify(dialect.error(500, 'the model failed'));
}

function sendWhole({ record, entry, response }: Exchange, type: string, body: string): void {
  record.close(entry, 'refused');
  response.writeHead(200, { 'content-type': type }).end(body);
}

/** Starts a stream of a beginning and `rest`, without content. */
function begin(
  { record, entry, response, ...exchange }: Exchange,
  dialect: Dialect,
  rest: string,
): void {
  record.close(entry, 'refused');
  response.writeHead(200, {
    'content-type': typeOf({ ...exchange.request, stream: true }, dialect),
  });
  const start = dialect.start({ record, entry, response, ...exchange });
  response.end(bytesOf(dialect, start + rest));
}

function refuse(
  { record, entry, response, plan }: Exchange,
  dialect: Dialect,
  status: number,
  message = `demo upstream answers ${status}`,
): void {
  record.close(entry, 'refused');
  const namesWait = plan.mode === '429' || plan.mode === '503';
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(namesWait && { 'retry-after': '1' }),
  });
  response.end(JSON.stringify(dialect.error(status, message)));
}

async function json(exchange: Exchange, dialect: Dialect): Promise<void> {
  const { plan, entry, record, response } = exchange;
  if (plan.delayMs > 0) await pause(plan.delayMs * plan.tokens, exchange.gone);
  if (plan.mode === 'stalls') return waitUntilGone(exchange);
  if (exchange.gone.aborted) return record.close(entry, 'aborted');
  entry.emitted = plan.tokens;
  const body =
    plan.mode === 'garbage'
      ? '{"id": "cut o'
      : JSON.stringify(dialect.json(exchange, wordsOf(plan)));
  if (plan.mode === 'dies' || plan.mode === 'eof') {
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    });
    response.write(body.slice(0, 20), () => response.destroy());
    return record.close(entry, 'finished');
  }
  if (plan.mode !== 'no-usage') entry.reported = usageOf(exchange);
  response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  record.close(entry, 'finished');
}

async function stream(exchange: Exchange, dialect: Dialect): Promise<void> {
  const { plan, entry, record, response, gone } = exchange;
  const breakAt = Math.floor(plan.tokens / 2);
  response.writeHead(200, {
    'content-type': typeOf(exchange.request, dialect),
    'cache-control': 'no-cache',
  });
  const say = (text: string) => write(exchange, bytesOf(dialect, text));
  await say(dialect.start(exchange));
  if (plan.mode === 'thinking') await say(dialect.thinking(exchange, 'let me count'));
  for (let index = 0; index < plan.tokens && !gone.aborted; index++) {
    if (index === breakAt && (await misbehave(exchange, dialect))) return;
    if (plan.delayMs > 0) await pause(plan.delayMs, gone);
    if (gone.aborted) break;
    entry.emitted += 1;
    await say(dialect.token(exchange, plan.pieces?.[index] ?? wordAt(index)));
  }
  if (gone.aborted) return record.close(entry, 'aborted');
  if (plan.mode === 'tools') await say(dialect.toolCall(exchange));
  if (plan.mode !== 'no-usage') entry.reported = usageOf(exchange);
  record.close(entry, 'finished');
  response.end(bytesOf(dialect, dialect.finish(exchange)));
}

/** Returns true when the answer is over. */
async function misbehave(exchange: Exchange, dialect: Dialect): Promise<boolean> {
  const { plan, record, entry, response } = exchange;
  switch (plan.mode) {
    case 'stalls':
      await waitUntilGone(exchange);
      return true;
    case 'dies':
      record.close(entry, 'aborted');
      response.destroy();
      return true;
    case 'eof':
      record.close(entry, 'aborted');
      response.end();
      return true;
    case 'error-mid':
      record.close(entry, 'aborted');
      response.end(bytesOf(dialect, dialect.errorEvent('the model failed')));
      return true;
    case 'garbage':
      await write(exchange, bytesOf(dialect, 'data: {"id": "cut o\n\n'));
      return false;
    case 'huge-line':
      await write(exchange, bytesOf(dialect, `: ${'x'.repeat(HUGE_LINE_BYTES)}\n\n`));
      return false;
    default:
      return false;
  }
}

async function waitUntilGone({ gone, record, entry }: Exchange): Promise<void> {
  await new Promise<void>((resolve) =>
    gone.aborted ? resolve() : gone.addEventListener('abort', () => resolve(), { once: true }),
  );
  record.close(entry, 'aborted');
}

async function pause(ms: number, gone: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal: gone }).catch(() => undefined);
}

async function write({ response, gone }: Exchange, bytes: Buffer | string): Promise<void> {
  if (response.write(bytes) || gone.aborted) return;
  await new Promise<void>((resolve) => {
    response.once('drain', resolve);
    gone.addEventListener('abort', () => resolve(), { once: true });
  });
}
