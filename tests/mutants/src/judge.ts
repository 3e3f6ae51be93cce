/** This process runs specs against some files with all of their mutants. The parent says which mutant is on. */
import { runCLI } from 'jest';
import project from '../../../jest.config.ts';
import type { Instrumented } from './transform.ts';

export interface Order {
  /** Is undefined where none is on, and what each test reaches is recorded. */
  mutant: number | undefined;
  spec: string;
  /** Holds full names; undefined means all tests. */
  names: readonly string[] | undefined;
}

export interface Verdict {
  /** Is the first test that failed, or the suite that could not run. */
  failed: string | undefined;
  /** Pairs of a mutant and the full names of the tests that reach it; an empty name is what runs outside of tests. */
  reached: readonly (readonly [mutant: number, tests: readonly string[]])[];
}

interface TestState {
  currentTestName?: string | undefined;
}

const [, , root = '', roots = '[]', settings = '{}'] = process.argv;
const instrumented = JSON.parse(settings) as Instrumented;
const reached = new Map<number, Set<string>>();
let on: number | undefined;

Object.assign(globalThis, { __isMutantOn: isOn });
process.on('message', (order: Order) => {
  void judged(order).then((verdict) => process.send?.(verdict));
});
process.on('disconnect', () => process.exit());
// These handlers keep an error that a mutant leaves behind from failing another mutant.
process.on('uncaughtException', () => {});
process.on('unhandledRejection', () => {});

function isOn(mutant: number): boolean {
  if (on === undefined) record(mutant);
  return on === mutant;
}

function record(mutant: number): void {
  const tests = reached.get(mutant) ?? new Set<string>();
  reached.set(mutant, tests.add(testState()?.currentTestName ?? ''));
}

function testState(): TestState | undefined {
  const matchers = Reflect.get(globalThis, Symbol.for('$$jest-matchers-object')) as
    | { state: TestState }
    | undefined;
  return matchers?.state;
}

async function judged({ mutant, spec, names }: Order): Promise<Verdict> {
  on = mutant;
  reached.clear();
  // The modules that a spec loads before its first test belong to no test of the spec before it.
  Object.assign(testState() ?? {}, { currentTestName: undefined });
  const { results } = await runCLI(argumentsFor(spec, names) as never, [root]);
  const failed = results.testResults.flatMap(({ testFilePath, testResults, testExecError }) => [
    ...testResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName),
    ...(testExecError ? [testFilePath] : []),
  ]);
  return {
    failed: failed[0],
    reached: [...reached].map(([id, tests]) => [id, [...tests]]),
  };
}

function argumentsFor(spec: string, names: readonly string[] | undefined): object {
  const transform = { '^.+\\.ts$': [`${import.meta.dirname}/transform.ts`, instrumented] };
  return {
    _: [spec],
    $0: 'jest',
    config: JSON.stringify({
      ...project,
      rootDir: root,
      roots: JSON.parse(roots),
      transform,
      testTimeout: 30_000,
    }),
    runTestsByPath: true,
    runInBand: true,
    silent: true,
    reporters: [],
    watchman: false,
    ...(names && { testNamePattern: `^(${names.map(escaped).join('|')})$` }),
  };
}

function escaped(name: string): string {
  return name.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
}
