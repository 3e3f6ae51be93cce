import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  snapshotStandingSchema,
  verifySnapshot,
  type PublishedSnapshot,
  type SnapshotStanding,
} from '@tollgate/snapshot';

/** The last good snapshot on the node's disk, so that a node starts and serves while Redis is away. */
export class SnapshotFile {
  readonly #path: string;

  readonly #worker: number;

  /** `worker`: the workers of a node share the file, each brings its own draft. */
  constructor(path: string, { worker }: { worker: number }) {
    this.#path = path;
    this.#worker = worker;
  }

  get #standingPath(): string {
    return this.#path.replace(/\.json$/, '-standing.json');
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

  /** Returns the installation and the number of the snapshot that this node ran last. No older one is taken from Redis. */
  async loadStanding(): Promise<SnapshotStanding | null> {
    try {
      const text = await readFile(this.#standingPath, 'utf8');
      return snapshotStandingSchema.parse(JSON.parse(text));
    } catch {
      return null;
    }
  }

  /** The snapshot first: a crash in between leaves a standing that is too low for one start, never a snapshot that is refused. */
  async save(snapshot: PublishedSnapshot, standing: SnapshotStanding): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true });
    await this.#write(this.#path, snapshot);
    await this.#write(this.#standingPath, standing);
  }

  /** Whole or not at all: a torn file would lose the last good one. */
  async #write(path: string, content: unknown): Promise<void> {
    const draft = `${path}.new.${this.#worker}`;
    const file = await open(draft, 'w', 0o600);
    try {
      await file.writeFile(JSON.stringify(content));
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  }
}
