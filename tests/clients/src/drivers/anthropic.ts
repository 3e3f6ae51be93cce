import Anthropic from '@anthropic-ai/sdk';
import {
  WEATHER,
  WEATHER_SCHEMA,
  type Client,
  type Conversation,
  type Errand,
  type Refused,
} from '../client.ts';

export const anthropic: Client = {
  name: '@anthropic-ai/sdk',
  protocol: 'anthropic',
  converse,
  refusal,
  triesWithoutQuota: 1,
};

async function converse({ origin, apiKey, model, prompt }: Errand): Promise<Conversation> {
  const conversation: Conversation = { text: '', toolInputs: [], usage: { input: 0, output: 0 } };
  const client = new Anthropic({ baseURL: origin, apiKey });
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: prompt }];
  const tools: Anthropic.Tool[] = [
    {
      name: WEATHER.name,
      description: WEATHER.description,
      input_schema: { ...WEATHER_SCHEMA, type: 'object' },
    },
  ];
  for (;;) {
    const message = await client.messages
      .stream({ model, max_tokens: 1024, messages, tools })
      .finalMessage();
    count(conversation, message);
    if (message.stop_reason !== 'tool_use') break;
    const calls = message.content.filter((block) => block.type === 'tool_use');
    messages.push({ role: 'assistant', content: message.content });
    messages.push({
      role: 'user',
      content: calls.map(({ id }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: WEATHER.reply,
      })),
    });
    conversation.toolInputs.push(...calls.map(({ input }) => input));
  }
  return conversation;
}

function count(conversation: Conversation, { content, usage }: Anthropic.Message): void {
  conversation.text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  conversation.usage.input += usage.input_tokens;
  conversation.usage.output += usage.output_tokens;
}

function refusal(error: unknown): Refused {
  const { status, type } = error as InstanceType<typeof Anthropic.APIError>;
  return { status, code: type ?? undefined };
}
