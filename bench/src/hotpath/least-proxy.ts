import { openSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Pool, type Dispatcher } from 'undici';

/**
 * The least that an exact proxy does, whatever it is written in: the bare proxy, and beside it a hold before the request, a line on disk before the end of the answer, and a
 * settlement after it. Each is an empty one: two echoes of Redis in place of functions, all of a turn in one write, and a line of zeros. No key, no parsing,
 * no count. Arguments: the upstream's origin, the address of Redis. Prints its port.
 */
const [origin = '', redisUrl = ''] = process.argv.slice(2);
/** About as long as the commands and the lines of a node. */
const ECHO = 'e'.repeat(500);
const LINE = '0'.repeat(1_000);
const COMMAND = `*2\r\n$4\r\nECHO\r\n$${ECHO.length}\r\n${ECHO}\r\n`;
const REPLY_BYTES = `$${ECHO.length}\r\n${ECHO}\r\n`.length;
const GREETED = '+OK\r\n'.length;

/** Every reply has the same length, so none is read. */
class Echoes {
  readonly #socket;
  readonly #waiting: (() => void)[] = [];
  #unsent = '';
  #bytes: number;

  constructor({ hostname, port, username, password }: URL) {
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#bytes = password === '' ? 0 : -GREETED;
    if (password !== '')
      this.#socket.write(
        `AUTH ${decodeURIComponent(username) || 'default'} ${decodeURIComponent(password)}\r\n`,
      );
    this.#socket.on('data', (bytes: Buffer) => {
      this.#bytes += bytes.length;
      for (; this.#bytes >= REPLY_BYTES; this.#bytes -= REPLY_BYTES) this.#waiting.shift()?.();
    });
  }

  ask(done: () => void): void {
    if (this.#unsent === '') setImmediate(() => this.#send());
    this.#unsent += COMMAND;
    this.#waiting.push(done);
  }

  #send(): void {
    this.#socket.write(this.#unsent, 'latin1');
    this.#unsent = '';
  }
}

class Lines {
  readonly #file = openSync(path.join(tmpdir(), `tollgate-bench-${process.pid}.lines`), 'w');
  #waiting: (() => void)[] = [];

  write(done: () => void): void {
    if (this.#waiting.push(done) === 1) setImmediate(() => this.#write());
  }

  #write(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    // Always the same place: the file stays small.
    writeSync(this.#file, LINE.repeat(waiting.length), 0);
    for (const done of waiting) done();
  }
}

const echoes = new Echoes(new URL(redisUrl));
const lines = new Lines();
const pool = new Pool(origin);

/** Whole answers and streams in one write alike: the end follows the line. */
class Passing implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  readonly #chunks: Buffer[] = [];

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  onRequestStart(): void {}

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    _status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#response.writeHead(200, { 'content-type': String(headers['content-type']) });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    lines.write(() => {
      for (const chunk of this.#chunks) this.#response.write(chunk);
      this.#response.end();
      echoes.ask(() => undefined);
    });
  }

  onResponseError(): void {
    this.#response.destroy();
  }
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () =>
    echoes.ask(() =>
      pool.dispatch(
        {
          path: request.url ?? '/',
          method: 'POST',
          body: Buffer.concat(chunks),
          headers: { 'content-type': 'application/json' },
        },
        new Passing(response),
      ),
    ),
  );
}

const server = createServer(serve);
server.listen(0, '127.0.0.1', 4_096, () =>
  process.stdout.write(`${(server.address() as { port: number }).port}\n`),
);
