import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { startServices, type Services } from '@tollgate/harness';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RequestRecorder } from '../../src/usage/request-recorder.ts';
import { Downstream } from './downstream.ts';
import { addAccount, MODEL_ID, openMeteredRedis, type MeteredRedis } from './metered-redis.ts';
import { openRecorder } from './open-recorder.ts';

/** Recorders of a spec over a Redis of its own; each test has a new account with `tokens`, and a DATA_DIR. */
export interface MeteredBench {
  services: Services;
  world: MeteredRedis;
  downstream: Downstream;
  dataDir: string;
  accountId: number;
  /** Opens a recorder that is closed after the test, unless `close` was called before. */
  open: (options?: Partial<Parameters<typeof openRecorder>[1]>) => Promise<RequestRecorder>;
  close: (recorder: RequestRecorder) => Promise<void>;
  balance: () => Promise<{ balance: number; held: number; running: number } | null>;
}

/** Call it once, at the top of a spec. */
export function meteredBench(tokens: number): MeteredBench {
  const recorders = new Set<RequestRecorder>();
  const bench = {
    accountId: 100,
    open: async (options = {}) => {
      const opened = await openRecorder(bench.world, { dataDir: bench.dataDir, ...options });
      recorders.add(opened);
      return opened;
    },
    close: async (recorder) => {
      recorders.delete(recorder);
      await recorder.close(0);
    },
    balance: async () => {
      const { accountId, world } = bench;
      const [found] = await world.live.getBalances([{ accountId, modelId: MODEL_ID }]);
      return found ? { balance: found.balance, held: found.held, running: found.running } : null;
    },
  } as MeteredBench;
  beforeAll(async () => {
    bench.services = await startServices({ postgres: false });
  }, 60_000);
  afterAll(() => bench.services.stop());
  beforeEach(async () => {
    bench.world = await openMeteredRedis(bench.services.redisUrl);
    bench.downstream = new Downstream(bench.world);
    bench.dataDir = mkdtempSync(join(tmpdir(), 'tollgate-usage-'));
    bench.accountId += 1;
    await addAccount(bench.world, bench.accountId, tokens);
  });
  afterEach(async () => {
    await Promise.all([...recorders].map(bench.close));
    await bench.downstream.close();
    bench.world.close();
    rmSync(bench.dataDir, { recursive: true, force: true });
  });
  return bench;
}
