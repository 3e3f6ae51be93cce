import type { ClientProtocol } from '../exchange.ts';
import { isRecord, list, nonEmpty, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { unsupportedHere } from '../translation/unsupported.ts';

/** Members of a tool that name files of the provider's account; of a container, those that it opens with. */
const TOOL_FILES = ['vector_store_ids', 'file_ids'];
/** Lists of parts within messages, tool results and documents. */
const PART_LISTS: ReadonlySet<string> = new Set(['content', 'output']);
/** What a model or a client wrote, which names files as text alone. */
const WORDS: ReadonlySet<string> = new Set(['input', 'arguments', 'annotations', 'citations']);
const PROVIDER_RESULT = /_tool_result$/;
/** Of a part; real ones have two levels. */
const DEPTH_MAX = 4;

/** Throws `InvalidRequest` naming the first of them. */
export function refuseFiles(protocol: ClientProtocol, body: JsonRecord): void {
  const path = fileReference(protocol, body);
  if (!path) return;
  const param = path.join('.').replace(/\.(\d+)/g, '[$1]');
  throw unsupportedHere(
    param,
    param,
    "files and vector stores of the provider's account are shared by all its customers; send the content itself",
  );
}

/**
 * Where a request names a file or a vector store of the provider's account; null where it does not. The gateway gives such ids to no one: a customer who has one
 * may have another customer's.
 */
function fileReference(protocol: ClientProtocol, body: JsonRecord): string[] | null {
  const turns = protocol === 'responses' ? 'input' : 'messages';
  return (
    inItems(body[turns], [turns]) ?? inItems(body['system'], ['system']) ?? inTools(body['tools'])
  );
}

function inTools(tools: unknown): string[] | null {
  for (const [at, tool] of list(tools).entries()) {
    if (!isRecord(tool)) continue;
    const path = ['tools', String(at)];
    const { container } = tool;
    const found =
      named(tool, path) ?? (isRecord(container) ? named(container, [...path, 'container']) : null);
    if (found) return found;
  }
  return null;
}

function named(holder: JsonRecord, path: readonly string[]): string[] | null {
  const name = TOOL_FILES.find((member) => list(holder[member]).length > 0);
  return name === undefined ? null : [...path, name];
}

/** Messages and parts, and the parts within them. */
function inItems(items: unknown, path: readonly string[]): string[] | null {
  for (const [at, item] of list(items).entries()) {
    const found = isRecord(item) ? inPart(item, [...path, String(at)], 0) : null;
    if (found) return found;
  }
  return null;
}

function inPart(part: JsonRecord, path: readonly string[], depth: number): string[] | null {
  // What a tool of the provider made is named in its result, which comes back with the conversation.
  if (PROVIDER_RESULT.test(text(part['type']) ?? '')) return null;
  if (nonEmpty(part['file_id']) !== null) return [...path, 'file_id'];
  if (depth >= DEPTH_MAX) return null;
  for (const [name, value] of Object.entries(part)) {
    if (WORDS.has(name)) continue;
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
