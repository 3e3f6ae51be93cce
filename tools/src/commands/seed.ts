import { AdminClient } from '../admin-client.ts';
import { STATE_FOLDER } from '../checkout.ts';
import { SCENARIOS } from '../seed/scenarios.ts';
import { readStartFile } from '../stack/start-file.ts';

/** `npm run seed -- <scenario>`: fills the running stack of this checkout. The same scenario always makes the same names and figures. */
export async function seed([name = '']: readonly string[]): Promise<number> {
  const scenario = SCENARIOS[name];
  if (!scenario) {
    console.error(
      `Unknown scenario "${name}".\n  Fix: npm run seed -- <scenario>, one of\n${Object.entries(
        SCENARIOS,
      )
        .map(([key, { summary }]) => `    ${key}: ${summary}`)
        .join('\n')}`,
    );
    return 1;
  }
  const running = readStartFile(STATE_FOLDER);
  if (!running) {
    console.error(
      'There is nothing to seed: Tollgate has not been started in this checkout.\n  Fix: npm start -- --detach',
    );
    return 1;
  }
  const admin = await new AdminClient(running.adminUrl).login(
    running.admin.username,
    running.admin.password,
  );
  console.log(await scenario.seed(admin, running));
  return 0;
}
