import { InvalidRequest } from '../exchange.ts';
import type { ClientProtocol } from '../exchange.ts';
import { isRecord } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { CLIENT_BODIES } from './client-bodies.ts';
import { fieldTree } from './field-tree.ts';
import type { FieldNode } from './field-tree.ts';
import { foldName } from './fold-name.ts';
import type { FieldRole, FoundField } from './found-field.ts';

/** Each further choice is a further answer. */
const CHOICES_MAX = 128;

/**
 * Returns the fields of a body that its protocol's closed table names. It throws `InvalidRequest` for a limit or count of another protocol, which some
 * server behind the upstream could read instead of the held one; for a name that differs from one of the table only by letter case, which readers
 * that ignore case accept; and for a limit, count or budget that is not a count.
 */
export function readFields(protocol: ClientProtocol, body: JsonRecord): FoundField[] {
  const found: FoundField[] = [];
  const tree = fieldTree(protocol);
  readMembers(body, { node: tree, path: [], found, tree });
  for (const field of found) checkCount(protocol, field);
  return found;
}

/** Refuses the first name that a body spells with other letter case than the table, in places where no field was read, such as parts of messages. */
export function refuseVariant(name: string, known: ReadonlyMap<string, string>): void {
  const meant = known.get(foldName(name));
  if (meant !== undefined && meant !== name) throw ambiguous(name, meant);
}

interface Place {
  node: FieldNode;
  path: readonly string[];
  found: FoundField[];
  tree: FieldNode;
}

function readMembers(value: JsonRecord, place: Place): void {
  const { node, path, found, tree } = place;
  for (const name in value) {
    const item = value[name];
    const member = node.members.get(name);
    if (!member) {
      const meant = node.folded.get(foldName(name));
      if (meant !== undefined) throw ambiguous([...path, name].join('.'), meant);
      continue;
    }
    if (item === null || item === undefined) continue;
    const isRead = member.role !== null && member.role !== 'setting';
    if (!isRead && !member.isForeign && typeof item !== 'object') continue;
    const here = [...path, name];
    if (member.isForeign) throw foreign(here);
    if (isRead && member.role !== null) found.push({ path: here, role: member.role, value: item });
    if (member.role === 'envelope') readEnvelope(item, { node: member, path: here, found, tree });
    readInside(item, { node: member, path: here, found, tree });
  }
}

function readInside(value: unknown, place: Place): void {
  const { node, path } = place;
  if (isRecord(value) && node.members.size > 0) readMembers(value, place);
  if (!Array.isArray(value) || node.items === null) return;
  const { items } = node;
  value.forEach((item: unknown, at) => {
    if (isRecord(item)) readMembers(item, { ...place, node: items, path: [...path, String(at)] });
  });
}

/** Fields with these roles are dropped wherever they occur. */
const DROPPED_ROLES: ReadonlySet<FieldRole> = new Set(['tier', 'routing']);

/** Refuses fields that a gateway behind the upstream would merge over the held values. */
function readEnvelope(value: unknown, { node, path, found, tree }: Place): void {
  if (!isRecord(value)) return;
  for (const name of Object.keys(value)) {
    const meant = tree.folded.get(foldName(name));
    if (meant === undefined || node.members.has(name)) continue;
    const role = tree.members.get(name)?.role ?? 'setting';
    const here = [...path, name];
    if (!DROPPED_ROLES.has(role)) throw enveloped(here.join('.'), meant);
    found.push({ path: here, role, value: value[name] });
  }
}

function checkCount(
  protocol: ClientProtocol,
  { role, path, value }: Pick<FoundField, 'role' | 'path' | 'value'>,
): void {
  const param = path.join('.');
  if (role === 'limit')
    refuseUnlessWithin(value, param, { min: CLIENT_BODIES[protocol].leastLimit });
  if (role === 'count') refuseUnlessWithin(value, param, { min: 1, max: CHOICES_MAX });
  // Negative budgets have a meaning with some providers (in Gemini, the model decides); the limit applies in each case.
  if (role === 'budget') refuseUnlessWithin(value, param, { min: Number.MIN_SAFE_INTEGER });
}

/** Refuses the value with OpenAI's words and codes, which clients distinguish. */
function refuseUnlessWithin(
  value: unknown,
  param: string,
  { min, max = Number.MAX_SAFE_INTEGER }: { min: number; max?: number },
): void {
  if (typeof value !== 'number' || !Number.isInteger(value))
    throw new InvalidRequest(
      `Invalid type for '${param}': expected an integer, but got ${kindOf(value)} instead.`,
      { param, code: 'invalid_type' },
    );
  if (value < min)
    throw new InvalidRequest(
      `Invalid '${param}': integer below minimum value. Expected a value >= ${min}, but got ${value} instead.`,
      { param, code: 'integer_below_min_value' },
    );
  if (value > max)
    throw new InvalidRequest(
      `Invalid '${param}': integer above maximum value. Expected a value <= ${max}, but got ${value} instead.`,
      { param, code: 'integer_above_max_value' },
    );
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') return 'a decimal number';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function foreign(path: readonly string[]): InvalidRequest {
  const param = path.join('.');
  return new InvalidRequest(
    `${param} belongs to another protocol and is not accepted by this endpoint.`,
    { param, code: 'foreign_parameter' },
  );
}

function enveloped(param: string, meant: string): InvalidRequest {
  return new InvalidRequest(`${param}: ${meant} must stand at the top of the request.`, {
    param,
    code: 'foreign_parameter',
  });
}

function ambiguous(param: string, meant: string): InvalidRequest {
  return new InvalidRequest(`${param}: write ${meant}, in this spelling.`, {
    param,
    code: 'ambiguous_parameter',
  });
}
