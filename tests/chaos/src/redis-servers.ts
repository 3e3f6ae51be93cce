import path from 'node:path';
import type { Tollgate } from '@tollgate/harness';
import { openRedis, redisReady } from '@tollgate/keyspace';
import { until } from '@tollgate/harness';

const CONNECT_MS = 10_000;
/** A sentinel that is down itself is back within ten seconds, and then takes a few to change sides. */
const WHOLE_MS = 60_000;

/** Asks each server of Redis behind an installation by itself. */
export class RedisServers {
  readonly #tollgate: Tollgate;
  /** Names those that hold data. */
  readonly names: string[];

  constructor(tollgate: Tollgate) {
    this.#tollgate = tollgate;
    this.names = tollgate.services.redisServers
      .map(({ spec }) => spec.name)
      .filter((name) => name !== 'redis-sentinel');
  }

  get kind(): Tollgate['services']['redisKind'] {
    return this.#tollgate.services.redisKind;
  }

  /** Returns the servers that must not be struck beside this one: a replica that has not caught up yet is no replica. */
  partsOf(name: string): string[] {
    return this.kind === 'sentinel' && this.names.includes(name) ? this.names : [name];
  }

  /** Returns the names of those that take writes. */
  async primaries(): Promise<string[]> {
    const roles = await Promise.all(
      this.names.map((name) => this.ask(name, 'ROLE').catch(() => [])),
    );
    return this.names.filter((_, index) => [roles[index]].flat()[0] === 'master');
  }

  /** Resolves once the replica is promoted. */
  async promoted(old: string): Promise<void> {
    await untilSo(`another primary than ${old}`, async () =>
      (await this.primaries()).some((name) => name !== old),
    );
  }

  /** Returns the folder of its append-only file. */
  folderOf(name: string): string {
    const server = this.#tollgate.services.redisServers.find(({ spec }) => spec.name === name);
    return path.join(server?.spec.cwd ?? '', 'appendonlydir');
  }

  async ask(name: string, command: string, ...args: string[]): Promise<unknown> {
    const password = /:([^:@/]*)@/.exec(this.#tollgate.redisUrl)?.[1] ?? '';
    const redis = openRedis(
      `redis://:${password}@127.0.0.1:${this.#tollgate.services.ports.get(name)}`,
      { role: 'plain', name: 'chaos', onError: () => undefined },
    );
    try {
      await redisReady(redis, CONNECT_MS);
      return await redis.call(command, ...args);
    } finally {
      redis.disconnect();
    }
  }

  /** Rewrites each append-only file: a cut of its end takes nothing that was there before. */
  async rewriteFiles(): Promise<void> {
    for (const name of this.names) {
      await this.ask(name, 'BGREWRITEAOF');
      await untilSo(`the file of ${name} to be rewritten`, async () =>
        /aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0/.test(
          String(await this.ask(name, 'INFO', 'persistence')),
        ),
      );
    }
  }

  async unixSeconds(name: string): Promise<number> {
    return Number([await this.ask(name, 'TIME')].flat()[0]);
  }

  /** Resolves when this server does its part again: a primary knows its cluster, a pair of primary and replica is in step. */
  async whole(name: string): Promise<void> {
    const states = {
      single: async () => true,
      cluster: () => this.#isInCluster(name),
      'replicated-cluster': () => this.#isInCluster(name),
      sentinel: () => this.#isPairInStep(),
    };
    await untilSo(`${name} to be whole`, states[this.kind]);
  }

  async #isInCluster(name: string): Promise<boolean> {
    return String(await this.ask(name, 'CLUSTER', 'INFO')).includes('cluster_state:ok');
  }

  async #isPairInStep(): Promise<boolean> {
    const infos = await Promise.all(
      this.names.map(async (name) => String(await this.ask(name, 'INFO', 'replication'))),
    );
    return (
      infos.some((info) =>
        /^role:master\r\nconnected_slaves:1\r\nslave0:.*state=online/m.test(info),
      ) && infos.some((info) => info.includes('master_link_status:up'))
    );
  }
}

/** A server that does not answer yet is not there yet. */
function untilSo(what: string, isSo: () => Promise<boolean>): Promise<true> {
  return until(`Redis: ${what}`, () => isSo().catch(() => false), WHOLE_MS);
}
