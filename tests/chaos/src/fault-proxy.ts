import { connect, createServer, type Server, type Socket } from 'node:net';

/** Names how a cut acts: connections break and new ones are refused, or everything stays open and nothing arrives. */
export type CutMode = 'reset' | 'silence';

export interface Address {
  host: string;
  port: number;
}

/** Relays TCP between two parts, and can be cut and healed. */
export class FaultProxy {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #target: Address;
  #cut: CutMode | undefined;

  private constructor(target: Address) {
    this.#target = target;
    this.#server = createServer((client) => this.#join(client, connect(this.#target)));
  }

  /** Listens on a loopback port of the system's choice. */
  static async open(target: Address): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    await new Promise<void>((resolve, reject) =>
      proxy.#server.once('error', reject).listen(0, '127.0.0.1', resolve),
    );
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string')
      throw new Error('the fault proxy is closed');
    return address.port;
  }

  /** New connections lead there from now on, as after a failover; those that are open stay where they are. */
  leadTo(target: Address): void {
    this.#target = target;
  }

  cut(mode: CutMode): void {
    this.#cut = mode;
    for (const [client, target] of this.#pairs) {
      if (mode === 'reset') client.resetAndDestroy();
      else [client, target].forEach((socket) => socket.pause());
    }
  }

  /** Breaks the connections that were silenced: a network that comes back after seconds rarely restores them. */
  heal(): void {
    const wasSilent = this.#cut === 'silence';
    this.#cut = undefined;
    if (wasSilent) for (const [client] of this.#pairs) client.resetAndDestroy();
  }

  async close(): Promise<void> {
    for (const [client] of this.#pairs) client.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(client: Socket, target: Socket): void {
    const pair = [client, target] as const;
    this.#pairs.add(pair);
    const end = (): void => {
      this.#pairs.delete(pair);
      client.destroy();
      target.destroy();
    };
    for (const socket of pair) socket.setNoDelay(true).on('error', end).on('close', end);
    if (this.#cut === 'reset') return void client.resetAndDestroy();
    client.pipe(target);
    target.pipe(client);
    if (this.#cut === 'silence') pair.forEach((socket) => socket.pause());
  }
}
