import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { findFreePort, isFree } from '../process/free-port.ts';

const PORT_MAX = 65_535;

/** Ports of this checkout, remembered so that addresses stay the same across restarts for as long as no other program takes them. */
export class PortBook {
  private readonly file: string;
  private readonly remembered: Record<string, number>;
  private readonly chosen = new Set<number>();

  constructor(stateFolder: string) {
    this.file = path.join(stateFolder, 'ports.json');
    this.remembered = read(this.file);
  }

  /** Returns the remembered port, else one of `preferred`, else any free one. */
  async claim(name: string, preferred: readonly number[] = []): Promise<number> {
    const earlier = this.remembered[name];
    const port = await findFreePort(
      [...(earlier === undefined ? [] : [earlier]), ...preferred],
      this.chosen,
    );
    return this.remember(name, port);
  }

  /** Returns the port that was asked for, or an error: another one is not what the caller meant. */
  async claimExactly(name: string, port: number): Promise<number> {
    if (!Number.isInteger(port) || port < 1 || port > PORT_MAX)
      throw new Error(`PORT is not a port number.\n  Fix: PORT=9000 npm start`);
    if (!(await isFree(port)))
      throw new Error(
        `Port ${port} is taken by another program.\n  Fix: choose another one (PORT=9000 npm start), or leave PORT out.`,
      );
    return this.remember(name, port);
  }

  /** Forgets those of the named ports that cannot be bound now, so that the next claim chooses others. Answers their names. */
  async forgetTaken(names: readonly string[]): Promise<string[]> {
    const taken: string[] = [];
    for (const name of names) {
      const port = this.remembered[name];
      if (port === undefined) continue;
      if (!(await isFree(port))) {
        taken.push(name);
        delete this.remembered[name];
      } else this.chosen.delete(port);
    }
    return taken;
  }

  private remember(name: string, port: number): number {
    this.chosen.add(port);
    this.remembered[name] = port;
    writeFileSync(this.file, `${JSON.stringify(this.remembered, null, 2)}\n`);
    return port;
  }
}

function read(file: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, number>;
  } catch {
    return {};
  }
}
