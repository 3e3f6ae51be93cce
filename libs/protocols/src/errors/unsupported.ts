import { InvalidRequest } from '../exchange.ts';

/** A feature the upstream's protocol has no words for. Refused by name, never dropped in silence. */
export function unsupported(feature: string, param: string): InvalidRequest {
  return refused(feature, param, "by this model's upstream");
}

/** A feature the gateway itself has no place for, whatever the upstream; `advice` says why, or what to send instead. */
export function unsupportedHere(feature: string, param: string, advice: string): InvalidRequest {
  return refused(feature, param, `here: ${advice}`);
}

/** The details are those on which the tool runners of Anthropic's clients, that ask for a thread by default, send the messages themselves from then on. */
export function threadUnsupported(field: string, where: string): InvalidRequest {
  const feature = field === 'thread' ? 'thread' : 'a message thread';
  return refused(feature, field, `${where}; send the messages themselves, without \`thread\``, {
    error_code: 'thread_unsupported_request',
    unsupported: [field],
  });
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
