import { randomFrom } from '@tollgate/audit';
import { startTollgate, letPass } from '@tollgate/harness';
import { Scene } from '../scene.ts';
import { closeBooks } from '../close-books.ts';
import { ConstantLoad, describeEndings } from './constant-load.ts';
import { inSeconds, promised, type Order, type Outcome } from './scenario.ts';

const TIMES = 50;
const BETWEEN_MS = 1_500;
const DOWN_MAX_MS = 1_500;

/** Plays the first half of T8: PostgreSQL is stopped at once (SIGQUIT: no checkpoint, sessions cut anywhere), so many times under load. No client notices. */
export async function postgresStop({ times = TIMES, seed, log }: Order): Promise<Outcome> {
  const tollgate = await startTollgate({ nodes: 2, controlPlanes: 2 });
  try {
    const scene = await Scene.set(tollgate);
    const load = new ConstantLoad(scene, { seed });
    const random = randomFrom(seed ^ 0x7057);
    let downMs = 0;
    for (let stop = 1; stop <= times; stop += 1) {
      await letPass(BETWEEN_MS * (0.5 + random()), 'traffic runs between two stops');
      const stoppedAt = Date.now();
      await tollgate.kill('postgres', 'SIGQUIT');
      await letPass(DOWN_MAX_MS * random(), 'nodes serve while PostgreSQL is away');
      await tollgate.restart('postgres');
      downMs += Date.now() - stoppedAt;
      if (stop % 10 === 0 || stop === times)
        log(`stopped ${stop} times; ${describeEndings(load.records)}`);
    }
    const records = await load.stop();
    const { findings, drainedInMs } = await closeBooks(tollgate, records);
    const refused = records
      .filter(({ ending }) => ending === 'refused')
      .map(({ status, rid }) => `request ${rid} was answered ${status}`);
    const crashed = tollgate.processNames.filter((name) => !tollgate.isRunning(name));
    return {
      figures: [
        ['immediate stops', String(times)],
        ['PostgreSQL away', `${inSeconds(downMs)} in all`],
        ['requests', describeEndings(records)],
        ['backlog drained', `${inSeconds(drainedInMs)} after the last start`],
      ],
      findings: [
        promised('served', 'no request is refused while PostgreSQL is away', {
          compared: records.length,
          problems: refused,
        }),
        promised('survival', 'no process ends by itself', {
          compared: tollgate.processNames.length,
          problems: crashed,
        }),
        ...findings,
      ],
    };
  } finally {
    await tollgate.stop();
  }
}
