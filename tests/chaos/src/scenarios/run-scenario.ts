import { closeClient, countVerdicts, describeFindings, isSound } from '@tollgate/audit';
import { z } from 'zod';
import { aofCuts } from './aof-cuts.ts';
import { clock } from './clock.ts';
import { controlPlaneAway } from './control-plane-away.ts';
import { hangUps } from './hang-ups.ts';
import { partition } from './partition.ts';
import { poison } from './poison.ts';
import { postgresFailover } from './postgres-failover.ts';
import { postgresStop } from './postgres-stop.ts';
import { restore } from './restore.ts';
import type { Outcome, Scenario } from './scenario.ts';
import { slowClients } from './slow-clients.ts';
import { soak } from './soak.ts';
import { streams } from './streams.ts';

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'aof-cuts': aofCuts,
  clock,
  'control-plane-away': controlPlaneAway,
  'hang-ups': hangUps,
  partition,
  poison,
  'postgres-failover': postgresFailover,
  'postgres-stop': postgresStop,
  restore,
  'slow-clients': slowClients,
  soak,
  streams,
};
export const SCENARIO_NAMES = Object.keys(SCENARIOS);

const count = z.coerce.number().int().positive().optional();
const orderSchema = z.object({
  scenario: z.enum(SCENARIO_NAMES),
  times: count,
  seconds: count,
  readers: count,
  'every-ms': count,
  seed: z.coerce
    .number()
    .int()
    .nonnegative()
    .default(() => Date.now() % 1_000_000),
});

/** Plays one named fault on a whole installation under load. Prints what was measured; returns true when no promise broke. */
export async function runScenario(values: unknown, say: (line: string) => void): Promise<boolean> {
  const { scenario: name, 'every-ms': everyMs, ...order } = orderSchema.parse(values);
  const run = SCENARIOS[name];
  if (!run) throw new Error(`There is no scenario "${name}".`);
  say(`Scenario ${name}, seed ${order.seed}.`);
  const startedAt = Date.now();
  const log = (line: string): void =>
    say(`${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s  ${line}`);
  try {
    const outcome = await run({
      times: undefined,
      seconds: undefined,
      readers: undefined,
      everyMs,
      ...order,
      log,
    });
    say(`${describe(outcome)}\n\n${name}, seed ${order.seed}: ${countVerdicts(outcome.findings)}.`);
    return isSound(outcome.findings);
  } finally {
    closeClient();
  }
}

function describe({ figures, findings }: Outcome): string {
  const width = Math.max(...figures.map(([label]) => label.length));
  return [
    '',
    ...figures.map(([label, value]) => `  ${label.padEnd(width)}  ${value}`),
    '',
    describeFindings(findings),
  ].join('\n');
}
