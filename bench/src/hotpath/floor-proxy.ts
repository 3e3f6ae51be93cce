import { randomUUIDv7 } from 'node:crypto';
import { fdatasync, openSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { holdSigner, signFinal } from '@tollgate/contracts';
import { Pool, type Dispatcher } from 'undici';
import { RespReader } from '../../../libs/keyspace/src/connection/resp.ts';
import type { FloorOrder, Payer } from './floor-order.ts';
import { filled } from './function-template.ts';

/**
 * Is the floor of an exact proxy in Node: the bare proxy, and beside it this product's `admit` before the upstream, a journal line for the hold and one for the
 * final before the end of the answer, and a signed `settle` after it. It parses the answer's usage alone. It has no check of a request, routing,
 * failover, checkpoint, relay or metric. The argument is a `FloorOrder`. It prints its port.
 */
const { origin, redisUrl, credentialHash, node, payers } = JSON.parse(
  process.argv[2] ?? '',
) as FloorOrder;
const signHold = holdSigner(credentialHash);
const pool = new Pool(origin);

/** All commands of a turn are one write. */
class Functions {
  readonly #socket;
  readonly #waiting: ((reply: unknown) => void)[] = [];
  #unsent = '';

  constructor({ hostname, port, username, password }: URL) {
    const reader = new RespReader((reply) => this.#waiting.shift()?.(reply));
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket.on('data', (bytes: Buffer) => reader.push(bytes));
    if (password !== '')
      this.call(
        `AUTH ${decodeURIComponent(username) || 'default'} ${decodeURIComponent(password)}\r\n`,
        expectOk,
      );
  }

  call(command: string, done: (reply: unknown) => void): void {
    if (this.#unsent === '') setImmediate(() => this.#send());
    this.#unsent += command;
    this.#waiting.push(done);
  }

  #send(): void {
    this.#socket.write(this.#unsent, 'latin1');
    this.#unsent = '';
  }
}

/** A refusal would make the figure that of another path. */
function expectOk(reply: unknown): void {
  if (reply === 'OK' || (Array.isArray(reply) && reply[0] === 'OK')) return;
  throw new Error(`Redis answered ${String(reply)}`);
}

const SYNC_MS = 100;
const FILE_BYTES_MAX = 64 * 1024 * 1024;

/** All lines of a turn are one write; the disk is asked ten times a second, as the node's journal does. */
class Journal {
  readonly #file = openSync(path.join(tmpdir(), `tollgate-bench-${process.pid}.lines`), 'w');
  #lines = '';
  #written: (() => void)[] = [];
  #at = 0;
  #isSynced = true;

  constructor() {
    setInterval(() => {
      if (!this.#isSynced) fdatasync(this.#file, () => undefined);
      this.#isSynced = true;
    }, SYNC_MS);
  }

  append(body: string, written?: () => void): void {
    if (this.#lines === '') setImmediate(() => this.#write());
    this.#lines += `${crc32(body).toString(16).padStart(8, '0')} ${body}\n`;
    if (written) this.#written.push(written);
  }

  #write(): void {
    const written = this.#written;
    if (this.#at > FILE_BYTES_MAX) this.#at = 0;
    this.#at += writeSync(this.#file, this.#lines, this.#at, 'latin1');
    this.#isSynced = false;
    this.#lines = '';
    this.#written = [];
    for (const done of written) done();
  }
}

const functions = new Functions(new URL(redisUrl));
const journal = new Journal();
const PRICE =
  '"price_per_million":"0.01","weights":{"input":"1","output":"1","cache_read":"1","cache_write":"1"}';

/** Is one request; its methods are in the order in which they are called. */
class Request implements Dispatcher.DispatchHandler {
  readonly #incoming: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #payer: Payer;
  readonly #rid = randomUUIDv7();
  readonly #startedAt = Date.now();
  readonly #body: Buffer[] = [];
  readonly #answer: Buffer[] = [];
  #isStream = false;

  constructor(incoming: IncomingMessage, response: ServerResponse) {
    this.#incoming = incoming;
    this.#response = response;
    this.#payer = payers[incoming.headers.authorization ?? ''] as Payer;
    incoming.on('data', (chunk: Buffer) => this.#body.push(chunk));
    incoming.on('end', () => this.#admit());
  }

  #admit(): void {
    const { accountId, modelId, admit } = this.#payer;
    const rid = this.#rid;
    const mac = signHold({ rid, accountId, modelId, usedTokens: 0 });
    functions.call(filled(admit, { rid, mac }), (reply) => this.#admitted(reply));
  }

  #admitted(reply: unknown): void {
    expectOk(reply);
    const { accountId, keyHash, keyId, modelId, subscriptionId, epoch, ...payer } = this.#payer;
    const { priceVersionId, wantTokens } = payer;
    journal.append(
      `{"t":"A","hold":{"rid":"${this.#rid}","accountId":${accountId},"keyHash":"${keyHash}","keyId":${keyId},"modelId":${modelId},"subscriptionId":${subscriptionId},"generation":1,"epoch":"${epoch}","price":{"id":${priceVersionId},${PRICE}},"grantedTokens":${wantTokens},"sliceTokens":4096,"boundTokens":${wantTokens},"isStream":${this.#isStream},"startedAtMs":${this.#startedAt},"protocol":"chat"}}`,
    );
    const headers = { 'content-type': 'application/json' };
    const body = Buffer.concat(this.#body);
    pool.dispatch({ path: this.#incoming.url ?? '/', method: 'POST', body, headers }, this);
  }

  onRequestStart(): void {}

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    _status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    const type = String(headers['content-type']);
    this.#isStream = type.startsWith('text/event-stream');
    const length = headers['content-length'];
    this.#response.writeHead(200, {
      'content-type': type,
      ...(typeof length === 'string' && { 'content-length': length }),
    });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isStream) this.#response.write(chunk);
    this.#answer.push(chunk);
  }

  onResponseEnd(): void {
    const { accountId, keyId, keyHash, subscriptionId, modelId, priceVersionId, epoch } =
      this.#payer;
    const [input, output] = tokensOf(Buffer.concat(this.#answer).toString('latin1'));
    const now = Date.now();
    const ms = now - this.#startedAt;
    const charge = input + output;
    const payload = `{"kind":"usage","account_id":${accountId},"key_id":${keyId},"subscription_id":${subscriptionId},"model_id":${modelId},"price_version_id":${priceVersionId},"node":"${node}","protocol":"chat","is_stream":${this.#isStream},"upstream_id":1,"attempts":[{"upstream_id":1,"route_id":1,"status":200,"duration_ms":${ms}}],"outcome":"completed","status":200,"input_tokens":${input},"cache_read_tokens":0,"cache_write_tokens":0,"output_tokens":${output},"reasoning_tokens":0,"charge":${charge},"key_hash":"${keyHash}","basis":"reported","started_at":${this.#startedAt},"first_token_ms":${ms},"duration_ms":${ms}}`;
    journal.append(
      `{"t":"F","at":${now},"rid":"${this.#rid}","epoch":"${epoch}","final":${payload}}`,
      () => this.#settle(payload, charge),
    );
  }

  #settle(final: string, charge: number): void {
    if (this.#isStream) this.#response.end();
    else this.#response.end(Buffer.concat(this.#answer));
    const rid = this.#rid;
    const payload = signFinal({ rid, payload: final }, credentialHash);
    functions.call(filled(this.#payer.settle, { rid, charge: String(charge), payload }), expectOk);
  }

  onResponseError(): void {
    this.#response.destroy();
  }
}

const USAGE = '"usage":';

/** Returns input and output of the last usage in the answer. */
function tokensOf(answer: string): [number, number] {
  const at = answer.lastIndexOf(USAGE) + USAGE.length;
  const text = answer.slice(at, answer.indexOf('}', at) + 1);
  const usage = JSON.parse(text) as { prompt_tokens: number; completion_tokens: number };
  return [usage.prompt_tokens, usage.completion_tokens];
}

const server = createServer((request, response) => void new Request(request, response));
server.listen(0, '127.0.0.1', 4_096, () =>
  process.stdout.write(`${(server.address() as { port: number }).port}\n`),
);
