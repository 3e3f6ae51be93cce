import { GEMINI_ERROR_WORDS } from '../answers/gemini/answers.ts';
import { readGeminiUsage } from '../answers/gemini/gemini-usage.ts';
import { nativeGenerate } from '../generate/exchange.ts';
import { geminiDialect, geminiPath } from '../messages-to-gemini/exchange.ts';
import { throughMessages } from '../through-messages/exchanges.ts';
import { batchEmbedContents, vectorsBy } from './gemini-embeddings.ts';
import { GEMINI_MODELS } from './model-list.ts';
import { PROBE_OUTPUT_TOKENS } from './probe.ts';
import { keyOf, type Provider } from './provider.ts';

const BATCH = batchEmbedContents((model) => geminiPath(model, 'batchEmbedContents'));

/** The interface of Gemini at Google AI: https://ai.google.dev/api. */
export const gemini: Provider = {
  sign: (_, signing) => ({ 'x-goog-api-key': keyOf(signing) }),
  exchanges: {
    ...throughMessages(geminiDialect),
    generate: nativeGenerate(geminiDialect.path),
    embeddings: vectorsBy(() => BATCH),
  },
  probe: (model, kind) =>
    kind === 'embedding'
      ? {
          path: BATCH.path(model),
          body: BATCH.body(['ok'], { dimensions: undefined, model }),
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
