import type { Ask } from '../exchange.ts';
import { nonEmpty, record, records } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { findMember, layoutArray, layoutObject } from '../json/json-layout.ts';
import type { JsonRange } from '../json/json-layout.ts';
import type { Patch } from '../json/json-splice.ts';

/** Anthropic's signatures are base64; the empty one is what a translated answer leaves behind. */
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/**
 * Cuts thinking blocks that Anthropic did not sign out of a conversation: it would refuse them, and they come from turns another vendor
 * answered (behaviour 29). Signed ones keep every byte. A message of nothing else goes as a whole.
 */
export function unsignedThinkingPatches({
  raw,
  layout,
  body,
}: Pick<Ask, 'raw' | 'layout' | 'body'>): Patch[] {
  const messages = records(body['messages']);
  if (!messages.some(({ content }) => records(content).some(isUnsigned))) return [];
  const list = findMember(layout, 'messages');
  const elements = list ? layoutArray(raw, list.valueStart) : [];
  const emptied = new Set<number>();
  const patches = elements.flatMap((element, at) => {
    const content = messages[at]?.['content'];
    const dropped = positions(records(content), isUnsigned);
    if (dropped.size === 0 || !Array.isArray(content)) return [];
    if (dropped.size === content.length) {
      emptied.add(at);
      return [];
    }
    const message = layoutObject(raw, element.start);
    const blocks = message && findMember(message, 'content');
    return blocks ? withoutElements(layoutArray(raw, blocks.valueStart), dropped) : [];
  });
  return [...patches, ...withoutElements(elements, emptied)];
}

function isUnsigned(block: JsonRecord): boolean {
  if (block['type'] !== 'thinking') return false;
  return !BASE64.test(nonEmpty(record(block)['signature']) ?? '');
}

function positions(
  blocks: readonly JsonRecord[],
  matches: (block: JsonRecord) => boolean,
): Set<number> {
  return new Set(blocks.flatMap((block, at) => (matches(block) ? [at] : [])));
}

/** Returns one patch for every run of dropped elements, with the commas that separate it. */
function withoutElements(elements: readonly JsonRange[], dropped: ReadonlySet<number>): Patch[] {
  const lastKept = elements.findLastIndex((_, at) => !dropped.has(at));
  const patches = elements.flatMap((element, at): Patch[] => {
    const next = elements[at + 1];
    return dropped.has(at) && at < lastKept && next
      ? [{ start: element.start, end: next.start, text: '' }]
      : [];
  });
  const tail = elements.at(-1);
  if (lastKept === elements.length - 1 || !tail) return patches;
  return [
    ...patches,
    { start: elements[lastKept]?.end ?? elements[0]?.start ?? 0, end: tail.end, text: '' },
  ];
}
