import type { StoredIds } from '../exchange.ts';
import { editPaths } from '../json/edit-paths.ts';
import { bufferOf, isRecord, list, nonEmpty, record } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { findMember, layoutArray, layoutObject } from '../json/json-layout.ts';
import type { JsonLayout } from '../json/json-layout.ts';
import { editObject } from '../json/json-splice.ts';
import type { Patch } from '../json/json-splice.ts';
import type { SseEvent } from '../sse/sse-framer.ts';
import { sealedSounds } from '../stored/sealed-ids.ts';
import type { Identity } from '../stream/made-identity.ts';

export interface ChunkEdits {
  model: string;
  /** Is lent to a chunk that has no id of its own. */
  identity: Identity;
  /** Is `all` to leave usage alone, `null` to remove it unless it is null (it goes into a chunk of its own), `none` where the client did not ask for any. */
  keepsUsage: 'all' | 'null' | 'none';
  /** Is absent where nothing is stored. */
  ids?: StoredIds | undefined;
  /** Holds the indexes of choices whose role was sent; it grows. */
  choicesWithRole: Set<unknown>;
}

export interface EditedChunk {
  /** Holds the event's bytes, with its JSON on one line. */
  bytes: Buffer;
  layout: JsonLayout | null;
  /** Holds the closed list's changes to `bytes`. */
  patches: readonly Patch[];
}

/** Returns the changes of an event's bytes. `layout` is null when nothing must change, as it was not looked for. */
export function editChunk(event: SseEvent, chunk: JsonRecord, edits: ChunkEdits): EditedChunk {
  const wanted = topEdits(chunk, edits);
  const roles = roleEdits(chunk, edits.choicesWithRole);
  const sounds = edits.ids ? sealedSounds(chunk, { ids: edits.ids, member: 'delta' }) : [];
  if (roles.length + sounds.length === 0 && Object.keys(wanted).length === 0)
    return { bytes: event.raw, layout: null, patches: [] };
  const { bytes, start } = chunkBytes(event);
  const layout = layoutObject(bytes, start);
  return {
    bytes,
    layout,
    patches: layout
      ? [
          ...editObject(layout, wanted),
          ...rolePatches(bytes, layout, roles),
          ...editPaths(bytes, layout, sounds),
        ]
      : [],
  };
}

function topEdits(
  chunk: JsonRecord,
  { model, identity, keepsUsage }: ChunkEdits,
): Record<string, string | null> {
  const edits: Record<string, string | null> = {};
  if (chunk['model'] !== model) edits['model'] = JSON.stringify(model);
  if (typeof chunk['id'] !== 'string' || chunk['id'] === '') {
    edits['id'] = JSON.stringify(identity.id);
    edits['created'] = String(identity.created);
    if (chunk['object'] === '') edits['object'] = '"chat.completion.chunk"';
  }
  if (!Array.isArray(chunk['choices'])) edits['choices'] = '[]';
  const isUsageKept = keepsUsage === 'all' || (keepsUsage === 'null' && chunk['usage'] === null);
  if (chunk['usage'] !== undefined && !isUsageKept) edits['usage'] = null;
  return edits;
}

interface RoleEdit {
  /** Is the place of the choice in its chunk. */
  position: number;
  /** Is the JSON text of the role; null removes it. */
  role: string | null;
}

/** A choice says who speaks in its first delta, where the official SDK throws "missing role" without it, and in no other: LangChain joins the repetitions. */
function roleEdits(chunk: JsonRecord, known: Set<unknown>): RoleEdit[] {
  const edits: RoleEdit[] = [];
  list(chunk['choices']).forEach((choice, position) => {
    const { index = 0, delta } = record(choice);
    if (!isRecord(delta)) return;
    const hasRole = nonEmpty(delta['role']) !== null;
    if (known.has(index) === hasRole)
      edits.push({ position, role: hasRole ? null : '"assistant"' });
    known.add(index);
  });
  return edits;
}

function rolePatches(bytes: Uint8Array, layout: JsonLayout, edits: readonly RoleEdit[]): Patch[] {
  const choices = findMember(layout, 'choices');
  if (!choices || edits.length === 0) return [];
  const elements = layoutArray(bytes, choices.valueStart);
  return edits.flatMap(({ position, role }) => {
    const element = elements[position];
    const choice = element && layoutObject(bytes, element.start);
    const delta = choice && findMember(choice, 'delta');
    const inner = delta && layoutObject(bytes, delta.valueStart);
    return inner ? editObject(inner, { role }) : [];
  });
}

/** Returns the event's bytes and where its JSON begins. Data over several lines is put on one first: line feeds in JSON are mere blanks. */
function chunkBytes(event: SseEvent): { bytes: Buffer; start: number } {
  const { raw, data } = event;
  if (
    data !== null &&
    data.buffer === raw.buffer &&
    data.byteOffset >= raw.byteOffset &&
    data.byteOffset < raw.byteOffset + raw.length
  ) {
    return { bytes: raw, start: data.byteOffset - raw.byteOffset };
  }
  const line = bufferOf(data ?? raw)
    .toString('utf8')
    .replaceAll('\n', ' ');
  return { bytes: Buffer.from(`data: ${line}\n\n`), start: 'data: '.length };
}
