import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import jest from '../../../jest.config.ts';
import { instrumented } from './instrument.ts';
import type { Order, Verdict } from './judge.ts';
import type { Mutant } from './mutant.ts';

/** Limits the tests of one spec that judge a mutant at once; where more reach it, these are spread over them, and the others follow where none notices. */
const TESTS_OF_A_SPEC = 60;
/** A judge is replaced after this number of mutants, so that what failed suites left behind does not add up. */
const MUTANTS_OF_A_JUDGE = 25;
const SLOWER = 3;
const STARTING_MS = 30_000;
/** A spec that is faster than this runs whole: to choose tests of it would cost more. */
const WHOLE_MS = 3_000;
const NEVER = -1;
const LATE = 'the time limit';

/** Is the outcome of a spec without any mutant. */
interface Hearing {
  isSound: boolean;
  tookMs: number;
  /** Maps mutants to the names of the tests that reach them. */
  reached: ReadonlyMap<number, readonly string[]>;
}

/** Judges the mutants of some files by the specs of each, one spec after the other until one notices. */
export class Court {
  private readonly settings: string;
  private readonly root: string;
  private readonly limitMs: number;
  /** Limits the specs that judge a mutant, of those that reach it. */
  private readonly specsMax: number;
  private readonly mutants: readonly Mutant[];
  /** Maps files to the specs that may judge them. */
  private readonly specs: ReadonlyMap<string, readonly string[]>;
  private process: ChildProcess | undefined;
  private judged = 0;
  private readonly hearings = new Map<string, Hearing>();
  /** Holds mutants that a spec was too slow for, which is as slow without them. */
  private readonly doubted = new Set<number>();
  /** Holds lists of tests that pass without a mutant and without the tests before them. */
  private readonly sound = new Map<string, boolean>();

  constructor(
    {
      root,
      folder,
      limitMs,
      specsMax,
    }: { root: string; folder: string; limitMs: number; specsMax: number },
    { sources, mutants }: { sources: ReadonlyMap<string, string>; mutants: readonly Mutant[] },
    specsOf: (file: string) => readonly string[],
  ) {
    this.root = root;
    this.limitMs = limitMs;
    this.specsMax = specsMax;
    this.mutants = mutants;
    this.specs = new Map([...sources.keys()].map((file) => [file, specsOf(file)]));
    const texts: Record<string, string> = {};
    for (const [file, source] of sources) {
      const text = path.join(folder, file.replaceAll('/', '_'));
      const own = mutants.filter((mutant) => mutant.file === file);
      writeFileSync(text, instrumented(source, own));
      texts[path.join(root, file)] = text;
    }
    const swc = jest.transform?.['^.+\\.ts$']?.[1] ?? {};
    this.settings = JSON.stringify({ swc, texts });
  }

  /** Judges a mutant. `by` is the test that notices. Undecided is a mutant that none noticed where a spec failed without it or was too slow: it may have been noticed there. */
  async judge(mutant: Mutant): Promise<{ kind: 'noticed' | 'undecided' | 'survived'; by: string }> {
    const by = await this.noticedBy(mutant);
    if (by !== undefined) return { kind: 'noticed', by };
    const isDoubted =
      this.doubted.has(mutant.id) ||
      this.specsOf(mutant).some((spec) => this.hearings.get(spec)?.isSound === false);
    return { kind: isDoubted ? 'undecided' : 'survived', by: 'none' };
  }

  private specsOf({ file }: Mutant): readonly string[] {
    return this.specs.get(file) ?? [];
  }

  private async noticedBy(mutant: Mutant): Promise<string | undefined> {
    const { id } = mutant;
    if (this.judged >= MUTANTS_OF_A_JUDGE) await this.dismiss();
    this.judged += 1;
    let asked = 0;
    for (const spec of this.specsOf(mutant)) {
      const hearing = await this.hear(spec);
      const names = hearing.reached.get(id)?.filter((name) => name !== '') ?? [];
      if (names.length === 0 || !hearing.isSound) continue;
      asked += 1;
      const failed = await this.try(id, spec, names);
      if (failed !== undefined || asked === this.specsMax) return failed;
    }
    return asked > 0 ? undefined : this.noticedAtLoad(mutant);
  }

  async dismiss(): Promise<void> {
    const { process: judge } = this;
    this.process = undefined;
    this.judged = 0;
    if (!judge || judge.exitCode !== null || judge.signalCode !== null) return;
    const gone = once(judge, 'exit');
    judge.disconnect();
    await Promise.race([gone, pause(5000).then(() => judge.kill('SIGKILL'))]);
    await gone;
  }

  /** Runs a spec without any mutant, once, and records what each test reaches. */
  private async hear(spec: string): Promise<Hearing> {
    const known = this.hearings.get(spec);
    if (known) return known;
    const began = Date.now();
    const { failed, reached } = await this.order({ mutant: undefined, spec, names: undefined });
    if (failed !== undefined)
      console.error(`${spec}: "${failed}" fails without any mutant, so this spec is not asked.`);
    const hearing = {
      isSound: failed === undefined,
      tookMs: Date.now() - began,
      reached: new Map(reached),
    };
    this.hearings.set(spec, hearing);
    return hearing;
  }

  private async try(
    mutant: number,
    spec: string,
    names: readonly string[],
  ): Promise<string | undefined> {
    const isFast = (this.hearings.get(spec)?.tookMs ?? 0) < WHOLE_MS;
    if (isFast) return this.tryTests(mutant, spec, undefined);
    for (const some of spread(names)) {
      const isAlone = await this.passAlone(spec, some);
      const failed = await this.tryTests(mutant, spec, isAlone ? some : undefined);
      if (failed !== undefined || !isAlone) return failed;
    }
    return undefined;
  }

  private async tryTests(
    mutant: number,
    spec: string,
    names: readonly string[] | undefined,
  ): Promise<string | undefined> {
    const asked = { spec, names };
    const { failed } = await this.order({ mutant, ...asked });
    if (failed !== LATE) return failed;
    // If the spec takes as long without the mutant, the machine is slow.
    const without = await this.order({ mutant: NEVER, ...asked });
    if (without.failed !== LATE) return failed;
    this.doubted.add(mutant);
    return undefined;
  }

  /** For what runs while modules are loaded, which a process does once, or before the tests. */
  private async noticedAtLoad(mutant: Mutant): Promise<string | undefined> {
    const near = this.specsOf(mutant).toSorted(
      (a, b) => Number(this.reaches(b, mutant.file)) - Number(this.reaches(a, mutant.file)),
    );
    for (const spec of near.slice(0, this.specsMax)) {
      if (this.hearings.get(spec)?.isSound === false) continue;
      await this.dismiss();
      const { failed } = await this.order({ mutant: mutant.id, spec, names: undefined });
      await this.dismiss();
      if (failed !== undefined) return failed;
    }
    return undefined;
  }

  private reaches(spec: string, file: string): boolean {
    const { isSound, reached } = this.hearings.get(spec) ?? { isSound: false, reached: new Map() };
    return isSound && this.mutants.some((mutant) => mutant.file === file && reached.has(mutant.id));
  }

  /** Tests that need others before them prove nothing when they run without these. */
  private async passAlone(spec: string, names: readonly string[]): Promise<boolean> {
    const key = JSON.stringify([spec, names]);
    const known = this.sound.get(key);
    if (known !== undefined) return known;
    const { failed } = await this.order({ mutant: NEVER, spec, names });
    this.sound.set(key, failed === undefined);
    return failed === undefined;
  }

  private async order(order: Order): Promise<Verdict> {
    const judge = (this.process ??= this.called());
    const over = new AbortController();
    const { signal } = over;
    const said = once(judge, 'message', { signal }).then(([verdict]) => verdict as Verdict);
    const gone = once(judge, 'exit', { signal }).then(() => verdictOf('the process ended'));
    const late = pause(this.limitOf(order), verdictOf(LATE), { signal });
    judge.send(order);
    const verdict = await Promise.race([said, gone, late]);
    for (const each of [said, gone, late]) each.catch(() => {});
    over.abort();
    if (verdict.failed === LATE) judge.kill('SIGKILL');
    if (verdict.failed === LATE || verdict.failed === 'the process ended') this.process = undefined;
    return verdict;
  }

  private limitOf({ mutant, spec }: Order): number {
    const hearing = this.hearings.get(spec);
    if (mutant === undefined || !hearing) return SLOWER * this.limitMs;
    return Math.min(this.limitMs, STARTING_MS + SLOWER * hearing.tookMs);
  }

  private called(): ChildProcess {
    const roots = [...new Set([...this.specs.values()].flat().map((spec) => path.dirname(spec)))];
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

function spread<T>(tests: readonly T[]): T[][] {
  const step = Math.max(1, Math.ceil(tests.length / TESTS_OF_A_SPEC));
  return Array.from({ length: step }, (_, first) =>
    tests.filter((_test, index) => index % step === first),
  );
}
