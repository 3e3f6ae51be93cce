/** The protocols that clients speak; each is the name of an endpoint. libs/protocols says how each is read and answered. */
export const CLIENT_PROTOCOLS = [
  'chat',
  'messages',
  'embeddings',
  'responses',
  'completions',
] as const;
export type ClientProtocol = (typeof CLIENT_PROTOCOLS)[number];
