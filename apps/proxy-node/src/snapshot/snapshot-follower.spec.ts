import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createControlPlaneMac } from '@tollgate/contracts';
import {
  checksumOf,
  publishSnapshot,
  sealSnapshot,
  verifySnapshot,
  type PublishedSnapshot,
  type SnapshotDocument,
  type SnapshotSeal,
} from '@tollgate/snapshot';
import { pino } from 'pino';
import { SnapshotFile } from './snapshot-file.ts';
import { SnapshotFollower, type SnapshotSource } from './snapshot-follower.ts';

const EMPTY: SnapshotDocument = { format: 1, models: [], upstreams: [], routes: [] };
const published = (version: number): PublishedSnapshot =>
  publishSnapshot({ version, document: EMPTY, publishedAtMs: 1 });

const INSTALLATION = randomUUID();
const KEY = randomBytes(32).toString('base64url');
const mac = createControlPlaneMac({ current: KEY });
const standing = (version: number, lineage = 1) => ({
  installation: INSTALLATION,
  lineage,
  version,
});
const sealOf = ({ version, checksum }: PublishedSnapshot, change: Partial<SnapshotSeal> = {}) =>
  sealSnapshot(mac, { ...standing(version), checksum, ...change });

/** Stands in for a Redis that holds snapshots and may be away. */
class Shelf implements SnapshotSource {
  current: unknown = null;
  version: number | null = null;
  seal: SnapshotSeal | null = null;
  isAway = false;

  currentVersion(): Promise<number | null> {
    return this.isAway ? Promise.reject(new Error('away')) : Promise.resolve(this.version);
  }

  fetchSnapshot(): ReturnType<SnapshotSource['fetchSnapshot']> {
    return Promise.resolve(this.current === null ? null : verifySnapshot(this.current));
  }

  fetchSeal(): Promise<SnapshotSeal | null> {
    return Promise.resolve(this.seal);
  }

  put(
    version: number,
    snapshot: PublishedSnapshot | Record<string, unknown>,
    seal: SnapshotSeal | null = sealOf(published(version)),
  ): void {
    this.version = version;
    this.current = snapshot;
    this.seal = seal;
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
    mac,
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

  test('reports a forgery of the version in use until it is gone, however often it looks', async () => {
    shelf.put(1, published(1));
    const follower = await follow();
    const forged = { ...sealOf(published(1)), mac: 'forged' };
    shelf.put(1, published(1), forged);
    await follower.reload();
    await follower.pull();
    expect(follower.refused).toContain('seal is forged');
    shelf.put(1, published(1));
    await follower.pull();
    expect([follower.refused, follower.current?.snapshot.version]).toEqual([null, 1]);
  });

  test('starts from disk while Redis is away, and catches up when it returns', async () => {
    await new SnapshotFile(path(), { worker: 0 }).save(published(7), standing(7));
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

describe('S51: a Redis that is not trusted', () => {
  const EVIL: SnapshotDocument = {
    ...EMPTY,
    models: [],
    upstreams: [
      {
        id: 1,
        name: 'main',
        protocol: 'openai',
        base_url: 'https://evil.example/v1',
        sealed_api_key: 'v1.a.b.c',
        headers: {},
        connect_timeout_ms: 1,
        first_token_timeout_ms: 1,
        idle_timeout_ms: 1,
        total_timeout_ms: 1,
        max_concurrency: null,
      },
    ],
  };
  const forged = (version: number): PublishedSnapshot =>
    publishSnapshot({ version, document: EVIL, publishedAtMs: 1 });

  test('a changed base_url with its checksum recomputed is refused, whatever seal stands beside it', async () => {
    shelf.put(1, published(1));
    const follower = await follow();
    const evil = forged(2);
    const stolen = createControlPlaneMac({ current: randomBytes(32).toString('base64url') });
    for (const seal of [
      null,
      sealOf(published(1)),
      sealOf(published(2)),
      { ...sealOf(published(2)), checksum: checksumOf(EVIL) },
      { ...sealOf(evil), lineage: 2 },
      sealSnapshot(stolen, { ...standing(2), checksum: evil.checksum }),
    ]) {
      shelf.put(2, evil, seal);
      await follower.pull();
      expect(follower.refused).toMatch(/^version 2: it/);
      await follower.reload();
      expect(follower.current?.snapshot).toMatchObject({ version: 1, document: EMPTY });
    }
    // The same version comes again, altered: a reload must not take it either.
    shelf.put(1, forged(1), sealOf(published(1)));
    await follower.reload();
    expect(follower.current?.snapshot.document).toEqual(EMPTY);
    expect(JSON.parse(await readFile(path(), 'utf8'))).toMatchObject({ document: EMPTY });
  });

  test('an old snapshot played again under its own seal is refused, also after a restart', async () => {
    shelf.put(5, published(5));
    await follow();
    shelf.put(4, published(4));
    const follower = await follow();
    expect(follower.current?.snapshot.version).toBe(5);
    expect(follower.refused).toMatch(/older than version 5/);
  });

  test('a lower version of a higher lineage is taken: PostgreSQL was restored from a backup', async () => {
    shelf.put(5, published(5));
    const follower = await follow();
    shelf.put(3, published(3), sealOf(published(3), { lineage: 2 }));
    await follower.pull();
    expect([follower.refused, follower.standing]).toEqual([null, standing(3, 2)]);
    shelf.put(9, published(9));
    await follower.pull();
    expect(follower.current?.snapshot.version).toBe(3);
  });

  test('a snapshot of another installation with the same key is refused', async () => {
    shelf.put(1, published(1));
    const follower = await follow();
    shelf.put(2, published(2), sealOf(published(2), { installation: randomUUID() }));
    await follower.pull();
    expect(follower.refused).toMatch(/of installation/);
  });
});
