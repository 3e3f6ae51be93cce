import { isRecord, record, records } from '../../json/json-guard.ts';
import { dataEvent } from '../../sse/sse-format.ts';
import { argumentCount } from '../../usage/argument-count.ts';
import type { ProviderAnswers } from '../provider-answers.ts';
import { converseEvents, generatedBy, startedCall } from './converse-events.ts';
import { ConverseTap } from './converse-tap.ts';
import { readConverseUsage } from './converse-usage.ts';

/** Reads Converse and ConverseStream: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html */
export const converseAnswers: ProviderAnswers = {
  openTap: (sink) => new ConverseTap(sink),
  readWhole: (answer) => {
    const { content } = record(record(answer['output'])['message']);
    if (!Array.isArray(content)) return null;
    const calls = records(content)
      .map(({ toolUse }) => toolUse)
      .filter(isRecord);
    const generated = converseEvents(answer).map((event) => {
      const { text, thought, call } = generatedBy(event);
      return (startedCall(event) ?? '') + text + thought + call;
    });
    return {
      usage: readConverseUsage(answer['usage']),
      outputText: generated.join(''),
      calls: calls.length,
      callArguments: () => argumentCount(calls.map(({ input }) => input)),
    };
  },
  eventsOfWhole: (answer) => converseEvents(answer).map(dataEvent).join(''),
  isEnd: (event) => isRecord(event['metadata']),
  isEndedByDone: false,
};
