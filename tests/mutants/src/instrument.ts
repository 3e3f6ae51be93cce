import type { Mutant, SiteForm } from './mutant.ts';

/** Ranks forms of sites by which encloses the other where both begin and end at the same place. */
const DEPTH: Readonly<Record<SiteForm, number>> = {
  statement: 0,
  property: 1,
  shorthand: 2,
  expression: 3,
};

interface Site {
  form: SiteForm;
  start: number;
  end: number;
  mutants: Mutant[];
  inner: Site[];
}

/** Writes all mutants of a file in one text: each site asks which of its mutants is on, so that one process judges them all. */
export function instrumented(source: string, mutants: readonly Mutant[]): string {
  const whole: Site = { form: 'statement', start: 0, end: source.length, mutants: [], inner: [] };
  const open = [whole];
  for (const site of sitesOf(mutants)) {
    while (open.length > 1 && (open.at(-1)?.end ?? 0) < site.end) open.pop();
    while (open.length > 1 && (open.at(-1)?.end ?? 0) <= site.start) open.pop();
    open.at(-1)?.inner.push(site);
    open.push(site);
  }
  // It is on the first line, so that lines keep their numbers.
  return `const __isOn = globalThis.__isMutantOn ?? (() => false); ${textOf(source, whole)}`;
}

function sitesOf(mutants: readonly Mutant[]): Site[] {
  const sites = new Map<string, Site>();
  for (const mutant of mutants) {
    const { form, start, end } = mutant;
    const key = `${form} ${start} ${end}`;
    const site = sites.get(key) ?? { form, start, end, mutants: [], inner: [] };
    sites.set(key, site);
    site.mutants.push(mutant);
  }
  return [...sites.values()].toSorted(
    (a, b) => a.start - b.start || b.end - a.end || DEPTH[a.form] - DEPTH[b.form],
  );
}

function textOf(source: string, site: Site): string {
  let text = '';
  let at = site.start;
  for (const inner of site.inner) {
    text += source.slice(at, inner.start) + textOf(source, inner);
    at = inner.end;
  }
  text += source.slice(at, site.end);
  return site.mutants.reduce((shipped, mutant) => choice(source, mutant, shipped), text);
}

function choice(source: string, { id, form, start, end, text }: Mutant, shipped: string): string {
  const isOn = `__isOn(${id})`;
  if (form === 'statement') return `if (${isOn}) { ${text} } else { ${shipped} }`;
  if (form === 'property') return `...(${isOn} ? {} : { ${shipped} })`;
  if (form === 'expression') return `(${isOn} ? (${text}) : (${shipped}))`;
  const name = source.slice(start, end);
  const value = shipped === name ? name : shipped.slice(name.length + 2);
  return `${name}: (${isOn} ? (${text}) : ${value})`;
}
