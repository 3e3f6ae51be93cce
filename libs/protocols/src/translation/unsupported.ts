import { InvalidRequest } from '../exchange.ts';

/** A feature the upstream's protocol has no words for. Refused by name, never dropped in silence. */
export function unsupported(feature: string, param: string): InvalidRequest {
  return new InvalidRequest(`${param}: ${feature} is not supported by this model's upstream.`, { param, code: 'unsupported_parameter' });
}
