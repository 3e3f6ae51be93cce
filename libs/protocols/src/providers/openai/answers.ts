import { completionEvents } from '../../same-protocol/completion-events.ts';
import { ChatTap } from '../../tap/chat-tap.ts';
import type { ProviderAnswers } from '../provider.ts';

export const openaiAnswers: ProviderAnswers = {
  openTap: (sink) => new ChatTap(sink),
  eventsOfWhole: completionEvents,
  isEndedByDone: true,
};
