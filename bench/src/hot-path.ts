import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { checkOut } from '@tollgate/tools';
import { describeFigures, medianOf, type Figure } from './hotpath/figures.ts';
import { BenchInstallation, NODE, startYardstick } from './hotpath/installation.ts';
import { describeProfile } from './hotpath/profile.ts';
import { drainBacklog } from './hotpath/scenes/capacity.ts';
import { LARGE, run, SCENES, type Build, type SceneName } from './hotpath/run.ts';

const ROOT = path.resolve(import.meta.dirname, '..', '..');
const STATE = path.join(ROOT, '.tollgate', 'bench');
const RESULTS = path.join(ROOT, 'bench', 'results');
const BASELINE = path.join(RESULTS, 'baseline.json');
/** Holds what `--check` measures, in a few minutes. */
const CHECKED: readonly SceneName[] = ['requests', 'door', 'cold'];
const WORSE_MAX = 1.15;
/** Holds what `--beside` takes. */
const SETTING = /^(control-plane:)?([^=]*)=(.*)$/;
const PROFILE_SECONDS = 8;
const PROFILE_RECORDS = 60_000;
const USAGE = `npm run bench -- hot-path [scene ...]   of ${Object.keys(SCENES).join(', ')}; by default all but ${[...LARGE].join(', ')}
  --rounds N        repetitions; 5 by default, 3 for --check
  --write NAME      keeps the figures as bench/results/NAME.json
  --compare REF     another commit side by side, from a build of its own; the last columns are ratios within each round
  --beside NAME=VALUE   this build with another environment of its node, e.g. NODE_OPTIONS=--v8-pool-size=1, or of its control plane:
                    control-plane:NODE_OPTIONS=--max-semi-space-size=64; may be repeated
  --at-once         what is compared works at the same time on the first core, under equal load each (json, stream, requests, bodies, quiet, idle)
  --check           against bench/results/baseline.json: fails when a CPU ratio is 15 % worse in every round of two runs
  --streams N, --keys N, --models N, --records N   sizes of the scenes streams, keys, models and backlog
  --profile KIND    json, stream, quiet, or booking or steady (of the control plane): CPU by stage, and the hottest functions`;

/** Measures CPU, latency and memory of the hot path beside a bare proxy; docs/performance.md has the method. */
export async function benchHotPath(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      write: { type: 'string' },
      compare: { type: 'string' },
      beside: { type: 'string', multiple: true, default: [] },
      'at-once': { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      profile: { type: 'string' },
      streams: { type: 'string', default: '9000' },
      keys: { type: 'string', default: '1000000' },
      models: { type: 'string', default: '1000' },
      records: { type: 'string', default: '200000' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const unknown = positionals.filter((name) => !(name in SCENES));
  if (values.help || unknown.length > 0) return say(USAGE, unknown.length > 0 ? 1 : 0);
  if (values.profile !== undefined) return profile(values.profile);
  const named = positionals as SceneName[];
  const scenes =
    named.length > 0
      ? named
      : values.check
        ? CHECKED
        : (Object.keys(SCENES) as SceneName[]).filter((name) => !LARGE.has(name));
  const measure = (): ReturnType<typeof run> =>
    run({
      scenes,
      rounds: Number(values.rounds ?? (values.check ? 3 : 5)),
      sizes: {
        streams: Number(values.streams),
        keys: Number(values.keys),
        models: Number(values.models),
        records: Number(values.records),
      },
      builds: buildsOf(values.compare, values.beside),
      isAtOnce: values['at-once'],
    });
  const sets = await measure();
  report(sets, values.write);
  if (values.check) await judge(sets, measure);
}

/** Returns this build, the one that it is compared with, and this one again for each other environment of its node or control plane. */
function buildsOf(ref: string | undefined, environments: readonly string[]): Map<string, Build> {
  const builds = new Map<string, Build>([['this build', { checkout: ROOT }]]);
  if (ref !== undefined) builds.set(ref, { checkout: checkOut(ref) });
  for (const setting of environments) {
    const [, process, name = '', value = ''] = SETTING.exec(setting) ?? [];
    builds.set(setting, {
      checkout: ROOT,
      [process === undefined ? 'env' : 'controlPlaneEnv']: { [name]: value },
    });
  }
  return builds;
}

function say(text: string, status = 0): void {
  process.stdout.write(`${text}\n`);
  process.exitCode = status;
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
}

function report(sets: ReadonlyMap<string, readonly Figure[]>, name: string | undefined): void {
  const table = describeFigures(sets);
  const about = {
    at: new Date().toISOString(),
    commit: git('rev-parse', '--short', 'HEAD'),
    machine: `${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`,
    loadAverage: loadavg().map((load) => Math.round(load * 10) / 10),
  };
  say(
    `${about.at}, ${about.commit}, ${about.machine}, load ${about.loadAverage.join(' ')}. Median (least-most). The books were audited and close.\n\n${table}`,
  );
  const folder = name === undefined ? STATE : RESULTS;
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, name ?? 'last');
  writeFileSync(
    `${file}.json`,
    `${JSON.stringify({ ...about, sets: Object.fromEntries(sets) }, null, 2)}\n`,
  );
}

interface Stored {
  sets: Record<string, Figure[]>;
}

/**
 * Fails on a CPU ratio that is clearly worse than the stored one in every round of two runs: what other programs do in a round can double it, and
 * some of what they do lasts as long as a run. Latency depends on the machine and is not judged.
 */
async function judge(sets: Measured, measure: () => Promise<Measured>): Promise<void> {
  const first = worseIn(sets);
  if (first.size > 0) say(`\nWorse than the baseline, so all is measured again:\n${textOf(first)}`);
  const second = first.size > 0 ? worseIn(await measure()) : first;
  const worse = new Map([...second].filter(([name]) => first.has(name)));
  if (worse.size === 0) return say('\nNo CPU ratio is more than 15 % worse than the baseline.');
  say(`\nMore than 15 % worse than the baseline:\n${textOf(worse)}`, 1);
}

type Measured = ReadonlyMap<string, readonly Figure[]>;

function textOf(worse: ReadonlyMap<string, string>): string {
  return [...worse.values()].join('\n');
}

/** Returns what is to be said of each figure that is worse, by its name. */
function worseIn(sets: Measured): Map<string, string> {
  const stored = (JSON.parse(readFileSync(BASELINE, 'utf8')) as Stored).sets['this build'] ?? [];
  const judged = sets.get('this build')?.filter(({ isCpuRatio }) => isCpuRatio) ?? [];
  const worse = new Map<string, string>();
  for (const { name, samples } of judged) {
    const before = stored.find((figure) => figure.name === name);
    if (!before) throw new Error(`the baseline has no ${name}: \`--write baseline\` writes one`);
    const [was, least] = [medianOf(before.samples), Math.min(...samples)];
    if (least > was * WORSE_MAX)
      worse.set(
        name,
        `${name}: at least ${least.toFixed(2)} x bare in every round, was ${was.toFixed(2)}`,
      );
  }
  return worse;
}

/** Holds the requests a second; others come as fast as they are answered. */
const PROFILED_RATES: Readonly<Record<string, number>> = { quiet: 100, steady: 200 };

async function profile(kind: string): Promise<void> {
  const file = path.join(STATE, `${kind}.cpuprofile`);
  const name = kind === 'booking' || kind === 'steady' ? 'control-plane' : NODE;
  mkdirSync(STATE, { recursive: true });
  rmSync(file, { force: true });
  const yardstick = await startYardstick();
  const installation = await BenchInstallation.start({
    checkout: ROOT,
    upstreamUrl: yardstick.upstream.url,
    profile: file,
  });
  try {
    if (name !== NODE) await installation.restartControlPlane(file);
    await installation.warmUp();
    const requests = await profiled(installation, { kind, name });
    await delay(2_000);
    say(`${describeProfile(file, requests)}\nThe whole profile: ${file}`);
    await installation.audit();
  } finally {
    yardstick.stop();
    await installation.stop();
  }
}

/** Answers how many requests or records are in the profile. */
async function profiled(
  installation: BenchInstallation,
  { kind, name }: { kind: string; name: string },
): Promise<number> {
  const toggle = (): boolean => process.kill(installation.pidOf(name), 'SIGWINCH');
  if (kind === 'booking') {
    await drainBacklog(installation, PROFILE_RECORDS, toggle);
    toggle();
    return PROFILE_RECORDS;
  }
  toggle();
  const { requests } = await installation.load({
    isStream: kind === 'stream',
    perSecond: PROFILED_RATES[kind] ?? null,
    seconds: PROFILE_SECONDS,
  });
  toggle();
  return requests;
}
