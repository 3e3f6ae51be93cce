import type { TokenUsage, UpstreamProtocol } from '@tollgate/contracts';
import { readChat, type Reading } from './direct-reading.ts';
import { jsonEvents, type Loose } from './drive.ts';
import type { ProviderRecording } from './fixtures.ts';

/** What a recording says, read without the library. */
export interface Recorded {
  says: Pick<Reading, 'text' | 'thinking' | 'tools'> & { prompt: number; output: number };
  /** The classes of the report that the recording shows. */
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
];

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
