import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { AREAS, filesOf, type Area } from './areas.ts';
import { Court } from './court.ts';
import { describe, type Mutant } from './mutant.ts';
import { SourceProject } from './source-project.ts';
import { SpecsByImport } from './specs-of.ts';

const USAGE = `Breaks the TypeScript that moves money in one place at a time and asks whether specs of the quick suite notice.
npm run test:mutants -- --typescript [--sample N] [--seed S] [--specs N] [--limit SECONDS] [AREA or part of a file name ...]
  --sample   mutants of each area, drawn by the seed; 0 (default) = all
  --specs    specs that judge a mutant, 4 by default, of those that reach it: that of its file first, then pure ones, then by the distance of their imports
  --limit    seconds that one spec may take with one mutant, 120 by default
Exit status 0: at least 95 % of each area were noticed. Areas: ${AREAS.map(({ name }) => name).join(', ')}`;

type Equivalent = Pick<Mutant, 'file' | 'before' | 'after'> & { reason: string };

interface Count {
  tried: number;
  noticed: number;
  equivalent: number;
  stale: number;
}

const ROOT = path.join(import.meta.dirname, '../../..');
const NOTICED_MIN = 0.95;
const number = (text: string): { type: 'string'; default: string } => ({
  type: 'string',
  default: text,
});
const { values, positionals: asked } = parseArgs({
  allowPositionals: true,
  options: {
    sample: number('0'),
    seed: number('1'),
    specs: number('4'),
    limit: number('120'),
    help: { type: 'boolean', short: 'h' },
  },
});
const equivalents = JSON.parse(
  readFileSync(path.join(import.meta.dirname, '../equivalent.json'), 'utf8'),
) as Equivalent[];
const specs = new SpecsByImport(ROOT);
const folder = mkdtempSync(path.join(tmpdir(), 'tollgate-mutants-'));
try {
  if (values.help) console.log(USAGE);
  else process.exitCode = await judgeAll();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function judgeAll(): Promise<number> {
  let isGood = true;
  const lines: string[] = [];
  for (const area of AREAS) {
    const files = filesOf(ROOT, area).filter((file) => isAsked(area, file));
    if (files.length === 0) continue;
    const count = await judgeArea(area, files);
    isGood &&= count.noticed >= NOTICED_MIN * count.tried && count.stale === 0;
    lines.push(`${area.name}: ${figures(count)}`);
  }
  console.log(lines.join('\n'));
  return isGood && lines.length > 0 ? 0 : 1;
}

function isAsked(area: Area, file: string): boolean {
  return asked.length === 0 || asked.some((word) => area.name === word || file.includes(word));
}

async function judgeArea(area: Area, files: readonly string[]): Promise<Count> {
  const project = new SourceProject(ROOT, area.project);
  const draw = { count: Number(values.sample), seed: Number(values.seed) };
  const sample = project.sampleOf(files, equivalents, draw);
  project.close();
  for (const { file, before, after } of sample.stale)
    console.error(`${file}: equivalent.json lists a mutant that is none: ${before} => ${after}`);
  const court = new Court(
    {
      ...{ root: ROOT, folder },
      ...{ limitMs: 1_000 * Number(values.limit), specsMax: Number(values.specs) },
    },
    sample,
    (file) => specs.of(file, area.specs),
  );
  try {
    const { noticed, survived } = await judgeEach(court, sample.mutants);
    const { equivalent, stale } = sample;
    return { tried: noticed + survived, noticed, equivalent, stale: stale.length };
  } finally {
    await court.dismiss();
  }
}

async function judgeEach(
  court: Court,
  mutants: readonly Mutant[],
): Promise<Record<'noticed' | 'survived' | 'undecided', number>> {
  const counts = { noticed: 0, survived: 0, undecided: 0 };
  for (const mutant of mutants.toSorted((a, b) => a.file.localeCompare(b.file))) {
    const began = performance.now();
    const { kind, by } = await court.judge(mutant);
    counts[kind] += 1;
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    console.log(`${kind.padEnd(9)} ${describe(mutant)}   <- ${by} (${seconds} s)`);
  }
  return counts;
}

function figures({ tried, noticed, equivalent }: Count): string {
  const share = tried === 0 ? 100 : (100 * noticed) / tried;
  return `${noticed} of ${tried} noticed (${share.toFixed(1)} %), ${equivalent} equivalent`;
}
