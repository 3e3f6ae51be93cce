import OpenAI from 'openai';
import type { ResponseInput } from 'openai/resources/responses/responses';
import {
  WEATHER,
  WEATHER_SCHEMA,
  type Client,
  type Conversation,
  type Errand,
  type Refused,
} from '../client.ts';

const WEATHER_FUNCTION = {
  name: WEATHER.name,
  description: WEATHER.description,
  parameters: WEATHER_SCHEMA,
  strict: true,
};

export const openaiChat: Client = {
  name: 'openai chat',
  protocol: 'openai',
  converse: converseInChat,
  refusal,
  triesWithoutQuota: 1,
};
export const openaiResponses: Client = {
  name: 'openai responses',
  protocol: 'openai',
  converse: converseInResponses,
  refusal,
  triesWithoutQuota: 1,
};

async function converseInChat({ origin, apiKey, model, prompt }: Errand): Promise<Conversation> {
  const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey });
  const runner = client.chat.completions.runTools({
    model,
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: prompt }],
    tools: [
      {
        type: 'function',
        function: {
          ...WEATHER_FUNCTION,
          parse: JSON.parse,
          function: (input: unknown) => (toolInputs.push(input), WEATHER.reply),
        },
      },
    ],
  });
  const toolInputs: unknown[] = [];
  const text = await runner.finalContent();
  const usage = await runner.totalUsage();
  return {
    text: text ?? '',
    toolInputs,
    usage: { input: usage.prompt_tokens, output: usage.completion_tokens },
  };
}

async function converseInResponses({
  origin,
  apiKey,
  model,
  prompt,
}: Errand): Promise<Conversation> {
  const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey });
  const conversation: Conversation = { text: '', toolInputs: [], usage: { input: 0, output: 0 } };
  const input: ResponseInput = [{ role: 'user', content: prompt }];
  for (;;) {
    const stream = client.responses.stream({
      model,
      input,
      store: false,
      tools: [{ type: 'function', ...WEATHER_FUNCTION }],
    });
    const response = await stream.finalResponse();
    count(conversation, response);
    const calls = response.output.filter((item) => item.type === 'function_call');
    if (calls.length === 0) break;
    input.push(
      ...response.output.filter(
        (item) =>
          item.type === 'message' || item.type === 'function_call' || item.type === 'reasoning',
      ),
    );
    for (const call of calls) {
      conversation.toolInputs.push(JSON.parse(call.arguments));
      input.push({ type: 'function_call_output', call_id: call.call_id, output: WEATHER.reply });
    }
  }
  return conversation;
}

function count(
  conversation: Conversation,
  { output_text, usage }: OpenAI.Responses.Response,
): void {
  conversation.text = output_text;
  conversation.usage.input += usage?.input_tokens ?? Number.NaN;
  conversation.usage.output += usage?.output_tokens ?? Number.NaN;
}

function refusal(error: unknown): Refused {
  const { status, code } = error as InstanceType<typeof OpenAI.APIError>;
  return { status, code: code ?? undefined };
}
