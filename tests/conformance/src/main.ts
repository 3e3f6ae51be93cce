import { existsSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { runConformance } from './conformance.ts';
import { RECORDINGS_FOLDER } from './recordings.ts';
import { describeReplays } from './report.ts';

/** Returns exit status 0 when every recording came through, 1 when some did not, 2 when there is nothing to replay. */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { fixtures: { type: 'string', default: RECORDINGS_FOLDER } },
  });
  const folder = path.resolve(values.fixtures);
  if (!existsSync(folder)) {
    console.error(
      `There are no recordings at ${folder}.\n  Fix: npm run test:conformance -- --fixtures DIR`,
    );
    return 2;
  }
  const replays = await runConformance([folder]);
  console.log(describeReplays(replays));
  return replays.length > 0 && replays.every(({ failures }) => failures.length === 0) ? 0 : 1;
}

process.exitCode = await main();
