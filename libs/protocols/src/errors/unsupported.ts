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

/**
 * Throws `InvalidRequest`: what a thread holds is not in the request, and its id is not sealed, so that it may be another customer's. The details are those on
 * which the tool runners of Anthropic's clients, that ask for a thread by default, send the messages themselves from then on.
 */
export function refuseThread(body: JsonRecord): void {
  if (isRecord(body['thread']))
    throw refused(
      'thread',
      'thread',
      "here: threads of the provider's account are shared by all its customers; send the messages themselves",
      { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
    );
}

/** The field is named once: at the head of the sentence. */
function refused(
  feature: string,
  param: string,
  where: string,
  details: object | null = null,
): InvalidRequest {
  const subject = feature === param ? param : `${param}: ${feature}`;
  return new InvalidRequest(`${subject} is not supported ${where}.`, {
    param,
    code: 'unsupported_parameter',
    details,
  });
}
