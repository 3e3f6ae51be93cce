import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import jest from '../../../jest.config.ts';
import { instrumented } from './instrument.ts';
import type { Order, Test, Verdict } from './judge.ts';
import type { Mutant } from './mutant.ts';

/** The most tests of one spec that judge a mutant; where more reach it, these are spread over them. */
const TESTS_OF_A_SPEC = 60;
/** A judge is replaced after this number of mutants, so that what failed suites left behind does not add up. */
const MUTANTS_OF_A_JUDGE = 25;
const SLOWER = 3;
const STARTING_MS = 30_000;

/** Judges the mutants of one file by its specs. */
export class Court {
  private readonly settings: string;
  private readonly root: string;
  private readonly specs: readonly string[];
  private judge: ChildProcess | undefined;
  private judged = 0;
  private limitMs = 10 * 60_000;
  private readonly reached = new Map<number, readonly Test[]>();
  /** Lists of tests that pass without a mutant and without the tests before them. */
  private readonly sound = new Map<string, boolean>();

  constructor(
    { root, folder }: { root: string; folder: string },
    { file, source, mutants }: { file: string; source: string; mutants: readonly Mutant[] },
    specs: readonly string[],
  ) {
    this.root = root;
    this.specs = specs;
    const text = path.join(folder, file.replaceAll('/', '_'));
    writeFileSync(text, instrumented(source, mutants));
    const swc = jest.transform?.['^.+\\.ts$']?.[1] ?? {};
    this.settings = JSON.stringify({ swc, file: path.join(root, file), text });
  }

  /** Runs the specs without any mutant and records what each test reaches. Answers a test that fails, if any. */
  async open(): Promise<string | undefined> {
    const began = Date.now();
    const { failed, reached } = await this.order({
      mutant: undefined,
      specs: this.specs,
      names: undefined,
    });
    this.limitMs = STARTING_MS + SLOWER * (Date.now() - began);
    for (const [mutant, tests] of reached) this.reached.set(mutant, tests);
    return failed;
  }

  /** The test that notices a mutant; undefined when none does. */
  async noticedBy({ id }: Mutant): Promise<string | undefined> {
    const reached = this.reached.get(id) ?? [];
    const tests = reached.filter(([, name]) => name !== '');
    if (this.judged >= MUTANTS_OF_A_JUDGE) await this.dismiss();
    this.judged += 1;
    for (const [file, some] of this.nearestFirst(tests)) {
      const specs = [file];
      const names = (await this.passAlone(file, some)) ? some : undefined;
      const { failed } = await this.order({ mutant: id, specs, names });
      if (failed !== undefined) return failed;
    }
    return reached.length === 0 || tests.length < reached.length
      ? this.noticedAtLoad(id)
      : undefined;
  }

  /** For what runs while modules are loaded, which a process does once, or before the tests. */
  private async noticedAtLoad(id: number): Promise<string | undefined> {
    await this.dismiss();
    const { failed } = await this.order({ mutant: id, specs: this.specs, names: undefined });
    await this.dismiss();
    return failed;
  }

  private nearestFirst(tests: readonly Test[]): [file: string, names: string[]][] {
    const byFile = Map.groupBy(tests, ([file]) => file);
    return [...byFile]
      .map(([file, some]): [string, string[]] => [file, spread(some.map(([, name]) => name))])
      .toSorted(([a], [b]) => this.specs.indexOf(a) - this.specs.indexOf(b));
  }

  async dismiss(): Promise<void> {
    const { judge } = this;
    this.judge = undefined;
    this.judged = 0;
    if (!judge || judge.exitCode !== null || judge.signalCode !== null) return;
    const gone = once(judge, 'exit');
    judge.disconnect();
    await Promise.race([gone, pause(5000).then(() => judge.kill('SIGKILL'))]);
    await gone;
  }

  /** Tests that need others before them prove nothing when they run without these. */
  private async passAlone(file: string, names: readonly string[]): Promise<boolean> {
    const key = JSON.stringify([file, names]);
    const known = this.sound.get(key);
    if (known !== undefined) return known;
    const { failed } = await this.order({ mutant: -1, specs: [file], names });
    this.sound.set(key, failed === undefined);
    return failed === undefined;
  }

  private async order(order: Order): Promise<Verdict> {
    const judge = (this.judge ??= this.called());
    const over = new AbortController();
    const { signal } = over;
    const said = once(judge, 'message', { signal }).then(([verdict]) => verdict as Verdict);
    const gone = once(judge, 'exit', { signal }).then(() => verdictOf('the process ended'));
    const late = pause(this.limitMs, verdictOf('the time limit'), { signal });
    judge.send(order);
    const verdict = await Promise.race([said, gone, late]);
    for (const each of [said, gone, late]) each.catch(() => {});
    over.abort();
    if (verdict.failed === 'the time limit') judge.kill('SIGKILL');
    if (verdict.failed === 'the time limit' || verdict.failed === 'the process ended')
      this.judge = undefined;
    return verdict;
  }

  private called(): ChildProcess {
    const roots = [...new Set(this.specs.map((spec) => path.dirname(spec)))];
    return fork(
      path.join(import.meta.dirname, 'judge.ts'),
      [this.root, JSON.stringify(roots), this.settings],
      {
        execArgv: ['--experimental-vm-modules', '--no-warnings'],
        stdio: ['ignore', 'ignore', process.env.MUTANTS_DEBUG ? 'inherit' : 'ignore', 'ipc'],
        cwd: this.root,
      },
    );
  }
}

function verdictOf(failed: string): Verdict {
  return { failed, reached: [] };
}

function spread<T>(tests: readonly T[]): T[] {
  const step = Math.max(1, Math.ceil(tests.length / TESTS_OF_A_SPEC));
  return tests.filter((_, index) => index % step === 0);
}
