import { takesLibraryPath } from '@tollgate/contracts';
import { isRecord, parseJson, record, records } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { findMember, layoutArray, layoutObject } from '../json/json-layout.ts';
import type { JsonLayout, JsonRange } from '../json/json-layout.ts';
import type { Patch } from '../json/json-splice.ts';
import type { ByteOutput } from '../sse/byte-output.ts';
import { generatedParts } from '../answers/openai/chat-text.ts';

/** Holds a chunk's bytes, the changes to them, and what they became. */
interface EditedBytes {
  raw: Buffer;
  written: Buffer;
  patches: readonly Patch[];
}

/** Describes chunks that were read by a template: where the last one ends, and all that they generated; see `StreamSink` for `isShown`. */
export interface AlikeChunks {
  end: number;
  text: string;
  isShown: boolean;
}

/**
 * Saves the parsing of most chunks: almost every chunk of a stream equals the one before it but for the generated text (and, with some vendors, a padding
 * string at its end). A chunk that went the long way once (parsed, checked, edited) leaves a template: its bytes with those two strings as
 * holes, and what became of them. A later chunk whose bytes around the holes are the same is the same JSON with another text, so it needs no
 * parsing and no framing: neither hole can hold a line feed, so that the event ends where the template does. All such chunks of one read are
 * compared and copied as bytes into one block, and their texts decoded together. Any other chunk goes the long way.
 */
export class ChunkTemplate {
  private readonly fixed: Pieces;
  private readonly edited: Pieces;
  private readonly isUnedited: boolean;
  private readonly hasPadding: boolean;
  private readonly isShown: boolean;

  private constructor(
    { raw, written, patches }: EditedBytes,
    { text, padding, isShown }: { text: JsonRange; padding: JsonRange | null; isShown: boolean },
  ) {
    this.hasPadding = padding !== null;
    const { start, end } = padding ?? { start: text.end, end: text.end };
    const places = [text.start, text.end, start, end];
    this.isUnedited = patches.length === 0;
    this.fixed = piecesOf(raw, places);
    this.edited = this.isUnedited
      ? this.fixed
      : piecesOf(
          written,
          places.map((place) => placeAfter(patches, place)),
        );
    this.isShown = isShown;
  }

  /** Returns the template of a chunk that came the long way; null when its text is not one string, or the edits would be inside a hole. */
  static of(
    edited: EditedBytes,
    chunk: JsonRecord,
    known: JsonLayout | null,
  ): ChunkTemplate | null {
    const { raw, patches } = edited;
    const place = takesLibraryPath('chunk_templates') ? null : generatedPlace(chunk);
    const layout = place && (known ?? layoutObject(raw, raw.indexOf('{')));
    const text = layout && stringAt(raw, layout, place.path);
    if (!text) return null;
    const padding = paddingHole(raw, layout, text, patches);
    const isClear = patches.every(
      ({ start, end }) =>
        isOutside({ start, end }, text) && (!padding || isOutside({ start, end }, padding)),
    );
    const { isShown } = place;
    return isClear ? new ChunkTemplate(edited, { text, padding, isShown }) : null;
  }

  /** Writes the chunks from `start` on that fit, up to the first that does not; null, and nothing written, when that is the one at `start`. */
  write(bytes: Buffer, start: number, out: ByteOutput): AlikeChunks | null {
    const { fixed, edited } = this;
    if (!hasAt(bytes, start, fixed.head)) return null;
    texts.clear();
    const room = this.isUnedited ? NO_ROOM : this.roomFor(bytes.length - start);
    let end = start;
    let to = 0;
    let isNext = true;
    for (let next = putPiece(room, 0, edited.head); isNext;) {
      const from = end + fixed.head.length;
      const textEnd = stringEnd(bytes, from);
      const holeEnd = this.hasPadding ? paddingEnd(bytes, textEnd, fixed.middle) : textEnd;
      isNext = holeEnd !== -1 && hasAt(bytes, holeEnd, fixed.between);
      if (holeEnd === -1 || !(isNext || hasAt(bytes, holeEnd, fixed.tail))) break;
      if (!texts.add(bytes, from, textEnd)) break;
      end = holeEnd + fixed.tail.length;
      if (this.isUnedited) continue;
      to = putBytes(room, next, bytes, from, textEnd);
      to = putPiece(room, to, edited.middle);
      to = putBytes(room, to, bytes, textEnd + fixed.middle.length, holeEnd);
      next = putPiece(room, to, isNext ? edited.between : edited.tail);
      to += edited.tail.length;
    }
    if (end === start) return null;
    out.add(this.isUnedited ? bytes.subarray(start, end) : room.subarray(0, to));
    return { end, text: texts.take(), isShown: this.isShown };
  }

  /** Fits what so many bytes of chunks become. */
  private roomFor(bytes: number): Buffer {
    const [before, after] = [lengthOf(this.fixed), lengthOf(this.edited)];
    const more = Math.max(0, after - before);
    return Buffer.allocUnsafe(bytes + after + Math.ceil(bytes / before) * more);
  }
}

/** Holds the bytes around the holes. */
interface Pieces {
  head: Buffer;
  middle: Buffer;
  tail: Buffer;
  /** Holds a tail, and the head of the next chunk. */
  between: Buffer;
}

const NO_ROOM = Buffer.alloc(0);

/** Returns the pieces around two holes, by the places where those begin and end. A template copies them: it must not keep the whole read that its chunk came in. */
function piecesOf(bytes: Buffer, places: readonly number[]): Pieces {
  const [textStart = 0, textEnd = 0, paddingStart = 0, paddingEnd = 0] = places;
  const tail = bytes.length - paddingEnd;
  const between = Buffer.concat([bytes.subarray(paddingEnd), bytes.subarray(0, textStart)]);
  return {
    head: between.subarray(tail),
    middle: Buffer.from(bytes.subarray(textEnd, paddingStart)),
    tail: between.subarray(0, tail),
    between,
  };
}

function lengthOf({ head, middle, tail }: Pieces): number {
  return head.length + middle.length + tail.length;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Returns the place, once the patches are applied, of a byte that none of them covers. */
function placeAfter(patches: readonly Patch[], place: number): number {
  let moved = place;
  for (const { start, end, text } of patches)
    if (end <= place) moved += Buffer.byteLength(text) - (end - start);
  return moved;
}

/** Returns the place of the string that is all this chunk generated: a text delta, or a piece of one tool call's arguments. */
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

/** Returns the inside of the chunk's last member when that is a string (OpenAI's `obfuscation`, Mistral's `p`); else null. */
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

function hasAt(bytes: Buffer, at: number, piece: Buffer): boolean {
  const end = at + piece.length;
  return end <= bytes.length && bytes.compare(piece, 0, piece.length, at, end) === 0;
}

/** Returns the offset of the quote that ends the string; -1 when there is none, or a control character, which no JSON string may hold. */
function stringEnd(bytes: Buffer, start: number): number {
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
    else if (byte < 0x20) return -1;
  }
  return -1;
}

/** Returns the offset of the quote that ends the padding behind the text that ends at `textEnd`; -1 when there is none. */
function paddingEnd(bytes: Buffer, textEnd: number, middle: Buffer): number {
  if (textEnd === -1 || !hasAt(bytes, textEnd, middle)) return -1;
  return stringEnd(bytes, textEnd + middle.length);
}

/** A loop copies so many bytes sooner than a call of Buffer. */
const SHORT_BYTES = 32;

function putPiece(room: Buffer, to: number, piece: Buffer): number {
  if (piece.length > 0 && room.length > 0) room.set(piece, to);
  return to + piece.length;
}

function putBytes(room: Buffer, to: number, bytes: Buffer, start: number, end: number): number {
  if (end - start > SHORT_BYTES) bytes.copy(room, to, start, end);
  else for (let at = start; at < end; at += 1) room[to + at - start] = bytes[at] as number;
  return to + end - start;
}

function hasBackslash(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (bytes[at] === BACKSLASH) return true;
  return false;
}

/** Joins the insides of JSON strings to one text. Those without escapes are decoded together. */
class JoinedTexts {
  readonly #block = Buffer.allocUnsafeSlow(4_096);
  #length = 0;
  #text = '';

  /** Returns false and adds nothing when no JSON string has this inside. */
  add(bytes: Buffer, start: number, end: number): boolean {
    const isEscaped = hasBackslash(bytes, start, end);
    if (!isEscaped && this.#length + end - start <= this.#block.length) {
      this.#length = putBytes(this.#block, this.#length, bytes, start, end);
      return true;
    }
    const inside = bytes.toString('utf8', start, end);
    const parsed = isEscaped ? parseJson(`"${inside}"`) : inside;
    if (typeof parsed !== 'string') return false;
    this.#text = this.#decoded() + parsed;
    return true;
  }

  clear(): void {
    this.#length = 0;
    this.#text = '';
  }

  /** Returns all text that was added. */
  take(): string {
    const text = this.#decoded();
    this.clear();
    return text;
  }

  #decoded(): string {
    const text = this.#text + this.#block.toString('utf8', 0, this.#length);
    this.#length = 0;
    return text;
  }
}

const texts = new JoinedTexts();
