import type { Ask, InvalidRequest } from '../exchange.ts';
import { isRecord, list, nonEmpty, record, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { unsupportedHere } from '../errors/unsupported.ts';
import { declaredTools } from './declared-tools.ts';
import { fieldName } from './field-name.ts';

/** These members of a tool name files of the provider's account, or the files with which a container opens. */
const TOOL_FILES = ['vector_store_ids', 'file_ids'];
/** Names the lists of parts within messages, tool results and documents. */
const PART_LISTS: ReadonlySet<string> = new Set(['content', 'output']);
/** A model or a client wrote these texts, which name files only as text. */
const WORDS: ReadonlySet<string> = new Set(['input', 'arguments', 'annotations', 'citations']);
/** Matches the type and id of a vendor's own skill. */
const VENDORS_SKILL = /^(?:anthropic:|[^:]*:openai-)/;
/** Matches the result of a provider's code, which names its files and returns with the conversation. No provider reads a file that is named so. */
const MADE_BY_CODE = /^(?:bash_)?code_execution_output$/;
/** A part is searched to this depth; real ones have two levels. */
const DEPTH_MAX = 4;

/** Is the path at which a request names a file, a vector store or a skill of the provider's account. */
export type FileReference = readonly string[];

/** Returns the refusal that names it. */
export function fileRefused(path: FileReference): InvalidRequest {
  const param = fieldName(path);
  return unsupportedHere(
    param,
    param,
    "files, vector stores and skills of the provider's account are shared by all its customers; send the content itself",
  );
}

/**
 * Returns the first file reference of a request; null where there is none. The gateway gives such ids to no one: a customer who has one may have
 * another customer's.
 */
export function fileReference(
  { protocol, body }: Pick<Ask, 'protocol' | 'body'>,
  turns = protocol === 'responses' ? 'input' : 'messages',
): FileReference | null {
  return (
    inItems(body[turns], [turns]) ??
    inItems(body['system'], ['system']) ??
    inTools(body) ??
    inSkills(body['container'], ['container'])
  );
}

function inTools(body: JsonRecord): string[] | null {
  for (const { tool, path } of declaredTools(body)) {
    const found =
      named(tool, path) ??
      inPlace(tool, 'container', path) ??
      inPlace(tool, 'environment', path) ??
      inMask(tool, path);
    if (found) return found;
  }
  return null;
}

/** Returns the path of a file in the mask of the image that a tool changes; null where there is none. */
function inMask(tool: JsonRecord, path: readonly string[]): string[] | null {
  const id = nonEmpty(record(tool['input_image_mask'])['file_id']);
  return id === null ? null : [...path, 'input_image_mask', 'file_id'];
}

/** Returns the path of a file in the container in which a tool runs; null where there is none. */
function inPlace(tool: JsonRecord, name: string, path: readonly string[]): string[] | null {
  const place = tool[name];
  const here = [...path, name];
  return isRecord(place) ? (named(place, here) ?? inSkills(place, here)) : null;
}

/** Returns the path of a skill that an account uploaded; the vendor's own skills do not count. */
function inSkills(container: unknown, path: readonly string[]): string[] | null {
  const skills = list(record(container)['skills']);
  const at = skills.findIndex((skill) => {
    const { type, skill_id: id } = record(skill);
    return nonEmpty(id) !== null && !VENDORS_SKILL.test(`${String(type)}:${String(id)}`);
  });
  return at === -1 ? null : [...path, 'skills', String(at), 'skill_id'];
}

function named(holder: JsonRecord, path: readonly string[]): string[] | null {
  const name = TOOL_FILES.find((member) => list(holder[member]).length > 0);
  return name === undefined ? null : [...path, name];
}

/** Searches messages and parts, and the parts within them. */
function inItems(items: unknown, path: readonly string[]): string[] | null {
  if (!Array.isArray(items)) return null;
  for (let at = 0; at < items.length; at += 1) {
    const item: unknown = items[at];
    const found = isRecord(item) ? inPart(item, [...path, String(at)], 0) : null;
    if (found) return found;
  }
  return null;
}

function inPart(part: JsonRecord, path: readonly string[], depth: number): string[] | null {
  const isMade = MADE_BY_CODE.test(text(part['type']) ?? '');
  if (nonEmpty(part['file_id']) !== null && !isMade) return [...path, 'file_id'];
  if (depth >= DEPTH_MAX) return null;
  for (const name in part) {
    const value = part[name];
    if (typeof value !== 'object' || value === null || WORDS.has(name)) continue;
    const here = [...path, name];
    const isList = Array.isArray(value) && (depth > 0 || PART_LISTS.has(name));
    const found = isRecord(value)
      ? inPart(value, here, depth + 1)
      : isList
        ? inItems(value, here)
        : null;
    if (found) return found;
  }
  return null;
}
