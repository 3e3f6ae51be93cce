import { record, records } from '../../json/json-guard.ts';
import { completionEvents } from './completion-events.ts';
import { argumentCount } from '../../usage/argument-count.ts';
import type { ProviderAnswers } from '../provider-answers.ts';
import { ChatTap } from './chat-tap.ts';
import { argumentsOf, callsIn, generatedText } from './chat-text.ts';
import { readChatUsage } from './chat-usage.ts';

export const openaiAnswers: ProviderAnswers = {
  openTap: (sink) => new ChatTap(sink),
  readWhole: (answer) => {
    const choices = records(answer['choices']);
    // An answer without a choice says nothing, and clients read the first one.
    if (choices.length === 0) return null;
    const calls = callsIn(choices);
    return {
      usage: readChatUsage(answer['usage'], answer),
      outputText: choices.map((choice) => generatedText(record(choice['message']))).join(''),
      calls: calls.length,
      callArguments: () => argumentCount(calls.map(argumentsOf)),
    };
  },
  eventsOfWhole: completionEvents,
  isEnd: () => false,
  isEndedByDone: true,
};
