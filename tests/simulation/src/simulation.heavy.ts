import { expect, test } from '@jest/globals';
import { appendFileSync } from 'node:fs';
import { describeFault } from './fault-plan.ts';
import { findPlanted } from './find-planted.ts';
import { PLANTED_FAULTS } from './planted-faults.ts';
import { PLANTED_LUA } from './planted-lua.ts';
import { shrink } from './shrink.ts';
import { simulate } from './simulate.ts';
import { SHIPPED } from './world.ts';

/** Holds the settings of `npm run test:simulation`; main.ts passes them and reads the report. */
const settings = {
  firstSeed: Number(process.env.SIMULATION_SEED ?? 1),
  seeds: Number(process.env.SIMULATION_SEEDS ?? 1),
  seconds: Number(process.env.SIMULATION_SECONDS ?? 3_600),
  isPlanted: process.env.SIMULATION_PLANTED === 'true',
  only: process.env.SIMULATION_ONLY ?? '',
  report: process.env.SIMULATION_REPORT,
};
const DAY_MS = 86_400_000;

function report(line: string): void {
  process.stderr.write(`${line}\n`);
  if (settings.report) appendFileSync(settings.report, `${line}\n`);
}

async function runSeed(seed: number): Promise<boolean> {
  const result = await simulate({ seed });
  const { steps, requests, faults, traceHash, violation, repairs, recharges, waits } = result;
  const kinds = [...new Set(faults.map(({ kind }) => kind))].toSorted().join(', ');
  const left =
    repairs.length > 0 ? `, ${repairs.length} repaired by reconciliation (faults: ${kinds})` : '';
  const what = `seed ${seed}: ${steps} steps, ${requests} requests, ${recharges} purchases of auto-recharge, ${waits.answered + waits.refused} requests waited for one, ${waits.refused} of them refused, ${faults.length} faults, trace ${traceHash}${left}`;
  if (violation === null) {
    report(`ok    ${what}`);
    return true;
  }
  report(`FAIL  ${what}\n      ${violation}`);
  const smallest = await shrink(result, {});
  report(
    `      with ${smallest.faults.length} of ${faults.length} faults: ${smallest.violation}\n${smallest.faults.map((fault) => `      ${describeFault(fault)}`).join('\n')}`,
  );
  return false;
}

(settings.isPlanted ? test.skip : test)(
  'every seed keeps every promise',
  async () => {
    const endMs = performance.now() + settings.seconds * 1_000;
    let failed = 0;
    for (let nth = 0; nth < settings.seeds && performance.now() < endMs; nth += 1)
      if (!(await runSeed(settings.firstSeed + nth))) failed += 1;
    expect(failed).toBe(0);
  },
  DAY_MS,
);

(settings.isPlanted ? test : test.skip)(
  'every planted fault is found',
  async () => {
    const rows: string[] = [];
    let missed = 0;
    const ofRedis = PLANTED_LUA.map(({ name, functions }) => ({
      name,
      parts: { ...SHIPPED, functions: functions() },
    }));
    const asked = [...PLANTED_FAULTS, ...ofRedis].filter(({ name }) =>
      name.includes(settings.only),
    );
    expect(asked).not.toEqual([]);
    for (const planted of asked) {
      const { seed, step, what } = await findPlanted(planted.parts, settings);
      if (seed === null) missed += 1;
      const where = seed === null ? ['not found', '-'] : [String(seed), String(step)];
      rows.push(`| ${[planted.name, ...where].join(' | ')} |`);
      report(`${seed === null ? 'FAIL ' : 'ok   '} ${planted.name}: ${what}`);
    }
    report(['| Planted | Seed | Step |', '| --- | --- | --- |', ...rows].join('\n'));
    expect(missed).toBe(0);
  },
  DAY_MS,
);
