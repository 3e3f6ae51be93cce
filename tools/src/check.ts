import { spawn } from 'node:child_process';
import path from 'node:path';
import { z } from 'zod';
import { BIN_FOLDER, ROOT } from './checkout.ts';

interface Step {
  name: string;
  look: () => Promise<Finding>;
  /** Says how to repair the fault. */
  fix: string;
}

interface Finding {
  isPassed: boolean;
  output: string;
  /** Is the reason why the step was skipped; it counts as neither passed nor failed. */
  skipped?: string;
}

const IMPORT_RULES = '.dependency-cruiser.cjs';

/** `npm run check` and CI run every step of this list in order, even after a failure. */
const STEPS: readonly Step[] = [
  {
    name: 'lockfile',
    look: () => runProgram('npm', ['run', '--silent', 'lockfile']),
    fix: 'Take another version of the package named above: the registry does not vouch for this one, or it is too young.',
  },
  {
    name: 'format',
    look: () => run('oxfmt', ['--check']),
    fix: 'Run npm run format.',
  },
  {
    name: 'types',
    look: lookAtTypes,
    fix: 'Fix the types named above.',
  },
  {
    name: 'test types',
    look: () => afterTypes(() => run('tsc', ['-p', 'tsconfig.tests.json'])),
    fix: 'Fix the types named above; specs are type-checked separately.',
  },
  {
    name: 'lint',
    look: () => afterTypes(() => run('oxlint', ['--type-aware'])),
    fix: 'Fix the lines named above; node_modules/.bin/oxlint --fix fixes some of them.',
  },
  {
    name: 'planted lint',
    look: lookAtPlantedLint,
    fix: 'Restore the rule in .oxlintrc.json that tools/check/planted-lint violates.',
  },
  {
    name: 'imports',
    look: () => run('depcruise', ['--config', IMPORT_RULES, 'apps', 'libs', 'tests', 'tools/src']),
    fix: 'Move the import: docs/architecture.md says who may import whom.',
  },
  {
    name: 'planted imports',
    look: lookAtPlantedImports,
    fix: `Fix the rule in ${IMPORT_RULES}, or plant a violation of the new one in tools/check/planted.`,
  },
  {
    name: 'dead code',
    look: () => run('knip', ['--no-config-hints']),
    fix: 'Delete what nothing uses, or stop exporting it.',
  },
  {
    name: 'tidy',
    look: () =>
      afterTypes(() =>
        run('node', [
          '--experimental-vm-modules',
          '--no-warnings',
          'node_modules/jest/bin/jest.js',
          'tools/check',
        ]),
      ),
    fix: 'CONTRIBUTING.md has the house rules.',
  },
  {
    name: 'deploy',
    look: lookAtDeployment,
    fix: 'Fix the chart, the rules or the units named above; npm run check:deploy repeats this step.',
  },
];

/** Runs `npm run check [-- <step>...]`: every house rule that a program can check. It ends with the line `N passed, N failed`. */
export async function check(names: readonly string[] = []): Promise<number> {
  const unknown = names.filter((name) => !STEPS.some((step) => step.name === name));
  if (unknown.length > 0)
    throw new Error(
      `There is no step ${unknown.join(', ')}; there are ${STEPS.map(({ name }) => name).join(', ')}.`,
    );
  const chosen = STEPS.filter(({ name }) => names.length === 0 || names.includes(name));
  let failed = 0;
  let skipped = 0;
  for (const { name, look, fix } of chosen) {
    const startedAt = Date.now();
    const { isPassed, output, skipped: reason } = await look();
    if (reason !== undefined) {
      skipped += 1;
      console.log(`skip  ${name}: ${reason}`);
      continue;
    }
    console.log(
      `${isPassed ? 'ok  ' : 'FAIL'}  ${name}  (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`,
    );
    if (isPassed) continue;
    failed += 1;
    console.log(`${output.trimEnd()}\n  Fix: ${fix}\n`);
  }
  const passed = chosen.length - failed - skipped;
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
  return failed === 0 ? 0 : 1;
}

function lookAtTypes(): Promise<Finding> {
  return run('tsc', ['-b', '.', 'apps/console']);
}

/** Builds the declarations that a step reads, because a step chosen by name may be the first command of a checkout. */
async function afterTypes(look: () => Promise<Finding>): Promise<Finding> {
  const types = await lookAtTypes();
  return types.isPassed ? look() : types;
}

/** Checks chart, alert rules and units with the tools of operators, which need Go once; a machine without Go skips the step. */
async function lookAtDeployment(): Promise<Finding> {
  const { judgeDeployment, ToolMissing } = await import('./commands/check-deploy.ts');
  try {
    return await judgeDeployment();
  } catch (error) {
    if (!(error instanceof ToolMissing)) throw error;
    return { isPassed: true, output: '', skipped: error.message };
  }
}

const cruise = z.object({
  summary: z.object({
    violations: z.array(z.object({ rule: z.object({ name: z.string() }) })),
    ruleSetUsed: z.object({ forbidden: z.array(z.object({ name: z.string() })) }),
  }),
});

/** Checks the import rules themselves: each must find the violation that is planted for it, so that no rule fails silently. */
async function lookAtPlantedImports(): Promise<Finding> {
  const { output } = await run(
    'depcruise',
    ['--config', IMPORT_RULES, '--output-type', 'json', 'tools/check/planted'],
    'stdout',
  );
  const { violations, ruleSetUsed } = cruise.parse(JSON.parse(output)).summary;
  const reported = new Set(violations.map(({ rule }) => rule.name));
  const silent = ruleSetUsed.forbidden
    .map(({ name }) => name)
    .filter((name) => !reported.has(name));
  return {
    isPassed: silent.length === 0,
    output: silent
      .map((name) => `${name} does not report the violation planted for it.`)
      .join('\n'),
  };
}

/** Maps files of tools/check/planted-lint to the rules that each violates. */
const PLANTED_LINT: Readonly<Record<string, readonly string[]>> = {
  'any.ts': ['no-explicit-any'],
  'apps/console/src/long-component.tsx': ['max-lines-per-function'],
  'long-function.ts': ['max-lines-per-function'],
  'promises.ts': ['no-floating-promises', 'no-misused-promises', 'switch-exhaustiveness-check'],
};

/** Rules that need types find nothing when types cannot be read, and a limit can be raised by mistake: each rule must report its planted violation. */
async function lookAtPlantedLint(): Promise<Finding> {
  const folder = 'tools/check/planted-lint';
  const config = `${folder}/oxlintrc.json`;
  const { output } = await run('oxlint', [
    '--type-aware',
    '--format=unix',
    '--config',
    config,
    folder,
  ]);
  const reported = output.split('\n');
  const silent = Object.entries(PLANTED_LINT).flatMap(([file, rules]) =>
    rules
      .filter(
        (rule) =>
          !reported.some(
            (line) => line.startsWith(`${folder}/${file}:`) && line.includes(`(${rule})`),
          ),
      )
      .map((rule) => `${rule} does not report its planted violation in ${file}.`),
  );
  return { isPassed: silent.length === 0, output: silent.join('\n') };
}

/** Runs a program of node_modules/.bin in the root. */
function run(program: string, args: readonly string[], only?: 'stdout'): Promise<Finding> {
  return runProgram(path.join(BIN_FOLDER, program), args, only);
}

function runProgram(program: string, args: readonly string[], only?: 'stdout'): Promise<Finding> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const collect = (bytes: Buffer): void => void (output += String(bytes));
    child.stdout.on('data', collect);
    child.stderr.on('data', only ? () => {} : collect);
    child.on('error', (error) => resolve({ isPassed: false, output: error.message }));
    child.on('close', (code) => resolve({ isPassed: code === 0, output }));
  });
}
