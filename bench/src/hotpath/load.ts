import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { LoadOrder, LoadReport } from './load-order.ts';

/** Sends requests over sockets of its own, as a client of node:http would cost more than what is measured. The argument is a `LoadOrder` as JSON. It prints a `LoadReport`. */
const order = JSON.parse(process.argv[2] ?? '') as LoadOrder;
const { hostname, port, pathname } = new URL(order.url);
const body = JSON.stringify({
  model: order.model,
  ...(order.isStream ? { stream: true } : {}),
  max_tokens: 200,
  messages: [{ role: 'user', content: 'tokens '.repeat(Math.ceil(order.promptBytes / 7)) }],
});
const further = Object.entries(order.headers)
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');
const requests = order.keys.map(
  (key) =>
    `POST ${pathname} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n${further}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
);

interface Answer {
  status: number;
  ms: number;
  firstMs: number;
  /** Names the reason of the refusal. */
  code: string;
}

const BODY_BEGINS = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';

/** Is one connection, with one request at a time. */
class Connection {
  readonly #socket: Socket;
  #text = '';
  #startedAt = 0;
  #firstAt = 0;
  #done: ((answer: Answer) => void) | undefined;

  constructor() {
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (text: string) => this.#read(text));
    this.#socket.on('error', () => undefined);
    this.#socket.on('close', () => this.#end(0, 'closed'));
  }

  send(request: string): Promise<Answer> {
    this.#text = '';
    this.#firstAt = 0;
    this.#startedAt = performance.now();
    return new Promise((resolve) => {
      this.#done = resolve;
      if (this.#socket.destroyed) this.#end(0, 'closed');
      else this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(text: string): void {
    this.#text += text;
    const at = this.#text.indexOf(BODY_BEGINS);
    if (at === -1) return;
    if (this.#firstAt === 0 && this.#text.length > at + BODY_BEGINS.length)
      this.#firstAt = performance.now();
    if (!this.#isWhole(at)) return;
    const code = /"code":"(\w+)"/.exec(this.#text.slice(at, at + 500))?.[1];
    this.#end(Number(this.#text.slice(9, 12)), code ?? '');
  }

  #isWhole(headEnd: number): boolean {
    const head = this.#text.slice(0, headEnd);
    const length = /content-length: (\d+)/i.exec(head)?.[1];
    if (length === undefined) return this.#text.endsWith(LAST_CHUNK);
    return this.#text.length >= headEnd + BODY_BEGINS.length + Number(length);
  }

  #end(status: number, code: string): void {
    const now = performance.now();
    const done = this.#done;
    this.#done = undefined;
    done?.({ status, code, ms: now - this.#startedAt, firstMs: this.#firstAt - this.#startedAt });
  }
}

const answers: Answer[] = [];
let sent = 0;
const nextRequest = (): string => requests[sent++ % requests.length] as string;

/** Every connection sends its next request when the last is answered. */
async function closedLoop(connections: readonly Connection[]): Promise<void> {
  const until = performance.now() + order.seconds * 1_000;
  await Promise.all(
    connections.map(async (connection) => {
      while (performance.now() < until && sent < order.requestsMax)
        answers.push(await connection.send(nextRequest()));
    }),
  );
}

/** Requests begin at their times, whether or not earlier ones are answered. */
async function openLoop(connections: readonly Connection[], perSecond: number): Promise<void> {
  const startedAt = performance.now();
  const free = [...connections];
  const running: Promise<void>[] = [];
  for (let index = 0; index < order.seconds * perSecond; index += 1) {
    const dueAt = startedAt + (index * 1_000) / perSecond;
    const wait = dueAt - performance.now();
    if (wait > 0) await delay(wait);
    const connection = free.pop() ?? new Connection();
    running.push(
      connection.send(nextRequest()).then((answer) => {
        answers.push(answer);
        free.push(connection);
      }),
    );
  }
  await Promise.all(running);
  for (const connection of free) connection.close();
}

function report(): LoadReport {
  const good = answers.filter(({ status }) => status === 200);
  const refused: Record<string, number> = {};
  for (const { status, code } of answers)
    if (status !== 200) refused[`${status} ${code}`] = (refused[`${status} ${code}`] ?? 0) + 1;
  const total = good.map(({ ms }) => ms).sort((a, b) => a - b);
  const first = good.map(({ firstMs }) => firstMs).sort((a, b) => a - b);
  const at = (sorted: number[], share: number): number =>
    sorted[Math.floor(sorted.length * share)] ?? 0;
  return {
    requests: answers.length,
    refused,
    p50Ms: at(total, 0.5),
    p99Ms: at(total, 0.99),
    firstP50Ms: at(first, 0.5),
    firstP99Ms: at(first, 0.99),
  };
}

const connections = Array.from({ length: order.connections }, () => new Connection());
await (order.perSecond === null ? closedLoop(connections) : openLoop(connections, order.perSecond));
for (const connection of connections) connection.close();
process.stdout.write(`${JSON.stringify(report())}\n`);
