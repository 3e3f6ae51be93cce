import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Epochs, shardNames } from '@tollgate/keyspace';
import { memoryMb } from '../cpu.ts';
import { medianOf } from '../figures.ts';
import { NODE, type BenchInstallation } from '../installation.ts';
import { withDatabase } from './database.ts';
import type { Scene, Subject } from './scene.ts';

const KEYS_PER_ACCOUNT = 100;
const UPSTREAMS = 10;
const CHANGES = 10;
const POLL_MS = 50;
const PAUSES = path.join(tmpdir(), `tollgate-bench-pauses-${process.pid}`);

/** Measures many keys: what they cost a node, and how long the control plane takes to write all of them again when Redis has lost its data. */
export const keys: Scene = async ({ subjects, sizes }) => {
  for (const subject of subjects) {
    const { installation, figures } = subject;
    await installation.audit();
    await rebuild(subject, 'few keys');
    await startNode(subject, 'few keys');
    await withDatabase(installation, async (database) => {
      const accounts = Math.ceil(sizes.keys / KEYS_PER_ACCOUNT);
      await database.query(
        `INSERT INTO users (username, password_hash, status) SELECT 'many-' || n, '', 'active' FROM generate_series(1, ${accounts}) n`,
      );
      await database.query(
        `INSERT INTO api_keys (user_id, name, key_hash, key_prefix, allowed_models, limits)
         SELECT (SELECT min(id) FROM users WHERE username LIKE 'many-%') + n % ${accounts}, 'many-' || n, encode(sha256(n::text::bytea), 'hex'), 'sk-many', '*', '{"rpm": 60, "rph": 600, "rpd": 6000}'
         FROM generate_series(1, ${sizes.keys}) n`,
      );
      await database.query('ANALYZE users, api_keys');
    });
    const name = `${sizes.keys.toLocaleString('en')} keys`;
    await rebuild(subject, name);
    await startNode(subject, name);
    figures.add(`${name}: memory of redis`, 'MB', memoryMb(installation.pidOf('redis')));
    await installation.load({ seconds: 1 });
    await installation.audit();
  }
};

async function startNode({ installation, figures }: Subject, name: string): Promise<void> {
  await installation.tollgate.kill(NODE, 'SIGTERM');
  const startedAt = performance.now();
  await installation.restartNode();
  figures.add(`${name}: node serves after`, 'ms', performance.now() - startedAt);
  await installation.load({ seconds: 1 });
  figures.add(`${name}: memory of the node`, 'MB', memoryMb(installation.pidOf(NODE)));
}

async function rebuild({ installation, figures }: Subject, name: string): Promise<void> {
  const clock = installation.clock('control-plane', 'postgres', 'redis');
  const startedAt = performance.now();
  await installation.redis.flushall();
  await allOpen(installation);
  const seconds = (performance.now() - startedAt) / 1_000;
  figures.add(`${name}: all shards open again after Redis lost its data`, 's', seconds);
  figures.add(
    `${name}: CPU of control plane, PostgreSQL and Redis for it`,
    's',
    clock.lap() / 1_000_000,
  );
  await installation.tollgate.admin.syncAll();
}

async function allOpen({ redis, tollgate }: BenchInstallation): Promise<void> {
  const epochs = new Epochs(redis);
  for (const shard of shardNames(tollgate.shards))
    while (!(await epochs.isOpen(shard))) await delay(POLL_MS);
}

/** Measures many models with as many routes as upstreams: what a new snapshot of them costs a node while it serves. */
export const models: Scene = async ({ subjects, sizes }) => {
  for (const subject of subjects) {
    const { installation } = subject;
    await installation.restartNode({
      NODE_OPTIONS: `--import=${import.meta.dirname}/../pause-watch.mjs`,
      BENCH_PAUSES: PAUSES,
    });
    await swaps(subject, 'few models');
    await fillModels(installation, sizes.models);
    await swaps(subject, `${sizes.models.toLocaleString('en')} models x ${UPSTREAMS} upstreams`);
    rmSync(PAUSES, { force: true });
    await installation.restartNode({ NODE_OPTIONS: undefined, BENCH_PAUSES: undefined });
    await installation.audit();
  }
};

/** Adds models and upstreams through the interface, as prices and secrets need it, and routes by SQL. */
async function fillModels(installation: BenchInstallation, count: number): Promise<void> {
  const { admin } = installation.tollgate;
  const price = { price_per_million: '1' };
  for (let upstream = 0; upstream < UPSTREAMS; upstream += 1)
    await admin.createUpstream({
      name: `many-${upstream}`,
      protocol: 'openai',
      base_url: `https://many-${upstream}.example.com/v1`,
      api_key: `many-${upstream}`,
    });
  for (let model = 0; model < count; model += 1)
    await admin.createModel({ name: `many-${model}`, price, is_on_shelf: true });
  await withDatabase(installation, (database) =>
    database.query(
      `INSERT INTO routes (model_id, upstream_id, upstream_model) SELECT m.id, u.id, m.name FROM models m, upstreams u WHERE m.name LIKE 'many-%' AND u.name LIKE 'many-%'`,
    ),
  );
}

async function swaps({ installation, figures }: Subject, name: string): Promise<void> {
  const { admin } = installation.tollgate;
  await admin.syncAll();
  await delay(1_000);
  await longestPause(installation);
  const pauses: number[] = [];
  for (let change = 0; change < CHANGES; change += 1) {
    await admin.createModel({ name: `swap-${Date.now()}-${change}` });
    const startedAt = performance.now();
    await admin.syncAll();
    figures.add(`${name}: a change is published and applied`, 'ms', performance.now() - startedAt);
    pauses.push(await longestPause(installation));
  }
  figures.add(
    `${name}: longest pause of the node's event loop at a swap, median`,
    'ms',
    medianOf(pauses),
  );
  figures.add(`${name}: longest pause of all swaps`, 'ms', Math.max(...pauses));
  figures.add(`${name}: memory of the node`, 'MB', memoryMb(installation.pidOf(NODE)));
}

/** Returns the longest pause since the last look. */
async function longestPause(installation: BenchInstallation): Promise<number> {
  rmSync(PAUSES, { force: true });
  process.kill(installation.pidOf(NODE), 'SIGUSR2');
  for (;;) {
    await delay(POLL_MS);
    try {
      const text = readFileSync(PAUSES, 'utf8');
      if (text !== '') return Number(text);
    } catch {
      // The file is not written yet.
    }
  }
}
