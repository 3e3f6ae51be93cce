/** Is the place that a mutant changes: how the changed text and the shipped one are joined depends on the form. */
export type SiteForm = 'statement' | 'property' | 'shorthand' | 'expression';

/** Describes one change of one file. Offsets are in UTF-16 units of the file. */
export interface Change {
  form: SiteForm;
  start: number;
  end: number;
  operator: string;
  /** Is the text that replaces the site. */
  text: string;
}

export interface Mutant extends Change {
  id: number;
  /** Is the path from the root of the repository. */
  file: string;
  line: number;
  /** Holds the line and what the site becomes: by them the list of equivalent mutants finds it again after other lines moved. */
  before: string;
  after: string;
}

/** Returns the file as a person who made this mistake would have written it. */
export function applied(source: string, change: Change): string {
  return source.slice(0, change.start) + changedSite(source, change) + source.slice(change.end);
}

function changedSite(source: string, { form, start, end, text }: Change): string {
  if (form === 'shorthand') return `${source.slice(start, end)}: ${text}`;
  return form === 'property' ? '...{}' : text;
}

export function describe({ file, line, operator, before, after }: Mutant): string {
  return `${file}:${line} ${operator}: ${before} => ${after || '(nothing)'}`;
}
