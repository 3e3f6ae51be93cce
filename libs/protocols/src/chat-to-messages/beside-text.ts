import { nonEmpty, record, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { isReusable } from '../translation/sealed-thinking.ts';

/** Collects the parts that content blocks add to a chat message in addition to its text. Only the length of the text is kept. */
export type Piece =
  | { readonly kind: 'thinking'; readonly block: JsonRecord }
  | { readonly kind: 'text'; readonly length: number; readonly citations: readonly JsonRecord[] }
  | { readonly kind: 'results'; readonly results: readonly JsonRecord[] };

/** Bounds the thinking that a stream keeps until its end. A larger block is omitted completely, because Anthropic refuses a shortened one. */
const THINKING_CHARS_MAX = 2 ** 20;

/** Returns null for a block that adds nothing: a call, or a result of another tool. */
export function pieceOf(block: JsonRecord): Piece | null {
  switch (block['type']) {
    case 'text':
      return {
        kind: 'text',
        length: text(block['text'])?.length ?? 0,
        citations: records(block['citations']),
      };
    case 'thinking':
    case 'redacted_thinking':
      return { kind: 'thinking', block };
    case 'web_search_tool_result':
      return { kind: 'results', results: records(block['content']) };
    default:
      return null;
  }
}

/** Returns the piece extended by one delta of its block. */
export function grownPiece(piece: Piece, delta: JsonRecord): Piece {
  if (piece.kind === 'results') return piece;
  if (piece.kind === 'text') {
    const citation = delta['type'] === 'citations_delta' ? [record(delta['citation'])] : [];
    return {
      ...piece,
      length: piece.length + (text(delta['text'])?.length ?? 0),
      citations: [...piece.citations, ...citation],
    };
  }
  return { ...piece, block: grownThinking(piece.block, delta) };
}

function grownThinking(block: JsonRecord, delta: JsonRecord): JsonRecord {
  if (delta['type'] === 'signature_delta') return { ...block, signature: delta['signature'] };
  const said = text(block['thinking']);
  const more = text(delta['thinking']);
  if (said === null || more === null) return block;
  const thinking = said + more;
  return { ...block, thinking: thinking.length > THINKING_CHARS_MAX ? null : thinking };
}

/**
 * Returns the members of a chat message that carry signed thinking and sources. A stream sends them in one delta: OpenAI's Node client keeps the last
 * value of an unknown member, its Python client joins entries by `index`.
 */
export function besideText(pieces: readonly Piece[]): JsonRecord {
  const thinking = signedThinking(pieces);
  const annotations = sources(pieces);
  return {
    ...(thinking.length === 0 ? {} : { thinking_blocks: thinking }),
    ...(annotations.length === 0 ? {} : { annotations }),
  };
}

function signedThinking(pieces: readonly Piece[]): JsonRecord[] {
  let rest = THINKING_CHARS_MAX;
  return pieces.flatMap((piece) => {
    if (piece.kind !== 'thinking' || !isReusable(piece.block)) return [];
    const block = thinkingBlock(piece.block);
    rest -= JSON.stringify(block).length;
    return rest < 0 ? [] : [block];
  });
}

/** Keeps the members that Anthropic accepts; clients that join streams add `index`. */
export function thinkingBlock(block: JsonRecord): JsonRecord {
  return block['type'] === 'thinking'
    ? { type: 'thinking', thinking: block['thinking'], signature: block['signature'] }
    : { type: 'redacted_thinking', data: block['data'] };
}

/** Returns citations in the order of the text. Results that no text cites follow with an empty span where they arrived. */
function sources(pieces: readonly Piece[]): JsonRecord[] {
  const cited: JsonRecord[] = [];
  const found: JsonRecord[] = [];
  let at = 0;
  for (const piece of pieces) {
    if (piece.kind === 'text') {
      const span = { start_index: at, end_index: at + piece.length };
      cited.push(...piece.citations.map((citation) => annotation(citation, span)));
      at += piece.length;
    } else if (piece.kind === 'results')
      found.push(
        ...piece.results.map((result) => linkTo(result, { start_index: at, end_index: at })),
      );
  }
  const urls = new Set(cited.map(urlOf));
  return [...cited, ...found.filter((result) => urlOf(result) !== '' && !urls.has(urlOf(result)))];
}

interface Span {
  start_index: number;
  end_index: number;
}

function annotation(citation: JsonRecord, span: Span): JsonRecord {
  const url = nonEmpty(citation['url']) ?? nonEmpty(citation['source']);
  return url === null ? placeInDocument(citation, span) : linkTo({ ...citation, url }, span);
}

/** See https://platform.openai.com/docs/api-reference/chat/object: clients check that url and title are strings. */
function linkTo(source: JsonRecord, span: Span): JsonRecord {
  const url = text(source['url']) ?? '';
  return {
    type: 'url_citation',
    url_citation: { ...span, url, title: nonEmpty(source['title']) ?? url },
  };
}

/** A document of the request has no address. Its place is stated in Anthropic's form, because chat has none for it. */
function placeInDocument(citation: JsonRecord, span: Span): JsonRecord {
  const { type, cited_text, document_index, document_title, ...place } = citation;
  return {
    type: 'file_citation',
    file_citation: {
      ...span,
      index: document_index,
      filename: text(document_title) ?? '',
      quote: cited_text,
      place: { type, ...place },
    },
  };
}

function urlOf(entry: JsonRecord): string {
  return text(record(entry['url_citation'])['url']) ?? '';
}
