import { startTollgate, type Tollgate, letPass } from '@tollgate/harness';
import { keysLike } from '@tollgate/keyspace';
import { Scene } from '../scene.ts';
import { closeBooks } from '../close-books.ts';
import { ConstantLoad, describeEndings } from './constant-load.ts';
import { withRedis } from './read-state.ts';
import { inSeconds, promised, type Order, type Outcome } from './scenario.ts';

const SECONDS = 120;
const CALM_REQUESTS = 200;
const PAUSE_MS = 50;

/**
 * Plays T17: every control plane is gone for `--seconds`, and each node is restarted meanwhile, with what is published gone from Redis too,
 * so that it has only its own disk to start from. Clients come through the front door and notice nothing.
 */
export async function controlPlaneAway({ seconds = SECONDS, seed, log }: Order): Promise<Outcome> {
  const tollgate = await startTollgate({ nodes: 2, controlPlanes: 2, frontDoor: true });
  try {
    const load = new ConstantLoad(await Scene.set(tollgate), {
      seed,
      clients: 8,
      pauseMs: PAUSE_MS,
      origin: tollgate.frontDoorUrl,
    });
    await load.untilCompleted(CALM_REQUESTS);
    const planes = tollgate.processNames.filter((name) => name.startsWith('control-plane'));
    const nodes = tollgate.processNames.filter((name) => name.startsWith('node-'));
    for (const name of planes) await tollgate.kill(name, 'SIGKILL');
    const goneAt = Date.now();
    log(`the control planes are gone; ${describeEndings(load.records)}`);
    const restarts: string[] = [];
    for (const [index, name] of nodes.entries()) {
      const restartAt = goneAt + ((index + 1) * seconds * 1_000) / (nodes.length + 1);
      await letPass(restartAt - Date.now(), 'restarts are spread over the outage');
      restarts.push(`${name} in ${inSeconds(await restartCold(tollgate, name))}`);
      log(`${name} started from its disk; ${describeEndings(load.records)}`);
    }
    await letPass(goneAt + seconds * 1_000 - Date.now(), 'the outage lasts as long as ordered');
    for (const name of planes) await tollgate.restart(name);
    const awayMs = Date.now() - goneAt;
    log(`the control planes are back; ${describeEndings(load.records)}`);
    await load.untilCompleted(100);
    const records = await load.stop();
    const { findings, drainedInMs } = await closeBooks(tollgate, records);
    const sync = await tollgate.admin.syncAll();
    const failed = records
      .filter(({ ending }) => ending !== 'completed' && ending !== 'hung_up')
      .map(({ ending, status }) => `${ending}, status ${status}`);
    return {
      figures: [
        ['control planes away', inSeconds(awayMs)],
        ['nodes started cold', restarts.join(', ')],
        ['requests', describeEndings(records)],
        ['backlog drained', `within ${inSeconds(drainedInMs)} of the end`],
      ],
      findings: [
        promised('served', 'no request fails', { compared: records.length, problems: failed }),
        promised(
          'configuration',
          'what was lost from Redis is published again, and every node applies it',
          {
            compared: sync.nodes.length,
            problems: sync.nodes
              .filter(({ outcome }) => outcome !== 'applied')
              .map(({ name, outcome }) => `${name}: ${outcome}`),
          },
        ),
        ...findings,
      ],
    };
  } finally {
    await tollgate.stop();
  }
}

/** Returns the milliseconds from its start until it is ready. It ends as at an update: what runs there may finish. */
async function restartCold(tollgate: Tollgate, name: string): Promise<number> {
  await tollgate.kill(name, 'SIGTERM');
  await withRedis(tollgate.redisUrl, async (redis) => {
    for (const key of await keysLike(redis, '{fleet}:snapshot:*')) await redis.del(key);
  });
  const startedAt = Date.now();
  await tollgate.restart(name);
  return Date.now() - startedAt;
}
