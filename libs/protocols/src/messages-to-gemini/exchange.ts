import { geminiAnswers } from '../answers/gemini/answers.ts';
import type { MessagesDialect } from '../through-messages/dialect.ts';
import { toGeminiRequest, withChatSettings } from './request.ts';
import { chatSignatures, signatureIn } from './signatures.ts';
import { finishGemini, geminiStep, startGemini, type GeminiState } from './stream-back.ts';

/** Speaks `generateContent` by way of messages. */
export const geminiDialect: MessagesDialect<GeminiState> = {
  answers: geminiAnswers,
  path: (model, isStream) =>
    geminiPath(model, isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'),
  request: (body, { chat, upstreamModel, outputLimit }) => {
    const signatures = chat ? chatSignatures(chat) : signatureIn;
    const request = toGeminiRequest(body, { upstreamModel, outputLimit, signatures });
    return chat ? withChatSettings(request, chat) : request;
  },
  start: startGemini,
  step: geminiStep,
  finish: finishGemini,
  eventsOf: (answer) => [answer],
};

/** A model is named with or without its collection. */
export function geminiPath(model: string, method: string): string {
  return `/models/${encodeURIComponent(model.replace(/^models\//, ''))}:${method}`;
}
