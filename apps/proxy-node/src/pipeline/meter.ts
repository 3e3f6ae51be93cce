import type { AnswerMeter, MeterContext } from './answers/answer-meter.ts';
import { JsonMeter } from './answers/json-meter.ts';
import { StreamMeter } from './streams/stream-meter.ts';

export function meter(context: MeterContext & { isStream: boolean }): AnswerMeter {
  return context.isStream ? new StreamMeter(context) : new JsonMeter(context);
}
