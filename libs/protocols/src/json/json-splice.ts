import { findMember } from './json-layout.ts';
import { bufferOf } from './json-guard.ts';
import type { JsonLayout, JsonMember } from './json-layout.ts';

/** Replaces `[start, end)` by `text`. */
export interface Patch {
  start: number;
  end: number;
  text: string;
}

/** Edits an object's members: a JSON text sets the value (a missing member is appended), null removes it. */
export type MemberEdits = Readonly<Record<string, string | null>>;

/** Returns the patches that apply the edits to an object. They never overlap, and change no byte outside the named members and their commas. */
export function editObject(layout: JsonLayout, edits: MemberEdits): Patch[] {
  const { members } = layout;
  const patches: Patch[] = [];
  let lastKept = members.length - 1;
  while (lastKept >= 0 && edits[members[lastKept]?.key ?? ''] === null) lastKept -= 1;
  for (let index = 0; index < members.length; index += 1) {
    const member = members[index] as JsonMember;
    const text = edits[member.key];
    if (typeof text === 'string')
      patches.push({ start: member.valueStart, end: member.valueEnd, text });
    else if (text === null && index < lastKept)
      patches.push({ start: member.keyStart, end: members[index + 1]?.keyStart ?? 0, text: '' });
  }
  const appended: string[] = [];
  for (const key in edits) {
    const text = edits[key];
    if (typeof text === 'string' && !findMember(layout, key))
      appended.push(`${JSON.stringify(key)}:${text}`);
  }
  if (appended.length > 0 || lastKept < members.length - 1)
    patches.push(tailPatch(layout, lastKept, appended));
  return patches;
}

function tailPatch(
  { open, members }: JsonLayout,
  lastKept: number,
  appended: readonly string[],
): Patch {
  const start = members[lastKept]?.valueEnd ?? members[0]?.keyStart ?? open + 1;
  const end = members.at(-1)?.valueEnd ?? start;
  const comma = lastKept >= 0 && appended.length > 0 ? ',' : '';
  return { start, end, text: comma + appended.join(',') };
}

/** Returns a copy of `bytes` with the patches applied; `bytes` itself when there are none. */
export function applyPatches<Bytes extends Uint8Array>(
  bytes: Bytes,
  patches: readonly Patch[],
): Bytes | Buffer {
  if (patches.length === 0) return bytes;
  // There is usually one edit, and sorting costs time even then.
  const ordered =
    patches.length === 1 ? patches : patches.toSorted((left, right) => left.start - right.start);
  const source = bufferOf(bytes);
  let size = source.length;
  for (const { start, end, text } of ordered) size += Buffer.byteLength(text) - (end - start);
  const patched = Buffer.allocUnsafe(size);
  let at = 0;
  let to = 0;
  for (const { start, end, text } of ordered) {
    to += source.copy(patched, to, at, start);
    to += patched.write(text, to);
    at = end;
  }
  source.copy(patched, to, at);
  return patched;
}
