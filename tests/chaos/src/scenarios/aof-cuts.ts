import path from 'node:path';
import { randomFrom } from '@tollgate/audit';
import { startTollgate, type Tollgate, letPass } from '@tollgate/harness';
import { keysLike } from '@tollgate/keyspace';
import { truncateAppendOnlyFile } from '../append-only-file.ts';
import { Scene } from '../scene.ts';
import { closeBooks } from '../close-books.ts';
import { ConstantLoad, describeEndings } from './constant-load.ts';
import { withRedis } from './read-state.ts';
import { inSeconds, promised, type Order, type Outcome } from './scenario.ts';

const TIMES = 100;
const BETWEEN_MS = 1_500;
/** Is about what Redis writes within its second between two fsyncs under this load. */
const CUT_MAX_BYTES = 48 * 1_024;
/** Is long enough for work to be written behind the cut, before the file is read a second time. */
const SECOND_RESTART_AFTER_MS = 400;

/** Plays T6: Redis is killed and its file cut anywhere, so many times under load; each time it is killed and started once more, which is when a torn transaction would run by half. */
export async function aofCuts({ times = TIMES, seed, log }: Order): Promise<Outcome> {
  const tollgate = await startTollgate({ nodes: 2, controlPlanes: 1 });
  try {
    const load = new ConstantLoad(await Scene.set(tollgate), { seed });
    const random = randomFrom(seed ^ 0xa0f);
    const negative: string[] = [];
    for (let cut = 1; cut <= times; cut += 1) {
      await letPass(BETWEEN_MS * (0.5 + random()), 'traffic writes what the cut loses');
      await tollgate.kill('redis', 'SIGKILL');
      truncateAppendOnlyFile(
        path.join(tollgate.services.folder, 'redis', 'appendonlydir'),
        1 + Math.floor(random() * CUT_MAX_BYTES),
      );
      await tollgate.restart('redis');
      await letPass(SECOND_RESTART_AFTER_MS, 'traffic writes behind the cut');
      await tollgate.kill('redis', 'SIGKILL');
      await tollgate.restart('redis');
      negative.push(...(await findNegative(tollgate)));
      if (cut % 10 === 0 || cut === times)
        log(`cut ${cut} times; ${describeEndings(load.records)}`);
    }
    const records = await load.stop();
    const { findings, drainedInMs } = await closeBooks(tollgate, records);
    return {
      figures: [
        ['cuts', `${times} of at most ${CUT_MAX_BYTES} bytes, ${2 * times} kills`],
        ['requests', describeEndings(records)],
        ['drained', `${inSeconds(drainedInMs)} after the last start`],
      ],
      findings: [
        promised('held', 'what is held is never negative, nor the number of running requests', {
          compared: times,
          problems: negative,
        }),
        ...findings,
      ],
    };
  } finally {
    await tollgate.stop();
  }
}

function findNegative({ redisUrl }: Tollgate): Promise<string[]> {
  return withRedis(redisUrl, async (redis) => {
    const problems: string[] = [];
    for (const key of await keysLike(redis, '*:sub:*')) {
      const [held, running] = await redis.hmget(key, 'held', 'conc');
      if (Number(held) < 0 || Number(running) < 0)
        problems.push(`${key}: held ${held} by ${running} requests`);
    }
    return problems;
  });
}
