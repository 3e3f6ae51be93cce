import { describe, expect, test } from '@jest/globals';
import { isVendorsOwn } from '@tollgate/contracts';
import { hasBlank, hostOf, PRESET_NAMES, presetAt, PROVIDER_PRESETS } from './index.ts';

const filledIn = (baseUrl: string): string => baseUrl.replace(/\{\w+\}/, 'mine');
const presets = PRESET_NAMES.map((name) => [name, PROVIDER_PRESETS[name]] as const);

describe('PROVIDER_PRESETS', () => {
  test.each(presets)('%s is an address that is complete once its blank is filled in', (_, one) => {
    const address = filledIn(one.base_url);
    expect(address).not.toMatch(/[{}]/);
    expect(address).not.toMatch(/\/$/);
    expect(new URL(address).protocol).toBe(one.needs_key ? 'https:' : 'http:');
  });

  test('one that is hosted is found again by its address, one that runs anywhere is not', () => {
    for (const [, preset] of presets)
      expect(presetAt(filledIn(preset.base_url))).toBe(preset.needs_key ? preset : undefined);
  });

  test('one that is hosted is closed early only where a page says that this ends its bill', () => {
    const closed = presets.filter(
      ([, { needs_key: isHosted, ...preset }]) => isHosted && preset.stops_billing_on_close,
    );
    expect(closed.map(([name]) => name)).toEqual(['openai', 'anthropic']);
    for (const [, preset] of closed) expect(preset.close_source).toMatch(/^https:/);
  });

  test('a host is known by its end only behind a dot', () => {
    expect(presetAt('https://team.openai.azure.com/openai/v1')?.title).toBe('Azure OpenAI');
    expect(presetAt('https://eu.api.openai.com/v1')?.title).toBe('OpenAI');
    expect(presetAt('https://notapi.openai.com/v1')).toBeUndefined();
    expect(presetAt('https://api.openai.com.evil.example/v1')).toBeUndefined();
  });

  test('no two presets have one host', () => {
    const hosts = presets.flatMap(([, preset]) => hostOf(preset) ?? []);
    expect(new Set(hosts).size).toBe(hosts.length);
  });

  test("a vendor's own preset is at the vendor's own address, so that its fields pass", () => {
    for (const name of ['openai', 'anthropic', 'gemini', 'azure', 'bedrock'] as const) {
      const { protocol, base_url } = PROVIDER_PRESETS[name];
      expect(isVendorsOwn(protocol, base_url.replace(/\{\w+\}/, 'us-east-1'))).toBe(true);
    }
    expect(hasBlank(PROVIDER_PRESETS.azure)).toBe(true);
  });
});
