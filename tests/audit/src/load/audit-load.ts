import { readDemoRecord } from './demo-record.ts';
import {
  createCustomer,
  startTollgate,
  subscribeWithKey,
  until,
  type RoutedModel,
  type Tollgate,
} from '@tollgate/harness';
import { auditBooks } from '../books/audit-books.ts';
import type { Finding } from '../books/finding.ts';
import type { ClientRecord, Target } from './client-record.ts';
import { compareUsage } from './compare-usage.ts';
import { driveLoad } from './drive-load.ts';
import { chatModels, createLoadModels, modelOf, type LoadModels } from './load-models.ts';
import { KillSchedule } from './kill-schedule.ts';
import { planRequests, randomFrom, SHORT_CHAT, type RequestPlan } from './plan-requests.ts';
import { RateWindow } from './rate-window.ts';
import { closeClient, sendRequest } from './send-request.ts';
import { readUsage, type UsageRow } from './usage-rows.ts';

const CUSTOMERS = 3;
const TOKENS_EACH = 50_000_000;
const RPM = 25;
const CONCURRENCY = 24;
/** Is enough for a reaped hold (60 s) and its correction. */
const DRAIN_MS = 90_000;
const DRAIN_KILLED_MS = 150_000;
export interface LoadOptions {
  requests: number;
  seed: number;
  /** Is true to kill every process once with -9 during the run. */
  kill: boolean;
  /** Is true to wait for the rate window to pass and spend it again: a minute. */
  secondWindow: boolean;
  log: (line: string) => void;
}

/** Drives a fresh installation of two nodes, then compares what clients, upstream, PostgreSQL and Redis say. Leaves nothing behind. */
export async function auditLoad(options: LoadOptions): Promise<Finding[]> {
  const { log, requests, seed, kill } = options;
  log(`Starting a fresh installation with two nodes (seed ${seed})...`);
  const tollgate = await startTollgate({ nodes: 2, frontDoor: true });
  try {
    const scene = await setScene(tollgate);
    const random = randomFrom(seed ^ 0x5eed);
    const kills = kill ? new KillSchedule(tollgate, random) : undefined;
    const window = await openRateWindow(tollgate, scene);
    const startedAt = performance.now();
    await window.burst();
    log(
      `Sending ${requests.toLocaleString('en')} requests${kill ? ' while every process is killed once' : ''}...`,
    );
    const plans = planRequests(requests, seed, {
      customers: CUSTOMERS,
      models: scene.models.plain.length,
      addresses: scene.origins.length,
    });
    const records = await driveLoad({
      plans,
      targetOf: (plan) => targetOf(scene, plan),
      concurrency: CONCURRENCY,
      onProgress: (progress) => kills?.advance(progress),
    });
    await kills?.finish();
    if (kills) log(`Killed: ${kills.killed.join(', ')}.`);
    if (options.secondWindow) {
      await window.nextWindow();
      records.push(...(await untilServed(scene)));
      await window.burst();
    }
    log(
      `${describeRecords(records)} in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s. Waiting for the books...`,
    );
    return [...(await compare(tollgate, [...records, ...window.records], kills)), window.finding()];
  } finally {
    closeClient();
    await tollgate.stop();
  }
}

interface Scene {
  origins: string[];
  models: LoadModels;
  keys: string[];
}

async function setScene(tollgate: Tollgate): Promise<Scene> {
  const models = await createLoadModels(tollgate);
  const keys = [];
  for (let index = 0; index < CUSTOMERS; index++) {
    const customer = await createCustomer(tollgate, { amount: '1000000' });
    keys.push(
      await subscribeWithKey(customer, {
        modelIds: [...chatModels(models), models.embedding].map(({ id }) => id),
        tokens: TOKENS_EACH,
      }),
    );
  }
  await tollgate.admin.syncAll();
  return {
    origins: [...tollgate.nodeUrls, ...(tollgate.frontDoorUrl ? [tollgate.frontDoorUrl] : [])],
    models,
    keys,
  };
}

async function openRateWindow(tollgate: Tollgate, { origins, models }: Scene): Promise<RateWindow> {
  const model = models.plain[0] as RoutedModel;
  const customer = await createCustomer(tollgate);
  const apiKey = await subscribeWithKey(customer, { modelIds: [model.id], key: { rpm: RPM } });
  return new RateWindow(
    origins.map((origin) => ({ origin, apiKey, model: model.name })),
    RPM,
  );
}

/** Asks each address until it answers, because a route that rested lets one request through at a time. Returns what was sent. */
async function untilServed(scene: Scene): Promise<ClientRecord[]> {
  const records: ClientRecord[] = [];
  for (const [address, origin] of scene.origins.entries())
    await until(`${origin} serves`, async () => {
      const plan = { ...SHORT_CHAT, address, tokens: 1, promptWords: 1 };
      const record = await sendRequest(plan, targetOf(scene, plan));
      records.push(record);
      return record.ending === 'completed';
    });
  return records;
}

function targetOf({ origins, models, keys }: Scene, plan: RequestPlan): Target {
  return {
    origin: origins[plan.address] ?? '',
    apiKey: keys[plan.customer] ?? '',
    model: modelOf(models, plan)?.name ?? '',
  };
}

async function compare(
  tollgate: Tollgate,
  clients: readonly ClientRecord[],
  kills: KillSchedule | undefined,
): Promise<Finding[]> {
  const books = await auditBooks(tollgate, { drainMs: kills ? DRAIN_KILLED_MS : DRAIN_MS });
  const usage = await readUsage(tollgate.databaseUrl);
  const provider = await readDemoRecord(tollgate.upstreamUrl);
  return [
    ...compareUsage({ clients, provider, usage, wereKilled: kills !== undefined }),
    sumsOf(usage, clients),
    ...books,
  ];
}

/** Says, for the reader, how much was compared. */
function sumsOf(usage: ReadonlyMap<string, UsageRow>, clients: readonly ClientRecord[]): Finding {
  const known = clients.filter(({ rid }) => rid !== null && usage.has(rid));
  const charged = [...usage.values()].reduce((sum, { delta }) => sum + delta, 0);
  return {
    name: 'charged tokens',
    promise: `of ${usage.size.toLocaleString('en')} requests in the books, ${known.length.toLocaleString('en')} known to clients by id`,
    compared: charged,
    problems: [],
  };
}

function describeRecords(records: readonly ClientRecord[]): string {
  const counts = Object.entries(Object.groupBy(records, ({ ending }) => ending)).map(
    ([ending, list]) => `${list?.length ?? 0} ${ending.replace('_', ' ')}`,
  );
  return counts.join(', ');
}
