import type { ClientProtocol } from '../exchange.ts';
import { FIELD_TABLES } from './client-bodies.ts';
import { FURTHER_LIMITS } from './field-tables.ts';
import type { FieldTable } from './field-tables.ts';
import { foldName } from './fold-name.ts';
import type { FieldRole } from './found-field.ts';

/** Holds a table arranged for reading a body from its root. */
export interface FieldNode {
  /** Is null for an object that only contains named fields. */
  role: FieldRole | null;
  /** Is true when the field belongs to another protocol. */
  isForeign: boolean;
  members: Map<string, FieldNode>;
  /** Maps the folded names of members that must be spelled exactly to their names. */
  folded: Map<string, string>;
  /** Lists the members that each item of an array may hold. */
  items: FieldNode | null;
}

/** A server of another protocol would act on fields with these roles. */
const FOREIGN_ROLES: ReadonlySet<FieldRole> = new Set(['limit', 'count', 'budget']);

const TREES = new Map<ClientProtocol, FieldNode>();

/** Returns the closed table of a protocol: its own fields, and those of all others that would limit or multiply output. */
export function fieldTree(protocol: ClientProtocol): FieldNode {
  let tree = TREES.get(protocol);
  if (!tree) TREES.set(protocol, (tree = buildTree(protocol)));
  return tree;
}

function buildTree(protocol: ClientProtocol): FieldNode {
  const root = emptyNode();
  for (const [path, role] of Object.entries(FIELD_TABLES[protocol]))
    place(root, path, { role, isForeign: false });
  const others: FieldTable[] = [...Object.values(FIELD_TABLES), FURTHER_LIMITS];
  for (const [path, role] of others.flatMap((table) => Object.entries(table)))
    if (FOREIGN_ROLES.has(role) && FIELD_TABLES[protocol][path] === undefined)
      place(root, path, { role, isForeign: true });
  return root;
}

function place(
  root: FieldNode,
  path: string,
  { role, isForeign }: { role: FieldRole; isForeign: boolean },
): void {
  let node = root;
  for (const step of path.split('.')) {
    const name = step.replace('[]', '');
    node = memberOf(node, name);
    if (step.endsWith('[]')) node = node.items ??= emptyNode();
  }
  node.role = role;
  node.isForeign = isForeign;
  guardSpelling(root, path, role);
}

/** A setting may have any spelling, because nothing depends on it. */
function guardSpelling(root: FieldNode, path: string, role: FieldRole): void {
  if (role === 'setting') return;
  let node: FieldNode | null | undefined = root;
  for (const step of path.split('.')) {
    const name = step.replace('[]', '');
    node?.folded.set(foldName(name), name);
    node = node?.members.get(name);
    if (step.endsWith('[]')) node = node?.items;
  }
}

function memberOf(node: FieldNode, name: string): FieldNode {
  let member = node.members.get(name);
  if (!member) node.members.set(name, (member = emptyNode()));
  return member;
}

function emptyNode(): FieldNode {
  return { role: null, isForeign: false, members: new Map(), folded: new Map(), items: null };
}
