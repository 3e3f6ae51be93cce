import { converseAnswers } from '../answers/converse/answers.ts';
import { converseEvents } from '../answers/converse/converse-events.ts';
import { AwsEventFramer, oneLine } from '../sse/aws-event-framer.ts';
import type { MessagesDialect } from '../through-messages/dialect.ts';
import { toConverseRequest } from './request.ts';
import { converseStep, finishConverse, startConverse, type ConverseState } from './stream-back.ts';

/** Serves Converse and ConverseStream through the messages protocol. */
export const converseDialect: MessagesDialect<ConverseState> = {
  answers: converseAnswers,
  path: (model, isStream) => modelPath(model, isStream ? 'converse-stream' : 'converse'),
  streamHeaders: { accept: 'application/vnd.amazon.eventstream' },
  openFramer: () =>
    new AwsEventFramer(
      ({ type, payload }) => `data: {${JSON.stringify(type)}:${oneLine(payload)}}\n\n`,
    ),
  request: toConverseRequest,
  start: startConverse,
  step: converseStep,
  finish: finishConverse,
  eventsOf: converseEvents,
};

/** A name may be an ARN with colons and slashes, which are percent-encoded once. */
export function modelPath(model: string, action: string): string {
  return `/model/${encodeURIComponent(model)}/${action}`;
}
