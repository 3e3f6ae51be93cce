/**
 * Breaks the TypeScript that moves money in one place at a time and asks whether specs of the quick suite notice.
 * Arguments: parts of file names or names of areas; none = all. MUTANTS (0 = all): how many of each file · SEED (1): which ·
 * SPECS (4): how many specs judge a file, those nearest to it by their imports.
 * Exit status 0 when at least 95 % of each area were noticed.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { shuffled } from '../../../libs/keyspace/test/mutate-lua.ts';
import { AREAS, filesOf, type Area } from './areas.ts';
import { Court } from './court.ts';
import { describe, type Mutant } from './mutant.ts';
import { SourceProject } from './source-project.ts';
import { SpecsByImport } from './specs-of.ts';

interface Equivalent {
  file: string;
  before: string;
  after: string;
  reason: string;
}

interface Count {
  tried: number;
  noticed: number;
  equivalent: number;
}

const ROOT = path.join(import.meta.dirname, '../../..');
const COUNT = Number(process.env.MUTANTS ?? 0);
const SPECS = Number(process.env.SPECS ?? 4);
const SEED = Number(process.env.SEED ?? 1);
const NOTICED_MIN = 0.95;
const asked = process.argv.slice(2);
const equivalents = JSON.parse(
  readFileSync(path.join(import.meta.dirname, '../equivalent.json'), 'utf8'),
) as Equivalent[];
const specs = new SpecsByImport(ROOT);
const folder = mkdtempSync(path.join(tmpdir(), 'tollgate-mutants-'));
try {
  process.exitCode = await judgeAll();
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
    isGood &&= count !== undefined && count.noticed >= NOTICED_MIN * count.tried;
    lines.push(`${area.name}: ${count ? figures(count) : 'not judged'}`);
  }
  console.log(lines.join('\n'));
  return isGood && lines.length > 0 ? 0 : 1;
}

function isAsked(area: Area, file: string): boolean {
  return asked.length === 0 || asked.some((word) => area.name === word || file.includes(word));
}

async function judgeArea(area: Area, files: readonly string[]): Promise<Count | undefined> {
  const project = new SourceProject(ROOT, area.project);
  const total: Count = { tried: 0, noticed: 0, equivalent: 0 };
  try {
    for (const file of files) {
      const count = await judgeFile(project, file, area);
      if (!count) return undefined;
      for (const key of ['tried', 'noticed', 'equivalent'] as const) total[key] += count[key];
    }
    return total;
  } finally {
    project.close();
  }
}

async function judgeFile(
  project: SourceProject,
  file: string,
  area: Area,
): Promise<Count | undefined> {
  const { source, mutants } = project.mutantsOf(file);
  const [listed, open] = withoutEquivalent(file, mutants);
  const chosen = COUNT === 0 ? open : shuffled(open, SEED).slice(0, COUNT);
  const court = new Court(
    { root: ROOT, folder },
    { file, source, mutants },
    specs.of(file, area.specs).slice(0, SPECS),
  );
  try {
    if (chosen.length > 0) {
      const failed = await court.open();
      if (failed !== undefined) {
        console.error(
          `${file}: "${failed}" fails without any mutant, so the specs would notice nothing.`,
        );
        return undefined;
      }
    }
    let noticed = 0;
    for (const mutant of chosen) {
      const by = await court.noticedBy(mutant);
      if (by !== undefined) noticed += 1;
      console.log(
        `${by === undefined ? 'SURVIVED' : 'noticed '} ${describe(mutant)}${by === undefined ? '' : `   <- ${by}`}`,
      );
    }
    const count = { tried: chosen.length, noticed, equivalent: listed };
    console.log(`${file}: ${figures(count)}`);
    return count;
  } finally {
    await court.dismiss();
  }
}

/** Returns the number of a file's mutants that are listed as equivalent, and the others. An entry of the list that matches no mutant is an error. */
function withoutEquivalent(file: string, mutants: readonly Mutant[]): [number, Mutant[]] {
  const entries = equivalents.filter((entry) => entry.file === file);
  const isListed = (mutant: Mutant): boolean =>
    entries.some(({ before, after }) => before === mutant.before && after === mutant.after);
  for (const { before, after } of entries) {
    if (!mutants.some((mutant) => before === mutant.before && after === mutant.after))
      throw new Error(
        `equivalent.json lists a mutant of ${file} that is none: ${before} => ${after}`,
      );
  }
  const open = mutants.filter((mutant) => !isListed(mutant));
  return [mutants.length - open.length, open];
}

function figures({ tried, noticed, equivalent }: Count): string {
  const share = tried === 0 ? 100 : (100 * noticed) / tried;
  return `${noticed} of ${tried} noticed (${share.toFixed(1)} %), ${equivalent} equivalent`;
}
