import type { StoreUrls } from '@tollgate/harness';
import { FaultProxy } from './fault-proxy.ts';

/** Every way between an app and a store, each through a relay of its own. */
export class Network {
  readonly #ways = new Map<string, FaultProxy>();

  /** `<process> to redis` and, for control planes, `<process> to postgres`. */
  get ways(): string[] {
    return [...this.#ways.keys()];
  }

  route = async (process: string, direct: StoreUrls): Promise<StoreUrls> => ({
    redisUrl: await this.#through(`${process} to redis`, direct.redisUrl),
    databaseUrl: process.startsWith('control-plane') ? await this.#through(`${process} to postgres`, direct.databaseUrl) : direct.databaseUrl,
  });

  way(name: string): FaultProxy {
    const way = this.#ways.get(name);
    if (!way) throw new Error(`There is no way "${name}".`);
    return way;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#ways.values()].map((way) => way.close()));
  }

  async #through(name: string, address: string): Promise<string> {
    const url = new URL(address);
    const proxy = await FaultProxy.open({ host: url.hostname, port: Number(url.port) });
    this.#ways.set(name, proxy);
    url.port = String(proxy.port);
    return url.href;
  }
}
