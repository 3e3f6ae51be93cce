import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { resolveFaketime, until } from '@tollgate/harness';
import type { RedisServers } from './redis-servers.ts';

const APPLIED_WITHIN_MS = 10_000;
const TOLERANCE_S = 5;

/** Sets the clock of all servers of Redis that were started with `env`: the real one plus an offset, which can change while they run. */
export class RedisClock {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'tollgate-clock-'));
  readonly #library: string;

  private constructor(library: string) {
    this.#library = library;
    this.#write(0);
  }

  static async make(): Promise<RedisClock> {
    return new RedisClock(await resolveFaketime());
  }

  get env(): Record<string, string> {
    return {
      // libfaketime cannot start below jemalloc, whose first allocation reads the clock: the C library's own allocator goes before it.
      LD_PRELOAD: `${this.#library} libc.so.6`,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_CACHE_DURATION: '1',
      // The event loop's timers go on, as they do when a clock is set.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** Resolves when every server returns the shifted time. */
  async shift(servers: RedisServers, offsetS: number): Promise<void> {
    this.#write(offsetS);
    await until(
      `the clock of Redis is ${offsetS} s off`,
      async () => {
        const times = await Promise.all(servers.names.map((name) => servers.unixSeconds(name)));
        return times.every((time) => Math.abs(time - offsetS - Date.now() / 1_000) < TOLERANCE_S);
      },
      APPLIED_WITHIN_MS,
    );
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #file(): string {
    return path.join(this.#folder, 'offset');
  }

  /** The file is renamed into place: half a number would be another time. */
  #write(offsetS: number): void {
    writeFileSync(`${this.#file}.new`, `${offsetS < 0 ? '' : '+'}${offsetS}\n`);
    renameSync(`${this.#file}.new`, this.#file);
  }
}
