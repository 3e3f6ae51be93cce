import { readMessagesUsage } from '../answers/anthropic/messages-usage.ts';
import { chatToMessagesExchange } from '../chat-to-messages/exchange.ts';
import { toMessagesRequest } from '../chat-to-messages/request.ts';
import { responsesToMessagesExchange } from '../responses/exchange.ts';
import { chatBodyOf } from '../responses/request.ts';
import { messagesExchange } from '../same-protocol/messages-exchange.ts';
import { claudeModel } from '../translation/claude-model.ts';
import { TRANSLATED_HEADERS } from '../translation/anthropic-headers.ts';
import { ANTHROPIC_MODELS } from './model-list.ts';
import { PROBE_MESSAGES, PROBE_OUTPUT_TOKENS } from './probe.ts';
import { keyOf, tokenOf, type Provider } from './provider.ts';

/** Serves Anthropic, and every server that is compatible with it. */
export const anthropic: Provider = {
  sign: (_, signing) =>
    signing.auth.type === 'azure'
      ? { authorization: `Bearer ${tokenOf(signing)}` }
      : { 'x-api-key': keyOf(signing) },
  exchanges: {
    messages: { create: messagesExchange, isNative: true },
    chat: {
      create: chatToMessagesExchange,
      isNative: false,
      check: (body, upstreamModel) => toMessagesRequest(body, { upstreamModel, outputLimit: null }),
    },
    responses: {
      create: responsesToMessagesExchange,
      isNative: false,
      check: (body, upstreamModel) =>
        toMessagesRequest(chatBodyOf(body), { upstreamModel, outputLimit: null }),
    },
  },
  probe: (model, kind) =>
    kind === 'embedding'
      ? null
      : {
          path: '/messages',
          body: { model, messages: PROBE_MESSAGES, max_tokens: PROBE_OUTPUT_TOKENS },
          headers: TRANSLATED_HEADERS,
        },
  models: ANTHROPIC_MODELS,
  continuesPrefill: (model) => claudeModel(model).takesPrefill,
  readUsage: ({ usage }) => readMessagesUsage(usage),
};
