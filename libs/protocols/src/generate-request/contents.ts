import { unsupportedHere } from '../errors/unsupported.ts';
import { InvalidRequest } from '../exchange.ts';
import {
  isRecord,
  list,
  nonEmpty,
  record,
  records,
  text,
  type JsonRecord,
} from '../json/json-guard.ts';
import { CONTENT, FUNCTION_CALL, FUNCTION_RESPONSE, INLINE_DATA, PART } from './fields.ts';
import { inside, membersOf, type NativeMembers } from './members.ts';
import { signatureOf } from './thought-signature.ts';

/** Describes a part whose members are known, and its path. */
interface Part {
  readonly part: JsonRecord;
  readonly param: string;
}

/** Returns contents as messages of chat. Throws `InvalidRequest` naming the field. */
export function messagesOf(contents: unknown, native: NativeMembers): JsonRecord[] {
  const messages: JsonRecord[] = [];
  turnsOf(contents).forEach((turn, at) => {
    const param = `contents[${at}]`;
    const { role = 'user', parts } = membersOf(turn, CONTENT, { param, native });
    const read = partsOf(parts, { param, native });
    if (role === 'model') messages.push(answered(read, { at, native }));
    else if (role === 'user' || role === 'function')
      messages.push(...asked(read, { earlier: messages, native }));
    else
      throw new InvalidRequest(`${param}.role: Expected "user" or "model"`, {
        param: `${param}.role`,
      });
  });
  if (messages.length > 0) return messages;
  throw new InvalidRequest('contents: Field required', {
    param: 'contents',
    code: 'missing_required_parameter',
  });
}

/** Returns the system instruction as a message; nothing for an empty one. */
export function instructionsOf(value: unknown, native: NativeMembers): JsonRecord[] {
  if (value === undefined) return [];
  const param = 'systemInstruction';
  if (typeof value === 'string') return value === '' ? [] : [{ role: 'system', content: value }];
  const content = textPartsOf(value, {
    param,
    native,
    refusal: (here) => unsupportedHere('a part without text', here, 'an instruction is text'),
  }).join('\n');
  return content === '' ? [] : [{ role: 'system', content }];
}

/** Returns the texts of a content that may have nothing else; throws `refusal` for another part. */
export function textPartsOf(
  content: unknown,
  {
    param,
    native,
    refusal,
  }: { param: string; native: NativeMembers; refusal: (here: string) => InvalidRequest },
): string[] {
  const { parts } = membersOf(content, CONTENT, { param, native });
  return partsOf(parts, { param, native }).map(({ part, param: here }) => {
    if (typeof part['text'] === 'string') return part['text'];
    throw refusal(here);
  });
}

/** A lone content, and a lone text, are what some clients send. */
function turnsOf(contents: unknown): readonly unknown[] {
  const turns = Array.isArray(contents) ? list(contents) : contents === undefined ? [] : [contents];
  return turns.map((turn) => (typeof turn === 'string' ? { parts: [{ text: turn }] } : turn));
}

function partsOf(
  value: unknown,
  { param, native }: { param: string; native: NativeMembers },
): Part[] {
  return list(Array.isArray(value) || value === undefined ? value : [value]).map((item, at) => {
    const here = `${param}.parts[${at}]`;
    const part = typeof item === 'string' ? { text: item } : item;
    return { part: membersOf(part, PART, { param: here, native }), param: here };
  });
}

/** Converts a turn of the model. */
function answered(
  parts: readonly Part[],
  { at, native }: { at: number; native: NativeMembers },
): JsonRecord {
  const thoughts = parts.filter(({ part }) => part['thought'] === true);
  const signed = thoughts.flatMap(({ part }) => {
    const signature = signatureOf(part['thoughtSignature']);
    return signature === null
      ? []
      : [{ type: 'thinking', thinking: text(part['text']) ?? '', signature }];
  });
  const said = parts.filter((each) => !thoughts.includes(each));
  const calls = said.filter(({ part }) => part['functionCall'] !== undefined);
  const content = said.map(({ part }) => codeOf(part) ?? text(part['text']) ?? '').join('');
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    ...(signed.length > 0 && { thinking_blocks: signed }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ part, param }, index) => {
        const here = inside(param, 'functionCall');
        const call = membersOf(part['functionCall'], FUNCTION_CALL, { param: here, native });
        return {
          id: nonEmpty(call['id']) ?? callId(at, index),
          type: 'function',
          function: {
            name: nameOf(call, here),
            arguments: JSON.stringify(record(call['args'])),
          },
        };
      }),
    }),
  };
}

/** Returns code that the provider ran, as text that counts. */
function codeOf(part: JsonRecord): string | null {
  return (
    text(record(part['executableCode'])['code']) ??
    text(record(part['codeExecutionResult'])['output'])
  );
}

function callId(turn: number, index: number): string {
  return `call_${turn}_${index}`;
}

function nameOf(call: JsonRecord, param: string): string {
  const name = nonEmpty(call['name']);
  if (name !== null) return name;
  throw new InvalidRequest(`${param}.name: Field required`, {
    param: `${param}.name`,
    code: 'missing_required_parameter',
  });
}

/** Converts a turn of the user: results of calls come first, as chat wants them behind the calls. */
function asked(
  parts: readonly Part[],
  { earlier, native }: { earlier: readonly JsonRecord[]; native: NativeMembers },
): JsonRecord[] {
  const results = parts.filter(({ part }) => part['functionResponse'] !== undefined);
  const rest = parts.filter((each) => !results.includes(each));
  const open = openCalls(earlier);
  return [
    ...results.map(({ part, param }) => {
      const here = inside(param, 'functionResponse');
      const result = membersOf(part['functionResponse'], FUNCTION_RESPONSE, {
        param: here,
        native,
      });
      return {
        role: 'tool',
        tool_call_id: nonEmpty(result['id']) ?? taken(open, nameOf(result, here)),
        content: resultText(result['response']),
      };
    }),
    ...(rest.length === 0 ? [] : [{ role: 'user', content: contentOf(rest, native) }]),
  ];
}

/** A lone text is a text: some servers read no lists. */
function contentOf(parts: readonly Part[], native: NativeMembers): string | JsonRecord[] {
  const [only, ...others] = parts;
  const words = others.length === 0 ? text(only?.part['text']) : null;
  return words ?? parts.map((each) => partOfChat(each, native));
}

/** Returns the calls of the last turn of the model: a result without an id belongs to the first of its name. */
function openCalls(earlier: readonly JsonRecord[]): { id: unknown; name: unknown }[] {
  const turn = earlier.findLast(({ role }) => role === 'assistant');
  return records(turn?.['tool_calls']).map(({ id, function: called }) => ({
    id,
    name: record(called)['name'],
  }));
}

function taken(open: { id: unknown; name: unknown }[], name: string): unknown {
  const at = open.findIndex((call) => call.name === name);
  return at < 0 ? name : open.splice(at, 1)[0]?.id;
}

/** Clients wrap a text as `output` or `result`. */
function resultText(response: unknown): string {
  const members = isRecord(response) ? Object.entries(response) : [];
  const [[name, value] = []] = members;
  const isWrapped = members.length === 1 && (name === 'output' || name === 'result');
  return isWrapped && typeof value === 'string' ? value : JSON.stringify(response ?? {});
}

function partOfChat({ part, param }: Part, native: NativeMembers): JsonRecord {
  if (typeof part['text'] === 'string') return { type: 'text', text: part['text'] };
  if (part['inlineData'] !== undefined)
    return mediaOf(
      membersOf(part['inlineData'], INLINE_DATA, { param: inside(param, 'inlineData'), native }),
      { param: inside(param, 'inlineData'), native },
    );
  const code = codeOf(part);
  if (code !== null) return { type: 'text', text: code };
  throw new InvalidRequest(`${param}: Expected text, inlineData or functionResponse`, { param });
}

const SOUND = /^audio\/(?:x-)?([a-z0-9]+)/;

/** Converts media by its type; of a type that chat has no part for, only Gemini reads it. */
function mediaOf(
  { mimeType, data }: JsonRecord,
  { param, native }: { param: string; native: NativeMembers },
): JsonRecord {
  const type = nonEmpty(mimeType)?.toLowerCase();
  if (type === undefined || typeof data !== 'string') {
    const missing = `${param}.${type === undefined ? 'mimeType' : 'data'}`;
    throw new InvalidRequest(`${missing}: Field required`, {
      param: missing,
      code: 'missing_required_parameter',
    });
  }
  const url = `data:${type};base64,${data}`;
  if (type.startsWith('image/')) return { type: 'image_url', image_url: { url } };
  if (type === 'application/pdf')
    return { type: 'file', file: { filename: 'document.pdf', file_data: url } };
  const format = SOUND.exec(type)?.[1];
  if (format !== undefined)
    return {
      type: 'input_audio',
      input_audio: { data, format: format === 'mpeg' ? 'mp3' : format },
    };
  native.push(param);
  return { type: 'file', file: { file_data: url } };
}
