/** Returns SQL for the price of a million charged tokens of a model at the end of a period, in micro-units; null where it had no price. */
export const priceBefore = (modelId: string, end: string): string =>
  `(SELECT v.price_per_million FROM price_versions v WHERE v.model_id = ${modelId} AND v.effective_at < ${end} ORDER BY v.effective_at DESC, v.id DESC LIMIT 1)`;
