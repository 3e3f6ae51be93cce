import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const PRELOAD = new URL('./shift-clock.mjs', import.meta.url).href;

/** Sets the wall clocks of nodes: the real one plus an offset each, which can change while they run and stays over a restart. Control planes keep the real time. */
export class NodeClocks {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'tollgate-node-clocks-'));
  readonly names: string[] = [];

  /** Returns `env` with the clock of this process, if it is a node's. */
  env(process: string, env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    if (!process.startsWith('node-')) return env;
    this.names.push(process);
    this.shift(process, 0);
    return {
      ...env,
      NODE_OPTIONS: [env.NODE_OPTIONS ?? '', `--import ${PRELOAD}`].join(' ').trim(),
      CLOCK_OFFSET_FILE: this.#file(process),
    };
  }

  /** Shifts the clock; it is in force within a tenth of a second. */
  shift(process: string, offsetMs: number): void {
    writeFileSync(this.#file(process), String(offsetMs));
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #file(process: string): string {
    return path.join(this.#folder, process);
  }
}
