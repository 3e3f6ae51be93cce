import { isDeepStrictEqual } from 'node:util';
import type { NormalUsage } from './expected-usage.ts';
import type { Reading } from './reading.ts';

/** Returns what a translated answer says differently from the provider's own, in words. */
export function readingDifferences(
  direct: Reading,
  translated: Reading,
  { client, usage }: { client: 'chat' | 'messages'; usage: NormalUsage | null },
): string[] {
  // A message has no place for a refusal but its text.
  const text = client === 'messages' ? direct.text + direct.refusal : direct.text;
  const args = (reading: Reading): unknown[] =>
    reading.tools.map((tool, at) => (direct.tools[at]?.args === null ? null : tool.args));
  return [
    ...difference('text', text, translated.text),
    ...difference('thinking', direct.thinking, translated.thinking),
    ...difference(
      'tool calls',
      direct.tools.map(({ name }) => name),
      translated.tools.map(({ name }) => name),
    ),
    // A call that the limit cut off is compared as far as it came; each protocol's SDK makes of it what it can.
    ...(direct.finish === 'length'
      ? []
      : difference(
          'arguments',
          direct.tools.map((tool) => tool.args),
          args(translated),
        )),
    ...difference('stop reason', finishOf(direct), translated.finish),
    ...(usage === null
      ? []
      : difference('usage', countsOf(usage), translated.usage && countsOf(translated.usage))),
  ];
}

/** A clean end without a reason is an ordinary one. */
function finishOf({ finish, tools }: Reading): string {
  return finish ?? (tools.length > 0 ? 'tool_calls' : 'stop');
}

/** Returns what both protocols can say: chat has no 1-hour writes, messages neither audio nor images. */
function countsOf(usage: NormalUsage): object {
  return {
    input: usage.input + usage.audioInput + usage.imageInput,
    cacheRead: usage.cacheRead,
    cacheWrite: usage.cacheWrite + usage.cacheWrite1h,
    output: usage.output + usage.audioOutput + usage.imageOutput,
  };
}

function difference(what: string, expected: unknown, actual: unknown): string[] {
  return isDeepStrictEqual(plain(expected), plain(actual))
    ? []
    : [`${what}: expected ${inShort(expected)}, got ${inShort(actual)}`];
}

/** SDKs hand out objects of other realms and prototypes; what they say is what counts. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value) ?? 'null');
}

function inShort(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 300);
}
