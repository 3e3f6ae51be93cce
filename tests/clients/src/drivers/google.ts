import { ApiError, GoogleGenAI, type Content, type Part } from '@google/genai';
import { z } from 'zod';
import {
  WEATHER,
  WEATHER_SCHEMA,
  type Client,
  type Conversation,
  type Errand,
  type Refused,
} from '../client.ts';

/** The client repeats no request by itself. */
export const googleGenai: Client = {
  name: '@google/genai',
  protocol: 'openai',
  converse,
  refusal,
  triesWithoutQuota: 1,
};

async function converse({ origin, apiKey, model, prompt }: Errand): Promise<Conversation> {
  const conversation: Conversation = { text: '', toolInputs: [], usage: { input: 0, output: 0 } };
  const { models } = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: origin } });
  const contents: Content[] = [{ role: 'user', parts: [{ text: prompt }] }];
  const { name, description } = WEATHER;
  const declared = { name, description, parametersJsonSchema: WEATHER_SCHEMA };
  for (;;) {
    const parts: Part[] = [];
    const stream = await models.generateContentStream({
      model,
      contents,
      config: { tools: [{ functionDeclarations: [declared] }] },
    });
    for await (const { candidates, usageMetadata } of stream) {
      parts.push(...(candidates?.[0]?.content?.parts ?? []));
      conversation.usage.input += usageMetadata?.promptTokenCount ?? 0;
      conversation.usage.output +=
        (usageMetadata?.candidatesTokenCount ?? 0) + (usageMetadata?.thoughtsTokenCount ?? 0);
    }
    conversation.text = parts.map(({ text, thought }) => (thought ? '' : (text ?? ''))).join('');
    const calls = parts.flatMap(({ functionCall }) => (functionCall ? [functionCall] : []));
    if (calls.length === 0) return conversation;
    conversation.toolInputs.push(...calls.map(({ args }) => args));
    contents.push(
      { role: 'model', parts },
      {
        role: 'user',
        parts: calls.map(({ id, name: called }) => ({
          functionResponse: {
            ...(id && { id }),
            ...(called && { name: called }),
            response: { output: WEATHER.reply },
          },
        })),
      },
    );
  }
}

const stated = z.object({
  error: z.object({ details: z.tuple([z.object({ reason: z.string() })]) }),
});

function refusal(error: unknown): Refused {
  if (!(error instanceof ApiError)) return { status: undefined, code: undefined };
  const { details } = stated.parse(JSON.parse(error.message)).error;
  return { status: error.status, code: details[0].reason.toLowerCase() };
}
