import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { startServices, until, type Services } from '@tollgate/harness';
import { BULL_PREFIX, openRedis, redisReady, type RedisConnection } from '@tollgate/keyspace';
import { Queue, Worker } from 'bullmq';
import { loadConfig, type Config } from '../../config.ts';
import { environmentFor } from '../../testing/control-plane-under-test.ts';
import { Metrics } from '../metrics/metrics.ts';
import { QueueBacklog } from './queue-backlog.ts';
import { QueueWorkers } from './queue-workers.ts';

/** Is enough that some wait for a job and some are at one when Redis dies. */
const PROCESSES = 12;
/** Owns the queue: `{bull}` is in slot 9263. */
const PRIMARY = 'redis-2';
const OPTIONS = { concurrency: 4, lockDuration: 30_000, stalledInterval: 5_000 };
const RECOVERED_MS = 60_000;

let services: Services;
let connection: RedisConnection;
let queue: Queue;
let config: Config;
let backlog: QueueBacklog;
const processes: QueueWorkers[] = [];
const metrics: Metrics[] = [];
/** Counts the jobs taken, by process. */
const taken: number[] = Array<number>(PROCESSES).fill(0);

beforeAll(async () => {
  services = await startServices({ postgres: false, redis: 'replicated-cluster' });
  const { redisUrl, redisUrls } = services;
  const onError = (): void => undefined;
  connection = openRedis(redisUrls.queue, { role: 'plain', name: 'spec', onError });
  await redisReady(connection, 10_000);
  queue = new Queue('usage', { connection, prefix: BULL_PREFIX });
  queue.on('error', onError);
  config = loadConfig(
    environmentFor(
      { databaseUrl: 'postgresql://none', redisUrl },
      { REDIS_QUEUE_URL: redisUrls.queue },
    ),
  );
  backlog = new QueueBacklog(config);
}, 60_000);
afterEach(async () => {
  metrics.length = 0;
  await Promise.all(processes.splice(0).map((workers) => workers.beforeApplicationShutdown()));
}, 30_000);
afterAll(async () => {
  backlog?.onApplicationShutdown();
  await queue?.close();
  connection?.disconnect();
  await services?.stop();
});

/** Starts a process that notes the jobs it takes at `index` of `taken`. */
function startProcess(index: number): void {
  const own = new Metrics();
  const workers = new QueueWorkers(config, backlog, own);
  workers.register('usage', async () => void (taken[index] = (taken[index] ?? 0) + 1), OPTIONS);
  workers.onApplicationBootstrap();
  processes.push(workers);
  metrics.push(own);
}

/** Counts the replaced workers, by process. */
async function replaced(): Promise<number[]> {
  const texts = await Promise.all(metrics.map((own) => own.text()));
  return texts.map((text) =>
    Number(/^tollgate_queue_workers_replaced_total\{queue="usage"\} (\d+)$/m.exec(text)?.[1] ?? 0),
  );
}

/** Adds jobs until each process took one. */
async function allTakeJobs(): Promise<void> {
  taken.fill(0);
  await until(
    'a job for each process',
    async () => {
      await queue.add('job', {}, { removeOnComplete: true }).catch(() => undefined);
      return taken.every((jobs) => jobs > 0);
    },
    RECOVERED_MS,
  );
}

test('each process takes jobs again when the primary of the queue is gone for good', async () => {
  for (let index = 0; index < PROCESSES; index += 1) startProcess(index);
  await allTakeJobs();
  const primary = services.redisServers.find(({ spec }) => spec.name === PRIMARY);
  await primary?.kill('SIGKILL');
  await allTakeJobs();
  expect(primary?.isRunning).toBe(false);
  // The workers took the jobs by themselves.
  expect(await replaced()).toEqual(taken.map(() => 0));
}, 150_000);

/** The answer comes only after its test, so that the worker that waits for it can end. */
const late = Promise.withResolvers<void>();

const BROKEN: readonly [what: string, method: string, implementation: () => Promise<void>][] = [
  ['waits for an answer of Redis that is lost', 'moveToActive', () => late.promise],
  ['never began', 'run', () => Promise.resolve()],
];

test.each(BROKEN)(
  'a worker that %s takes no jobs while some wait, and is replaced and counted',
  async (_what, method, implementation) => {
    const broken = jest
      .spyOn(Worker.prototype as unknown as Record<string, () => Promise<void>>, method)
      .mockImplementationOnce(implementation);
    taken.fill(0);
    startProcess(0);
    await queue.add('job', {}, { removeOnComplete: true });
    // Jobs of processes that were stopped may be among them.
    await until('a job taken', () => (taken[0] ?? 0) > 0, RECOVERED_MS);
    broken.mockRestore();
    expect(await replaced()).toEqual([1]);
    late.resolve();
  },
  90_000,
);
