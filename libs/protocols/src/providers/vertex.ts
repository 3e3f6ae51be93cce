import type { ReportedUsage } from '@tollgate/contracts';
import { GEMINI_ERROR_WORDS } from '../answers/gemini/answers.ts';
import { readMessagesUsage } from '../answers/anthropic/messages-usage.ts';
import { readGeminiUsage } from '../answers/gemini/gemini-usage.ts';
import { isRecord, type JsonRecord } from '../json/json-guard.ts';
import { generateThroughChat, nativeGenerate } from '../generate/exchange.ts';
import { geminiDialect } from '../messages-to-gemini/exchange.ts';
import { throughMessages } from '../through-messages/exchanges.ts';
import { embedByGoogle } from './embed-exchange.ts';
import { embedContent, predictVectors, vectorsBy, type VectorMethod } from './gemini-embeddings.ts';
import { byModel, claudeOf, type ClaudeHost } from './hosted-claude.ts';
import { PROBE_MESSAGES, PROBE_OUTPUT_TOKENS } from './probe.ts';
import { keyOf, tokenOf, type Probe, type Provider, type ProbeKind } from './provider.ts';

/** Describes Claude: https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai. */
const CLAUDE: ClaudeHost = {
  version: 'vertex-2023-10-16',
  hasLaterVersions: true,
  left: [],
  betasIn: 'headers',
  path: (model, isStream) =>
    modelPath('anthropic', model, isStream ? 'streamRawPredict' : 'rawPredict'),
};

const HOSTED_CLAUDE = claudeOf(CLAUDE);

/** Earlier models have the older method. */
const EMBED_CONTENT = embedContent((model) => modelPath('google', model, 'embedContent'));
const PREDICT = predictVectors((model) => modelPath('google', model, 'predict'));

const VECTORS = vectorsBy(vectorMethodOf);

/** Serves Vertex AI: Gemini as Google AI has it, at the address of a project; Claude by its own protocol. https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest. */
export const vertex: Provider = {
  sign: (_, signing) =>
    signing.auth.type === 'google'
      ? { authorization: `Bearer ${tokenOf(signing)}` }
      : { 'x-goog-api-key': keyOf(signing) },
  exchanges: {
    ...byModel(
      isClaude,
      { ...HOSTED_CLAUDE, generate: generateThroughChat(HOSTED_CLAUDE.chat) },
      {
        ...throughMessages({ ...geminiDialect, path: generatePath }),
        generate: nativeGenerate(generatePath),
      },
    ),
    embeddings: VECTORS,
    embed: embedByGoogle(VECTORS, (model, { isBatch }) => {
      const method = vectorMethodOf(model);
      return method === EMBED_CONTENT && !isBatch ? method : null;
    }),
  },
  probe: probeOf,
  // Its list is that of all publishers, at another address.
  models: null,
  readUsage: usageOf,
  errorWords: GEMINI_ERROR_WORDS,
};

function generatePath(model: string, isStream: boolean): string {
  return modelPath('google', model, isStream ? 'streamGenerateContent?alt=sse' : 'generateContent');
}

/** A model is named with or without its publisher and collection. */
function modelPath(publisher: string, model: string, method: string): string {
  const name = encodeURIComponent(shortName(model)).replaceAll('%40', '@');
  return `/publishers/${publisher}/models/${name}:${method}`;
}

function shortName(model: string): string {
  return model.replace(/^(?:publishers\/[a-z]+\/)?models\//, '');
}

function isClaude(model: string): boolean {
  return shortName(model).startsWith('claude-');
}

function vectorMethodOf(model: string): VectorMethod {
  return shortName(model).startsWith('gemini-') ? EMBED_CONTENT : PREDICT;
}

function probeOf(model: string, kind: ProbeKind): Probe {
  if (kind === 'embedding') {
    const method = vectorMethodOf(model);
    const body = method.body([{ text: 'ok' }], { dimensions: undefined, model });
    return { path: method.path(model), body, headers: {} };
  }
  if (isClaude(model))
    return {
      path: CLAUDE.path(model, false),
      body: {
        anthropic_version: CLAUDE.version,
        messages: PROBE_MESSAGES,
        max_tokens: PROBE_OUTPUT_TOKENS,
      },
      headers: {},
    };
  return {
    path: modelPath('google', model, 'generateContent'),
    body: {
      contents: [{ role: 'user', parts: [{ text: 'Say ok.' }] }],
      generationConfig: { maxOutputTokens: PROBE_OUTPUT_TOKENS },
    },
    headers: {},
  };
}

function usageOf(answer: JsonRecord): ReportedUsage | null {
  if (isRecord(answer['usage'])) return readMessagesUsage(answer['usage']);
  if (Array.isArray(answer['predictions'])) return PREDICT.readUsage(answer);
  return isRecord(answer['embedding'])
    ? EMBED_CONTENT.readUsage(answer)
    : readGeminiUsage(answer['usageMetadata']);
}
