import type { AnswerMeter, MeterContext } from './answer-meter.ts';
import { JsonMeter } from './json-meter.ts';
import { StreamMeter } from './stream-meter.ts';

export function meter(context: MeterContext & { isStream: boolean }): AnswerMeter {
  return context.isStream ? new StreamMeter(context) : new JsonMeter(context);
}
