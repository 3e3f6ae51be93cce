import { STATE_FOLDER } from '../checkout.ts';
import { readLivePid, reclaim } from '../process/pid-file.ts';
import { terminate } from '../process/terminate.ts';
import { awaitEarlierWatchdog } from '../process/watchdog.ts';
import { runFolder } from '../stack/stack.ts';
import { SUPERVISOR } from '../stack/supervisor.ts';

const WATCHDOG_LIMIT_MS = 40_000;

/** `npm stop`: ends the running stack of this checkout and whatever a killed one has left. */
export async function stop(): Promise<number> {
  const folder = runFolder(STATE_FOLDER);
  const supervisor = readLivePid(folder, SUPERVISOR);
  if (supervisor) await terminate(supervisor.pid, supervisor.identity, supervisor.stop);
  await awaitEarlierWatchdog(folder, WATCHDOG_LIMIT_MS);
  const orphans = await reclaim(folder);
  console.log(
    supervisor || orphans.length > 0 ? 'Stopped.' : 'Tollgate is not running in this checkout.',
  );
  return 0;
}
