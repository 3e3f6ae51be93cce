import { parseArgs } from 'node:util';
import { closeClient } from '@tollgate/audit';
import { startTollgate, type Tollgate, type TollgateOptions } from '@tollgate/harness';
import { z } from 'zod';
import { measurePropagation, percentile } from './propagation.ts';
import { syncStorm } from './sync-storm.ts';

/** By then 99 of 100 changes run on every node: what an administrator calls at once. */
const FOLLOWED_WITHIN_MS = 1_000;
const USAGE = `npm run test:fleet                               both of these
npm run test:fleet -- --storm [--administrators 50] [--nodes 3] [--rounds 2] [--seed 7]
                                                 administrators sync while nodes restart at random: every answer must be true
npm run test:fleet -- --propagation [--nodes 10] [--changes 50]
                                                 how fast all nodes follow a change (p99 within ${FOLLOWED_WITHIN_MS} ms); access withdrawn at once everywhere`;
const count = z.coerce.number().int().positive();
const settingsSchema = z.object({
  storm: z.boolean(),
  propagation: z.boolean(),
  administrators: count.default(50),
  nodes: count.optional(),
  rounds: count.default(2),
  seed: count.default(7),
  changes: count.default(50),
});
type Settings = z.infer<typeof settingsSchema>;

async function storm({ administrators, nodes = 3, rounds, seed }: Settings): Promise<boolean> {
  return withTollgate({ nodes, controlPlanes: 2 }, async (tollgate) => {
    const startedAt = performance.now();
    const report = await syncStorm(tollgate, { administrators, rounds, seed });
    say(
      `storm: ${administrators} administrators, ${report.answers} answers about ${nodes} nodes in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s, ${report.restarts} restarts, seed ${seed}`,
    );
    say(
      `  called applied ${report.applied}, offline or timeout ${report.otherwise}, untrue ${report.lies.length}`,
    );
    for (const lie of report.lies) say(`  - ${lie}`);
    return report.lies.length === 0 && report.answers === administrators * rounds;
  });
}

async function propagation({ nodes = 10, changes }: Settings): Promise<boolean> {
  return withTollgate({ nodes }, async (tollgate) => {
    const { acknowledged, automatic, revocations } = await measurePropagation(tollgate, {
      changes,
    });
    let isInTime = true;
    for (const [name, times] of Object.entries({
      'change + sync-all acknowledged': acknowledged,
      'change applied by itself': automatic,
    })) {
      const p99 = percentile(times, 0.99);
      isInTime &&= p99 <= FOLLOWED_WITHIN_MS;
      say(
        `propagation: ${name} by all of ${nodes} nodes, ${times.length} changes: p50 ${percentile(times, 0.5).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms${p99 <= FOLLOWED_WITHIN_MS ? '' : `, LATE: at most ${FOLLOWED_WITHIN_MS} ms promised`}`,
      );
    }
    say(
      `revocation: ${revocations.requests} requests right after a key was disabled or a user frozen, ${revocations.admitted} admitted`,
    );
    return isInTime && revocations.admitted === 0;
  });
}

async function withTollgate(
  options: TollgateOptions,
  run: (tollgate: Tollgate) => Promise<boolean>,
): Promise<boolean> {
  const tollgate = await startTollgate(options);
  try {
    return await run(tollgate);
  } finally {
    closeClient();
    await tollgate.stop();
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(args: string[]): Promise<number> {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args,
    options: {
      storm: flag,
      propagation: flag,
      administrators: text,
      nodes: text,
      rounds: text,
      seed: text,
      changes: text,
      help: flag,
    },
  });
  if (values.help) {
    say(USAGE);
    return 0;
  }
  const settings = settingsSchema.parse(values);
  const isAll = !settings.storm && !settings.propagation;
  let isSound = true;
  if (isAll || settings.storm) isSound = (await storm(settings)) && isSound;
  if (isAll || settings.propagation) isSound = (await propagation(settings)) && isSound;
  return isSound ? 0 : 1;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
