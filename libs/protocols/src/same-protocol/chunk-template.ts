import { bufferOf, isRecord, parseJson, record, records } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { findMember, layoutArray, layoutObject } from '../json/json-layout.ts';
import type { JsonLayout, JsonRange } from '../json/json-layout.ts';
import { applyPatches } from '../json/json-splice.ts';
import type { Patch } from '../json/json-splice.ts';
import type { ByteOutput } from '../sse/byte-output.ts';
import { generatedParts } from '../answers/openai/chat-text.ts';

/** Chunks that were read by a template: where the last one ends, and all that they generated; see `StreamSink` for `isShown`. */
export interface AlikeChunks {
  end: number;
  text: string;
  isShown: boolean;
}

/**
 * The reason for its speed: almost every chunk of a stream equals the one before it but for the generated text (and, with some vendors, a padding
 * string at its end). A chunk that went the long way once (parsed, checked, edited) leaves a template: its bytes with those two strings as
 * holes, and what became of them. A later chunk whose bytes around the holes are the same is the same JSON with another text, so it needs no
 * parsing and no framing: neither hole can hold a line feed, so that the event ends where the template does. All such chunks of one read are
 * compared, edited and joined as one string of single bytes (latin1), which costs a tenth of what a Buffer for each costs. Any other chunk goes
 * the long way.
 */
export class ChunkTemplate {
  private readonly fixed: Pieces;
  private readonly edited: Pieces;
  private readonly isUnedited: boolean;
  private readonly hasPadding: boolean;
  private readonly isShown: boolean;

  private constructor(
    raw: Buffer,
    { text, padding, isShown }: { text: JsonRange; padding: JsonRange | null; isShown: boolean },
    patches: readonly Patch[],
  ) {
    this.hasPadding = padding !== null;
    const { start: middleEnd, end: tailStart } = padding ?? { start: text.end, end: text.end };
    const ranges = [
      { start: 0, end: text.start },
      { start: text.end, end: middleEnd },
      { start: tailStart, end: raw.length },
    ];
    this.fixed = piecesOf(ranges.map(({ start, end }) => raw.toString('latin1', start, end)));
    this.edited = piecesOf(ranges.map((range) => editedPiece(raw, range, patches)));
    this.isUnedited = patches.length === 0;
    this.isShown = isShown;
  }

  /** The template of a chunk that came the long way; null when its text is not one string, or the edits would be inside a hole. */
  static of(
    raw: Buffer,
    chunk: JsonRecord,
    { layout: known, patches }: { layout: JsonLayout | null; patches: readonly Patch[] },
  ): ChunkTemplate | null {
    const place = generatedPlace(chunk);
    const layout = place && (known ?? layoutObject(raw, raw.indexOf('{')));
    const text = layout && stringAt(raw, layout, place.path);
    if (!text) return null;
    const padding = paddingHole(raw, layout, text, patches);
    const isClear = patches.every(
      ({ start, end }) =>
        isOutside({ start, end }, text) && (!padding || isOutside({ start, end }, padding)),
    );
    return isClear ? new ChunkTemplate(raw, { text, padding, ...place }, patches) : null;
  }

  /** Writes the chunks from `start` on that fit, up to the first that does not; null, and nothing written, when that is the one at `start`. */
  write(bytes: Buffer, start: number, out: ByteOutput): AlikeChunks | null {
    const { edited } = this;
    const { head, middle, tail } = this.fixed;
    if (bytes.toString('latin1', start, start + head.length) !== head) return null;
    const wire = bytes.toString('latin1', start);
    const inside: string[] = [];
    let text = '';
    let end = 0;
    do {
      const textStart = end + head.length;
      const textEnd = stringEnd(wire, textStart);
      if (textEnd === -1 || !hasAt(wire, textEnd, middle)) break;
      const paddingStart = textEnd + middle.length;
      const paddingEnd = this.hasPadding ? stringEnd(wire, paddingStart) : paddingStart;
      if (paddingEnd === -1 || !hasAt(wire, paddingEnd, tail)) break;
      const inner = wire.slice(textStart, textEnd);
      const generated = decoded(inner);
      if (generated === null) break;
      text += generated;
      inside.push(
        this.hasPadding ? inner + edited.middle + wire.slice(paddingStart, paddingEnd) : inner,
      );
      end = paddingEnd + tail.length;
    } while (hasAt(wire, end, head));
    if (end === 0) return null;
    if (this.isUnedited) out.add(bytes.subarray(start, start + end));
    else out.addLatin1(edited.head, inside.join(edited.tail + edited.head), edited.tail);
    return { end: start + end, text, isShown: this.isShown };
  }
}

/** Bytes around the holes, a character each. */
interface Pieces {
  head: string;
  middle: string;
  tail: string;
}

function piecesOf([head = '', middle = '', tail = '']: readonly string[]): Pieces {
  return { head, middle, tail };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

function editedPiece(raw: Buffer, { start, end }: JsonRange, patches: readonly Patch[]): string {
  const inside = patches
    .filter((patch) => patch.start >= start && patch.end <= end)
    .map((patch) => ({ ...patch, start: patch.start - start, end: patch.end - start }));
  return bufferOf(applyPatches(raw.subarray(start, end), inside)).toString('latin1');
}

/** The place of the string that is all this chunk generated: a text delta, or a piece of one tool call's arguments. */
function generatedPlace(
  chunk: JsonRecord,
): { path: readonly (string | number)[]; isShown: boolean } | null {
  const [choice, ...others] = records(chunk['choices']);
  if (!choice || others.length > 0 || choice['finish_reason'] || isRecord(chunk['usage']))
    return null;
  const delta = record(choice['delta']);
  const { thinking, shown, other } = generatedParts(delta);
  const generated = thinking + shown + other;
  const path = textPath(delta, generated);
  if (generated === '' || path === null) return null;
  return { path: ['choices', 0, 'delta', ...path], isShown: generated === shown };
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

/** Inside of the chunk's last member when that is a string (OpenAI's `obfuscation`, Mistral's `p`); else null. */
function paddingHole(
  raw: Buffer,
  layout: JsonLayout,
  text: JsonRange,
  patches: readonly Patch[],
): JsonRange | null {
  const last = layout.members.at(-1);
  if (!last || raw[last.valueStart] !== QUOTE || last.valueStart < text.end) return null;
  const inside = { start: last.valueStart + 1, end: last.valueEnd - 1 };
  return patches.every((patch) => isOutside(patch, inside)) ? inside : null;
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

/** `startsWith` looks at one character after the other; equality of strings compares memory: a seventh of its time. */
function hasAt(wire: string, at: number, piece: string): boolean {
  return wire.slice(at, at + piece.length) === piece;
}

/** Offset of the quote that ends the string; -1 when there is none, or a control character, which no JSON string may hold. */
function stringEnd(wire: string, start: number): number {
  for (let at = start; at < wire.length; at += 1) {
    const byte = wire.charCodeAt(at);
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
    else if (byte < 0x20) return -1;
  }
  return -1;
}

const ESCAPED_OR_WIDE = /[\\\x80-\xff]/;

/** Returns the text inside a JSON string; null when it is none. */
function decoded(inner: string): string | null {
  if (!ESCAPED_OR_WIDE.test(inner)) return inner;
  const text = Buffer.from(inner, 'latin1').toString('utf8');
  if (!text.includes('\\')) return text;
  const parsed = parseJson(`"${text}"`);
  return typeof parsed === 'string' ? parsed : null;
}
