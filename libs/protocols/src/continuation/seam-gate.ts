import { isRecord, nonEmpty, record, records, text, type JsonRecord } from '../json/json-guard.ts';
import { isPlainDelta } from './delivered.ts';
import { judgeSeam } from './seam.ts';

/** Reads the beginning of a continuation, event by event, until it is known to continue what was delivered or not to. */
export class SeamGate {
  readonly #anchor: string;
  readonly #protocol: 'chat' | 'messages';
  #beginning = '';
  verdict: 'open' | 'true' | 'false' = 'open';
  /** Is text at the beginning that the client has already. */
  overlap = '';

  constructor(anchor: string, protocol: 'chat' | 'messages') {
    this.#anchor = anchor;
    this.#protocol = protocol;
  }

  read(event: JsonRecord): void {
    if (this.verdict !== 'open') return;
    const { words, isEnd } = this.#protocol === 'chat' ? readChunk(event) : readMessage(event);
    this.#beginning += words;
    if (isEnd) return this.end();
    if (words !== '') this.#judge(false);
  }

  /** No text follows. */
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
}

function readChunk(chunk: JsonRecord): Piece {
  const [choice] = records(chunk['choices']);
  const { reasoning_content: _thought, reasoning: _too, ...delta } = record(choice?.['delta']);
  const isEnd = nonEmpty(choice?.['finish_reason']) !== null || !isPlainDelta(delta);
  return { words: text(delta['content']) ?? '', isEnd };
}

function readMessage(event: JsonRecord): Piece {
  const block = record(event['content_block']);
  const delta = record(event['delta']);
  const isTool = isRecord(event['content_block']) && !PASSIVE.has(text(block['type']) ?? '');
  return {
    words: text(block['text']) ?? text(delta['text']) ?? '',
    isEnd: isTool || event['type'] === 'message_delta',
  };
}

/** Blocks after which text may follow, or that are text. */
const PASSIVE: ReadonlySet<string> = new Set(['text', 'thinking', 'redacted_thinking']);
