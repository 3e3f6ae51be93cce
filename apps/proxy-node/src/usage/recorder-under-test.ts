import { beforeEach } from '@jest/globals';
import type { Services } from '@tollgate/harness';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@tollgate/harness';
import { type Downstream } from '../../test/usage/downstream.ts';
import { meteredBench, type MeteredBench } from '../../test/usage/metered-bench.ts';
import type { MeteredRedis } from '../../test/usage/metered-redis.ts';
import { decodeLine } from '../journal/journal-line.ts';

export const TOKENS = 1_000_000;
export let bench: MeteredBench;
export let services: Services;
export let world: MeteredRedis;
export let downstream: Downstream;
export let dataDir: string;
export let accountId: number;
/** The clock of durations is ahead by this much, so that tests do not wait for delayed acts of a recorder. */
export const clock = { lateMs: 0 };

export const close: MeteredBench['close'] = (recorder) => bench.close(recorder);
export const balance: MeteredBench['balance'] = () => bench.balance();
export const open: MeteredBench['open'] = (options) =>
  bench.open({ monotonicNow: () => performance.now() + clock.lateMs, ...options });

/** Resolves when a journal of any worker has a count of this request, which a process that ends now would leave. */
export const counted = ({ rid }: { rid: string }): Promise<true> =>
  until('its count is in the journal', () => {
    const journals = join(dataDir, 'journals');
    const files = readdirSync(journals, { recursive: true, encoding: 'utf8' });
    return files
      .filter((file) => file.endsWith('.journal'))
      .flatMap((file) => readFileSync(join(journals, file), 'utf8').split('\n'))
      .map((line) => decodeLine(line))
      .some((line) => line?.t === 'C' && rid in line.counts);
  });

/** The spec that imports the parts calls this: one Redis serves them all. */
export function shareRecorderBench(): void {
  bench = meteredBench(TOKENS);
  beforeEach(() => {
    ({ services, world, downstream, dataDir, accountId } = bench);
    clock.lateMs = 0;
  });
}
