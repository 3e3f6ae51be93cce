import { InvalidRequest } from '../exchange.ts';
import { isRecord } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';

/** A feature the upstream's protocol has no words for. Refused by name, never dropped in silence. */
export function unsupported(feature: string, param: string): InvalidRequest {
  return refused(feature, param, "by this model's upstream");
}

/** A feature the gateway itself has no place for, whatever the upstream; `advice` says why, or what to send instead. */
export function unsupportedHere(feature: string, param: string, advice: string): InvalidRequest {
  return refused(feature, param, `here: ${advice}`);
}

/** Throws `InvalidRequest`: what a thread holds is not in the request, and its id is not sealed, so that it may be another customer's. */
export function refuseThread(body: JsonRecord): void {
  if (isRecord(body['thread']))
    throw unsupportedHere(
      'thread',
      'thread',
      "threads of the provider's account are shared by all its customers; send the messages themselves",
    );
}

/** The field is named once: at the head of the sentence. */
function refused(feature: string, param: string, where: string): InvalidRequest {
  const subject = feature === param ? param : `${param}: ${feature}`;
  return new InvalidRequest(`${subject} is not supported ${where}.`, {
    param,
    code: 'unsupported_parameter',
  });
}
