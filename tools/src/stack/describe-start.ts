import type { Credentials, StartFile } from './start-file.ts';

export interface StartView {
  isTerminal?: boolean | undefined;
  /** Holds the names of accounts whose stored password no longer works. */
  changed?: ReadonlySet<string>;
}

/** Returns the text that `npm start` prints: addresses, logins and a command that works when pasted. `stop` says how to end it: Ctrl-C reaches only what runs in the foreground. */
export function describeStart(
  { baseUrl, adminUrl, proxyUrls, admin, user, apiKey, chatModel, upstreamUrl }: StartFile,
  stop: string,
  { isTerminal = process.stdout.isTTY, changed = new Set() }: StartView = {},
): string {
  // Other output may be kept: a pipe, a file, the log of a service.
  const shown = (secret: string): string => (isTerminal ? secret : 'see .tollgate/start.json');
  const login = ({ username, password }: Credentials): string =>
    changed.has(username)
      ? `${username} / password changed since; a new one: npm run ops -- reset-password ${username}`
      : `${username} / ${shown(password)}`;
  const body = JSON.stringify({
    model: chatModel,
    stream: true,
    messages: [{ role: 'user', content: 'Hello!' }],
  });
  return `
Tollgate is ready:  ${baseUrl}   (open it in a browser)

  Administration    ${baseUrl}/admin-api   (directly: ${adminUrl})
    its routes      ${baseUrl}/admin-api/docs
    administrator   ${login(admin)}
    demo user       ${login(user)}
  Proxy             ${baseUrl}/v1   (nodes: ${proxyUrls.join(', ')})
    API key         ${shown(apiKey)}
  Demo upstream     ${upstreamUrl}
  Sandbox payments are on: wallet/recharge credits at once.
  After a first start the demo sends some 300 requests for a minute, then it is quiet. "npm run seed -- close-demo" deletes its accounts.

Try it:

  curl -N ${baseUrl}/v1/chat/completions \\
    -H 'Authorization: Bearer ${isTerminal ? apiKey : '<API key>'}' -H 'Content-Type: application/json' \\
    -d '${body}'

These values are kept in .tollgate/start.json, logs in .tollgate/logs. ${stop} stops everything.
`;
}
