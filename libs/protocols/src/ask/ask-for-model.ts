import type { Ask } from '../exchange.ts';
import { withModel } from '../json/with-model.ts';
import { parseAsk } from './parse-ask.ts';

/** The same request to another model. */
export function askForModel({ protocol, raw, isCompaction }: Ask, model: string): Ask {
  return parseAsk(protocol, withModel(raw, model), { isCompaction });
}
