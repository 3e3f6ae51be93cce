import { AdminClient } from '../admin-client.ts';
import { STATE_FOLDER } from '../checkout.ts';
import { SCENARIOS } from '../seed/scenarios.ts';
import { readStartFile } from '../stack/start-file.ts';

/** Runs `npm run seed -- <scenario>`: it fills the running stack of this checkout. A scenario always makes the same names and figures. */
export async function seed([name]: readonly string[]): Promise<number> {
  if (name === '--help' || name === '-h') {
    console.log(usage());
    return 0;
  }
  if (name === undefined) {
    console.error(usage());
    return 1;
  }
  const scenario = SCENARIOS[name];
  if (!scenario) {
    console.error(`Unknown scenario "${name}".\n  Fix: ${usage()}`);
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

function usage(): string {
  const scenarios = Object.entries(SCENARIOS).map(
    ([name, { summary }]) => `    ${name}: ${summary}`,
  );
  return ['npm run seed -- SCENARIO, one of', ...scenarios].join('\n');
}
