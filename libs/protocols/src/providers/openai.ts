import { readChatUsage } from '../answers/openai/chat-usage.ts';
import { messagesToChatExchange } from '../messages-to-chat/exchange.ts';
import { toChatRequest } from '../messages-to-chat/request.ts';
import { responsesToChatExchange } from '../responses/exchange.ts';
import { chatBodyOf } from '../responses/request.ts';
import { chatExchange } from '../same-protocol/chat-exchange.ts';
import { completionsExchange, refuseEchoedTokens } from '../same-protocol/completions-exchange.ts';
import { embeddingsExchange } from '../same-protocol/embeddings-exchange.ts';
import { refuseUnserved, responsesExchange } from '../same-protocol/responses-exchange.ts';
import { OPENAI_MODELS } from './model-list.ts';
import { PROBE_MESSAGES, PROBE_OUTPUT_TOKENS } from './probe.ts';
import { keyOf, type Provider } from './provider.ts';

/** Serves OpenAI, and every server that is compatible with it. */
export const openai: Provider = {
  sign: (_, signing) => ({ authorization: `Bearer ${keyOf(signing)}` }),
  exchanges: {
    chat: { create: chatExchange, isNative: true },
    embeddings: { create: embeddingsExchange, isNative: true },
    messages: {
      create: messagesToChatExchange,
      isNative: false,
      check: (body, upstreamModel) =>
        toChatRequest(body, { upstreamModel, outputLimit: null, outputLimitField: 'max_tokens' }),
    },
    responses: { create: responsesToChatExchange, isNative: false, check: chatBodyOf },
  },
  further: {
    completions: { create: completionsExchange, isNative: true, check: refuseEchoedTokens },
    responses: { create: responsesExchange, isNative: true, check: refuseUnserved },
  },
  probe: (model, kind) =>
    kind === 'embedding'
      ? { path: '/embeddings', body: { model, input: 'ok' }, headers: {} }
      : {
          path: '/chat/completions',
          body: { model, messages: PROBE_MESSAGES, max_tokens: PROBE_OUTPUT_TOKENS },
          headers: {},
        },
  models: OPENAI_MODELS,
  readUsage: (answer) => readChatUsage(answer['usage'], answer),
};
