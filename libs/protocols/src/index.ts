export * from './exchange.ts';
export { readArrived } from './arrived-answer.ts';
export type { Arrived } from './arrived-answer.ts';
export { askForModel } from './ask/ask-for-model.ts';
export {
  parseAsk,
  parseAskInTurns,
  parseCountTokens,
  parseCountTokensInTurns,
} from './ask/parse-ask.ts';
export type { PathCall } from './generate-request/request.ts';
export { promptParts } from './ask/prompt-parts.ts';
export type { PromptParts } from './ask/prompt-parts.ts';
export {
  CLIENT_ERRORS,
  clientError,
  clientErrorBody,
  upstreamClientError,
} from './errors/client-error.ts';
export type { ClientError, ClientErrorCode, ClientErrorResponse } from './errors/client-error.ts';
export { errorShapeOf } from './errors/error-shape.ts';
export type { ErrorShape } from './errors/error-shape.ts';
export { excerptOf, redact } from './errors/redact.ts';
export { readUpstreamError, retryAfterMs, upstreamError } from './errors/upstream-error.ts';
export { readChatUsage } from './answers/openai/chat-usage.ts';
export { toChatUsage } from './usage/chat-usage.ts';
export { readMessagesUsage } from './answers/anthropic/messages-usage.ts';
export { statedLimits, type StatedLimit, type StatedLimits } from './usage/stated-limits.ts';
export { toMessagesUsage } from './usage/messages-usage.ts';
export { toResponsesUsage } from './usage/responses-usage.ts';
export { continuationAsk } from './continuation/continuation-ask.ts';
export type { ContinuationAsk } from './continuation/continuation-ask.ts';
export { ContinuedReader } from './continuation/continued-reader.ts';
export type { ContinuedOptions } from './continuation/continued-reader.ts';
export {
  asksForThinking,
  Delivered,
  deliveredOf,
  type KeptRoom,
} from './continuation/delivered.ts';
export { knownRefusals, refusedField, withoutRefused } from './translation/refused-fields.ts';
export {
  canExchange,
  countExchange,
  createExchange,
  findUnsupported,
  isNative,
  takesPrefill,
} from './providers/create-exchange.ts';
export { withoutMark } from './json/json-guard.ts';
export { readToken, tokenRequest, type TokenRequest } from './providers/provider-token.ts';
export { PROVIDERS } from './providers/registry.ts';
export type { SignedHeaders } from './providers/provider.ts';
export { CLIENT_BODIES } from './fields/client-bodies.ts';
export { probeAsk, probeLimit } from './providers/route-probe.ts';
export type { RefusableField } from './translation/refused-fields.ts';
export { isReasoningModel } from './translation/chat-model.ts';
export { conversationBody } from './stored/conversation-body.ts';
export { errorOfStored, namesStored, storedReferences } from './stored/references.ts';
export { asksForThread, keepsThreads, threadOf } from './stored/threads.ts';
export { threadUnsupported } from './errors/unsupported.ts';
export { THREAD_NOT_FOUND } from './errors/thread-details.ts';
export { ResponseLog } from './responses/response-log.ts';
export { readStoredResponse } from './responses/stored-response.ts';
export type { StoredResponse } from './responses/stored-response.ts';
export { openStoredStream } from './same-protocol/stored-stream.ts';
export { withSealedIds } from './same-protocol/responses-exchange.ts';
export { fieldName } from './fields/field-name.ts';
export { fileReference, fileRefused } from './fields/file-reference.ts';
export { premiumAsked } from './fields/premium-fields.ts';
export type { NeededPremium } from './fields/premium-fields.ts';
export type { DroppedField, FoundField } from './fields/found-field.ts';
export { isDropped, unknownFields } from './fields/known-fields.ts';
export { namedFields } from './fields/named-fields.ts';
export { OMISSIONS, omissionTable } from './translation/omissions.ts';
export type { Omission } from './translation/omissions.ts';
