import { presetAt } from './provider-presets.ts';

/** Returns whether closing a stream to this upstream ends what it bills: the administrator's setting where there is one, else what is known of its host. A host that is not known is taken to bill the whole answer. */
export function stopsBillingOnClose({
  base_url,
  stops_billing_on_close,
}: {
  readonly base_url: string;
  readonly stops_billing_on_close?: boolean | null | undefined;
}): boolean {
  return stops_billing_on_close ?? presetAt(base_url)?.stops_billing_on_close ?? false;
}
