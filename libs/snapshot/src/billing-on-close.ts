/**
 * Providers that stop generating, and billing, once the connection of a stream is closed, by host. The list is what gateways in front of these
 * providers have published about them (https://openrouter.ai/docs/api-reference/streaming#stream-cancellation). A host that is not listed is taken to
 * bill the whole answer: an administrator who knows better sets `stops_billing_on_close` of the upstream.
 */
const STOPS_BILLING_ON_CLOSE: readonly string[] = [
  'api.openai.com',
  'openai.azure.com',
  'services.ai.azure.com',
  'api.anthropic.com',
  'api.fireworks.ai',
  'api.deepinfra.com',
  'api.together.xyz',
  'api.cohere.com',
  'api.cohere.ai',
  'api.x.ai',
  'api.deepseek.com',
  'api.novita.ai',
  'api.hyperbolic.xyz',
];

/** Returns whether closing a stream to this upstream ends what it bills: the administrator's setting where there is one, else what is known of its host. */
export function stopsBillingOnClose({
  base_url,
  stops_billing_on_close,
}: {
  readonly base_url: string;
  readonly stops_billing_on_close?: boolean | null | undefined;
}): boolean {
  if (typeof stops_billing_on_close === 'boolean') return stops_billing_on_close;
  const { hostname } = new URL(base_url);
  return STOPS_BILLING_ON_CLOSE.some(
    (known) => hostname === known || hostname.endsWith(`.${known}`),
  );
}
