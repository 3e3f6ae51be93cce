import { parseArgs } from 'node:util';
import { describeFindings, isSound } from '@tollgate/audit';
import type { RedisKind } from '@tollgate/harness';
import { z } from 'zod';
import { FAULT_KINDS, type FaultKind } from './faults.ts';
import { measureRebuild } from './measure-rebuild.ts';
import { runChaos, type ChaosReport } from './run-chaos.ts';
import { runScenario, SCENARIO_NAMES } from './scenarios/run-scenario.ts';
import { describeTally } from './tally.ts';

const USAGE = `npm run test:chaos -- --seconds 60 --seed 1 [--nodes 3] [--control-planes 2] [--redis single|cluster|sentinel] [--gap-ms 2500]
                        [--faults kill,pause,cut,aof,flush,functions,node-clock,failover,clock]      failover: with --redis sentinel; clock (of Redis): only when named, on Debian and Ubuntu
npm run test:chaos -- --rebuild 100000      loses Redis under load with so many subscriptions, and measures
npm run test:chaos -- --scenario NAME [--times N] [--seconds N] [--readers N] [--every-ms N] [--seed S]     one fault of a kind: ${SCENARIO_NAMES.join(', ')}`;
/** Names faults that one kind of Redis alone can have. */
const REDIS_OF: Partial<Record<FaultKind, RedisKind>> = { failover: 'sentinel' };
const optionsSchema = z.object({
  seconds: z.coerce.number().int().positive().default(60),
  seed: z.coerce
    .number()
    .int()
    .nonnegative()
    .default(() => Date.now() % 1_000_000),
  nodes: z.coerce.number().int().positive().default(3),
  'control-planes': z.coerce.number().int().positive().default(2),
  redis: z.enum(['single', 'cluster', 'sentinel']).default('single'),
  faults: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(FAULT_KINDS)).min(1))
    .optional(),
  'gap-ms': z.coerce.number().int().positive().default(2_500),
  rebuild: z.coerce.number().int().positive().optional(),
});

/** Returns exit status 0 when the books close, 1 when they do not, 2 when the run could not be made. */
async function main(args: string[]): Promise<number> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args,
    options: {
      seconds: text,
      seed: text,
      nodes: text,
      'control-planes': text,
      redis: text,
      faults: text,
      'gap-ms': text,
      rebuild: text,
      scenario: text,
      times: text,
      readers: text,
      'every-ms': text,
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return say(USAGE, 0);
  if (values.scenario !== undefined)
    return (await runScenario(values, (line) => void say(line, 0))) ? 0 : 1;
  const { seconds, seed, nodes, redis, ...rest } = optionsSchema.parse(values);
  const possible = FAULT_KINDS.filter(
    (kind) => REDIS_OF[kind] === undefined || REDIS_OF[kind] === redis,
  );
  const kinds = rest.faults ?? possible.filter((kind) => kind !== 'clock');
  const impossible = kinds.find((kind) => !possible.includes(kind));
  if (impossible) return say(`The fault ${impossible} needs --redis ${REDIS_OF[impossible]}.`, 2);
  if (rest.rebuild !== undefined)
    return (await measureRebuild(rest.rebuild, (line) => void say(line, 0))) ? 0 : 1;
  say(
    `Chaos for ${seconds} s on ${nodes} nodes and ${rest['control-planes']} control planes, Redis ${redis}, seed ${seed}, faults ${kinds.join(', ')}.`,
    0,
  );
  const report = await runChaos({
    seconds,
    seed,
    nodes,
    controlPlanes: rest['control-planes'],
    redis,
    kinds,
    gapMs: rest['gap-ms'],
    log: (line) => void say(line, 0),
  });
  return say(
    `${describe(report)}\n\nseed ${seed}: ${isSound(report.findings) ? 'the books close.' : 'THE BOOKS DO NOT CLOSE.'}`,
    isSound(report.findings) ? 0 : 1,
  );
}

function describe({
  faults,
  faultCount,
  changes,
  tally,
  findings,
  drainedInMs,
}: ChaosReport): string {
  const struck = faults.map(
    ({ kind, victim, count }) =>
      `  ${kind.padEnd(9)} ${victim.padEnd(32)} ${String(count).padStart(5)}`,
  );
  return [
    '',
    `${faultCount} faults`,
    ...struck,
    '',
    `  purchases ${changes.purchases}, withdrawals ${changes.withdrawals}, changes of price ${changes.prices}, of budgets ${changes.budgets}`,
    describeTally(tally),
    `  drained and audited in   ${(drainedInMs / 1_000).toFixed(1)} s`,
    '',
    describeFindings(findings),
  ].join('\n');
}

function say(text: string, status: number): number {
  process.stdout.write(`${text}\n`);
  return status;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(
    `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  // Clients of a run that broke off would continue without end. The servers are stopped.
  process.exit(2);
}
