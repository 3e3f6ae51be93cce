import { STATE_FOLDER } from '../checkout.ts';
import { restoreRecords } from '../process/lost-records.ts';
import { readLivePid, reclaim } from '../process/pid-file.ts';
import { terminate } from '../process/terminate.ts';
import { awaitEarlierWatchdog } from '../process/watchdog.ts';
import { runFolder } from '../stack/stack.ts';
import { printsHelp } from './options.ts';
import { postgresFolder } from '../stack/services.ts';
import { SUPERVISOR } from '../process/supervisor.ts';

const WATCHDOG_LIMIT_MS = 40_000;

/** Runs `npm stop`: it ends the running stack of this checkout and the remains of a killed one. */
export async function stop(args: readonly string[]): Promise<number> {
  const does = 'Ends what npm start runs in this checkout. Data stays in .tollgate.';
  if (printsHelp(args, { command: 'npm stop', does })) return 0;
  const folder = runFolder(STATE_FOLDER);
  restoreRecords(folder, [STATE_FOLDER, postgresFolder(STATE_FOLDER)]);
  const supervisor = readLivePid(folder, SUPERVISOR);
  if (supervisor) await terminate(supervisor.pid, supervisor.identity, supervisor.stop);
  await awaitEarlierWatchdog(folder, WATCHDOG_LIMIT_MS);
  const orphans = await reclaim(folder);
  console.log(
    supervisor || orphans.length > 0 ? 'Stopped.' : 'Tollgate is not running in this checkout.',
  );
  return 0;
}
