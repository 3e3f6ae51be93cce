import { describe, expect, test } from '@jest/globals';
import { ask, baseUrl, BOUGHT, call, model, native, node } from './native-responses-under-test.ts';

describe('what is refused by name', () => {
  test('templates of the account of the provider', async () => {
    expect(await ask({ prompt: { id: 'pmpt_1' } })).toMatchObject({
      status: 400,
      body: { error: { code: 'unsupported_parameter', param: 'prompt' } },
    });
  });

  test('files and vector stores of the account of the provider, also where tokens are counted', async () => {
    const input = [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }];
    const refusal = {
      status: 400,
      body: { error: { code: 'unsupported_parameter', param: 'input[0].content[0].file_id' } },
    };
    expect(await ask({ input })).toMatchObject(refusal);
    expect(
      await call('POST', '/v1/responses/input_tokens', { body: { model: model.name, input } }),
    ).toMatchObject(refusal);
    const tools = [{ type: 'file_search', vector_store_ids: ['vs_1'] }];
    expect((await ask({ tools })).body.error.param).toBe('tools[0].vector_store_ids');
  });

  test('tools of the provider without a price; with one they pass and are charged', async () => {
    const tools = [{ type: 'web_search_preview_2025_03_11' }];
    expect((await ask({ tools })).body.error).toMatchObject({
      code: 'server_tool_not_priced',
      param: 'tools[0].type',
    });
    const [price] = model.prices;
    const multipliers = { 'server_tools=web_search_preview': 2_000_000 };
    const priced = await native({
      prices: [{ ...price, multipliers } as (typeof model.prices)[0]],
    });
    const { status, rid } = await ask({ model: priced.name, tools });
    expect(status).toBe(200);
    expect(await node.journalledFinal(rid)).toMatchObject({
      premiums: ['server_tools=web_search_preview'],
    });
    const own = [{ type: 'local_shell' }, { type: 'custom', name: 'x' }, { type: 'apply_patch' }];
    expect((await ask({ tools: own })).status).toBe(200);
  });

  test('what is stored elsewhere, where all routes translate', async () => {
    const translated = await node.addModel([{ baseUrl }], { context_window: 10_000 }, BOUGHT);
    expect(await ask({ model: translated.name, previous_response_id: 'resp_1' })).toMatchObject({
      status: 400,
      body: { error: { code: 'unsupported_parameter', param: 'previous_response_id' } },
    });
  });
});
