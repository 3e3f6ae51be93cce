import { messageEvents } from '../../same-protocol/message-events.ts';
import { MessagesTap } from '../../tap/messages-tap.ts';
import type { ProviderAnswers } from '../provider.ts';

export const anthropicAnswers: ProviderAnswers = {
  openTap: (sink) => new MessagesTap(sink),
  eventsOfWhole: messageEvents,
  // message_stop ends a stream.
  isEndedByDone: false,
};
