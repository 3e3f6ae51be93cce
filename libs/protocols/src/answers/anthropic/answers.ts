import { records } from '../../json/json-guard.ts';
import { messageEvents } from './message-events.ts';
import { argumentCount } from '../../usage/argument-count.ts';
import type { ProviderAnswers } from '../provider-answers.ts';
import { messageCalls, messageText } from './message-text.ts';
import { MessagesTap } from './messages-tap.ts';
import { readMessagesUsage } from './messages-usage.ts';

export const anthropicAnswers: ProviderAnswers = {
  openTap: (sink) => new MessagesTap(sink),
  readWhole: (answer) => {
    if (!Array.isArray(answer['content'])) return null;
    const content = records(answer['content']);
    const calls = messageCalls(content);
    return {
      usage: readMessagesUsage(answer['usage']),
      outputText: content.map(messageText).join(''),
      calls: calls.length,
      callArguments: () => argumentCount(calls.map(({ input }) => input)),
    };
  },
  eventsOfWhole: messageEvents,
  isEnd: (event) => event['type'] === 'message_stop',
  isEndedByDone: false,
};
