import { isRecord, nonEmpty, record, records, text, type JsonRecord } from '../json/json-guard.ts';
import { isPlainDelta } from './delivered.ts';
import { judgeSeam } from './seam.ts';

/** Reads the beginning of a continuation, event by event, until it is known to continue what was delivered or not to. */
export class SeamGate {
  readonly #anchor: string;
  readonly #protocol: 'chat' | 'messages';
  readonly #mayThink: boolean;
  #beginning = '';
  verdict: 'open' | 'true' | 'false' = 'open';
  /** Is text at the beginning that the client has already. */
  overlap = '';

  /** `mayThink`: thoughts before the anchor are no fault. */
  constructor(
    anchor: string,
    { protocol, mayThink }: { protocol: 'chat' | 'messages'; mayThink: boolean },
  ) {
    this.#anchor = anchor;
    this.#protocol = protocol;
    this.#mayThink = mayThink;
  }

  read(event: JsonRecord): void {
    if (this.verdict !== 'open') return;
    const piece = this.#protocol === 'chat' ? readChunk(event) : readMessage(event);
    const { words, isEnd, isThought } = piece;
    if (isThought && !this.#mayThink) {
      this.verdict = 'false';
      return;
    }
    this.#beginning += words;
    if (isEnd) return this.end();
    if (words !== '') this.#judge(false);
  }

  /** Judges the seam when no text follows. */
  end(): void {
    if (this.verdict === 'open') this.#judge(true);
  }

  #judge(isWhole: boolean): void {
    const seam = judgeSeam(this.#anchor, this.#beginning, isWhole);
    if (seam.kind === 'more') return;
    this.verdict = seam.kind;
    if (seam.kind === 'true') this.overlap = this.#beginning.slice(0, seam.overlap);
    this.#beginning = '';
  }
}

interface Piece {
  readonly words: string;
  /** Is true when something else than text follows, or nothing. */
  readonly isEnd: boolean;
  readonly isThought: boolean;
}

function readChunk(chunk: JsonRecord): Piece {
  const [choice] = records(chunk['choices']);
  const { reasoning_content: thought, reasoning, ...delta } = record(choice?.['delta']);
  const isEnd = nonEmpty(choice?.['finish_reason']) !== null || !isPlainDelta(delta);
  const isThought = nonEmpty(thought) !== null || nonEmpty(reasoning) !== null;
  return { words: text(delta['content']) ?? '', isEnd, isThought };
}

function readMessage(event: JsonRecord): Piece {
  const block = record(event['content_block']);
  const delta = record(event['delta']);
  const isTool = isRecord(event['content_block']) && !PASSIVE.has(text(block['type']) ?? '');
  return {
    words: text(block['text']) ?? text(delta['text']) ?? '',
    isEnd: isTool || event['type'] === 'message_delta',
    isThought: THOUGHTS.has(text(block['type']) ?? ''),
  };
}

const THOUGHTS: ReadonlySet<string> = new Set(['thinking', 'redacted_thinking']);
/** Blocks after which text may follow, or that are text. */
const PASSIVE: ReadonlySet<string> = new Set(['text', ...THOUGHTS]);
