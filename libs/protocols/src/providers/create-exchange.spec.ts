import type { UpstreamProtocol } from '@tollgate/contracts';
import { describe, expect, test } from '@jest/globals';
import { parseAsk } from '../ask/parse-ask.ts';
import { createExchange, findUnsupported } from './create-exchange.ts';
import { InvalidRequest, type ClientProtocol } from '../exchange.ts';

const USER = { role: 'user', content: 'hello' };
const BODIES: Record<
  Exclude<ClientProtocol, 'embeddings' | 'completions' | 'generate' | 'embed'>,
  { base: object; odd: Record<string, object> }
> = {
  chat: {
    base: { messages: [USER] },
    odd: {
      logprobs: { logprobs: true },
      n: { n: 2 },
      'an audio part': {
        messages: [
          {
            role: 'user',
            content: [{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }],
          },
        ],
      },
      'an unreadable image': {
        messages: [
          { role: 'user', content: [{ type: 'image_url', image_url: { url: 'nowhere' } }] },
        ],
      },
      'a custom tool': { tools: [{ type: 'custom', custom: { name: 'x' } }] },
    },
  },
  messages: {
    base: { max_tokens: 10, messages: [USER] },
    odd: {
      'MCP servers': { mcp_servers: [{ type: 'url', url: 'https://a.example', name: 'a' }] },
      'a server tool': { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] },
      'a file by id': {
        messages: [
          { role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'f' } }] },
        ],
      },
    },
  },
  responses: {
    base: { input: 'hello' },
    odd: {
      previous_response_id: { previous_response_id: 'resp_1' },
      background: { background: true },
      'a stored item': { input: [{ type: 'item_reference', id: 'i' }] },
      'a hosted tool': { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
      'a tool choice of a hosted tool': {
        tools: [{ type: 'function', name: 'f', parameters: {} }],
        tool_choice: { type: 'file_search' },
      },
    },
  },
};
const DIALECTS: readonly UpstreamProtocol[] = ['openai', 'anthropic'];
const CASES = Object.entries(BODIES).flatMap(([protocol, { base, odd }]) =>
  DIALECTS.flatMap((upstreamProtocol) =>
    Object.entries({ 'nothing odd': {}, ...odd }).map(([name, change]) => ({
      name,
      upstreamProtocol,
      protocol: protocol as ClientProtocol,
      body: { model: 'm', ...base, ...change },
    })),
  ),
);

describe('what is found before a request is admitted is what its exchange would say', () => {
  test.each(CASES)(
    '$protocol before $upstreamProtocol: $name',
    ({ protocol, upstreamProtocol, body }) => {
      const ask = parseAsk(protocol, Buffer.from(JSON.stringify(body)));
      const found = findUnsupported(ask, {
        speech: { protocol: upstreamProtocol },
        upstreamModel: 'real',
      });
      expect(found).toEqual(
        thrownBy(() =>
          createExchange({
            ask,
            speech: { protocol: upstreamProtocol },
            upstreamModel: 'real',
            outputLimit: 5,
            outputLimitField: 'max_tokens',
            clientHeaders: {},
            idSeed: '01890a5d-ac96-774b-bcce-b302099a8057',
          }),
        ),
      );
    },
  );

  test('every odd request is refused by one pair at least, and by none of one protocol', () => {
    const refused = CASES.filter(
      ({ protocol, upstreamProtocol, body }) =>
        findUnsupported(parseAsk(protocol, Buffer.from(JSON.stringify(body))), {
          speech: { protocol: upstreamProtocol },
          upstreamModel: 'real',
        }) !== null,
    );
    expect(new Set(refused.map(({ protocol, name }) => `${protocol} ${name}`))).toEqual(
      new Set(
        CASES.filter(({ name }) => name !== 'nothing odd').map(
          ({ protocol, name }) => `${protocol} ${name}`,
        ),
      ),
    );
    expect(
      refused.filter(
        ({ protocol, upstreamProtocol }) =>
          (protocol === 'chat' && upstreamProtocol === 'openai') ||
          (protocol === 'messages' && upstreamProtocol === 'anthropic'),
      ),
    ).toEqual([]);
  });
});

function thrownBy(work: () => unknown): InvalidRequest | null {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof InvalidRequest) return error;
    throw error;
  }
}
