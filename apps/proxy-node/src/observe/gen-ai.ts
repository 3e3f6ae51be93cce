import { clientProtocol, isChargedToken, USAGE_ROWS, type UsageFinal } from '@tollgate/contracts';

export const CHARGED = USAGE_ROWS.filter(({ isCharged }) => isCharged);

/** Returns the name in OpenTelemetry's GenAI conventions (https://opentelemetry.io/docs/specs/semconv/gen-ai/). */
export function operationOf(protocol: UsageFinal['protocol']): string {
  return clientProtocol(protocol).operation;
}

/** Counts the tokens of one side, or of both. The conventions have two types of tokens; cached input is input. */
export function tokensOf(final: UsageFinal, side?: 'prompt' | 'output'): number {
  let tokens = 0;
  for (const each of CHARGED)
    if ((side ?? each.side) === each.side && isChargedToken(each)) tokens += final[each.field] ?? 0;
  return tokens;
}

/** Returns the span attributes of an ended request, under the conventions' names where they exist. They never contain prompts or answers. */
export function finalAttributes(final: UsageFinal, modelName: string) {
  return {
    'gen_ai.operation.name': operationOf(final.protocol),
    'gen_ai.request.model': modelName,
    'gen_ai.usage.input_tokens': tokensOf(final, 'prompt'),
    'gen_ai.usage.output_tokens': tokensOf(final, 'output'),
    'tollgate.outcome': final.outcome,
    'tollgate.account.id': final.account_id,
    'tollgate.key.id': final.key_id,
    'tollgate.charged_tokens': final.charge,
    'tollgate.attempts': final.attempts.length,
    ...(final.upstream_id !== null && { 'tollgate.upstream.id': final.upstream_id }),
    ...(final.first_token_ms !== null && {
      'tollgate.first_token_ms': Math.round(final.first_token_ms),
    }),
  };
}
