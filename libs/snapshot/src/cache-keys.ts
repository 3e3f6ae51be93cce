/** Matches the hosts of providers that send requests with one `prompt_cache_key` to one machine (https://platform.openai.com/docs/guides/prompt-caching). */
const TAKES_CACHE_KEY =
  /^https:\/\/(?:[\w.-]+\.)?(?:api\.openai\.com|openai\.azure\.com|services\.ai\.azure\.com)(?::\d+)?(?:\/|$)/i;

export function takesCacheKey({ base_url }: { readonly base_url: string }): boolean {
  return TAKES_CACHE_KEY.test(base_url);
}
