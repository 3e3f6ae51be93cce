import { InvalidRequest } from '../exchange.ts';

/** Refuses by name a feature that the upstream's protocol cannot express, so that nothing is dropped silently. */
export function unsupported(feature: string, param: string): InvalidRequest {
  return refused(feature, param, "by this model's upstream");
}

/** Refuses a feature that the gateway does not support with any upstream; `advice` says why, or what to send instead. */
export function unsupportedHere(feature: string, param: string, advice: string): InvalidRequest {
  return refused(feature, param, `here: ${advice}`);
}

/** Anthropic's tool runners, which ask for a thread by default, send the messages themselves after these details. */
export function threadUnsupported(field: string, where: string): InvalidRequest {
  const feature = field === 'thread' ? 'thread' : 'a message thread';
  return refused(feature, field, `${where}; send the messages themselves, without \`thread\``, {
    error_code: 'thread_unsupported_request',
    unsupported: [field],
  });
}

/** The message names the field once, at its beginning. */
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
