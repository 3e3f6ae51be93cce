import { connect } from 'node:net';
import type { BeatOrder, BeatReport } from './beat-order.ts';

/** Holds many streams open whose events say when they were sent. The argument is a `BeatOrder` as JSON. It prints a `BeatReport`. */
const order = JSON.parse(process.argv[2] ?? '') as BeatOrder;
const { hostname, port } = new URL(order.url);
const LAG_MS_MAX = 10_000;
/** Is more than an event has, so that the hold is not always nearly used up. */
const BEAT_TOKENS = 100;
const LAST_CHUNK = '0\r\n\r\n';
const SENT_AT = /@(\d+\.\d)/g;
const STEP_MS = 20;
const TAIL = 64;

const body = JSON.stringify({
  model: 'bench-beat',
  stream: true,
  max_tokens: order.beats * BEAT_TOKENS,
  messages: [{ role: 'user', content: 'tokens tokens' }],
});
const requests = order.keys.map(
  (key) =>
    `POST /v1/chat/completions HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
);
const found: BeatReport = { whole: 0, dropped: {}, events: 0, lags: [] };
found.lags = new Array<number>(LAG_MS_MAX + 1).fill(0);

function count(text: string): void {
  const now = performance.timeOrigin + performance.now();
  if (now < order.fromMs || now >= order.untilMs) return;
  for (const [, sentAt] of text.matchAll(SENT_AT)) {
    const lag = Math.min(LAG_MS_MAX, Math.max(0, Math.floor(now - Number(sentAt))));
    found.events += 1;
    found.lags[lag] = (found.lags[lag] ?? 0) + 1;
  }
}

function openStream(request: string, done: () => void): void {
  let head = '';
  let tail = '';
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const end = (reason: string | null): void => {
    socket.removeAllListeners('close').destroy();
    if (reason === null) found.whole += 1;
    else found.dropped[reason] = (found.dropped[reason] ?? 0) + 1;
    done();
  };
  socket.setEncoding('latin1');
  socket.on('connect', () => socket.write(request));
  socket.on('data', (text: string) => {
    if (head === '') head = text.slice(0, 12);
    if (!head.endsWith('200')) return end(head.slice(9) + (/"code":"\w+"/.exec(text)?.[0] ?? ''));
    count(text);
    tail = (tail + text).slice(-TAIL);
    if (tail.endsWith(LAST_CHUNK)) end(tail.includes('[DONE]') ? null : 'no [DONE]');
  });
  socket.on('error', () => undefined);
  socket.once('close', () => end('closed'));
}

const { promise: over, resolve } = Promise.withResolvers<void>();
const startedAt = performance.now();
let opened = 0;
let ended = 0;
const timer = setInterval(() => {
  const due = ((performance.now() - startedAt) / order.rampMs) * order.streams;
  for (; opened < Math.min(due, order.streams); opened += 1)
    openStream(requests[opened % requests.length] as string, () => {
      ended += 1;
      if (ended === order.streams) resolve();
    });
  if (opened === order.streams) clearInterval(timer);
}, STEP_MS);
await over;
process.stdout.write(`${JSON.stringify(found)}\n`);
process.exit();
