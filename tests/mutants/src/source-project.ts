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
/** Lists diagnostics about unused names, which do not keep the tests from running. */
const UNUSED = new Set([6133, 6192, 6196, 6198, 6199]);

type Shown = Omit<Mutant, 'id'>;

/** Is a change of the list of equivalent mutants. */
export type Listed = Pick<Mutant, 'file' | 'before' | 'after'>;

/** Says how many mutants are tried, 0 = all, and by which numbers they are drawn. */
export interface Draw {
  count: number;
  seed: number;
}

export interface Sample {
  /** Holds the texts of the files that have one of the mutants. */
  sources: Map<string, string>;
  mutants: Mutant[];
  /** Counts the changes that the list of equivalent mutants names. */
  equivalent: number;
  /** Lists entries of that list that name none. */
  stale: Listed[];
}

/** Puts one TypeScript project under the compiler, which says which changes of a file compile. */
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

  /** Draws so many mutants of some files that compile, or returns all of them for a count of 0. */
  sampleOf(files: readonly string[], listed: readonly Listed[], { count, seed }: Draw): Sample {
    const all = files.flatMap((file) => this.changesOf(file));
    const isOf = (entry: Listed, change: Listed): boolean =>
      entry.file === change.file && entry.before === change.before && entry.after === change.after;
    const open = all.filter((change) => !listed.some((entry) => isOf(entry, change)));
    const stale = listed.filter(
      (entry) => files.includes(entry.file) && !all.some((change) => isOf(entry, change)),
    );
    const mutants: Mutant[] = [];
    for (const change of count === 0 ? open : shuffled(open, seed)) {
      if (count > 0 && mutants.length === count) break;
      if (this.compiles(change)) mutants.push({ id: mutants.length, ...change });
    }
    const changed = new Set(mutants.map(({ file }) => file));
    const sources = new Map([...changed].map((file) => [file, this.textOf(file)]));
    return { sources, mutants, equivalent: all.length - open.length, stale };
  }

  close(): void {
    this.api.close();
  }

  private changesOf(file: string): Shown[] {
    const absolute = path.join(this.root, file);
    const project = this.read(absolute);
    const parsed = project.program.getSourceFile(absolute);
    if (!parsed) throw new Error(`${file} is not in ${this.config}`);
    const source = this.textOf(file);
    const changes = unique(changesOf(parsed, (node) => otherIds(project, node)));
    return changes.map((change) => ({ file, ...change, ...shown(source, change) }));
  }

  private textOf(file: string): string {
    return readFileSync(path.join(this.root, file), 'utf8');
  }

  private compiles(change: Shown): boolean {
    const file = path.join(this.root, change.file);
    this.changed.set(file, applied(this.textOf(change.file), change));
    const { program } = this.read(file);
    const complaints = [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ];
    this.changed.delete(file);
    this.read(file);
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

/** Returns names that the enclosing functions declare. The compiler refuses those that are out of reach. */
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

/** Returns the line of a change and what it becomes, as a person reads them. */
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
