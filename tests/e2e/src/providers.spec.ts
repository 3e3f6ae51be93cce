import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { demoServiceAccount, PROVIDER_MODELS } from '@tollgate/demo-upstream';
import { until } from '@tollgate/harness';
import OpenAI from 'openai';
import { startDemoNode, type DemoNode, type SnapshotModel } from './demo-node-under-test.ts';

const TOKENS = 1_000_000;
const WORDS = ' this is the demo answering';
const PROMPT = '@demo tokens=5';
const CALL = '@demo mode=tools tokens=5';
const PARAMETERS = { type: 'object' as const, properties: { city: { type: 'string' } } };
const ARGUMENTS = { city: 'Bern' };

let demo: DemoNode;
let openai: OpenAI;
let anthropic: Anthropic;
beforeAll(async () => {
  demo = await startDemoNode();
  const { apiKey, url } = demo.node;
  openai = new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey, baseURL: url, maxRetries: 0 });
});
afterAll(() => demo?.stop());

/** Holds the answer's text, and the arguments of the tool that it calls. */
interface Said {
  text: string;
  call: unknown;
}

async function chat(model: string, content: string, isStream: boolean): Promise<Said> {
  const asked = {
    model,
    messages: [{ role: 'user' as const, content }],
    ...(content === CALL && {
      tools: [
        { type: 'function' as const, function: { name: 'get_weather', parameters: PARAMETERS } },
      ],
    }),
  };
  const { choices } = isStream
    ? await openai.chat.completions.stream(asked).finalChatCompletion()
    : await openai.chat.completions.create(asked);
  const message = choices[0]?.message;
  const call = message?.tool_calls?.[0];
  return {
    text: message?.content ?? '',
    call: call?.type === 'function' ? JSON.parse(call.function.arguments) : null,
  };
}

async function messages(model: string, content: string, isStream: boolean): Promise<Said> {
  const asked = {
    model,
    max_tokens: 100,
    messages: [{ role: 'user' as const, content }],
    ...(content === CALL && { tools: [{ name: 'get_weather', input_schema: PARAMETERS }] }),
  };
  const message = isStream
    ? await anthropic.messages.stream(asked).finalMessage()
    : await anthropic.messages.create(asked);
  const said = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  const call = message.content.find((block) => block.type === 'tool_use');
  return { text: said.join(''), call: call?.input ?? null };
}

async function responses(model: string, input: string, isStream: boolean): Promise<Said> {
  const asked = {
    model,
    input,
    store: false,
    ...(input === CALL && {
      tools: [
        { type: 'function' as const, name: 'get_weather', parameters: PARAMETERS, strict: false },
      ],
    }),
  };
  const answer = isStream
    ? await openai.responses.stream(asked).finalResponse()
    : await openai.responses.create(asked);
  const call = answer.output.find((item) => item.type === 'function_call');
  return {
    text: answer.output_text,
    call: call && 'arguments' in call ? JSON.parse(String(call.arguments)) : null,
  };
}

describe.each(PROVIDER_MODELS)('a model behind $name', ({ upstream }) => {
  let model: SnapshotModel;
  let spent = 0;
  beforeAll(async () => {
    model = await demo.node.addModel([
      upstream(new URL(demo.baseUrl).origin, demoServiceAccount()),
    ]);
    spent = 0;
    // An identity gets its first token beside its requests.
    await until('the upstream has its credential', async () => {
      try {
        await chat(model.name, PROMPT, false);
      } catch (error) {
        if (error instanceof OpenAI.APIError && error.status === 503) return false;
        throw error;
      }
      const { reported } = demo.record.list().at(-1) ?? {};
      spent += (reported?.prompt ?? 0) + (reported?.output ?? 0);
      return true;
    });
  });

  test.each([
    { client: 'chat', ask: chat },
    { client: 'messages', ask: messages },
    { client: 'responses', ask: responses },
  ])(
    'answers the official client of $client, streams and tools too, and each is charged as it was reported',
    async ({ ask }) => {
      const before = demo.record.list().length;
      for (const isStream of [false, true]) {
        expect(await ask(model.name, PROMPT, isStream)).toEqual({ text: WORDS, call: null });
        expect((await ask(model.name, CALL, isStream)).call).toEqual(ARGUMENTS);
      }
      const reports = demo.record.list().slice(before);
      expect(reports).toHaveLength(4);
      for (const { reported } of reports) {
        expect(reported?.output).toBe(5);
        spent += (reported?.prompt ?? 0) + (reported?.output ?? 0);
      }
      expect(await demo.node.settledBalance(model)).toBe(TOKENS - spent);
    },
  );
});
