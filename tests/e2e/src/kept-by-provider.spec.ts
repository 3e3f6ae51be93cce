import { describe, expect, test } from '@jest/globals';
import {
  ask,
  asking,
  CALL,
  conversing,
  EVENTS,
  modelOf,
  NAMED,
  NAMELESS,
  nativeOf,
  node,
  other,
  PATHS,
  SEALED,
  shareNode,
  stranger,
  upstream,
  WHOLE,
  type Kind,
} from './kept-by-provider-under-test.ts';

shareNode();

describe.each(NAMED)('what the provider of %s keeps (%s)', (kind, param, named) => {
  test.each(['whole', 'stream'])('leaves the gateway sealed: %s', async (form) => {
    const model = await modelOf(kind);
    const { status, text } = await ask(
      PATHS[kind],
      asking(kind, model, { stream: form === 'stream' }),
    );
    expect(status).toBe(200);
    expect(text).not.toContain(nativeOf(kind));
    const sealed = text.match(SEALED) ?? [];
    expect(new Set(sealed).size).toBe(1);
    expect(sealed.length).toBe(
      JSON.stringify(form === 'stream' ? EVENTS[kind] : WHOLE[kind]).split(nativeOf(kind)).length -
        1,
    );
  });

  test('is named again by its sealed id: the request goes to that upstream, with the native one', async () => {
    const model = await modelOf(kind, { onBoth: true });
    const first = await ask(PATHS[kind], asking(kind, model));
    const [sealed = ''] = first.text.match(SEALED) ?? [];
    const again = await ask(PATHS[kind], asking(kind, model, named(sealed)));
    expect(again.status).toBe(200);
    expect(upstream.requests.at(-1)?.body).toContain(`"${nativeOf(kind)}"`);
    expect(upstream.requests.at(-1)?.body).not.toContain('_tg');
  });

  test('is nothing to another account, nor by the id that the provider knows', async () => {
    const model = await modelOf(kind);
    const { text } = await ask(PATHS[kind], asking(kind, model));
    const [sealed = ''] = text.match(SEALED) ?? [];
    const before = upstream.requests.length;
    for (const [id, key] of [
      [sealed, stranger],
      [nativeOf(kind), node.apiKey],
      [`${sealed.slice(0, -4)}AAAA`, node.apiKey],
    ]) {
      const refused = await ask(PATHS[kind], asking(kind, model, named(id ?? '')), key);
      expect(refused.status).toBe(404);
      expect(refused.text).toContain(`is stored for this account`);
      if (kind !== 'messages')
        expect(JSON.parse(refused.text).error).toMatchObject({ code: 'stored_not_found', param });
    }
    expect(upstream.requests).toHaveLength(before);
  });
});

describe('files by id', () => {
  const FILES: [Kind, object, string][] = [
    [
      'responses',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] },
      'input[0].content[0].file_id',
    ],
    [
      'messages',
      {
        messages: [
          { role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'f' } }] },
        ],
      },
      'messages[0].content[0].source.file_id',
    ],
    [
      'chat',
      {
        messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }],
      },
      'messages[0].content[0].file.file_id',
    ],
  ];

  test.each(FILES)(
    'of %s are refused where no upstream passes them',
    async (kind, fields, param) => {
      const model = await modelOf(kind, { onBoth: true });
      for (const stream of [false, true]) {
        const { status, text } = await ask(PATHS[kind], asking(kind, model, { ...fields, stream }));
        expect(status).toBe(400);
        expect(text).toContain(param);
      }
    },
  );

  test.each(FILES)(
    'of %s go to the upstream that passes them, whatever its place',
    async (kind, fields) => {
      const model = await modelOf(kind, { onBoth: true, passes: true });
      const before = upstream.requests.length;
      for (const stream of [false, true])
        expect((await ask(PATHS[kind], asking(kind, model, { ...fields, stream }))).status).toBe(
          200,
        );
      expect(upstream.requests).toHaveLength(before);
      expect(other.requests.at(-1)?.body).toContain('file_id');
      expect((await ask(PATHS[kind], asking(kind, model))).status).toBe(200);
      expect(upstream.requests).toHaveLength(before + 1);
    },
  );
});

describe("what leads to the state of the provider's account", () => {
  test.each<[Kind, object, string]>([
    ['messages', { thread: { type: 'continue', previous_message_id: 'msg_1' } }, 'thread'],
    ['messages', { thread: { type: 'create' } }, 'thread'],
    [
      'responses',
      { tools: [{ type: 'function', name: 'f' }, { tunnel_id: 'tunnel_1' }] },
      'tools[1].tunnel_id',
    ],
  ])('is refused: %s %j', async (kind, fields, param) => {
    const model = await modelOf(kind);
    const before = upstream.requests.length;
    for (const stream of [false, true]) {
      const { status, text } = await ask(PATHS[kind], asking(kind, model, { ...fields, stream }));
      expect([status, text]).toEqual([400, expect.stringContaining(param)]);
    }
    expect(upstream.requests).toHaveLength(before);
  });
});

describe('what is put into a conversation', () => {
  const put = (items: unknown[], path = '/v1/conversations') => ask(path, { items });

  test('names no file of the account, and nothing that is stored for others', async () => {
    const before = upstream.requests.length;
    const file = { role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] };
    expect(await put([file])).toMatchObject({
      status: 400,
      text: expect.stringContaining('items[0].content[0].file_id'),
    });
    for (const strange of [
      { type: 'item_reference', id: 'msg_1' },
      { ...CALL, container_id: 'cntr_native' },
    ])
      expect(await put([strange])).toMatchObject({ status: 404 });
    const tools = [{ type: 'web_search' }];
    expect(await put([{ type: 'additional_tools', role: 'developer', tools }])).toMatchObject({
      status: 400,
      text: expect.stringContaining('items[0].tools[0].type'),
    });
    const twice = await fetch(`${node.url}/v1/conversations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${node.apiKey}` },
      body: `{"items":[],"items":[${JSON.stringify(file)}]}`,
    });
    expect(twice.status).toBe(400);
    expect(upstream.requests).toHaveLength(before);
  });

  test('keeps its own words, and its sealed ids become native', async () => {
    const [sealed] =
      (await ask('/v1/responses', asking('responses', conversing))).text.match(/cntr_tg[\w-]+/) ??
      [];
    const message = { type: 'message', role: 'user', content: 'remember file_id' };
    const made = await put([message, { ...NAMELESS, container_id: sealed }]);
    expect(made.status).toBe(200);
    expect(JSON.parse(upstream.requests.at(-1)?.body ?? '')).toEqual({
      items: [message, { ...NAMELESS, container_id: 'cntr_native' }],
    });
    const { id } = JSON.parse(made.text) as { id: string };
    expect((await put([message], `/v1/conversations/${id}/items`)).status).toBe(200);
    expect((await ask('/v1/conversations', {})).status).toBe(200);
  });
});
