import { GEMINI_ERROR_WORDS } from '../answers/gemini/answers.ts';
import { readGeminiUsage } from '../answers/gemini/gemini-usage.ts';
import { nativeGenerate } from '../generate/exchange.ts';
import { geminiDialect, geminiPath } from '../messages-to-gemini/exchange.ts';
import { throughMessages } from '../through-messages/exchanges.ts';
import { embedByGoogle } from './embed-exchange.ts';
import { batchEmbedContents, embedContent, vectorsBy } from './gemini-embeddings.ts';
import { GEMINI_MODELS } from './model-list.ts';
import { PROBE_OUTPUT_TOKENS } from './probe.ts';
import { keyOf, type Provider } from './provider.ts';

const ONE = embedContent((model) => geminiPath(model, 'embedContent'));
const BATCH = batchEmbedContents((model) => geminiPath(model, 'batchEmbedContents'));

const VECTORS = vectorsBy(() => BATCH);

/** Serves the interface of Gemini at Google AI: https://ai.google.dev/api. */
export const gemini: Provider = {
  sign: (_, signing) => ({ 'x-goog-api-key': keyOf(signing) }),
  exchanges: {
    ...throughMessages(geminiDialect),
    generate: nativeGenerate(geminiDialect.path),
    embeddings: VECTORS,
    embed: embedByGoogle(VECTORS, (_, { isBatch }) => (isBatch ? BATCH : ONE)),
  },
  probe: (model, kind) =>
    kind === 'embedding'
      ? {
          path: BATCH.path(model),
          body: BATCH.body([{ text: 'ok' }], { dimensions: undefined, model }),
          headers: {},
        }
      : {
          path: geminiPath(model, 'generateContent'),
          body: {
            contents: [{ role: 'user', parts: [{ text: 'Say ok.' }] }],
            generationConfig: { maxOutputTokens: PROBE_OUTPUT_TOKENS },
          },
          headers: {},
        },
  models: GEMINI_MODELS,
  readUsage: (answer) =>
    Array.isArray(answer['embeddings'])
      ? BATCH.readUsage(answer)
      : readGeminiUsage(answer['usageMetadata']),
  errorWords: GEMINI_ERROR_WORDS,
};
