import type { Services } from '@tollgate/harness';
import { FaultProxy } from './fault-proxy.ts';

const PRELOAD = new URL('./redirect-connections.mjs', import.meta.url).href;

/** Is one relay, or several as one. */
export type Way = Pick<FaultProxy, 'cut' | 'heal' | 'leadTo'>;

/** Relays every way between an app and a store, each through a relay of its own. */
export class Network {
  readonly #relays = new Map<string, FaultProxy>();

  /** Lists `<process> to <server>` for each server of Redis and, for control planes, `postgres`; with several servers of Redis also `<process> to redis` for all of them. */
  get ways(): string[] {
    const single = [...this.#relays.keys()];
    return [...new Set([...single, ...single.map((name) => name.replace(/ redis-.*$/, ' redis'))])];
  }

  /** The apps keep the true addresses; their sockets lead to the relays. */
  route = async (process: string, { ports }: Services): Promise<Record<string, string>> => {
    const redirected: Record<string, number> = {};
    for (const [server, port] of ports) {
      if (server === 'postgres' && !process.startsWith('control-plane')) continue;
      const relay = await FaultProxy.open({ host: '127.0.0.1', port });
      this.#relays.set(`${process} to ${server}`, relay);
      redirected[port] = relay.port;
    }
    return { NODE_OPTIONS: `--import ${PRELOAD}`, REDIRECTED_PORTS: JSON.stringify(redirected) };
  };

  /** Returns the single ways that one consists of. */
  partsOf(way: string): string[] {
    const parts = [...this.#relays.keys()].filter(
      (name) => name === way || name.startsWith(`${way}-`),
    );
    if (parts.length === 0) throw new Error(`There is no way "${way}".`);
    return parts;
  }

  way(name: string): Way {
    const relays = this.partsOf(name).flatMap((part) => this.#relays.get(part) ?? []);
    return {
      cut: (mode) => relays.forEach((relay) => relay.cut(mode)),
      heal: () => relays.forEach((relay) => relay.heal()),
      leadTo: (target) => relays.forEach((relay) => relay.leadTo(target)),
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#relays.values()].map((relay) => relay.close()));
  }
}
