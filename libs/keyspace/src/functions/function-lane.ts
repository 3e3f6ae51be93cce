import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Redis } from 'ioredis';
import { CommandWriter } from '../connection/command-writer.ts';
import { RespError, RespReader } from '../connection/resp.ts';
import { SilenceWatch } from '../connection/silence-watch.ts';

/** Gets what Redis answers to a command. */
interface Waiting {
  resolve: (reply: unknown) => void;
  reject: (error: Error) => void;
}

const OPEN_AGAIN_MS = 1_000;
/** Is the message that ioredis has for it, which `isUnanswered` knows. The call may have run: its sender decides whether to repeat it. */
const BROKEN = 'Connection is closed.';

/**
 * Function calls to one server over a socket of their own, beside the library's connection: that one finds the server (Sentinel, Cluster), knows
 * whether it serves and reconnects; this socket exists only while that one is ready, and every call may take that one instead. It is fast because
 * a call is one object, and all calls of a turn of the event loop are one block of bytes and one write.
 */
export class FunctionLane {
  readonly #server: Redis;
  #socket: Socket | null = null;
  #isOpen = false;
  /** Holds calls in the order of their replies, from `#next` on. */
  #waiting: Waiting[] = [];
  #next = 0;
  #unsent = new CommandWriter();
  #silence: SilenceWatch | null = null;
  #isEnded = false;

  constructor(server: Redis) {
    this.#server = server;
    server.on('ready', this.#open);
    server.on('close', this.#drop);
    if (server.status === 'ready') this.#open();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Rejects with what Redis answered (`RespError`), or when the socket breaks before it has. Throws for an argument that is no text. */
  fcall(
    name: string,
    keys: readonly string[],
    args: readonly (string | number)[],
    waiting: Waiting,
  ): void {
    this.#send(waiting, ['FCALL', name, keys.length], keys, args);
  }

  close(): void {
    this.#isEnded = true;
    this.#server.off('ready', this.#open);
    this.#server.off('close', this.#drop);
    this.#drop();
  }

  readonly #open = (): void => {
    if (this.#socket || this.#isEnded || this.#server.status !== 'ready') return;
    const reader = new RespReader((reply) => this.#answer(reply));
    const socket = connectBeside(this.#server, (bytes) => {
      this.#silence?.heard();
      try {
        reader.push(bytes);
      } catch {
        this.#drop();
      }
    });
    if (!socket) return;
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('error', () => this.#drop());
    socket.on('close', () => {
      if (this.#socket === socket) this.#drop();
    });
    this.#silence = new SilenceWatch({
      owes: () => this.#next < this.#waiting.length,
      onSilent: () => this.#giveUp(),
    });
    void this.#greet().then(
      () => (this.#isOpen = this.#socket === socket),
      () => this.#drop(),
    );
  };

  async #greet(): Promise<void> {
    const { username, password, db, connectionName } = this.#server.options;
    const isNamed = username !== undefined && username !== null && username !== '';
    const greetings: Promise<unknown>[] = [];
    const greet = (...command: (string | number)[]): void =>
      void greetings.push(
        new Promise((resolve, reject) => this.#send({ resolve, reject }, command)),
      );
    if (password) greet('AUTH', ...(isNamed ? [username] : []), password);
    if (db) greet('SELECT', db);
    greet('CLIENT', 'SETNAME', `${connectionName ?? ''}:lane`);
    await Promise.all(greetings);
  }

  #send(waiting: Waiting, ...command: Parameters<CommandWriter['add']>): void {
    if (this.#unsent.isEmpty) setImmediate(this.#flush);
    this.#unsent.add(...command);
    this.#waiting.push(waiting);
  }

  readonly #flush = (): void => {
    if (!this.#unsent.isEmpty) this.#socket?.write(this.#unsent.take());
  };

  #answer(reply: unknown): void {
    const waiting = this.#waiting[this.#next];
    if (!waiting) throw new Error('a reply that nothing waits for');
    this.#next += 1;
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
    } else if (this.#next >= FORGET_AT) {
      this.#waiting = this.#waiting.slice(this.#next);
      this.#next = 0;
    }
    if (reply instanceof RespError) waiting.reject(reply);
    else waiting.resolve(reply);
  }

  /** A server that owes replies and is silent is taken for gone, for the library's connection too: what is asked next fails at once. */
  #giveUp(): void {
    this.#drop();
    this.#server.disconnect(true);
  }

  /** Fails the commands that were sent. They are never sent again here. */
  readonly #drop = (): void => {
    const socket = this.#socket;
    if (!socket) return;
    this.#socket = null;
    this.#isOpen = false;
    this.#silence?.end();
    this.#silence = null;
    socket.destroy();
    const lost = this.#waiting.slice(this.#next);
    this.#waiting = [];
    this.#next = 0;
    this.#unsent.take();
    for (const { reject } of lost) reject(new Error(BROKEN));
    // The library's connection may be well; while it is not, `ready` opens this one again.
    setTimeout(this.#open, OPEN_AGAIN_MS).unref();
  };
}

/** Is the number of replies between two removals of answered calls. */
const FORGET_AT = 1_024;

/** Fits replies that arrive together; a longer one comes in several reads. */
const READ_BYTES = 64 * 1024;

/** Connects to the server that the library is connected to. Returns null where its address does not say how: a socket file, or a certificate's name behind Sentinel. All reads fill the same block of memory, which the next read overwrites: Node would allocate a block of that size for each. */
function connectBeside(
  { stream, options }: Redis,
  onBytes: (bytes: Buffer) => void,
): Socket | null {
  const { remoteAddress: host, remotePort: port } = stream;
  if (host === undefined || port === undefined) return null;
  const block = Buffer.allocUnsafeSlow(READ_BYTES);
  const onread = {
    buffer: block,
    callback: (length: number): boolean => {
      onBytes(block.subarray(0, length));
      return true;
    },
  };
  if (!options.tls) return connectPlain({ host, port, onread });
  if (options.sentinels || options.host === undefined) return null;
  const secure = { port, host: options.host, ...options.tls, onread };
  return connectTls(secure);
}
