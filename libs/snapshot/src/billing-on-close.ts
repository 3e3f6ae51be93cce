import { presetAt } from './provider-presets.ts';

/**
 * Returns whether closing a stream to this upstream ends its billing: the administrator's setting where there is one, otherwise what is known of its
 * host. An unknown host is assumed to bill the whole answer.
 */
export function stopsBillingOnClose({
  base_url,
  stops_billing_on_close,
}: {
  readonly base_url: string;
  readonly stops_billing_on_close?: boolean | null | undefined;
}): boolean {
  return stops_billing_on_close ?? presetAt(base_url)?.stops_billing_on_close ?? false;
}
