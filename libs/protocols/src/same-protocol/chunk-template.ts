import { bufferOf, isRecord, parseJson, record, records } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { findMember, layoutArray, layoutObject } from '../json/json-layout.ts';
import type { JsonLayout, JsonRange } from '../json/json-layout.ts';
import { applyPatches } from '../json/json-splice.ts';
import type { Patch } from '../json/json-splice.ts';
import type { ByteOutput } from '../sse/byte-output.ts';
import { generatedText } from '../providers/openai/chat-text.ts';

/**
 * Why this is fast: almost every chunk of a stream equals the one before it but for the generated text (and, with some vendors, a padding
 * string at its end). A chunk that went the long way once (parsed, checked, edited) leaves a template: its bytes with those two strings as
 * holes, and what became of them. A later chunk whose bytes around the holes are the same is the same JSON with another text, so it needs no
 * parsing: comparing bytes costs a fraction of JSON.parse. Any other chunk goes the long way.
 */
export class ChunkTemplate {
  private readonly fixed: readonly [head: Buffer, middle: Buffer, tail: Buffer];
  private readonly edited: readonly [head: Uint8Array, middle: Uint8Array, tail: Uint8Array];
  private readonly isUnedited: boolean;

  private constructor(
    raw: Buffer,
    holes: readonly [JsonRange, JsonRange],
    patches: readonly Patch[],
  ) {
    const [text, padding] = holes;
    const pieces: [number, number][] = [
      [0, text.start],
      [text.end, padding.start],
      [padding.end, raw.length],
    ];
    const [head, middle, tail] = pieces.map(([start, end]) =>
      Buffer.from(raw.subarray(start, end)),
    );
    const [headOut, middleOut, tailOut] = pieces.map(([start, end]) =>
      editedPiece(raw, { start, end }, patches),
    );
    this.fixed = [head ?? EMPTY, middle ?? EMPTY, tail ?? EMPTY];
    this.edited = [headOut ?? EMPTY, middleOut ?? EMPTY, tailOut ?? EMPTY];
    this.isUnedited = patches.length === 0;
  }

  /** The template of a chunk that came the long way; null when its text is not one string, or the edits would be inside a hole. */
  static of(
    raw: Buffer,
    chunk: JsonRecord,
    { layout, patches }: { layout: JsonLayout; patches: readonly Patch[] },
  ): ChunkTemplate | null {
    const text = textHole(raw, layout, chunk);
    if (!text) return null;
    const padding = paddingHole(raw, layout, text, patches);
    const isClear = patches.every(
      ({ start, end }) => isOutside({ start, end }, text) && isOutside({ start, end }, padding),
    );
    return isClear ? new ChunkTemplate(raw, [text, padding], patches) : null;
  }

  /** Writes the chunk and answers its text, when it fits; null, and nothing written, when it does not. */
  write(raw: Buffer, out: ByteOutput): string | null {
    const [head, middle, tail] = this.fixed;
    if (!startsWith(raw, 0, head)) return null;
    const textEnd = stringEnd(raw, head.length);
    if (textEnd === -1 || !startsWith(raw, textEnd, middle)) return null;
    const paddingStart = textEnd + middle.length;
    const paddingEnd = raw.length - tail.length;
    if (paddingEnd < paddingStart || !startsWith(raw, paddingEnd, tail)) return null;
    // An empty padding has no quotes around it; one that does must end where the tail begins.
    if (paddingEnd > paddingStart && stringEnd(raw, paddingStart) !== paddingEnd) return null;
    const text = decoded(raw, head.length, textEnd);
    if (text === null) return null;
    if (this.isUnedited) out.add(raw);
    else this.writeEdited(raw, { textEnd, paddingStart, paddingEnd }, out);
    return text;
  }

  private writeEdited(
    raw: Buffer,
    at: { textEnd: number; paddingStart: number; paddingEnd: number },
    out: ByteOutput,
  ): void {
    const [head, middle, tail] = this.edited;
    out.add(head);
    out.add(raw.subarray(this.fixed[0].length, at.textEnd));
    out.add(middle);
    out.add(raw.subarray(at.paddingStart, at.paddingEnd));
    out.add(tail);
  }
}

const EMPTY = Buffer.alloc(0);
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function editedPiece(
  raw: Buffer,
  { start, end }: JsonRange,
  patches: readonly Patch[],
): Uint8Array {
  const inside = patches.filter((patch) => patch.start >= start && patch.end <= end);
  return applyPatches(
    Buffer.from(raw.subarray(start, end)),
    inside.map((patch) => ({ ...patch, start: patch.start - start, end: patch.end - start })),
  );
}

/** Inside of the string that is all this chunk generated: a text delta, or a piece of one tool call's arguments. */
function textHole(raw: Buffer, layout: JsonLayout, chunk: JsonRecord): JsonRange | null {
  const [choice, ...others] = records(chunk['choices']);
  if (!choice || others.length > 0 || choice['finish_reason'] || isRecord(chunk['usage']))
    return null;
  const delta = record(choice['delta']);
  const generated = generatedText(delta);
  const path = textPath(delta, generated);
  return generated === '' || path === null
    ? null
    : stringAt(raw, layout, ['choices', 0, 'delta', ...path]);
}

function textPath(delta: JsonRecord, generated: string): (string | number)[] | null {
  const field = ['content', 'reasoning_content', 'reasoning'].find(
    (name) => delta[name] === generated,
  );
  if (field !== undefined) return [field];
  const [call, ...others] = records(delta['tool_calls']);
  const isArguments =
    call !== undefined &&
    others.length === 0 &&
    record(call['function'])['arguments'] === generated;
  return isArguments ? ['tool_calls', 0, 'function', 'arguments'] : null;
}

/** Inside of the chunk's last member when that is a string (OpenAI's `obfuscation`, Mistral's `p`), else an empty range at its end. */
function paddingHole(
  raw: Buffer,
  layout: JsonLayout,
  text: JsonRange,
  patches: readonly Patch[],
): JsonRange {
  const last = layout.members.at(-1);
  const none = { start: layout.close, end: layout.close };
  if (!last || raw[last.valueStart] !== QUOTE || last.valueStart < text.end) return none;
  const inside = { start: last.valueStart + 1, end: last.valueEnd - 1 };
  return patches.every((patch) => isOutside(patch, inside)) ? inside : none;
}

function isOutside(patch: JsonRange, hole: JsonRange): boolean {
  return patch.end <= hole.start || patch.start >= hole.end;
}

function stringAt(
  raw: Buffer,
  layout: JsonLayout,
  path: readonly (string | number)[],
): JsonRange | null {
  let inside: JsonLayout | null = layout;
  let range: JsonRange | null = null;
  for (const step of path) {
    const start: number = range?.start ?? 0;
    if (typeof step === 'number') range = layoutArray(raw, start)[step] ?? null;
    else {
      if (range) inside = layoutObject(raw, start);
      const member = inside ? findMember(inside, step) : undefined;
      range = member ? { start: member.valueStart, end: member.valueEnd } : null;
    }
    if (!range) return null;
  }
  return range && raw[range.start] === QUOTE
    ? { start: range.start + 1, end: range.end - 1 }
    : null;
}

function startsWith(raw: Buffer, at: number, piece: Buffer): boolean {
  return (
    at + piece.length <= raw.length &&
    raw.compare(piece, 0, piece.length, at, at + piece.length) === 0
  );
}

/** Offset of the quote that ends the string; -1 when there is none, or a control character, which no JSON string may hold. */
function stringEnd(raw: Buffer, start: number): number {
  for (let at = start; at < raw.length; at += 1) {
    const byte = raw[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
    else if (byte !== undefined && byte < 0x20) return -1;
  }
  return -1;
}

function decoded(raw: Buffer, start: number, end: number): string | null {
  const text = bufferOf(raw).toString('utf8', start, end);
  if (!text.includes('\\')) return text;
  const parsed = parseJson(`"${text}"`);
  return typeof parsed === 'string' ? parsed : null;
}
