// langchain.mjs: npm install zod @langchain/core @langchain/openai @langchain/anthropic
import { ChatAnthropic } from '@langchain/anthropic';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { z } from 'zod';

const { TOLLGATE_ORIGIN: origin, TOLLGATE_API_KEY: apiKey, TOLLGATE_MODEL: model } = process.env;
const [, , prompt = 'What is the weather in Bern?', provider = 'openai'] = process.argv;

const chats = {
  openai: () => new ChatOpenAI({ model, apiKey, configuration: { baseURL: `${origin}/v1` } }),
  anthropic: () => new ChatAnthropic({ model, apiKey, anthropicApiUrl: origin }),
};
const weather = tool(({ city }) => `{"city":"${city}","sky":"clear","celsius":21}`, {
  name: 'get_weather',
  description: 'Weather in a city',
  schema: z.object({ city: z.string() }),
});
const chat = chats[provider]().bindTools([weather]);
const messages = [new HumanMessage(prompt)];
for (;;) {
  let answer;
  for await (const chunk of await chat.stream(messages))
    answer = answer ? answer.concat(chunk) : chunk;
  messages.push(answer);
  if (!answer.tool_calls?.length) {
    console.log(answer.text);
    console.log(answer.usage_metadata);
    break;
  }
  for (const call of answer.tool_calls)
    messages.push(
      new ToolMessage({ tool_call_id: call.id, content: await weather.invoke(call.args) }),
    );
}
