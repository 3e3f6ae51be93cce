import { wireEvents } from './drive.ts';
import type { Loose } from './drive.ts';

/** Reads an answer of any protocol: read straight from a recording, independently of the library. */
export interface Reading {
  text: string;
  thinking: string;
  tools: { name: string; args: unknown }[];
  /** Is in chat's words. */
  finish: string;
}

const FINISH: Record<string, string> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
};

export function readChat(bytes: Buffer, isStream: boolean): Reading {
  const text = bytes.toString('utf8');
  if (!isStream) {
    const [choice] = JSON.parse(text).choices;
    return finished(choice.message, choice.message.tool_calls ?? [], choice.finish_reason);
  }
  const message: Loose = { content: '', thinking: '' };
  const calls: Loose[] = [];
  let finish = '';
  for (const chunk of wireEvents(text)
    .filter(({ data }) => data.trim() !== '[DONE]')
    .map(({ data }): Loose => JSON.parse(data))) {
    const choice: Loose | undefined = chunk['choices']?.[0];
    if (!choice) continue;
    const { text: said, thinking } = contentOf(choice['delta'] ?? {});
    message['content'] += said;
    message['thinking'] += thinking;
    for (const call of choice['delta']?.tool_calls ?? []) {
      const known = calls.find(({ index }) => index === call.index);
      if (known) known['function'].arguments += call.function.arguments ?? '';
      else
        calls.push({
          index: call.index,
          function: { name: call.function.name, arguments: call.function.arguments ?? '' },
        });
    }
    finish ||= choice['finish_reason'] ?? '';
  }
  return finished(
    { content: message['content'], reasoning_content: message['thinking'] },
    calls,
    finish,
  );
}

function finished(message: Loose, calls: Loose[], finish: string): Reading {
  const { text, thinking } = contentOf(message);
  const tools = calls.map(({ function: fn }) => ({
    name: fn.name,
    args: JSON.parse(fn.arguments || '{}'),
  }));
  return { text, thinking, tools, finish };
}

function contentOf(message: Loose): { text: string; thinking: string } {
  const beside = message['reasoning_content'] || message['reasoning'] || '';
  if (!Array.isArray(message['content']))
    return { text: message['content'] ?? '', thinking: beside };
  const parts: Loose[] = message['content'];
  const thoughts = parts
    .filter(({ type }) => type === 'thinking')
    .map(({ thinking }) =>
      typeof thinking === 'string' ? thinking : thinking.map(({ text }: Loose) => text).join(''),
    );
  return {
    text: parts
      .filter(({ type }) => type === 'text')
      .map(({ text }) => text)
      .join(''),
    thinking: thoughts.join('') || beside,
  };
}

export function readMessages(bytes: Buffer, isStream: boolean): Reading {
  const text = bytes.toString('utf8');
  const message: Loose = isStream ? assembled(text) : JSON.parse(text);
  const blocks: Loose[] = message['content'];
  const joined = (type: string, field: string): string =>
    blocks
      .filter((block) => block['type'] === type)
      .map((block) => block[field])
      .join('');
  return {
    text: joined('text', 'text'),
    thinking: joined('thinking', 'thinking'),
    tools: blocks
      .filter(({ type }) => type === 'tool_use')
      .map(({ name, input }) => ({ name, args: input })),
    finish: FINISH[message['stop_reason']] ?? message['stop_reason'],
  };
}

/** Assembles the first message of a stream (two recordings hold two in a row). */
function assembled(text: string): Loose {
  const content: Loose[] = [];
  let stop_reason = '';
  for (const event of wireEvents(text).map(({ data }): Loose => JSON.parse(data))) {
    if (event['type'] === 'message_stop') break;
    if (event['type'] === 'content_block_start')
      content[event['index']] = { ...event['content_block'], json: '' };
    const block = content[event['index']];
    if (event['type'] === 'content_block_delta' && block) {
      for (const field of ['text', 'thinking'])
        if (field in event['delta']) block[field] += event['delta'][field];
      block['json'] += event['delta'].partial_json ?? '';
    }
    if (event['type'] === 'content_block_stop' && block?.['json'])
      block['input'] = JSON.parse(block['json']);
    if (event['type'] === 'message_delta') stop_reason = event['delta'].stop_reason ?? stop_reason;
  }
  return { content, stop_reason };
}

/** Reads an answer of Gemini, whole or in pieces, with the tokens of each side. */
export function readGenerated(
  answers: readonly Loose[],
): Reading & Record<'prompt' | 'output', number> {
  const candidates: Loose[] = answers.flatMap((answer) => answer['candidates']?.[0] ?? []);
  const parts: Loose[] = candidates.flatMap(({ content }) => content?.parts ?? []);
  const said = (isThought: boolean): string =>
    parts
      .filter(({ text, thought }) => text !== undefined && (thought === true) === isThought)
      .map(({ text }) => text)
      .join('');
  const usage: Loose = answers.at(-1)?.['usageMetadata'];
  return {
    text: said(false),
    thinking: said(true),
    tools: parts
      .filter(({ functionCall }) => functionCall)
      .map(({ functionCall: { name, args } }) => ({ name, args })),
    finish: candidates.at(-1)?.finishReason ?? '',
    prompt: usage.promptTokenCount + (usage.toolUsePromptTokenCount ?? 0),
    output: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
  };
}
