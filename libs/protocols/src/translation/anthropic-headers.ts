/** Holds the version that a translator uses, whatever the client sent: 2026-10-21 refuses sampling parameters, this one accepts them and all newer fields (docs/design/protocols.md#keys-and-versions). */
export const TRANSLATED_HEADERS = { 'anthropic-version': '2023-06-01' } as const;
