import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Node } from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';
import { API, type Project } from 'typescript/unstable/sync';
import { shuffled } from '../../../libs/keyspace/test/mutate-lua.ts';
import { applied, type Change, type Mutant } from './mutant.ts';
import { changesOf } from './operators.ts';

const ID = /^(?:id|\w+(?:Id|_id))$/;
const IDS_TRIED = 2;
/** Diagnostics about unused names, which do not keep the tests from running. */
const UNUSED = new Set([6133, 6192, 6196, 6198, 6199]);

type Shown = Omit<Mutant, 'id'>;

/** A change of the list of equivalent mutants. */
export type Listed = Pick<Mutant, 'before' | 'after'>;

/** Says how many mutants of a file are tried, 0 = all, and by which numbers they are drawn. */
export interface Draw {
  count: number;
  seed: number;
}

export interface Sample {
  source: string;
  mutants: Mutant[];
  /** Counts the changes that the list of equivalent mutants names. */
  equivalent: number;
  /** Entries of that list that name none. */
  stale: Listed[];
}

/** One TypeScript project under the compiler, which says which changes of a file compile. */
export class SourceProject {
  private readonly api: API;
  private readonly changed = new Map<string, string>();
  private readonly root: string;
  private readonly config: string;

  constructor(root: string, folder: string) {
    this.root = root;
    this.config = path.join(root, folder, 'tsconfig.json');
    this.api = new API({ cwd: root, fs: { readFile: (file) => this.changed.get(file) } });
    this.api.updateSnapshot({ openProjects: [this.config] });
  }

  /** Draws so many mutants of a file that compile, or returns all of them for a count of 0. */
  mutantsOf(file: string, listed: readonly Listed[], { count, seed }: Draw): Sample {
    const absolute = path.join(this.root, file);
    const source = readFileSync(absolute, 'utf8');
    const project = this.read(absolute);
    const parsed = project.program.getSourceFile(absolute);
    if (!parsed) throw new Error(`${file} is not in ${this.config}`);
    const changes = unique(changesOf(parsed, (node) => otherIds(project, node)));
    const all = changes.map((change): Shown => ({ file, ...change, ...shown(source, change) }));
    const isOf = (entry: Listed, change: Listed): boolean =>
      entry.before === change.before && entry.after === change.after;
    const open = all.filter((change) => !listed.some((entry) => isOf(entry, change)));
    const stale = listed.filter((entry) => !all.some((change) => isOf(entry, change)));
    const mutants: Mutant[] = [];
    for (const change of count === 0 ? open : shuffled(open, seed)) {
      if (count > 0 && mutants.length === count) break;
      if (this.compiles(absolute, source, change)) mutants.push({ id: mutants.length, ...change });
    }
    this.changed.delete(absolute);
    this.read(absolute);
    return { source, mutants, equivalent: all.length - open.length, stale };
  }

  close(): void {
    this.api.close();
  }

  private compiles(file: string, source: string, change: Change): boolean {
    this.changed.set(file, applied(source, change));
    const { program } = this.read(file);
    const complaints = [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ];
    return complaints.every(({ code }) => UNUSED.has(code));
  }

  private read(file: string): Project {
    const snapshot = this.api.updateSnapshot({ fileChanges: { changed: [file] } });
    const project = snapshot.getProject(this.config);
    if (!project) throw new Error(`there is no project ${this.config}`);
    return project;
  }
}

function otherIds(project: Project, node: Node): string[] {
  if (is.isPropertyAccessExpression(node) && ID.test(node.name.text)) {
    const owner = node.expression.getText();
    const type = project.checker.getTypeAtLocation(node.expression);
    const names = type ? project.checker.getPropertiesOfType(type).map(({ name }) => name) : [];
    return others(names, node.name.text).map((name) => `${owner}.${name}`);
  }
  if (!is.isIdentifier(node) || !ID.test(node.text)) return [];
  return others(namesAround(node), node.text);
}

function others(names: readonly string[], name: string): string[] {
  return [...new Set(names)].filter((each) => ID.test(each) && each !== name).slice(0, IDS_TRIED);
}

/** Names that the enclosing functions declare. The compiler refuses those that are out of reach. */
function namesAround(node: Node): string[] {
  const names: string[] = [];
  const collect = (each: Node): void => {
    const isNamed =
      is.isBindingElement(each) ||
      is.isParameterDeclaration(each) ||
      is.isVariableDeclaration(each);
    if (isNamed && each.name && is.isIdentifier(each.name)) names.push(each.name.text);
    each.forEachChild(collect);
  };
  for (let at = node.parent; at && !is.isSourceFile(at); at = at.parent)
    if (is.isFunctionDeclaration(at) || is.isMethodDeclaration(at) || is.isArrowFunction(at))
      collect(at);
  return names;
}

function unique(changes: readonly Change[]): Change[] {
  const key = ({ form, start, end, text }: Change): string => `${form} ${start} ${end} ${text}`;
  return [...new Map(changes.map((change) => [key(change), change])).values()];
}

/** The line of a change and what it becomes, as a person reads them. */
function shown(source: string, change: Change): Pick<Mutant, 'line' | 'before' | 'after'> {
  const { start, end } = change;
  const to = source.indexOf('\n', end) < 0 ? source.length : source.indexOf('\n', end);
  const from = source.lastIndexOf('\n', start) + 1;
  const flat = (text: string): string => text.replace(/\s+/g, ' ').trim();
  const after = applied(source, change);
  return {
    line: source.slice(0, start).split('\n').length,
    before: flat(source.slice(from, to)),
    after: flat(after.slice(from, to + after.length - source.length)),
  };
}
