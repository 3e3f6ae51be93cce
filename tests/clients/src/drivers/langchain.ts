import { ChatAnthropic } from '@langchain/anthropic';
import {
  HumanMessage,
  ToolMessage,
  type AIMessageChunk,
  type BaseMessage,
  type UsageMetadata,
} from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';
import { WEATHER, type Client, type Conversation, type Errand, type Refused } from '../client.ts';

export const langchainOpenai = client(
  '@langchain/openai',
  'openai',
  ({ origin, apiKey, model }) =>
    new ChatOpenAI({ model, apiKey, configuration: { baseURL: `${origin}/v1` } }),
);

export const langchainAnthropic: Client = {
  miscountsStreams: true,
  ...client(
    '@langchain/anthropic',
    'anthropic',
    ({ origin, apiKey, model }) => new ChatAnthropic({ model, apiKey, anthropicApiUrl: origin }),
  ),
};

/** Without streaming it counts right. */
export async function invokeAnthropic({
  origin,
  apiKey,
  model,
  prompt,
}: Errand): Promise<Conversation> {
  const conversation: Conversation = { text: '', toolInputs: [], usage: { input: 0, output: 0 } };
  count(
    conversation,
    await new ChatAnthropic({ model, apiKey, anthropicApiUrl: origin }).invoke(prompt),
  );
  return conversation;
}

function client(
  name: string,
  protocol: Client['protocol'],
  modelOf: (errand: Errand) => ChatOpenAI | ChatAnthropic,
): Client {
  return {
    name,
    protocol,
    refusal,
    triesWithoutQuota: 1,
    converse: (errand) => converse(modelOf(errand), errand.prompt),
  };
}

async function converse(model: ChatOpenAI | ChatAnthropic, prompt: string): Promise<Conversation> {
  const conversation: Conversation = { text: '', toolInputs: [], usage: { input: 0, output: 0 } };
  const weather = tool(
    (input) => {
      conversation.toolInputs.push(input);
      return WEATHER.reply;
    },
    {
      name: WEATHER.name,
      description: WEATHER.description,
      schema: z.object({ city: z.string() }),
    },
  );
  const bound = model.bindTools([weather]);
  const messages: BaseMessage[] = [new HumanMessage(prompt)];
  for (;;) {
    let answer: AIMessageChunk | undefined;
    for await (const chunk of await bound.stream(messages))
      answer = answer ? answer.concat(chunk) : chunk;
    if (!answer) throw new Error('an empty stream');
    count(conversation, answer);
    messages.push(answer);
    if (!answer.tool_calls?.length) break;
    for (const call of answer.tool_calls)
      messages.push(
        new ToolMessage({
          tool_call_id: call.id ?? '',
          content: String(await weather.invoke(call.args as { city: string })),
        }),
      );
  }
  return conversation;
}

function count(
  conversation: Conversation,
  { text, usage_metadata }: { text: string; usage_metadata?: UsageMetadata | undefined },
): void {
  conversation.text = text;
  conversation.usage.input += usage_metadata?.input_tokens ?? Number.NaN;
  conversation.usage.output += usage_metadata?.output_tokens ?? Number.NaN;
}

function refusal(error: unknown): Refused {
  const {
    status,
    code,
    error: body,
  } = error as { status?: number; code?: string; error?: { error?: { type?: string } } };
  return { status, code: code ?? body?.error?.type };
}
