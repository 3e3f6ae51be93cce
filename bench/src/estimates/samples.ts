import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ArgumentCounter, type OutputCounts, type PromptCounts } from '@tollgate/metering';
import { countTokens } from '@tollgate/metering/token-counter';
import {
  createExchange,
  parseAsk,
  promptParts,
  type Ask,
  type StreamSink,
} from '@tollgate/protocols';

/** Recordings are kept beside the repository, or where TOLLGATE_FIXTURES says. */
export const RECORDINGS =
  process.env['TOLLGATE_FIXTURES'] ??
  path.resolve(import.meta.dirname, '../../../../shared/fixtures');

export interface Recorded {
  file: string;
  protocol: 'chat' | 'messages';
  model: string;
  /** Is decided by the hash of the answer: half of them calibrate, half judge. */
  isCalibration: boolean;
  prompt: {
    counts: PromptCounts;
    tokens: number;
    kind: 'text' | 'tools, images, documents';
  } | null;
  /** Null where the model thought without showing it, or tools of the provider wrote a part. */
  output: (OutputCounts & { tokens: number }) | null;
}

type Row = Readonly<Record<string, string>>;
type Protocol = 'chat' | 'messages';

/** Reads every recorded answer of a chat model that reports its usage. */
export function readSamples(folder = RECORDINGS): Recorded[] {
  if (!existsSync(path.join(folder, 'index.tsv'))) return [];
  const [head = '', ...lines] = readFileSync(path.join(folder, 'index.tsv'), 'utf8')
    .trimEnd()
    .split(/\r?\n/);
  const names = head.split('\t');
  return lines
    .map((line): Row =>
      Object.fromEntries(line.split('\t').map((cell, at) => [names[at] ?? '', cell])),
    )
    .filter(isUsable)
    .flatMap((row) =>
      row['protocol'] === 'chat' || row['protocol'] === 'messages'
        ? readSample(folder, row, row['protocol'])
        : [],
    );
}

/** Streams that were kept without their head have no status. An answer that was edited by hand may not have the usage of its text. */
function isUsable(row: Row): boolean {
  const isGood = ['200', 'n/a', ''].includes(row['http_status'] ?? '');
  return isGood && row['has_usage'] === '1' && row['origin'] === 'recorded';
}

function readSample(folder: string, row: Row, protocol: Protocol): Recorded[] {
  const file = row['file'] ?? '';
  const bytes = readFileSync(path.join(folder, file));
  const answer = answered(row, protocol, framed(file, protocol, bytes));
  if (!answer) return [];
  const { usage, text } = answer;
  const hash = createHash('sha256').update(bytes).digest();
  const request = row['request_file'];
  const isHidden = usage.reasoning > 0 && countTokens(text) < usage.reasoning / 2;
  const isProviders = /server_tool_use|_tool_result/.test(bytes.toString('utf8'));
  const { calls, args } = answer;
  return [
    {
      file,
      protocol,
      model: row['model'] ?? '',
      isCalibration: (hash[0] ?? 0) % 2 === 0,
      prompt:
        request && !isProviders
          ? promptSample(
              protocol,
              path.join(folder, request),
              reportedPrompt(row) ?? usage.input + usage.cacheRead + usage.cacheWrite,
            )
          : null,
      output:
        isHidden || isProviders || usage.output === 0
          ? null
          : { textTokens: countTokens(text), calls, arguments: args, tokens: usage.output },
    },
  ];
}

/** Returns the prompt that a chat answer reports. Some providers count cached tokens of their own template beside the prompt, in one answer more than in the next. */
function reportedPrompt({ usage_json: text = '', protocol }: Row): number | null {
  if (protocol !== 'chat' || text === '') return null;
  const { prompt_tokens: tokens } = JSON.parse(unquoted(text)) as { prompt_tokens?: unknown };
  return typeof tokens === 'number' ? tokens : null;
}

/** A cell with quotes in it stands in quotes, each of them doubled. */
function unquoted(cell: string): string {
  return cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
}

function promptSample(protocol: Protocol, file: string, tokens: number): Recorded['prompt'] {
  const body = JSON.parse(readFileSync(file, 'utf8')) as Ask['body'];
  // Sound has no size to go by.
  if (/"(?:input_audio|audio_url)"/.test(JSON.stringify(body))) return null;
  const { texts, tools, calls, ...rest } = promptParts(protocol, body);
  const counts: PromptCounts = {
    ...rest,
    textTokens: countTokens(texts.join('\n')),
    toolTokens: countTokens(tools.join('\n')),
    callTokens: countTokens(calls.join('\n')),
    tools: tools.length,
    calls: calls.length,
  };
  const isPlain = counts.tools + counts.images.length + counts.pages === 0;
  return { counts, tokens, kind: isPlain ? 'text' : 'tools, images, documents' };
}

function framed(file: string, protocol: Protocol, bytes: Buffer): Buffer {
  if (!file.endsWith('.chunks.txt')) return bytes;
  const lines = bytes.toString('utf8').trim().split('\n');
  return Buffer.from(
    protocol === 'chat'
      ? `${lines.map((line) => `data: ${line}\n\n`).join('')}data: [DONE]\n\n`
      : lines
          .map((line) => `event: ${(JSON.parse(line) as { type: string }).type}\ndata: ${line}\n\n`)
          .join(''),
  );
}

function answered(row: Row, protocol: Protocol, body: Buffer) {
  const isStream = row['stream'] === '1';
  const ask = parseAsk(
    protocol,
    Buffer.from(
      JSON.stringify({
        model: 'm',
        max_tokens: 1,
        stream: isStream,
        messages: [{ role: 'user', content: 'x' }],
      }),
    ),
  );
  const exchange = createExchange({
    ask,
    speech: { protocol: protocol === 'chat' ? 'openai' : 'anthropic' },
    upstreamModel: 'm',
    outputLimit: null,
    outputLimitField: 'max_tokens',
    clientHeaders: {},
    idSeed: '0193478e-7c00-7000-8000-0123456789ab',
  });
  let text = '';
  let calls = 0;
  const counter = new ArgumentCounter();
  const sink: StreamSink = {
    output: (piece) => {
      text += piece;
      counter.read(piece);
    },
    call: () => {
      calls += 1;
      counter.begin();
    },
  };
  if (!isStream) {
    const reading = exchange.readJson(body);
    if (reading.kind === 'error' || !reading.usage) return null;
    return {
      usage: reading.usage,
      text: reading.outputText,
      calls: reading.calls,
      args: reading.callArguments(),
    };
  }
  const reader = exchange.openStream(sink);
  reader.push(body);
  reader.end();
  return reader.usage ? { usage: reader.usage, text, calls, args: counter.count } : null;
}
