import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { verifySnapshot, type PublishedSnapshot } from '@tollgate/snapshot';

/** The last good snapshot on the node's disk, so that a node starts and serves while Redis is away. */
export class SnapshotFile {
  readonly #path: string;

  readonly #draft: string;

  /** `worker`: the workers of a node share the file, each brings its own draft. */
  constructor(path: string, { worker }: { worker: number }) {
    this.#path = path;
    this.#draft = `${path}.new.${worker}`;
  }

  /** Undefined when there is none, or what is there is damaged or of another format: the pull will bring a good one. */
  async load(): Promise<PublishedSnapshot | undefined> {
    try {
      const verdict = verifySnapshot(JSON.parse(await readFile(this.#path, 'utf8')));
      return verdict.kind === 'ok' ? verdict.snapshot : undefined;
    } catch {
      return undefined;
    }
  }

  /** Whole or not at all: a torn file would lose the last good one. */
  async save(snapshot: PublishedSnapshot): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true });
    const file = await open(this.#draft, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify(snapshot));
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(this.#draft, this.#path);
  }
}
