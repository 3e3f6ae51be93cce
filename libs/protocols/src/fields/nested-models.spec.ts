import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from '@jest/globals';
import type { ClientProtocol } from '../exchange.ts';
import { CALLERS_OWN, CALLERS_OWN_OF_TOOL } from './callers-own.ts';
import { NESTED_MODELS, nestedModels } from './nested-models.ts';
import { premiumAsked } from './premium-fields.ts';
import { readFields } from './read-fields.ts';
import { serverTools } from './server-tools.ts';

const NAME = 'a-dearer-model';

/** Makes a body that gives this field, in a tool that the provider runs. */
function bodyWith(steps: string): Record<string, unknown> {
  const [step = '', ...rest] = steps.split('.');
  const inner: unknown = rest.length === 0 ? NAME : bodyWith(rest.join('.'));
  if (!step.endsWith('[]')) return { [step]: inner };
  const item = step === 'tools[]' ? { type: 'of_the_provider', ...(inner as object) } : inner;
  return { [step.slice(0, -2)]: [item] };
}

function deep(levels: number, inner: object): Record<string, unknown> {
  return levels === 0 ? { ...inner } : { a: deep(levels - 1, inner) };
}

const asked = (protocol: ClientProtocol, body: Record<string, unknown>) =>
  premiumAsked({
    fields: readFields(protocol, body),
    serverTools: serverTools(body),
    nestedModels: nestedModels(protocol, body),
  });
const models = (protocol: ClientProtocol, body: Record<string, unknown>) =>
  asked(protocol, body).needed.filter(({ of }) => of === 'model');

describe('a field inside a request that names a model (S26c)', () => {
  test.each(NESTED_MODELS.map((row) => [`${row.protocol} ${row.path}: ${row.fate}`, row] as const))(
    '%s',
    (_, { protocol, path: steps, fate }) => {
      const body = bodyWith(steps);
      const param = steps.replaceAll('[]', '[0]');
      expect(models(protocol, body)).toEqual(
        fate === 'priced' ? [{ of: 'model', param, premium: `nested_model=${NAME}` }] : [],
      );
      const [top] = steps.split(/[.[]/);
      expect(asked(protocol, body).refused.map(({ path: [name] }) => name)).toEqual(
        fate === 'dropped' ? [top] : [],
      );
    },
  );

  const advisor = { type: 'advisor_20260301', name: 'advisor', model: NAME };
  test.each<[string, ClientProtocol, Record<string, unknown>, string]>([
    [
      'a tool that a message adds',
      'messages',
      { messages: [{ content: [{ tool: { definition: advisor } }] }] },
      'messages[0].content[0].tool.definition.model',
    ],
    [
      'a tool that an item offers',
      'responses',
      { input: [{ type: 'additional_tools', tools: [advisor] }] },
      'input[0].tools[0].model',
    ],
    [
      'a tool in a namespace',
      'responses',
      { tools: [{ type: 'namespace', tools: [advisor] }] },
      'tools[0].tools[0].model',
    ],
    [
      'a tool that says the client runs it',
      'messages',
      { tools: [{ ...advisor, type: 'custom' }] },
      'tools[0].model',
    ],
    [
      'a tool without a type',
      'messages',
      { tools: [{ name: 'advisor', input_schema: {}, Model: NAME }] },
      'tools[0].Model',
    ],
    [
      'tools of an advisor',
      'chat',
      {
        tools: [
          { type: 'openrouter:advisor', parameters: { tools: [{ parameters: { model: NAME } }] } },
        ],
      },
      'tools[0].parameters.tools[0].parameters.model',
    ],
    [
      'a setting by another name',
      'messages',
      { context_management: { edits: [{ summaryModelId: NAME }] } },
      'context_management.edits[0].summaryModelId',
    ],
    ...(
      [
        [
          { tools: [{ type: 'function', function: { name: 'f', model: NAME } }] },
          'tools[0].function.model',
        ],
        [
          { tools: [{ type: 'function', function: {}, config: { model: NAME } }] },
          'tools[0].config.model',
        ],
        [{ functions: [{ name: 'f', model: NAME }] }, 'functions[0].model'],
        [{ agent: { sub: { model: NAME } } }, 'agent.sub.model'],
        [{ extra_body: { agent: { model: NAME } } }, 'extra_body.agent.model'],
        [{ judge_model: NAME }, 'judge_model'],
        [
          { response_format: { json_schema: { judge: { model_id: NAME } } } },
          'response_format.json_schema.judge.model_id',
        ],
        [{ agent: { metadata: { tags: { model: NAME } } } }, 'agent.metadata.tags.model'],
        [deep(100, { model: NAME }), `${'a.'.repeat(100)}model`],
        [
          { tool_choice: { type: 'function', function: { name: 'f', model: NAME } } },
          'tool_choice.function.model',
        ],
      ] as [Record<string, unknown>, string][]
    ).map(
      ([body, param]) =>
        [param.slice(0, 60), 'chat', body, param] as [string, ClientProtocol, typeof body, string],
    ),
  ])('is found in %s', (_, protocol, body, param) =>
    expect(models(protocol, body).map((each) => each.param)).toEqual([param]),
  );

  test('that is no name is refused whatever the price says', () => {
    for (const model of [1, {}, [NAME], '', 'a name with blanks'])
      expect(models('messages', { tools: [{ ...advisor, model }] })).toEqual([
        { of: 'model', param: 'tools[0].model', premium: null },
      ]);
  });

  test('is refused beyond a number that no request needs, and is named in a bounded length', () => {
    const many = Array.from({ length: 200_000 }, () => ({ model: NAME }));
    const found = nestedModels('chat', { agents: many });
    expect([found.length, found.at(-1)?.model]).toEqual([101, null]);
    const long = nestedModels('chat', { ['a'.repeat(1_000_000)]: { model: NAME } });
    expect(long.map(({ param }) => param.length)).toEqual([256]);
  });

  test('is not taken for one where callers have members of their own', () => {
    const schema = { type: 'object', properties: { model: { type: 'string' } }, model: NAME };
    for (const body of [
      { tools: [{ type: 'function', function: { name: 'f', parameters: schema } }] },
      { tools: [{ type: 'function', name: 'f', parameters: schema }] },
      { tools: [{ name: 'f', input_schema: schema }] },
      { metadata: { model: NAME }, client_metadata: { model: NAME } },
      { messages: [{ role: 'user', content: [{ type: 'tool_use', input: { model: NAME } }] }] },
      { tools: [{ type: 'mcp', server_url: 'https://x', headers: { 'x-model': NAME } }] },
      { response_format: { type: 'json_schema', json_schema: { schema } } },
      { tools: [{ ...advisor, model: null }] },
    ])
      expect(
        (['chat', 'messages', 'responses'] as const).flatMap((protocol) =>
          nestedModels(protocol, body),
        ),
      ).toEqual([]);
  });
});

describe('data of the caller may have members of any name', () => {
  /** Makes a model below this place of a body. */
  function below(steps: string): Record<string, unknown> {
    const [step = '', ...rest] = steps.split('.');
    const inner = rest.length === 0 ? { x: [{ model: NAME }], model: NAME } : below(rest.join('.'));
    return step.endsWith('[]') ? { [step.slice(0, -2)]: [inner] } : { [step]: inner };
  }
  const PROTOCOLS = ['chat', 'messages', 'responses', 'completions', 'embeddings'] as const;

  test.each(CALLERS_OWN)('%s', (place) => {
    expect(PROTOCOLS.flatMap((protocol) => nestedModels(protocol, below(place)))).toEqual([]);
    const aside = nestedModels('chat', { agent: below(place) });
    expect(aside.map(({ path: [top] }) => top)).toEqual(['agent', 'agent']);
  });

  test.each(CALLERS_OWN_OF_TOOL)('%s of a tool that the client runs', (place) => {
    const tool = { type: 'function', name: 'f', function: { name: 'f' }, ...below(place) };
    expect(PROTOCOLS.flatMap((protocol) => nestedModels(protocol, { tools: [tool] }))).toEqual([]);
  });
});

describe('the SDKs of the vendors', () => {
  const packages = path.join(import.meta.dirname, '../../node_modules');
  const OF_ANSWERS = new Set([
    'BetaAdvisorMessageIterationUsage',
    'BetaFallbackInfo',
    'BetaFallbackMessageIterationUsage',
    'BetaMessage',
    'BetaMessageIterationUsage',
    'BetaRefusalStopDetails',
    'ChatCompletion',
    'ChatCompletionChunk',
    'Message',
    'ModerationResult',
    'ModerationResults',
    'Response',
    'Result',
    'SvgUsage',
  ]);
  /** Lists the model of the request itself, of other endpoints, and of frames of a web socket, which are not served. */
  const OF_REQUESTS = new Set([
    'ChatCompletionCreateParamsBase',
    'ChatCompletionListParams',
    'MessageCountTokensParams',
    'MessageCreateParamsBase',
    'ResponseCompactParams',
    'ResponseCreate',
    'ResponseCreateParamsBase',
  ]);

  /** Returns the names of the interfaces that have a member whose name ends so. */
  function naming(module: string, file: string): string[] {
    let type = '';
    return readFileSync(path.join(packages, module, 'resources', file), 'utf8')
      .split('\n')
      .flatMap((line) => {
        type = /^ *(?:export )?interface (\w+)/.exec(line)?.[1] ?? type;
        return /^ *\w*models?(?:_id|_name)?\??:/.test(line) ? [type] : [];
      });
  }

  test.each([
    ['@anthropic-ai/sdk', 'messages/messages.d.ts'],
    ['@anthropic-ai/sdk', 'beta/messages/messages.d.ts'],
    ['openai', 'chat/completions/completions.d.ts'],
    ['openai', 'responses/responses.d.ts'],
  ])('%s %s have no other object that names a model', (module, file) => {
    const listed = new Set(NESTED_MODELS.map(({ sdkType }) => sdkType));
    const found = naming(module, file);
    expect(found.length).toBeGreaterThan(1);
    expect(
      found.filter((type) => !listed.has(type) && !OF_ANSWERS.has(type) && !OF_REQUESTS.has(type)),
    ).toEqual([]);
  });
});
