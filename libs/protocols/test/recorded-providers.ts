import type { TokenUsage, UpstreamProtocol } from '@tollgate/contracts';
import { readChat, readGenerated, type Reading } from './direct-reading.ts';
import { jsonEvents, type Loose } from './drive.ts';
import type { ProviderRecording } from './fixtures.ts';

/** Holds the content of a recording, read without the library. */
export interface Recorded {
  says: Pick<Reading, 'text' | 'thinking' | 'tools'> & { prompt: number; output: number };
  /** Holds the classes of the report that the recording shows. */
  usage: Partial<TokenUsage>;
}

export interface RecordedProvider {
  folder: string;
  protocol: UpstreamProtocol;
  baseUrl: string;
  isAnswer(recording: ProviderRecording): boolean;
  read(recording: ProviderRecording): Recorded;
}

/** A further provider takes its line here, and its reader. */
export const RECORDED_PROVIDERS: readonly RecordedProvider[] = [
  {
    folder: 'azure',
    protocol: 'azure',
    baseUrl: 'https://resource.services.ai.azure.com/models',
    isAnswer: ({ url }) => url.includes('/chat/completions'),
    read: readCompletion,
  },
  {
    folder: 'gemini',
    protocol: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    isAnswer: isGeminiAnswer,
    read: readGemini,
  },
  {
    folder: 'vertex',
    protocol: 'vertex',
    baseUrl: 'https://aiplatform.googleapis.com/v1beta1/projects/project-1/locations/global',
    isAnswer: isGeminiAnswer,
    read: readGemini,
  },
  {
    folder: 'bedrock',
    protocol: 'bedrock',
    baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com',
    isAnswer: ({ url }) => url.endsWith('/converse'),
    read: readConverse,
  },
];

/** Images have no place in the other protocols; they are not asked for. */
function isGeminiAnswer({ url, body }: ProviderRecording): boolean {
  return /:(?:streamG|g)enerateContent/.test(url) && !body.includes('"inlineData"');
}

function readGemini({ body, isStream }: ProviderRecording): Recorded {
  const answers = isStream
    ? jsonEvents(body.toString('utf8'))
    : [JSON.parse(body.toString('utf8'))];
  const { finish: _, ...says } = readGenerated(answers);
  const usage: Loose = answers.at(-1).usageMetadata;
  return {
    says,
    usage: {
      reasoning: usage.thoughtsTokenCount ?? 0,
      cacheRead: usage.cachedContentTokenCount ?? 0,
    },
  };
}

function readConverse({ body }: ProviderRecording): Recorded {
  const { output, usage }: Loose = JSON.parse(body.toString('utf8'));
  const blocks: Loose[] = output.message.content;
  const cacheRead = usage.cacheReadInputTokens ?? 0;
  const cacheWrite = usage.cacheWriteInputTokens ?? 0;
  return {
    says: {
      text: blocks
        .flatMap(({ text, citationsContent }) => text ?? citationsContent?.content ?? [])
        .map((part) => part.text ?? part)
        .join(''),
      thinking: blocks
        .map(({ reasoningContent }) => reasoningContent?.reasoningText.text ?? '')
        .join(''),
      tools: blocks
        .filter(({ toolUse }) => toolUse)
        .map(({ toolUse: { name, input } }) => ({ name, args: input })),
      prompt: usage.inputTokens + cacheRead + cacheWrite,
      output: usage.outputTokens,
    },
    usage: { input: usage.inputTokens, cacheRead, cacheWrite },
  };
}

function readCompletion({ body, isStream }: ProviderRecording): Recorded {
  const answers = isStream
    ? jsonEvents(body.toString('utf8'))
    : [JSON.parse(body.toString('utf8'))];
  const usage: Loose = answers.findLast((answer) => answer.usage).usage;
  const { text, thinking, tools } = readChat(body, isStream);
  return {
    says: { text, thinking, tools, prompt: usage.prompt_tokens, output: usage.completion_tokens },
    usage: { reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
  };
}
