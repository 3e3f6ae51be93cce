import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  publishSnapshot,
  verifySnapshot,
  type PublishedSnapshot,
  type SnapshotDocument,
} from '@tollgate/snapshot';
import { pino } from 'pino';
import { SnapshotFile } from './snapshot-file.ts';
import { SnapshotFollower, type SnapshotSource } from './snapshot-follower.ts';

const EMPTY: SnapshotDocument = { format: 1, models: [], upstreams: [], routes: [] };
const published = (version: number): PublishedSnapshot =>
  publishSnapshot({ version, document: EMPTY, publishedAtMs: 1 });

/** What a Redis would hold, which may also be away. */
class Shelf implements SnapshotSource {
  current: unknown = null;
  version: number | null = null;
  isAway = false;

  currentVersion(): Promise<number | null> {
    return this.isAway ? Promise.reject(new Error('away')) : Promise.resolve(this.version);
  }

  fetchSnapshot(): ReturnType<SnapshotSource['fetchSnapshot']> {
    return Promise.resolve(this.current === null ? null : verifySnapshot(this.current));
  }

  put(version: number, snapshot: unknown): void {
    this.version = version;
    this.current = snapshot;
  }
}

let folder: string;
let shelf: Shelf;
const started: SnapshotFollower[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-snapshot-'));
  shelf = new Shelf();
});
afterEach(async () => {
  for (const follower of started.splice(0)) follower.stop();
  await rm(folder, { recursive: true, force: true });
});

const path = () => join(folder, 'snapshot.json');

async function follow(): Promise<SnapshotFollower> {
  const follower = new SnapshotFollower({
    source: shelf,
    file: new SnapshotFile(path(), { worker: 0 }),
    log: pino({ level: 'silent' }),
    pullMs: 60_000,
  });
  started.push(follower);
  await follower.start();
  await follower.pull();
  return follower;
}

describe('following snapshots', () => {
  test('applies a newer one whole and keeps it on disk', async () => {
    shelf.put(1, published(1));
    const follower = await follow();
    expect(follower.current?.snapshot.version).toBe(1);
    shelf.put(2, published(2));
    await follower.pull();
    expect(follower.current?.snapshot.version).toBe(2);
    expect(JSON.parse(await readFile(path(), 'utf8'))).toMatchObject({ version: 2 });
  });

  test('starts from disk while Redis is away, and catches up when it returns', async () => {
    await new SnapshotFile(path(), { worker: 0 }).save(published(7));
    shelf.isAway = true;
    const follower = await follow();
    expect(follower.current?.snapshot.version).toBe(7);
    shelf.isAway = false;
    shelf.put(8, published(8));
    await follower.pull();
    expect(follower.current?.snapshot.version).toBe(8);
  });

  test('keeps the last good one when a newer is damaged or of an unknown format, and reports why', async () => {
    shelf.put(1, published(1));
    const follower = await follow();
    shelf.put(2, { ...published(2), checksum: '0'.repeat(64) });
    await follower.pull();
    expect(follower.refused).toMatch(/^version 2: checksum/);
    shelf.put(3, { ...published(3), document: { ...EMPTY, format: 99 } });
    await follower.pull();
    expect(follower.refused).toMatch(/^version 3: .*format/);
    expect(follower.current?.snapshot.version).toBe(1);
    shelf.put(4, published(4));
    await follower.pull();
    expect([follower.refused, follower.current?.snapshot.version]).toEqual([null, 4]);
  });

  test('does not start from a file that was torn', async () => {
    await writeFile(path(), JSON.stringify(published(5)).slice(0, 40));
    const follower = await follow();
    expect(follower.current).toBeNull();
  });

  test('a message during a pull makes one more pull', async () => {
    shelf.put(1, published(1));
    const follower = await follow();
    shelf.put(2, published(2));
    const first = follower.pull();
    shelf.put(3, published(3));
    await Promise.all([first, follower.pull()]);
    expect(follower.current?.snapshot.version).toBe(3);
  });

  test('reload applies the current version again', async () => {
    shelf.put(1, published(1));
    const follower = await follow();
    let applied = 0;
    follower.onApplied(() => (applied += 1));
    await follower.pull();
    expect(applied).toBe(0);
    await follower.reload();
    expect(applied).toBe(1);
  });
});
