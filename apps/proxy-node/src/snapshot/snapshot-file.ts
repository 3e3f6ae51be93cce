import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  snapshotStandingSchema,
  verifySnapshot,
  type PublishedSnapshot,
  type SnapshotStanding,
} from '@tollgate/snapshot';

/** Keeps the last good snapshot on the node's disk, so that a node starts and serves while Redis is away. */
export class SnapshotFile {
  readonly #path: string;

  readonly #worker: number;

  /** Takes the number of the `worker`, whose draft is its own; the workers of a node share the file. */
  constructor(path: string, { worker }: { worker: number }) {
    this.#path = path;
    this.#worker = worker;
  }

  get #standingPath(): string {
    return this.#path.replace(/\.json$/, '-standing.json');
  }

  /** Returns undefined when there is none, or it is damaged or of another format; the pull then brings a good one. */
  async load(): Promise<PublishedSnapshot | undefined> {
    try {
      const verdict = verifySnapshot(JSON.parse(await readFile(this.#path, 'utf8')));
      return verdict.kind === 'ok' ? verdict.snapshot : undefined;
    } catch {
      return undefined;
    }
  }

  /** Returns the installation and number of the snapshot that this node ran last. The node takes no older one from Redis. */
  async loadStanding(): Promise<SnapshotStanding | null> {
    try {
      const text = await readFile(this.#standingPath, 'utf8');
      return snapshotStandingSchema.parse(JSON.parse(text));
    } catch {
      return null;
    }
  }

  /** The snapshot is written first: a crash in between leaves a standing that is too low for one start, never a snapshot that is refused. */
  async save(snapshot: PublishedSnapshot, standing: SnapshotStanding): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true });
    await this.#write(this.#path, snapshot);
    await this.#write(this.#standingPath, standing);
  }

  /** The write is atomic, because a torn file would lose the last good snapshot. */
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
