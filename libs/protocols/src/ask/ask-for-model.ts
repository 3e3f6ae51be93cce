import type { Ask } from '../exchange.ts';
import { withModel } from '../json/with-model.ts';
import { parseAsk } from './parse-ask.ts';

/** Returns the same request for another model. */
export function askForModel(
  { protocol, raw, isCompaction, isStream, generate }: Ask,
  model: string,
): Ask {
  if (generate)
    return parseAsk(protocol, generate.raw, {
      call: { model, isStream, isArray: generate.isArray, ...generate.embed },
    });
  return parseAsk(protocol, withModel(raw, model), { isCompaction });
}
