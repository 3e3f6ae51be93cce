import { describe, expect, test } from '@jest/globals';
import { compileSnapshot, stopsBillingOnClose, type UpstreamRow } from './index.ts';

describe('stopsBillingOnClose', () => {
  test.each([
    ['https://api.openai.com/v1', true],
    ['https://api.anthropic.com/v1', true],
    ['https://eu.api.openai.com/v1', true],
    ['https://team.openai.azure.com/openai/v1', false],
    ['https://api.novita.ai/v3/openai', false],
    ['https://api.openai.com.evil.example/v1', false],
    ['https://notapi.openai.com/v1', false],
    ['https://api.mistral.ai/v1', false],
    ['https://generativelanguage.googleapis.com/v1beta', false],
    ['https://aiplatform.googleapis.com/v1/projects/p/locations/global', false],
    ['https://bedrock-runtime.us-east-1.amazonaws.com', false],
    ['https://team.services.ai.azure.com/anthropic/v1', false],
    ['http://127.0.0.1:8000/v1', false],
  ])('knows %s by its host alone', (base_url, known) => {
    expect(stopsBillingOnClose({ base_url })).toBe(known);
  });

  test("takes the administrator's word over what is known of the host", () => {
    const base_url = 'https://api.openai.com/v1';
    expect(stopsBillingOnClose({ base_url, stops_billing_on_close: false })).toBe(false);
    expect(
      stopsBillingOnClose({ base_url: 'http://10.0.0.1/v1', stops_billing_on_close: true }),
    ).toBe(true);
  });

  test('stays out of a document in which no administrator has set it', () => {
    const upstream = (stopsBillingOnClose: boolean | null): UpstreamRow => ({
      id: 1,
      name: 'main',
      protocol: 'openai',
      baseUrl: 'https://api.openai.com/v1',
      authType: 'api_key' as const,
      sealedApiKey: null,
      credentials: [],
      headers: {},
      connectTimeoutMs: 1,
      firstTokenTimeoutMs: 1,
      idleTimeoutMs: 1,
      totalTimeoutMs: 1,
      maxConcurrency: null,
      stopsBillingOnClose,
      endpoints: null,
      passesFileIds: false,
      fields: 'all',
      enabled: true,
    });
    const compiled = (row: UpstreamRow) =>
      compileSnapshot({ models: [], prices: [], upstreams: [row], routes: [], spokenProtocols: [] })
        .upstreams[0];
    expect(compiled(upstream(null))).not.toHaveProperty('stops_billing_on_close');
    expect(compiled(upstream(false))).toMatchObject({ stops_billing_on_close: false });
  });
});
